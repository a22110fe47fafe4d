#include "kubelet/records.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::kubelet::records_test {
namespace {

using enum Reading;

const char kAlpha[] = "kubelet.config.k8s.io/v1alpha1";
const char kBeta[] = "kubelet.config.k8s.io/v1beta1";

// A record of `R` with further members.
std::string Record(const std::string& members = "", const std::string& api_version = kBeta) {
  return R"({"kind":"ImagePulledRecord","apiVersion":")" + api_version + R"(","imageRef":"R")" +
         (members.empty() ? "" : "," + members) + "}\n";
}

std::string Mapping(const std::string& entry) {
  return R"("credentialMapping":{"reg.io/a":)" + entry + "}";
}

struct RecordCase {
  std::string name;
  std::string content;
  Reading expect;
  unsigned minor = 36;
};

TEST_TABLE(RecordTest, Reads, RecordCase) {
  EXPECT_EQ(DecodeRecord(row.content, "R", {1, row.minor}).reading, row.expect);
}

const char kYaml[] =
    "kind: ImagePulledRecord\napiVersion: kubelet.config.k8s.io/v1beta1\nimageRef: R\n"
    "lastUpdatedTime: 2026-08-01T10:00:00Z\ncredentialMapping:\n  reg.io/a:\n    nodePodsAccessible: true\n";

TEST_ROWS(
    Spec31And34, RecordTest, {"Beta137", Record(), kFound, 37}, {"Alpha137", Record("", kAlpha), kFound, 37},
    {"Beta136", Record(), kFound}, {"Beta135", Record(), kFound, 35},
    {"BetaIsBeyond134", Record(), kUndecodable, 34}, {"BetaIsBeyond133", Record(), kUndecodable, 33},
    {"Alpha133", Record("", kAlpha), kFound, 33}, {"Alpha134", Record("", kAlpha), kFound, 34},
    {"Alpha136", Record("", kAlpha), kFound},
    {"V1IsNoVersion", Record("", "kubelet.config.k8s.io/v1"), kUndecodable},
    {"NoVersion", R"({"kind":"ImagePulledRecord","imageRef":"R"})", kUndecodable},
    {"AnotherKind", R"({"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"R"})",
     kUndecodable},
    {"Empty", "", kUndecodable}, {"Null", "null", kUndecodable},
    {"Cut", R"({"kind":"ImagePulledRec)", kUndecodable}, {"NotText", std::string("\0\1\2", 3), kUndecodable},
    {"UnknownField", Record(R"("extra":1)"), kUndecodable},
    {"UnknownFieldBelow", Record(Mapping(R"({"everybody":true})")), kUndecodable},
    {"DuplicateField", Record(R"("imageRef":"R")"), kUndecodable},
    {"DuplicateKey", Record(R"("credentialMapping":{"a":{},"a":{}})"), kUndecodable},
    {"AnotherCase", Record(R"("CredentialMapping":{})"), kUndecodable},
    {"WrongType", Record(Mapping(R"({"nodePodsAccessible":"true"})")), kUndecodable},
    {"BadTime", Record(R"("lastUpdatedTime":"today")"), kUndecodable},
    {"TimeThatIsNone", Record(R"("lastUpdatedTime":"2026-02-30T10:00:00Z")"), kUndecodable},
    {"EmptyTime", Record(R"("lastUpdatedTime":"")"), kUndecodable},
    {"NullTime", Record(R"("lastUpdatedTime":null)"), kFound},
    {"Time", Record(R"("lastUpdatedTime":"2026-08-01T10:00:00Z")"), kFound},
    {"TimeWithOffset", Record(R"("lastUpdatedTime":"2026-08-01T10:00:00.5+02:00")"), kFound},
    {"NullEntry", Record(Mapping("null")), kFound},
    {"AccountsBeyond133", Record(Mapping(R"({"kubernetesServiceAccounts":[]})"), kAlpha), kUndecodable, 33},
    {"AccountsSince134", Record(Mapping(R"({"kubernetesServiceAccounts":[]})"), kAlpha), kFound, 34},
    {"Yaml", kYaml, kFound},
    {"OtherImageIsAbsent",
     R"({"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"S"})", kAbsent},
    {"OtherImageWithMistakeIsUndecodable",
     R"({"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"S",)"
     R"("extra":1})",
     kUndecodable});

TEST(Record, AllOfAnEntryIsRead) {
  RecordReading read = DecodeRecord(
      Record(Mapping(R"({"kubernetesSecrets":[{"uid":"u","namespace":"n","name":"s","credentialHash":"h"}],)"
                     R"("kubernetesServiceAccounts":[{"uid":"v","namespace":"m","name":"t"}]})")),
      "R", {1, 36});
  ASSERT_EQ(read.reading, Reading::kFound);
  const CredentialEntry& entry = read.record.mapping.at("reg.io/a");
  EXPECT_FALSE(entry.node_pods_accessible);
  ASSERT_EQ(entry.secrets.size(), 1U);
  EXPECT_EQ(entry.secrets[0].secret, (Coordinates{"u", "n", "s"}));
  EXPECT_EQ(entry.secrets[0].hash.Reveal(), "h");
  ASSERT_EQ(entry.service_accounts.size(), 1U);
  EXPECT_EQ(entry.service_accounts[0], (Coordinates{"v", "m", "t"}));
}

TEST_TABLE(IntentTest, Reads, RecordCase) {
  EXPECT_EQ(DecodeIntent(row.content, "nginx:1.27", {1, row.minor}), row.expect);
}

std::string Intent(const std::string& image, const std::string& api_version) {
  return R"({"kind":"ImagePullIntent","apiVersion":")" + api_version + R"(","image":")" + image + "\"}\n";
}

TEST_ROWS(Spec34, IntentTest, {"Beta", Intent("nginx:1.27", kBeta), kFound, 35},
          {"Alpha", Intent("nginx:1.27", kAlpha), kFound},
          {"BetaIsBeyond134", Intent("nginx:1.27", kBeta), kUndecodable, 34},
          {"OtherSpellingIsAbsent", Intent("docker.io/library/nginx:1.27", kBeta), kAbsent},
          {"Cut", "{", kUndecodable}, {"Empty", "", kUndecodable});

TEST(FileName, OfSpec34) {
  EXPECT_EQ(FileNameFor("docker.io/testing/test:latest"),
            "sha256-aef2af226629a35d5f3ef0fdbb29fdbebf038d0acd8850590e8c48e1e283aa56");
  EXPECT_EQ(FileNameFor("nginx:1.27"),
            "sha256-cd4495bb73de9b01bf009710b80ecf4be2d298db47492f4e9e7d0b04981c4614");
  EXPECT_EQ(FileNameFor("testimageref"),
            "sha256-b3c0cc4278800b03a308ceb2611161430df571ca733122f0a40ac8b9792a9064");
}

struct Row {
  std::string name, runtime, version;
  bool matches;
};

// K18.
TEST_TABLE(RuntimeQuirks, RecordsMatch, Row) {
  EXPECT_EQ(RecordMismatchReason(row.runtime, row.version).empty(), row.matches);
}

TEST_ROWS(Runtimes, RuntimeQuirks, {"Containerd", "containerd", "1.6.20~ds1", true},
          {"NotKnownYet", "", "", true}, {"Crio133", "cri-o", "1.33.9", false},
          {"Crio134", "cri-o", "1.34.0", false}, {"Crio1350", "cri-o", "1.35.0", false},
          {"Crio1351", "cri-o", "1.35.1-2.rhaos", false}, {"Crio1352", "cri-o", "1.35.2", true},
          {"Crio136", "cri-o", "1.36.0", true}, {"Crio136Pre", "cri-o", "1.36.0-dev", true},
          {"Crio2", "cri-o", "v2.0.0", true});

}  // namespace
}  // namespace prefetch::kubelet::records_test
