#include "ctl/exit_code.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace prefetch::ctl::exit_code_test {
namespace {

struct LineCase {
  std::string name;
  std::string mistake;
  std::string told;
};

class HasReported : public testing::TestWithParam<LineCase> {};

TEST_P(HasReported, WithItsPlaceOrTheProgramsName) {
  std::ostringstream err;
  EXPECT_EQ(RejectInput({GetParam().mistake}, err), kBadInput);
  EXPECT_EQ(err.str(), GetParam().told);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, HasReported,
    testing::Values(LineCase{"Place", "a.yaml:12:5: images[3]: x", "a.yaml:12:5: images[3]: x\n"},
                    LineCase{"PathWithColon", "c:/a.yaml:1:1: x", "c:/a.yaml:1:1: x\n"},
                    LineCase{"NoColumn", "a.yaml:12: x", "prefetchctl: a.yaml:12: x\n"},
                    LineCase{"NoNumber", "a:b:c: x", "prefetchctl: a:b:c: x\n"},
                    LineCase{"HostAndPort", "http://r.io:5000: x", "prefetchctl: http://r.io:5000: x\n"},
                    LineCase{"Words", "--list is required", "prefetchctl: --list is required\n"},
                    LineCase{"SeveralLines", "a:1:1: x\nno place", "a:1:1: x\nprefetchctl: no place\n"}),
    [](const auto& row) { return row.param.name; });

TEST(ExitCode, OfAnErrorTellsBadInputFromWhoCannotBeAsked) {
  std::ostringstream err;
  EXPECT_EQ(Fail(base::InvalidArgument("x"), err), kBadInput);
  for (const base::Error& error : {base::Unavailable("x"), base::DeadlineExceeded("x"), base::Internal("x"),
                                   base::NotFound("x"), base::PermissionDenied("x")}) {
    EXPECT_EQ(Fail(error, err), kUnreachable) << error.message();
  }
  EXPECT_EQ(Fail(kTimedOut, base::InvalidArgument("one\ntwo"), err), kTimedOut);
  EXPECT_TRUE(err.str().starts_with("prefetchctl: x\n")) << err.str();
  EXPECT_TRUE(err.str().ends_with("prefetchctl: one\n             two\n")) << err.str();
}

// Scripts go by these.
TEST(ExitCode, NumbersAreAContract) {
  EXPECT_EQ((std::vector<int>{kOk, kNegative, kBadInput, kTimedOut, kUnreachable, kInterrupted}),
            (std::vector<int>{0, 1, 2, 3, 4, 130}));
}

}  // namespace
}  // namespace prefetch::ctl::exit_code_test
