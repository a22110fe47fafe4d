#include "status/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "golden.h"
#include "plan/reason.h"
#include "status/kubelet_sample.h"

namespace prefetch::status::what_helps_test {
namespace {

using plan::TouchObstacle;

constexpr TouchObstacle kAll[] = {
    TouchObstacle::kNoNodeCredentials, TouchObstacle::kPullSecret, TouchObstacle::kTokenProvider,
    TouchObstacle::kRegistryTrouble,   TouchObstacle::kPullFailed, TouchObstacle::kNotRecorded,
    TouchObstacle::kRecordsNeverMatch, TouchObstacle::kAdmission,  TouchObstacle::kQuota,
    TouchObstacle::kNamespaceMissing,  TouchObstacle::kForbidden,  TouchObstacle::kApiServer,
    TouchObstacle::kPodNeverRan};

plan::ImageState InVain(plan::Reason reason, TouchObstacle obstacle) {
  plan::ImageState image = sample::ClosedByOthers();
  image.reason = reason;
  image.touch = plan::TouchStatus{.state = plan::TouchState::kIneffective, .obstacle = obstacle};
  return image;
}

TEST(WhatHelps, EachObstacleOfATouchHasASentenceOfItsOwn) {
  std::map<std::string, TouchObstacle> said;
  for (TouchObstacle obstacle : kAll) {
    for (plan::Reason reason : {plan::Reason::kTouchIneffective, plan::Reason::kTouching}) {
      std::vector<std::string> helps = RemediationFor(InVain(reason, obstacle), {.up = true});
      ASSERT_EQ(helps.size(), 1U) << base::EnumName(obstacle);
      auto other = said.emplace(helps[0], obstacle).first->second;
      EXPECT_EQ(other, obstacle) << base::EnumName(other) << " and " << base::EnumName(obstacle);
    }
  }
  EXPECT_TRUE(RemediationFor(InVain(plan::Reason::kTouching, TouchObstacle::kNone), {.up = true}).empty())
      << "it is on its way, and nothing is in it";
}

std::vector<std::string> AgainstPolicy(const std::string& error, const std::string& runtime = "cri-o") {
  plan::ImageState image = sample::ClosedByOthers();
  image.reason = plan::Reason::kSignatureRejected;
  image.pull.last_error = error;
  return RemediationFor(image, {.name = runtime, .up = true});
}

TEST(WhatHelps, ARejectedSignatureHasItsFileAndItsRule) {
  // As CRI-O 1.36.3 and containers/image say it.
  const std::string head =
      "SignatureValidationFailed: unable to pull image or OCI artifact: pull image err: ";
  const std::pair<std::string, std::string> rows[] = {
      {"Source image rejected: A signature was required, but no signature exists", "lookaside"},
      {"Source image rejected: A signature was required, but no signature exists (1 non-sigstore signatures, "
       "0 sigstore non-signature attachments)",
       "lookaside"},
      {"Source image rejected: None of the signatures were accepted, reasons: Signature by key x is not "
       "accepted",
       "signedIdentity"},
      {"Source image rejected: Running image docker://quay.io/acme/app:v1 is rejected by policy.",
       "the type reject"},
      {"something new", "change the policy"}};
  for (const auto& [error, help] : rows) {
    std::vector<std::string> helps = AgainstPolicy(head + error);
    ASSERT_EQ(helps.size(), 3U);
    EXPECT_NE(helps[0].find(help), std::string::npos) << error << ": " << helps[0];
    EXPECT_NE(helps[1].find("/etc/containers/policy.json"), std::string::npos) << helps[1];
    EXPECT_NE(helps[1].find(", \"\""), std::string::npos) << helps[1];
    EXPECT_NE(helps[2].find("/etc/crio/policies"), std::string::npos) << helps[2];
  }
  std::vector<std::string> verifier = AgainstPolicy("image verifier x blocked pull", "containerd");
  ASSERT_EQ(verifier.size(), 1U);
  EXPECT_NE(verifier[0].find("image-verifier"), std::string::npos);
}

TEST(WhatHelps, ABrokenPolicyIsToBeRepaired) {
  plan::ImageState image = sample::ClosedByOthers();
  image.reason = plan::Reason::kRuntimeError;
  image.pull.last_error =
      "invalid policy in \"/etc/containers/policy.json\": invalid character 'b' looking for";
  std::vector<std::string> helps = RemediationFor(image, {.name = "cri-o", .up = true});
  ASSERT_EQ(helps.size(), 1U);
  EXPECT_NE(helps[0].find("repair the signature policy"), std::string::npos) << helps[0];
  image.pull.last_error = "something else";
  helps = RemediationFor(image, {.name = "cri-o", .up = true});
  ASSERT_EQ(helps.size(), 1U);
  EXPECT_EQ(helps[0].find("policy"), std::string::npos) << helps[0];
}

TEST(PolicyScopes, AreThoseOfTheLibraryInItsOrder) {
  // containers/image docker/policyconfiguration/naming_test.go.
  auto of = [](const std::string& name) {
    return base::Join(PolicyScopes(*image::Reference::Parse(name)), " ");
  };
  EXPECT_EQ(of("example.com/ns/repo:v1"),
            "example.com/ns/repo:v1 example.com/ns/repo example.com/ns example.com *.com ");
  EXPECT_EQ(of("a.example.com:8443/repo:v1"),
            "a.example.com:8443/repo:v1 a.example.com:8443/repo a.example.com:8443 *.example.com *.com ");
  EXPECT_EQ(of("busybox"),
            "docker.io/library/busybox:latest docker.io/library/busybox docker.io/library docker.io *.io ");
  EXPECT_EQ(of("localhost/x@sha256:" + std::string(64, '1')),
            "localhost/x@sha256:" + std::string(64, '1') + " localhost/x localhost ");
}

// The page that people read knows each obstacle, and no other.
TEST(WhatHelps, TheGuideHasARowForEachObstacle) {
  std::string page = *base::ReadFile(tests::Testdata() + "/../../deploy/docs/touch.md", 1 << 20);
  std::size_t begin = page.find("| `obstacle` | means | what to do |");
  ASSERT_NE(begin, std::string::npos);
  std::vector<std::string> rows;
  for (std::string_view line : base::Split(std::string_view(page).substr(begin), '\n')) {
    if (!line.starts_with("|")) break;
    std::string_view names = line.substr(0, line.find('|', 1));
    for (std::size_t at = names.find('`'); at != std::string_view::npos; at = names.find('`', at + 1)) {
      std::size_t end = names.find('`', at + 1);
      rows.emplace_back(names.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  std::vector<std::string> known = {"obstacle"};
  for (TouchObstacle obstacle : kAll) known.emplace_back(base::EnumName(obstacle));
  std::sort(rows.begin(), rows.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(rows, known);
}

TEST(ReasonWords, EveryReasonHasAWordThatFits) {
  for (const plan::ReasonRow& row : plan::kReasons) {
    ReasonDescription words = WordsFor(base::EnumName(row.reason));
    EXPECT_FALSE(words.state.empty());
    EXPECT_LE(words.state.size(), 11U) << words.state;
  }
  EXPECT_EQ(WordsFor("NewThing").state, "new thing");
  EXPECT_EQ(WordsFor("").state, "unknown");
}

}  // namespace
}  // namespace prefetch::status::what_helps_test
