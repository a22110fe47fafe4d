#include "kubelet/verdict.h"

#include <gtest/gtest.h>

namespace prefetch::kubelet::possible_verdicts_test {
namespace {

FileContent Present(const std::string& content) {
  return {FileContent::State::kPresent, content};
}

std::string Record(const std::string& repository, const std::string& entry,
                   const std::string& version = "v1beta1") {
  return R"({"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/)" + version +
         R"(","imageRef":"R","credentialMapping":{")" + repository + "\":" + entry + "}}";
}

struct PossibleCase {
  std::string name;
  SettingsFacts facts;
  VerdictQuestion question;
  std::string never;     // result/reason
  std::string declares;  // in the message
};

class PossibleVerdictsTest : public testing::TestWithParam<PossibleCase> {};

TEST_P(PossibleVerdictsTest, IsFirmOnlyIfAllAgree) {
  auto possible = PossibleSettings(GetParam().facts);
  ASSERT_TRUE(possible.ok());
  Verdicts verdicts = VerdictsFor(GetParam().question, *possible);
  EXPECT_EQ(std::string(VerdictResultName(verdicts.never.result)) + "/" +
                std::string(VerdictReasonName(verdicts.never.reason)),
            GetParam().never)
      << verdicts.never.message;
  EXPECT_NE(verdicts.never.message.find(GetParam().declares), std::string::npos) << verdicts.never.message;
  EXPECT_EQ(verdicts.always.result, VerdictResult::kPulls);
}

const VerdictQuestion kHere{.image = "reg.io/a:v1", .image_id = "R"};

VerdictQuestion Recorded(const std::string& content) {
  VerdictQuestion question = kHere;
  question.record = Present(content);
  return question;
}

const SettingsFacts kNothing;
const SettingsFacts kPreloaded{.policy = VerificationPolicy::kNeverVerifyPreloadedImages};
const SettingsFacts kPreloadedBy137{.rules = image::KubeletVersion{1, 37},
                                    .policy = VerificationPolicy::kNeverVerifyPreloadedImages};
const char kOpen[] = R"({"nodePodsAccessible":true})";
const char kClosed[] =
    R"({"kubernetesSecrets":[{"uid":"u","namespace":"n","name":"s","credentialHash":"h"}]})";

// The pod names a secret without its UID, and kubelet has recorded two of that name.
VerdictQuestion ForPodsOfTwoSecrets() {
  VerdictQuestion question =
      Recorded(Record("reg.io/a",
                      R"({"kubernetesSecrets":[{"uid":"1","namespace":"n","name":"s","credentialHash":"h"},)"
                      R"({"uid":"2","namespace":"n","name":"s","credentialHash":"i"}]})",
                      "v1alpha1"));
  question.pod.secrets.push_back({{.uid = "", .namespace_name = "n", .name = "s"}, base::Secret()});
  return question;
}

INSTANTIATE_TEST_SUITE_P(
    All, PossibleVerdictsTest,
    testing::Values(
        PossibleCase{"AbsentNeedsNoFacts", kNothing, {.image = "reg.io/a:v1"}, "Refused/ImageAbsent", ""},
        PossibleCase{"NothingKnown", kNothing, kHere, "Unknown/FactsUnknown",
                     "declare its version (--kubelet-version) and its configuration (--kubelet-config"},
        PossibleCase{"OpenToAllIsFirm", kNothing, Recorded(Record("reg.io/a", kOpen, "v1alpha1")),
                     "Starts/OpenToNode", ""},
        PossibleCase{"VersionUnknownAndANewerOneMayDiffer", kPreloaded, kHere, "Unknown/FactsUnknown",
                     "declare its version (--kubelet-version)."},
        PossibleCase{"VersionUnknownAndKnownRulesForANewerOne", kPreloadedBy137, kHere, "Starts/Preloaded",
                     ""},
        PossibleCase{"VersionUnknownButAllAgree",
                     {.policy = VerificationPolicy::kNeverVerify},
                     kHere,
                     "Starts/VerificationNever",
                     ""},
        PossibleCase{"OldKubeletsCannotReadBeta", kPreloaded, Recorded(Record("reg.io/a", kOpen)),
                     "Unknown/FactsUnknown", "declare its version (--kubelet-version)."},
        PossibleCase{"ClosedForAllKnownVersions", kPreloaded, Recorded(Record("reg.io/a", kClosed)),
                     "Unknown/FactsUnknown", "declare its version (--kubelet-version)."},
        PossibleCase{"ClosedForAllVersions", kPreloadedBy137, Recorded(Record("reg.io/a", kClosed)),
                     "Refused/RecordedForOthers", ""},
        PossibleCase{"UnknownToAllIsToldByTheNewestThatIsKnown", kPreloaded, ForPodsOfTwoSecrets(),
                     "Unknown/SecretAmbiguous", "2 pull secrets"},
        PossibleCase{"OnlyConfigurationUnknown",
                     {.version = image::KubeletVersion{1, 36}},
                     Recorded(Record("reg.io/a", kClosed)),
                     "Unknown/FactsUnknown",
                     "declare its configuration (--kubelet-config"},
        PossibleCase{"OnlyVersionUnknown",
                     {.configuration_known = true},
                     Recorded(Record("reg.io/a", kClosed)),
                     "Unknown/FactsUnknown",
                     "declare its version (--kubelet-version)."},
        PossibleCase{"OldKubeletNeedsNoConfiguration",
                     {.version = image::KubeletVersion{1, 32}},
                     Recorded(Record("reg.io/a", kClosed)),
                     "Starts/GateOff",
                     ""},
        PossibleCase{"UnreadableHere",
                     kPreloaded,
                     {.image = "reg.io/a", .image_id = "R", .record = {FileContent::State::kUnreadable, ""}},
                     "Unknown/RecordUnreadable",
                     "root"},
        PossibleCase{"UnknownFieldIsUndecodable",
                     {.version = image::KubeletVersion{1, 36}, .policy = kPreloaded.policy},
                     Recorded(Record("reg.io/a", R"({"new":1})")),
                     "Refused/RecordUnreadable",
                     ""},
        PossibleCase{"UnknownFieldOfAnyKubelet", kPreloaded, Recorded(Record("reg.io/a", R"({"new":1})")),
                     "Unknown/FactsUnknown", "--kubelet-version"},
        PossibleCase{"NewerThanTheRules",
                     {.version = image::KubeletVersion{1, 38}, .policy = kPreloaded.policy},
                     kHere,
                     "Unknown/KubeletNewer",
                     "1.38"},
        PossibleCase{"NewerButJudgedByTheRulesOf137",
                     {.version = image::KubeletVersion{1, 38},
                      .rules = image::KubeletVersion{1, 37},
                      .policy = kPreloaded.policy},
                     kHere,
                     "Starts/Preloaded",
                     ""},
        PossibleCase{"UnknownFieldIn137",
                     {.version = image::KubeletVersion{1, 37}, .policy = kPreloaded.policy},
                     Recorded(Record("reg.io/a", R"({"new":1})")),
                     "Unknown/RecordUnreadable",
                     "1.37"}),
    [](const auto& row) { return row.param.name; });

// Upgrade 1.34 -> … -> 1.38 with the same files: K11.
TEST(PossibleVerdicts, FollowAnUpgrade) {
  struct Row {
    unsigned minor;
    std::string reason;
  };
  VerdictQuestion question{.image = "nginx:1.27", .image_id = "R"};
  question.record = Present(Record("docker.io/library/nginx", kOpen));
  for (const Row& row :
       {Row{33, "GateOff"}, Row{34, "GateOff"}, Row{35, "OpenToNode"}, Row{36, "RecordedUnderOtherName"},
        Row{37, "RecordedUnderOtherName"}, Row{38, "KubeletNewer"}}) {
    auto possible =
        PossibleSettings({.version = image::KubeletVersion{1, row.minor}, .configuration_known = true});
    EXPECT_EQ(VerdictReasonName(VerdictsFor(question, *possible).never.reason), row.reason) << row.minor;
  }
}

}  // namespace
}  // namespace prefetch::kubelet::possible_verdicts_test
