// What the model of kubelet writes, and when (K14, K26, K30 to K35).
#include <gtest/gtest.h>

#include <filesystem>

#include "fakes/fake_kubelet.h"
#include "kubelet/fake_kubelet_stories.h"

namespace prefetch::tests::fake_kubelet_files_test {
namespace {

// K30: what a second pull makes of an entry. The whole credentialMapping, as it is written.
struct MergeCase {
  std::string name;
  std::vector<PullCredential> pulls;
  std::string mapping;
};

class FakeKubeletMergeTest : public testing::TestWithParam<MergeCase> {};

std::string MappingOf(const std::string& content) {
  const std::string key = "\"credentialMapping\":";
  std::size_t begin = content.find(key);
  return begin == std::string::npos
             ? ""
             : content.substr(begin + key.size(), content.size() - begin - key.size() - 2);
}

TEST_P(FakeKubeletMergeTest, WritesAsKubeletDoes) {
  FakeNode node;
  for (const PullCredential& pull : GetParam().pulls) node.KubeletPulls(kImage, kId, pull);
  EXPECT_EQ(MappingOf(node.Content(node.RecordPath(kId))), GetParam().mapping);
}

PullCredential ByS(const std::string& uid, const std::string& hash, const std::string& name) {
  return {.secret = Secret(uid, hash, name), .service_account = {}};
}
PullCredential ByA(const std::string& name) {
  return {.secret = {}, .service_account = Coordinates{"u-" + name, "team", name}};
}
std::string SecretItem(const std::string& uid, const std::string& hash, const std::string& name) {
  return R"({"uid":")" + uid + R"(","namespace":"team","name":")" + name + R"(","credentialHash":")" + hash +
         "\"}";
}
std::string AccountItem(const std::string& name) {
  return R"({"uid":"u-)" + name + R"(","namespace":"team","name":")" + name + "\"}";
}
std::string EntryOf(const std::string& members) {
  return "{\"reg.io/t/a\":{" + members + "}}";
}
std::string SecretsOf(const std::string& items) {
  return "\"kubernetesSecrets\":[" + items + "]";
}
std::string AccountsOf(const std::string& items) {
  return "\"kubernetesServiceAccounts\":[" + items + "]";
}

INSTANTIATE_TEST_SUITE_P(
    Section36, FakeKubeletMergeTest,
    testing::Values(
        MergeCase{"Rule2New", {ByS("2", "h", "b")}, EntryOf(SecretsOf(SecretItem("2", "h", "b")))},
        MergeCase{"Rule3NodeAbsorbs", {kNode, kBySecret, kByAccount}, EntryOf("\"nodePodsAccessible\":true")},
        MergeCase{
            "Rule4NodeReplaces", {kBySecret, kByAccount, kNode}, EntryOf("\"nodePodsAccessible\":true")},
        MergeCase{"Rule5UnionIsSorted",
                  {ByS("2", "h", "b"), ByS("1", "h", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "h", "a") + "," + SecretItem("2", "h", "b")))},
        MergeCase{"Rule5NewerHashWins",
                  {ByS("1", "old", "a"), ByS("1", "new", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "new", "a")))},
        MergeCase{"Rule5ANewUidIsAnotherSecret",
                  {ByS("2", "h", "a"), ByS("1", "h", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "h", "a") + "," + SecretItem("2", "h", "a")))},
        MergeCase{"Rule6UnionIsSorted",
                  {ByA("b"), ByA("a"), ByA("b")},
                  EntryOf(AccountsOf(AccountItem("a") + "," + AccountItem("b")))},
        MergeCase{"Rules5And6LeaveEachOther",
                  {ByA("b"), ByS("1", "h", "a")},
                  EntryOf(SecretsOf(SecretItem("1", "h", "a")) + "," + AccountsOf(AccountItem("b")))}),
    [](const auto& row) { return row.param.name; });

TEST(FakeKubelet, WritesToTheByte) {
  FakeNode node;
  node.KubeletPulls(kImage, kId, kBySecret);
  node.KubeletPulls("nginx", kId, kNode);
  EXPECT_EQ(node.Content(node.RecordPath(kId)),
            R"({"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1",)"
            R"("lastUpdatedTime":"2026-08-01T10:00:02Z","imageRef":"sha256:aaa","credentialMapping":)"
            R"({"nginx":{"nodePodsAccessible":true},"reg.io/t/a":{"kubernetesSecrets":[{"uid":"u-1",)"
            R"("namespace":"team","name":"pull","credentialHash":"h-1"}]}}})"
            "\n");
  node.kubelet.BeginPull("nginx:1.27");
  EXPECT_EQ(node.Content(node.IntentPath("nginx:1.27")),
            "{\"kind\":\"ImagePullIntent\",\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\","
            "\"image\":\"nginx:1.27\"}\n");
}

// Rules 1, 3, 5: what changes nothing is not written.
TEST(FakeKubelet, APullThatSaysNothingNewLeavesTheTime) {
  FakeNode node;
  node.KubeletPulls(kImage, kId, kBySecret);
  std::string before = node.Content(node.RecordPath(kId));
  node.KubeletPulls(kImage, kId, kBySecret);
  EXPECT_EQ(node.Content(node.RecordPath(kId)), before);
  EXPECT_TRUE(node.kubelet.StartPod(kImage, kId, With(kSecret)));
  EXPECT_EQ(node.Content(node.RecordPath(kId)), before);
}

// K26: below 100 a start adds the pod's secret, from there on it does not.
TEST(FakeKubelet, AStartAddsASecretToAnEntryThatHasRoom) {
  for (int count : {99, 100}) {
    FakeNode node;
    RecordedFor(node, count);
    std::string before = node.Content(node.RecordPath(kId));
    EXPECT_TRUE(node.kubelet.StartPod(kImage, kId, With(Secret("u-7", "h-1"))));
    EXPECT_EQ(node.Content(node.RecordPath(kId)) != before, count == 99) << count;
  }
}

// K31: the file of an intent stays until the last of its attempts has ended.
TEST(FakeKubelet, AnIntentStaysWhileAnyAttemptIsUnderWay) {
  FakeNode node;
  node.kubelet.BeginPull(kImage);
  node.kubelet.BeginPull(kImage);
  node.kubelet.FailPull(kImage);
  EXPECT_NE(node.Content(node.IntentPath(kImage)), "");
  node.kubelet.EndPull(kImage, kId, kNode);
  EXPECT_EQ(node.Content(node.IntentPath(kImage)), "");
}

// K33: with as many records as fit, or more, memory is not authoritative.
TEST(FakeKubelet, AFullMemoryAsksTheDisk) {
  constexpr std::size_t kMaxPods = 2;
  for (int records : {9, 10}) {
    FakeNode node(kStrict, kMaxPods);
    for (int i = 0; i < records; i++) node.KubeletPulls("reg.io/x:v1", "sha256:" + std::to_string(i), kNode);
    node.Restart();
    node.root.Write(node.RecordPath(kId), OpenRecord({1, 36}));
    EXPECT_EQ(node.kubelet.Admits(kImage, kId, kAnybody), records == 10) << records;
  }
}

// K33: a later pull by kubelet overwrites what was written by hand.
TEST(FakeKubelet, OverwritesWhatItHasNotSeen) {
  FakeNode node(kStrict);
  node.root.Write(node.RecordPath(kId), OpenRecord({1, 36}));
  node.KubeletPulls(kImage, kId, kBySecret);
  EXPECT_EQ(node.Content(node.RecordPath(kId)).find("nodePodsAccessible"), std::string::npos);
}

// K14.
TEST(FakeKubelet, FileNamesAndModes) {
  namespace fs = std::filesystem;
  FakeNode node;
  node.KubeletPulls("x.io/a", "testimageref", kNode);
  node.kubelet.BeginPull("nginx:1.27");
  fs::path folder = node.root / "image_manager";
  fs::path record = folder / "pulled/sha256-b3c0cc4278800b03a308ceb2611161430df571ca733122f0a40ac8b9792a9064";
  fs::path intent =
      folder / "pulling/sha256-cd4495bb73de9b01bf009710b80ecf4be2d298db47492f4e9e7d0b04981c4614";
  for (const fs::path& file : {record, intent}) {
    EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write) << file;
    EXPECT_EQ(fs::status(file.parent_path()).permissions(), fs::perms::owner_all) << file;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "pulled"), {}), 1);
}

}  // namespace
}  // namespace prefetch::tests::fake_kubelet_files_test
