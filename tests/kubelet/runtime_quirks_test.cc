#include "kubelet/records.h"

#include <gtest/gtest.h>

namespace prefetch::kubelet::runtime_quirks_test {
namespace {

struct Row {
  std::string test, name, version;
  bool matches;
};

class RuntimeQuirks : public testing::TestWithParam<Row> {};

// K18.
TEST_P(RuntimeQuirks, RecordsMatch) {
  EXPECT_EQ(RecordMismatchReason(GetParam().name, GetParam().version).empty(), GetParam().matches);
}

INSTANTIATE_TEST_SUITE_P(
    Runtimes, RuntimeQuirks,
    testing::Values(Row{"Containerd", "containerd", "1.6.20~ds1", true}, Row{"NotKnownYet", "", "", true},
                    Row{"Crio133", "cri-o", "1.33.9", false}, Row{"Crio134", "cri-o", "1.34.0", false},
                    Row{"Crio1350", "cri-o", "1.35.0", false},
                    Row{"Crio1351", "cri-o", "1.35.1-2.rhaos", false},
                    Row{"Crio1352", "cri-o", "1.35.2", true}, Row{"Crio136", "cri-o", "1.36.0", true},
                    Row{"Crio136Pre", "cri-o", "1.36.0-dev", true}, Row{"Crio2", "cri-o", "v2.0.0", true}),
    [](const auto& row) { return row.param.test; });

}  // namespace
}  // namespace prefetch::kubelet::runtime_quirks_test
