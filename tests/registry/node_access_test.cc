#include "registry/node_access.h"

#include <gtest/gtest.h>

#include "temp_dir.h"

namespace prefetch::registry::node_access_test {
namespace {

constexpr const char* kFile = "/etc/containerd/config.toml";
constexpr const char* kRegistries = "/etc/containers/registries.conf";
constexpr const char* kHead = "version = 3\n[plugins.\"io.containerd.cri.v1.images\"]\n";

class NodeAccessTest : public testing::Test {
 protected:
  void Write(const std::string& text) { dir_.Write("etc/containerd/config.toml", kHead + text); }

  tests::TempDir dir_;
  RuntimeFacts runtime_{"containerd", "2.1.9", {}};
};

TEST_F(NodeAccessTest, IsDecidedOnceAndAgainWhenTheFileChanges) {
  NodeAccess access({}, {kFile, kRegistries}, dir_.path());
  Write("registry.config_path = \"/a:/b\"\n");
  auto before = access.For(runtime_);
  EXPECT_EQ(before->access.config_path, "/a:/b");
  EXPECT_EQ(before->access.config_path_source, "file");
  EXPECT_TRUE(RootsOf(before->hosts).ignored);
  EXPECT_EQ(access.For(runtime_), before);
  Write("registry.config_path = \"/a:/b\"\nuse_local_image_pull = true\n");
  auto after = access.For(runtime_);
  EXPECT_NE(after, before);
  EXPECT_EQ(RootsOf(after->hosts).folders, (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(NodeAccessTest, IsDecidedAgainForAnotherRuntime) {
  NodeAccess access({}, {kFile, kRegistries}, dir_.path());
  Write("registry.config_path = \"/a\"\n");
  auto before = access.For({});
  EXPECT_TRUE(image::IsOnlyByPull(before->access, "quay.io"));
  auto now = access.For(runtime_);
  EXPECT_FALSE(image::IsOnlyByPull(now->access, "quay.io"));
  EXPECT_EQ(access.For(runtime_), now);
}

TEST_F(NodeAccessTest, TheReleasesDefaultCountsWhereNothingIsWrittenAndPullsAreLocal) {
  NodeAccess access({}, {kFile, kRegistries}, dir_.path());
  Write("use_local_image_pull = true\n");
  auto decided = access.For({"containerd", "2.2.1", {}});
  EXPECT_TRUE(decided->hosts.path_is_default);
  EXPECT_EQ(RootsOf(decided->hosts).folders,
            (std::vector<std::string>{"/etc/containerd/certs.d", "/etc/docker/certs.d"}));
}

TEST_F(NodeAccessTest, WhereContentMayBeDownloadedBesideTheRuntime) {
  NodeAccess access({}, {kFile, kRegistries}, dir_.path());
  const auto may = [&](const RuntimeFacts& runtime) { return MayDownload(*access.For(runtime), "quay.io"); };
  EXPECT_FALSE(may(runtime_)) << "nobody tells its settings";
  Write("");
  EXPECT_TRUE(may(runtime_));
  EXPECT_FALSE(may({"cri-o", "1.36.3", {}}));
  dir_.Write("etc/containers/policy.json", "{}");
  EXPECT_FALSE(may({"cri-o", "1.36.3", {}})) << "its registries can be followed, but it takes no blobs";
  Write("discard_unpacked_layers = true\n");
  EXPECT_FALSE(may(runtime_)) << "the agent's manifest would keep them";
  Write("discard_unpacked_layers = false\n");
  EXPECT_TRUE(may(runtime_));
  Write("registry.mirrors.\"quay.io\".endpoint = [\"https://m\"]\n");
  EXPECT_FALSE(may(runtime_));
}

TEST_F(NodeAccessTest, WithoutAWordOfAnybodyItIsAGuess) {
  NodeAccess access({}, {kFile, kRegistries}, dir_.path());
  EXPECT_TRUE(access.For(runtime_)->is_guess);
  Write("");
  EXPECT_FALSE(access.For(runtime_)->is_guess);
  NodeAccess declared({.config_path = "/a"}, {}, dir_.path());
  EXPECT_FALSE(declared.For(runtime_)->is_guess);
}

TEST_F(NodeAccessTest, ABuildThatSplitsIsDeclared) {
  NodeAccess access({.config_path = "/a:/b", .split_config_path = true}, {}, dir_.path());
  EXPECT_EQ(RootsOf(access.For(runtime_)->hosts).folders, (std::vector<std::string>{"/a", "/b"}));
}

TEST_F(NodeAccessTest, OfCrioIsWhatRegistriesConfSays) {
  NodeAccess access({}, {kFile, kRegistries}, dir_.path());
  const RuntimeFacts crio{"cri-o", "1.36.3", {}};
  EXPECT_TRUE(image::IsOnlyByPull(access.For(crio)->access, "quay.io"));  // nothing is mounted
  dir_.Write("etc/containers/policy.json", "{}");
  auto plain = access.For(crio);
  EXPECT_FALSE(image::IsOnlyByPull(plain->access, "quay.io"));
  ASSERT_TRUE(plain->registries);
  EXPECT_EQ(plain->access.config_path, kRegistries);
  EXPECT_FALSE(plain->hosts.containerd);
  EXPECT_EQ(access.For(crio), plain);
  dir_.Write("etc/containers/registries.conf", "[[registry]]\nlocation = \"quay.io\"\nblocked = true\n");
  auto blocked = access.For(crio);
  EXPECT_NE(blocked, plain);
  EXPECT_EQ(blocked->registries->registries.size(), 1U);
  Write("registry.config_path = \"/a\"\n");
  EXPECT_FALSE(access.For(runtime_)->registries);
}

TEST(ByPullWords, SayWhy) {
  const struct {
    std::string name;
    DeclaredAccess declared;
    RuntimeFacts runtime;
    FileFacts file;
    std::string words;
  } rows[] = {
      {"declared", {.by_pull = true}, {"containerd", "2.1.9", {}}, {}, "It is declared"},
      {"told",
       {},
       {"containerd", "1.7.24", {.known = true, .hosts_in_tables = {"*"}}},
       {},
       "containerd has mirrors"},
      {"file",
       {},
       {"containerd", "2.1.9", {}},
       {{.registries = {.known = true, .hosts_in_tables = {"*"}}, .notes = {}}, {}},
       "containerd has mirrors"},
      {"broken file",
       {},
       {"containerd", "2.1.9", {}},
       {UnknownSettings("x"), {}},
       "containerd's configuration file does not name"},
      {"broken registries.conf",
       {},
       {"cri-o", "1.34.2", {}},
       {{}, {.file = kRegistries, .conf = nullptr, .notes = {}}},
       "CRI-O's registries.conf cannot be followed"},
      {"other runtime", {}, {"cri-o", "1.34.2", {}}, {}, "This runtime's mirrors are not known"},
  };
  for (const auto& row : rows) {
    image::RegistryAccess access = DecideAccess(row.declared, row.runtime, row.file);
    EXPECT_EQ(ByPullReason(access, row.runtime).find(row.words), 0U) << row.name;
  }
}

}  // namespace
}  // namespace prefetch::registry::node_access_test
