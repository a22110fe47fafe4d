#include "status/rows.h"

#include <gtest/gtest.h>

namespace prefetch::status::members_test {
namespace {

struct TimeRow {
  std::string text;
  std::optional<std::int64_t> seconds;  // since 1970
};

class TimeTest : public testing::TestWithParam<TimeRow> {};

TEST_P(TimeTest, IsReadAsTheAgentWritesIt) {
  std::optional<base::WallTime> time = ParseTime(GetParam().text);
  ASSERT_EQ(time.has_value(), GetParam().seconds.has_value()) << GetParam().text;
  if (time) {
    EXPECT_EQ(*time, base::WallTime(std::chrono::seconds(*GetParam().seconds)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TimeTest,
    testing::Values(TimeRow{"1970-01-01T00:00:00Z", 0}, TimeRow{"2026-11-20T22:33:35Z", 1795214015},
                    TimeRow{"2026-11-20T22:33:35.123456Z", 1795214015},  // a fraction counts for nothing
                    TimeRow{"1969-12-31T23:59:59Z", -1}, TimeRow{"2116-02-20T23:53:38Z", 4611686018},
                    TimeRow{"2116-02-20T23:53:39Z",
                            {}},  // nanoseconds would not reach from there to the first
                    TimeRow{"1823-11-12T00:06:22Z", -4611686018}, TimeRow{"1823-11-12T00:06:21Z", {}},
                    TimeRow{"4052-08-12T10:15:00Z", {}}, TimeRow{"0001-01-01T00:00:00Z", {}},
                    TimeRow{"2026-11-20T22:33:35+01:00", {}}, TimeRow{"2026-11-20T22:33:35+00:00", {}},
                    TimeRow{"2026-11-20T9:33:35Z", 1795167215}, TimeRow{"2026-11-20", {}}, TimeRow{"Z", {}},
                    TimeRow{"", {}}, TimeRow{"2026-02-30T00:00:00Z", {}},
                    TimeRow{"2026-11-20T22:33:35 and so on Z", {}}));

}  // namespace
}  // namespace prefetch::status::members_test
