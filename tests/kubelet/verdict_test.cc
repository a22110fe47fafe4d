#include "kubelet/verdict.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "rig/expect_has.h"
#include "rows.h"

namespace prefetch::kubelet::verdict_test {
namespace {

using Policy = VerificationPolicy;

// The inputs of a verdict, said in few words.
struct World {
  VerdictFacts facts{.image = "reg.io/t/a:v1", .image_id = "sha256:aaa"};
  PodIdentity pod;
  KubeletSettings settings{.version = {1, 36}};

  World Image(const std::string& image) const { return Set(&World::facts, &VerdictFacts::image, image); }
  World Absent() const { return Set(&World::facts, &VerdictFacts::image_id, ""); }
  World Record(Reading reading) const {
    World copy = *this;
    copy.facts.record.reading = reading;
    return copy;
  }
  World Recorded(const CredentialEntry& entry, const std::string& repository = "reg.io/t/a") const {
    World copy = Record(Reading::kFound);
    copy.facts.record.record.image_ref = facts.image_id;
    copy.facts.record.record.mapping[repository] = entry;
    return copy;
  }
  World Intent(Reading reading = Reading::kFound) const {
    return Set(&World::facts, &VerdictFacts::intent, reading);
  }
  World Verification(Policy policy) const { return Set(&World::settings, &KubeletSettings::policy, policy); }
  World Minor(unsigned minor) const { return Version({1, minor}); }
  World Version(image::KubeletVersion version) const {
    return Set(&World::settings, &KubeletSettings::version, version);
  }
  World GateOff() const { return Set(&World::settings, &KubeletSettings::gate, false); }
  World Allowlisted(const std::vector<std::string>& patterns) const {
    return Verification(Policy::kNeverVerifyAllowlistedImages)
        .Set(&World::settings, &KubeletSettings::allowlist, *Allowlist::Parse(patterns, settings.version));
  }
  World Has(const HashedSecret& secret) const {
    World copy = *this;
    copy.pod.secrets.push_back(secret);
    return copy;
  }
  World Is(const Coordinates& account) const {
    return Set(&World::pod, &PodIdentity::service_account, account);
  }

 private:
  template <typename Part, typename Value>
  World Set(Part World::*part, Value Part::*member, const std::type_identity_t<Value>& value) const {
    World copy = *this;
    copy.*part.*member = value;
    return copy;
  }
};

const World kWorld;

HashedSecret Secret(const std::string& uid, const std::string& hash, const std::string& name = "pull") {
  return {{uid, "team", name}, base::Secret(hash)};
}

CredentialEntry Secrets(std::vector<HashedSecret> secrets) {
  return {.secrets = std::move(secrets)};
}

CredentialEntry Accounts(std::vector<Coordinates> accounts) {
  return {.service_accounts = std::move(accounts)};
}

const CredentialEntry kNode{.node_pods_accessible = true};
const HashedSecret kS = Secret("u-1", "h-1");
const HashedSecret kNoUid = Secret("", "");  // as a manifest names a secret
const CredentialEntry kOfS = Secrets({kS});
const World kForS = kWorld.Recorded(kOfS);
const Coordinates kAccount{"u-9", "team", "runner"}, kAccountNoUid{"", "team", "runner"};
const CredentialEntry kOfAccount = Accounts({kAccount});
const World kForAccount = kWorld.Recorded(kOfAccount);

// `count` secrets of others, then `last`.
CredentialEntry Many(std::size_t count, const HashedSecret& last) {
  CredentialEntry entry;
  for (std::size_t i = 0; i + 1 < count; i++) {
    entry.secrets.push_back(Secret("other-" + std::to_string(i), "x" + std::to_string(i)));
  }
  entry.secrets.push_back(last);
  return entry;
}

struct VerdictCase {
  std::string name;
  World world;
  std::string never, if_not_present, reason, rule;
};

TEST_TABLE(VerdictTest, IsKubelets, VerdictCase) {
  const World& world = row.world;
  Verdicts verdicts = DecideVerdicts(world.facts, world.pod, world.settings);
  EXPECT_EQ(base::EnumName(verdicts.never.result), row.never) << verdicts.never.message;
  EXPECT_EQ(base::EnumName(verdicts.if_not_present.result), row.if_not_present);
  for (const Verdict& verdict : {verdicts.never, verdicts.if_not_present}) {
    EXPECT_EQ(base::EnumName(verdict.reason), row.reason) << verdict.message;
    EXPECT_EQ(verdict.rule.substr(0, verdict.rule.find(':')), row.rule) << verdict.message;
    EXPECT_TRUE(verdict.message.ends_with(".")) << verdict.message;
  }
  EXPECT_EQ(verdicts.always.result,
            row.reason == "InvalidImageName" ? VerdictResult::kRefused : VerdictResult::kPulls);
}

VerdictCase Starts(const std::string& name, const World& world, const std::string& reason,
                   const std::string& rule) {
  return {name, world, "Starts", "Starts", reason, rule};
}
// kubelet refuses pods with Never, and pulls for pods with IfNotPresent.
VerdictCase Closed(const std::string& name, const World& world, const std::string& reason,
                   const std::string& rule) {
  return {name, world, "Refused", "Pulls", reason, rule};
}
VerdictCase ToNode(const std::string& name, const World& world) {
  return Starts(name, world, "OpenToNode", "7");
}
VerdictCase ForPod(const std::string& name, const World& world) {
  return Starts(name, world, "RecordedForPod", "10");
}
VerdictCase Assumed(const std::string& name, const World& world) {
  return Starts(name, world, "AssumedForPod", "10");
}
VerdictCase ForOthers(const std::string& name, const World& world) {
  return Closed(name, world, "RecordedForOthers", "12");
}
VerdictCase OtherName(const std::string& name, const World& world) {
  return Closed(name, world, "RecordedUnderOtherName", "6");
}
VerdictCase Unknown(const std::string& name, const World& world) {
  const char* rule = world.facts.intent == Reading::kAbsent ? "2a" : "2c";
  return {name, world, "Unknown", "Unknown", "RecordUnreadable", rule};
}

VerdictCase Invalid(const std::string& name, const World& world) {
  return {name, world, "Refused", "Refused", "InvalidImageName", "0"};
}

// K3 to K5, then K9 and K19 to K27, step by step.
TEST_ROWS(
    Steps, VerdictTest, Invalid("InvalidName", kWorld.Image("reg.io/T/a")),
    Invalid("EmptyName", kWorld.Image("")),
    Closed("Step1Absent", kWorld.Absent().Recorded(kNode), "ImageAbsent", "1"),
    Closed("AbsentWithGateOff", kWorld.Absent().GateOff(), "ImageAbsent", "1"),
    Starts("GateOff", kWorld.GateOff().Record(Reading::kUndecodable), "GateOff", "0"),
    Closed("Step2aUndecodable", kWorld.Record(Reading::kUndecodable), "RecordUnreadable", "2a"),
    Closed("Step2aEvenUnderNeverVerify",
           kWorld.Record(Reading::kUndecodable).Verification(Policy::kNeverVerify), "RecordUnreadable", "2a"),
    Closed("Step2aEvenAllowlisted", kWorld.Allowlisted({"reg.io/*"}).Record(Reading::kUndecodable),
           "RecordUnreadable", "2a"),
    Unknown("Step2aOf137", kWorld.Record(Reading::kUndecodable).Minor(37)),
    Unknown("Step2aWeMayNotRead", kWorld.Record(Reading::kUnreadable)),
    Closed("Step2cIntentUndecodable", kWorld.Intent(Reading::kUndecodable), "RecordUnreadable", "2c"),
    Closed("Step2cEvenUnderNeverVerify",
           kWorld.Intent(Reading::kUndecodable).Verification(Policy::kNeverVerify), "RecordUnreadable", "2c"),
    Unknown("Step2cOf137", kWorld.Intent(Reading::kUndecodable).Minor(37)),
    Unknown("Step2cWeMayNotRead", kWorld.Intent(Reading::kUnreadable)),
    ToNode("IntentIsNotReadBesideARecord", kWorld.Intent(Reading::kUndecodable).Recorded(kNode)),
    Starts("Step3NeverVerify", kWorld.Verification(Policy::kNeverVerify).Recorded(kOfS), "VerificationNever",
           "3"),
    Starts("Step3Preloaded", kWorld, "Preloaded", "3"),
    Starts("Step3Allowlisted", kWorld.Allowlisted({"reg.io/t/a"}).Recorded(kOfS), "Allowlisted", "3"),
    Closed("Step4Intent", kWorld.Intent(), "PullInterrupted", "4"),
    Closed("Step4AlwaysVerify", kWorld.Verification(Policy::kAlwaysVerify), "VerificationAlways", "4"),
    Closed("Step4NotAllowlisted", kWorld.Allowlisted({"reg.io/u/*"}), "NotAllowlisted", "4"),
    OtherName("Step6", kWorld.Recorded(kNode, "reg.io/t/b")),
    Closed("Step6NoMapping", kWorld.Record(Reading::kFound), "PullInterrupted", "6"),
    ToNode("Step7", kWorld.Recorded(kNode)),
    Closed("Step8", kWorld.Recorded({}).Has(kS), "RecordedForNobody", "8"),
    ForPod("Step10Same", kForS.Has(kS)), ForPod("Step10SameHash", kForS.Has(Secret("u-2", "h-1", "other"))),
    ForPod("Step10Rotated", kForS.Has(Secret("u-1", "h-2"))),
    ForPod("Step10HashUnknown", kForS.Has(Secret("u-1", ""))),
    ForOthers("Step10EmptyHashesAreNotEqual",
              kWorld.Recorded(Secrets({Secret("u-1", "")})).Has(Secret("u-2", ""))),
    ForOthers("Step10SameNameRecreated", kForS.Has(Secret("u-2", "h-2"))),
    ForPod("Step10SecondSecretOfThePod", kForS.Has(Secret("u-5", "h-5")).Has(kS)),
    // A manifest names a secret without its UID.
    Assumed("Step10WithoutUid", kForS.Has(kNoUid)),
    Assumed("Step10WithoutUidBesideOthers",
            kWorld.Recorded(Secrets({Secret("u-7", "h-7", "other"), kS, Secret("u-1", "h-2")})).Has(kNoUid)),
    Assumed("Step10OneOfTwoWithoutUid",
            kWorld.Recorded(Secrets({kS, Secret("u-2", "h-2"), Secret("u-3", "h-3", "one")}))
                .Has(kNoUid)
                .Has(Secret("", "", "one"))),
    ForPod("Step10ACertainOneGoesFirst",
           kWorld.Recorded(Secrets({kS, Secret("u-2", "h-2")})).Has(kNoUid).Has(kS)),
    {"Step10WithoutUidOfSeveral", kWorld.Recorded(Secrets({kS, Secret("u-2", "h-2")})).Has(kNoUid), "Unknown",
     "Unknown", "SecretAmbiguous", "10"},
    ForOthers("Step10WithoutUidAnotherName", kForS.Has(Secret("", "", "other"))),
    ForOthers("Step10WithoutUidAFullEntry", kWorld.Recorded(Many(100, kS)).Has(kNoUid)),
    Starts("Step11", kForAccount.Is(kAccount), "RecordedForPod", "11"),
    // A list names an account without its UID.
    Starts("Step11WithoutUid",
           kWorld.Recorded(Accounts({{"u-8", "team", "other"}, kAccount})).Is(kAccountNoUid), "AssumedForPod",
           "11"),
    {"Step11WithoutUidOfSeveral",
     kWorld.Recorded(Accounts({kAccount, {"u-8", "team", "runner"}})).Is(kAccountNoUid), "Unknown", "Unknown",
     "SecretAmbiguous", "11"},
    Starts("Step11OneAccountGoesBeforeSeveralSecrets",
           kWorld
               .Recorded(CredentialEntry{.secrets = {kS, Secret("u-2", "h-2")},
                                         .service_accounts = {kAccount}})
               .Has(kNoUid)
               .Is(kAccountNoUid),
           "AssumedForPod", "11"),
    ForOthers("Step11WithoutUidAnotherNamespace", kForAccount.Is({"", "shop", "runner"})),
    ForOthers("Step11WithoutUidToAKubeletThatComparesNoAccounts",
              kWorld.Minor(33).Recorded(kOfAccount).Is(kAccountNoUid)),
    ForOthers("Step12OtherAccount", kForAccount.Is({"u-8", "team", "runner"})), ForOthers("Step12", kForS));

// Observations of a real kubelet 1.36.2 that no step above has; the names number them (K19 to K40). The
// others are stories of the model of kubelet: fake_kubelet_test.cc.
const World kStrict = kWorld.Verification(Policy::kAlwaysVerify);
const World kListed = kWorld.Allowlisted({"reg/allowed/*", "reg/exact/one"});
const std::string kDigest = "@sha256:" + std::string(64, 'b');
TEST_ROWS(Evidence, VerdictTest, ToNode("E11", kStrict.Recorded(kNode)),
          Starts("E17Prefix", kListed.Image("reg/allowed/x:1"), "Allowlisted", "3"),
          Starts("E17PrefixDigest", kListed.Image("reg/allowed/x" + kDigest), "Allowlisted", "3"),
          Starts("E17Exact", kListed.Image("reg/exact/one:1"), "Allowlisted", "3"),
          Starts("E17ExactDigest", kListed.Image("reg/exact/one" + kDigest), "Allowlisted", "3"),
          Closed("E17Others", kListed.Image("reg/exact/two:1"), "NotAllowlisted", "4"),
          Invalid("E23", kWorld.Image(std::string(64, 'c'))),
          ForPod("E40Rotated99", kWorld.Recorded(Many(99, kS)).Has(Secret("u-1", "h-2"))),
          ForOthers("E40Rotated100", kWorld.Recorded(Many(100, kS)).Has(Secret("u-1", "h-2"))),
          ForPod("E40SameHash100", kWorld.Recorded(Many(100, kS)).Has(Secret("u-7", "h-1"))),
          ForPod("E40SameHash101", kWorld.Recorded(Many(101, kS)).Has(Secret("u-7", "h-1"))),
          Closed("E43Undecodable", kStrict.Record(Reading::kUndecodable), "RecordUnreadable", "2a"),
          Starts("E44", kStrict.Recorded(kOfAccount).Is(kAccount), "RecordedForPod", "11"),
          ForOthers("E44Others", kStrict.Recorded(kOfAccount)));

// The same world, by version (K7, K17, K27).
const World kShort = kWorld.Image("nginx:1.27");
const World kByAccount = kForAccount.Is(kAccount);
TEST_ROWS(Versions, VerdictTest, ToNode("ShortKey136", kShort.Recorded(kNode, "nginx").Minor(36)),
          OtherName("ShortKey135", kShort.Recorded(kNode, "nginx").Minor(35)),
          OtherName("FullKey136", kShort.Recorded(kNode, "docker.io/library/nginx").Minor(36)),
          ToNode("FullKey135", kShort.Recorded(kNode, "docker.io/library/nginx").Minor(35)),
          ToNode("FullKey133", kShort.Recorded(kNode, "docker.io/library/nginx").Minor(33)),
          ForOthers("Account133", kByAccount.Minor(33)),
          Starts("Account134", kByAccount.Minor(34), "RecordedForPod", "11"),
          Starts("Account135", kByAccount.Minor(35), "RecordedForPod", "11"),
          Closed("ExactAllowlist135", kWorld.Minor(35).Allowlisted({"reg.io/t/a"}), "NotAllowlisted", "4"),
          Starts("PrefixAllowlist135", kWorld.Minor(35).Allowlisted({"reg.io/t/*"}), "Allowlisted", "3"),
          Starts("GateOff134", kForS.Minor(34).GateOff(), "GateOff", "0"),
          Starts("NoGate131", kForS.Minor(31).GateOff(), "GateOff", "0"),
          ToNode("ShortKey137", kShort.Recorded(kNode, "nginx").Minor(37)),
          OtherName("FullKey137", kShort.Recorded(kNode, "docker.io/library/nginx").Minor(37)),
          Starts("Account137", kByAccount.Minor(37), "RecordedForPod", "11"),
          Starts("ExactAllowlist137", kWorld.Minor(37).Allowlisted({"reg.io/t/a"}), "Allowlisted", "3"),
          OtherName("OtherName137", kWorld.Minor(37).Recorded(Secrets({kS}), "reg.io/t/b")),
          Starts("Preloaded137", kWorld.Minor(37), "Preloaded", "3"),
          Starts("GateOff137", kForS.Minor(37).GateOff(), "GateOff", "0"));

// A kubelet that is newer than the rules: firm where every plausible rule agrees, and nowhere else (K51).
VerdictCase Newer(const std::string& name, const World& world) {
  return {name, world.Minor(99), "Unknown", "Unknown", "KubeletNewer", "0"};
}
TEST_ROWS(NewerThanTheRules, VerdictTest, Closed("Absent", kWorld.Minor(99).Absent(), "ImageAbsent", "1"),
          Starts("NeverVerify", kForS.Minor(99).Verification(Policy::kNeverVerify), "VerificationNever", "3"),
          Starts("NeverVerifyWithoutRecord", kWorld.Minor(99).Verification(Policy::kNeverVerify),
                 "VerificationNever", "3"),
          ToNode("OpenToNode", kStrict.Minor(99).Recorded(kNode)),
          ToNode("OpenToNodeWithTheGateOff", kWorld.Minor(99).GateOff().Recorded(kNode)),
          ToNode("OpenToNodeOfALaterMajor", kStrict.Version({2, 0}).Recorded(kNode)),
          Invalid("InvalidName", kWorld.Minor(99).Image("reg.io/T/a")), Newer("Preloaded", kWorld),
          Newer("Allowlisted", kWorld.Allowlisted({"reg.io/t/a"})), Newer("Closed", kForS),
          Newer("ForThePod", kForS.Has(kS)), Newer("OtherName", kWorld.Recorded(kNode, "reg.io/t/b")),
          Newer("Intent", kWorld.Intent()), Newer("AlwaysVerify", kStrict),
          Newer("GateOff", kWorld.GateOff()),
          Newer("NeverVerifyWithTheGateOff", kWorld.Verification(Policy::kNeverVerify).GateOff()),
          Newer("Undecodable", kWorld.Record(Reading::kUndecodable)),
          Newer("UndecodableUnderNeverVerify",
                kWorld.Record(Reading::kUndecodable).Verification(Policy::kNeverVerify)),
          Newer("IntentUndecodable", kWorld.Intent(Reading::kUndecodable).Verification(Policy::kNeverVerify)),
          {"WeMayNotRead", kWorld.Minor(99).Record(Reading::kUnreadable), "Unknown", "Unknown",
           "RecordUnreadable", "2a"});

TEST(VerdictMessage, OfANewerKubeletNamesTheOverride) {
  World world = kWorld.Minor(99);
  std::string message = DecideVerdicts(world.facts, world.pod, world.settings).never.message;
  EXPECT_HAS(message, "kubelet 1.99 is newer than the rules that this agent knows (" +
                          std::string(image::kKnownKubelets) + ")");
  EXPECT_HAS(message, "--kubelet-rules " + std::string(image::kNewestKnownName));
}

TEST(VerdictMessage, NamesRepositoriesAndClassesAndNothingSecret) {
  World world =
      kWorld.Recorded({.secrets = {kS, Secret("u-2", "h-2")}, .service_accounts = {kAccount}}, "reg.io/t/b")
          .Recorded(kNode, "reg.io/t/c");
  std::string message = DecideVerdicts(world.facts, world.pod, world.settings).never.message;
  EXPECT_EQ(message,
            "kubelet recorded the same image for reg.io/t/b (2 secrets and 1 service account), reg.io/t/c "
            "(the node) and not for reg.io/t/a, which the pod names, so kubelet refuses the container "
            "(ErrImageNeverPull); a pull by kubelet under the pod's name with the node's own credentials "
            "would open it to every pod.");
  message = DecideVerdicts(kForS.facts, {}, kForS.settings).if_not_present.message;
  EXPECT_EQ(message,
            "kubelet's record opens reg.io/t/a to 1 secret only, and the pod has none of them, so kubelet "
            "asks the registry with the pod's and the node's credentials; a pull by kubelet with the node's "
            "own credentials would open it to every pod.");
}

TEST(VerdictMessage, IsFitForATerminalAndShort) {
  World world = kWorld;
  for (int i = 0; i < 1000; i++) world = world.Recorded(kNode, "evil\x1b[2J" + std::to_string(i));
  std::string message = DecideVerdicts(world.facts, world.pod, world.settings).never.message;
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_HAS(message, "and 995 more");
  EXPECT_LT(message.size(), 1000U);
}

FileContent Present(const std::string& content) {
  return {Reading::kFound, content};
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

TEST_TABLE(PossibleVerdictsTest, IsFirmOnlyIfAllAgree, PossibleCase) {
  auto possible = PossibleSettings(row.facts);
  ASSERT_TRUE(possible.ok());
  Verdicts verdicts = VerdictsFor(row.question, *possible);
  EXPECT_EQ(std::string(base::EnumName(verdicts.never.result)) + "/" +
                std::string(base::EnumName(verdicts.never.reason)),
            row.never)
      << verdicts.never.message;
  EXPECT_HAS(verdicts.never.message, row.declares);
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

TEST_ROWS(
    All, PossibleVerdictsTest,
    {"AbsentNeedsNoFacts", kNothing, {.image = "reg.io/a:v1"}, "Refused/ImageAbsent", ""},
    {"NothingKnown", kNothing, kHere, "Unknown/FactsUnknown",
     "declare its version (--kubelet-version) and its configuration (--kubelet-config"},
    {"OpenToAllIsFirm", kNothing, Recorded(Record("reg.io/a", kOpen, "v1alpha1")), "Starts/OpenToNode", ""},
    {"VersionUnknownAndANewerOneMayDiffer", kPreloaded, kHere, "Unknown/FactsUnknown",
     "declare its version (--kubelet-version)."},
    {"VersionUnknownAndKnownRulesForANewerOne", kPreloadedBy137, kHere, "Starts/Preloaded", ""},
    {"VersionUnknownButAllAgree", SettingsFacts{.policy = VerificationPolicy::kNeverVerify}, kHere,
     "Starts/VerificationNever", ""},
    {"OldKubeletsCannotReadBeta", kPreloaded, Recorded(Record("reg.io/a", kOpen)), "Unknown/FactsUnknown",
     "declare its version (--kubelet-version)."},
    {"ClosedForAllKnownVersions", kPreloaded, Recorded(Record("reg.io/a", kClosed)), "Unknown/FactsUnknown",
     "declare its version (--kubelet-version)."},
    {"ClosedForAllVersions", kPreloadedBy137, Recorded(Record("reg.io/a", kClosed)),
     "Refused/RecordedForOthers", ""},
    {"UnknownToAllIsToldByTheNewestThatIsKnown", kPreloaded, ForPodsOfTwoSecrets(), "Unknown/SecretAmbiguous",
     "2 pull secrets"},
    {"OnlyConfigurationUnknown", SettingsFacts{.version = image::KubeletVersion{1, 36}},
     Recorded(Record("reg.io/a", kClosed)), "Unknown/FactsUnknown",
     "declare its configuration (--kubelet-config"},
    {"OnlyVersionUnknown", SettingsFacts{.configuration_known = true}, Recorded(Record("reg.io/a", kClosed)),
     "Unknown/FactsUnknown", "declare its version (--kubelet-version)."},
    {"OldKubeletNeedsNoConfiguration", SettingsFacts{.version = image::KubeletVersion{1, 32}},
     Recorded(Record("reg.io/a", kClosed)), "Starts/GateOff", ""},
    {"UnreadableHere", kPreloaded,
     VerdictQuestion{.image = "reg.io/a", .image_id = "R", .record = {Reading::kUnreadable, ""}},
     "Unknown/RecordUnreadable", "root"},
    {"UnknownFieldIsUndecodable",
     SettingsFacts{.version = image::KubeletVersion{1, 36}, .policy = kPreloaded.policy},
     Recorded(Record("reg.io/a", R"({"new":1})")), "Refused/RecordUnreadable", ""},
    {"UnknownFieldOfAnyKubelet", kPreloaded, Recorded(Record("reg.io/a", R"({"new":1})")),
     "Unknown/FactsUnknown", "--kubelet-version"},
    {"NewerThanTheRules", SettingsFacts{.version = image::KubeletVersion{1, 99}, .policy = kPreloaded.policy},
     kHere, "Unknown/KubeletNewer", "1.99"},
    {"NewerButJudgedByTheRulesOf137",
     SettingsFacts{.version = image::KubeletVersion{1, 99},
                   .rules = image::KubeletVersion{1, 37},
                   .policy = kPreloaded.policy},
     kHere, "Starts/Preloaded", ""},
    {"UnknownFieldIn137", SettingsFacts{.version = image::KubeletVersion{1, 37}, .policy = kPreloaded.policy},
     Recorded(Record("reg.io/a", R"({"new":1})")), "Unknown/RecordUnreadable", "1.37"});

// Upgrade 1.34 -> … -> a release whose rules are not known, with the same files: K11.
TEST(PossibleVerdicts, FollowAnUpgrade) {
  struct Row {
    unsigned minor;
    std::string reason;
  };
  VerdictQuestion question{.image = "nginx:1.27", .image_id = "R"};
  question.record = Present(Record("docker.io/library/nginx", kOpen));
  for (const Row& row :
       {Row{33, "GateOff"}, Row{34, "GateOff"}, Row{35, "OpenToNode"}, Row{36, "RecordedUnderOtherName"},
        Row{37, "RecordedUnderOtherName"}, Row{99, "KubeletNewer"}}) {
    auto possible =
        PossibleSettings({.version = image::KubeletVersion{1, row.minor}, .configuration_known = true});
    EXPECT_EQ(base::EnumName(VerdictsFor(question, *possible).never.reason), row.reason) << row.minor;
  }
}

}  // namespace
}  // namespace prefetch::kubelet::verdict_test
