#include "agent/query_registry.h"

#include <gtest/gtest.h>

namespace prefetch::agent::ask_registry_test {
namespace {

using image::RegistryAnswerKind;
using image::RegistryDetail;

struct NothingCase {
  std::string name;
  RegistryAnswerKind kind;
  RegistryDetail detail;
  bool expect;
};
class SaysNothingTest : public testing::TestWithParam<NothingCase> {};
TEST_P(SaysNothingTest, Table) {
  EXPECT_EQ(IsLocalFailure({.kind = GetParam().kind, .detail = GetParam().detail}), GetParam().expect);
}

// The agent's own limit and its own stop tell nothing of the registry.
INSTANTIATE_TEST_SUITE_P(
    QueryRegistry, SaysNothingTest,
    testing::Values(NothingCase{"OwnLimit", RegistryAnswerKind::kRateLimited, RegistryDetail::kOwnLimit,
                                true},
                    NothingCase{"Stopped", RegistryAnswerKind::kUnreachable, RegistryDetail::kStopped, true},
                    NothingCase{"ItsLimit", RegistryAnswerKind::kRateLimited, RegistryDetail::kNone, false},
                    NothingCase{"TooSlow", RegistryAnswerKind::kUnreachable, RegistryDetail::kTimeout, false},
                    NothingCase{"Same", RegistryAnswerKind::kSame, RegistryDetail::kNone, false}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::agent::ask_registry_test
