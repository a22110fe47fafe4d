#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ctl/ran.h"
#include "image/kubelet_version.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::verdict_test {
namespace {

const std::string kNewest(image::kNewestKnownName);

Ran Judge(const VerdictOptions& options) {
  return tests::Run([&](auto& out, auto& err) { return PrintVerdicts(options, out, err); });
}

struct MistakeCase {
  std::string name;
  VerdictOptions options;
  std::string says;
};

TEST_TABLE(VerdictRefused, WithASentence, MistakeCase) {
  EXPECT_EQ(Judge(row.options), (Ran{kBadInput, "", "prefetchctl: " + row.says + "\n"}));
}

TEST_ROWS(Rows, VerdictRefused,
          {"Version",
           {.kubelet_version = "1.36.x"},
           "--kubelet-version must be a version such as " + kNewest + " or " + kNewest + ".2"},
          {"OldVersion",
           {.kubelet_version = "1.30"},
           "--kubelet-version must be 1.31 or later: the rules of older kubelets are not known"},
          {"Verification",
           {.verification = "Sometimes"},
           "--verification must be NeverVerify, NeverVerifyPreloadedImages, "
           "NeverVerifyAllowlistedImages or AlwaysVerify"},
          {"Root", {.kubelet_root = "/nowhere"}, "--kubelet-root: /nowhere is not a folder"},
          {"Secret",
           {.pod_secrets = {"a/b/c"}},
           "--pod-secret must be NAMESPACE/NAME/UID/HASH; HASH may be empty"},
          {"SecretIsNotRepeated",
           {.pod_secrets = {"a//c/hunter2"}},
           "--pod-secret must be NAMESPACE/NAME/UID/HASH; HASH may be empty"},
          {"Account", {.pod_service_account = "a/b"}, "--pod-service-account must be NAMESPACE/NAME/UID"});

TEST(Verdict, SaysAllMistakesAtOnce) {
  Ran ran = Judge({.verification = "x", .kubelet_version = "y", .pod_secrets = {"z"}});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 3) << ran;
}

TEST(Verdict, OfEachPolicyOrOfOne) {
  tests::TempDir root;
  VerdictOptions options{.image = "q.io/a:v1", .kubelet_root = root.path(), .kubelet_version = "1.36"};
  Ran all = Judge(options);
  EXPECT_EQ(all.exit, kOk) << all;
  for (const char* policy : {"Never: Refused (", "IfNotPresent: Pulls (", "Always: Pulls ("}) {
    EXPECT_HAS(all.out, policy);
  }
  options.pull_policy = "Never";
  Ran never = Judge(options);
  EXPECT_TRUE(never.out.starts_with("Never: Refused (ImageAbsent, rule ")) << never;
  EXPECT_LACKS(never.out, "IfNotPresent");
  options.json = true;
  EXPECT_TRUE(Prints(Judge(options), kOk, "\"reason\": \"ImageAbsent\""));
  EXPECT_LACKS(Judge(options).out, "IfNotPresent");
}

}  // namespace
}  // namespace prefetch::ctl::verdict_test
