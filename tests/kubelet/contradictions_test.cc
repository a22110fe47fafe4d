// Where what is declared and what is found say different things.
#include <gtest/gtest.h>

#include "kubelet/facts_words.h"
#include "kubelet/node_facts.h"

namespace prefetch::kubelet::contradictions_test {
namespace {

using facts_words::kAllowed;
using facts_words::kNoFiles;
using facts_words::kUnseen;
using facts_words::Line;
using facts_words::Origin;
using facts_words::Policy;
using facts_words::PolicyLine;
using facts_words::Read;
using facts_words::V;

struct ContradictionCase {
  std::string name;
  KubeletDeclarations declared;
  ConfigReading reading;
  std::optional<CommandLine> line;
  std::vector<std::string> expect;
};

class CombineContradictions : public testing::TestWithParam<ContradictionCase> {};

TEST_P(CombineContradictions, AreTold) {
  EXPECT_EQ(MakeNodeFacts(GetParam().declared, GetParam().reading, GetParam().line).contradictions,
            GetParam().expect);
}

std::string ContradictionName(const testing::TestParamInfo<ContradictionCase>& row) {
  return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Verification, CombineContradictions,
    testing::Values(
        ContradictionCase{"SaidTheSame",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read(PolicyLine(Policy::kAlwaysVerify)),
                          kUnseen,
                          {}},
        ContradictionCase{"NothingDeclared", {.version = V(36)}, Read(kAllowed), kUnseen, {}},
        ContradictionCase{"NothingToCompareWith",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          kNoFiles,
                          kUnseen,
                          {}},
        ContradictionCase{"Policy",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read("", PolicyLine(Policy::kNeverVerify)),
                          kUnseen,
                          {"declared verification AlwaysVerify, but /d/1.conf says NeverVerify"}},
        ContradictionCase{"PolicyByDefault",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read(""),
                          kUnseen,
                          {"declared verification AlwaysVerify, but /c leaves it at kubelet's default, "
                           "NeverVerifyPreloadedImages"}},
        ContradictionCase{
            "TheDefaultWasDeclared", {.policy = Policy::kNeverVerifyPreloadedImages}, Read(""), kUnseen, {}},
        ContradictionCase{"GateOff",
                          {.version = V(34), .policy = Policy::kAlwaysVerify},
                          Read(""),
                          kUnseen,
                          {"declared verification AlwaysVerify, but /c leaves the feature gate "
                           "KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
        ContradictionCase{
            "GateOffByFlag",
            {.version = V(36), .policy = Policy::kAlwaysVerify},
            Read(""),
            Line({"--config=/c", "--feature-gates=AllBeta=false"}),
            {"declared verification AlwaysVerify, but kubelet's command line leaves the feature "
             "gate KubeletEnsureSecretPulledImages off, so that kubelet verifies nothing"}},
        ContradictionCase{"OldKubeletsHaveNoGate",
                          {.version = V(32), .policy = Policy::kAlwaysVerify},
                          Read(""),
                          kUnseen,
                          {}},
        ContradictionCase{"Allowlist",
                          {.version = V(36), .allowlist = {"reg.io/b/*"}},
                          Read(kAllowed),
                          kUnseen,
                          {"declared allowlist reg.io/b/*, but /c says reg.io/a/*"}},
        ContradictionCase{"AllowlistOfNone",
                          {.version = V(36), .allowlist = {"reg.io/b/*"}},
                          Read(""),
                          kUnseen,
                          {"declared allowlist reg.io/b/*, but /c says none"}},
        ContradictionCase{"AllowlistInAnotherOrder",
                          {.version = V(36), .allowlist = {"b.io/b/*", "a.io/a/*", "a.io/a/*"}},
                          Read(PolicyLine(Policy::kNeverVerifyAllowlistedImages) +
                               "preloadedImagesVerificationAllowlist: [a.io/a/*, b.io/b/*]\n"),
                          kUnseen,
                          {}},
        ContradictionCase{"WhatIsRefusedContradictsNothing",
                          {.version = V(36), .policy = Policy::kAlwaysVerify},
                          Read("imageGCLowThresholdPercent: 90\n"),
                          kUnseen,
                          {}}),
    ContradictionName);

INSTANTIATE_TEST_SUITE_P(
    Paths, CombineContradictions,
    testing::Values(
        ContradictionCase{"SameRoot", {.root = "/var/lib/kubelet/"}, kNoFiles, Line({"--config=/c"}), {}},
        ContradictionCase{"BelowAMount", {.root = "/host/r"}, kNoFiles, Line({"--root-dir=/r/"}), {}},
        ContradictionCase{"OtherRoot",
                          {.root = "/var/lib/kubelet"},
                          kNoFiles,
                          Line({"--root-dir=/data/kubelet"}),
                          {"declared kubelet root /var/lib/kubelet, but kubelet's command line says "
                           "/data/kubelet"}},
        ContradictionCase{"OnlyTheEndOfAName",
                          {.root = "/my-r"},
                          kNoFiles,
                          Line({"--root-dir=/r"}),
                          {"declared kubelet root /my-r, but kubelet's command line says /r"}},
        ContradictionCase{"OtherFiles",
                          {.config_file = "/c", .config_dir = "/d"},
                          Read("", Origin::kDeclared),
                          Line({"--config=/e", "--config-dir=/f"}),
                          {"declared kubelet configuration /c, but kubelet's command line says /e",
                           "declared kubelet drop-in folder /d, but kubelet's command line says /f"}},
        ContradictionCase{
            "NoFileOnTheCommandLine", {.config_file = "/c"}, Read("", Origin::kDeclared), Line({}), {}},
        ContradictionCase{"KubeletNotSeen", {.root = "/r"}, kNoFiles, kUnseen, {}}),
    ContradictionName);

}  // namespace
}  // namespace prefetch::kubelet::contradictions_test
