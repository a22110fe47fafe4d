#include "registry/node_access.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "temp_dir.h"

namespace prefetch::registry::node_access_test {
namespace {

using image::RegistryAccess;

constexpr const char* kFile = "/etc/containerd/config.toml";
constexpr const char* kRegistries = "/etc/containers/registries.conf";
constexpr const char* kHead = "version = 3\n[plugins.\"io.containerd.cri.v1.images\"]\n";

class NodeAccessTest : public testing::Test {
 protected:
  void Write(const std::string& text) { dir_.Write("etc/containerd/config.toml", kHead + text); }

  tests::TempDir dir_;
  image::RuntimeInfo runtime_{"containerd", "2.1.9", {}};
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
  const auto may = [&](const image::RuntimeInfo& runtime) {
    return MayDownload(*access.For(runtime), "quay.io");
  };
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
  const image::RuntimeInfo crio{"cri-o", "1.36.3", {}};
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
    image::RuntimeInfo runtime;
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

constexpr const char* kDefaultPath = "/etc/containerd/certs.d:/etc/docker/certs.d";

struct AccessRow {
  std::string name;
  DeclaredAccess declared;
  image::RuntimeInfo runtime;
  RegistryAccess expect;
  ContainerdSettings file = {};
  RegistriesSettings crio = {};
};

image::RuntimeInfo Containerd(const std::string& version) {
  return {"containerd", version, {}};
}

image::RuntimeInfo Tells(std::string config_path, std::vector<std::string> in_tables = {}) {
  return {"containerd", "1.7.24", {true, std::move(config_path), std::move(in_tables)}};
}

ContainerdSettings File(std::string config_path, std::vector<std::string> in_tables = {},
                        bool has_mirrors = false, bool local_pull = false) {
  return {{true, std::move(config_path), std::move(in_tables), has_mirrors, local_pull}, {"a note"}};
}

image::RuntimeInfo Crio() {
  return {"cri-o", "1.36.3", {}};
}

RegistriesSettings RegistriesConfIs(std::shared_ptr<const RegistriesConf> conf) {
  return {.file = "/etc/containers/registries.conf", .conf = std::move(conf), .notes = {"a note"}};
}

const ContainerdSettings kNoFile = {{}, {"it is not there"}};
const ContainerdSettings kBrokenFile = UnknownSettings("it is broken");

TEST(AccessTest, IsAsDeclaredElseAsTold) {
  const AccessRow rows[] = {
      {"OldContainerdThatTellsNothing", {}, Containerd("1.6.20~ds1"), {"", "default", {}, "", {}}},
      {"Containerd2", {}, Containerd("v2.1.4"), {"", "default", {}, "", {}}},
      {"NewContainerd", {}, Containerd("2.3.4"), {kDefaultPath, "default", {}, "", {}}},
      {"ToldPath", {}, Tells("/etc/hosts.d"), {"/etc/hosts.d", "runtime", {}, "", {}}},
      {"ToldThatThereIsNone", {}, Tells(""), {"", "runtime", {}, "", {}}},
      {"ToldTables", {}, Tells("", {"docker.io"}), {"", "runtime", {"docker.io"}, "runtime", {}}},
      {"ToldCredentialsBesideAPath", DeclaredAccess{}, Tells("/etc/hosts.d", {"r.io"}),
       RegistryAccess{"/etc/hosts.d", "runtime", {"r.io"}, "runtime", {}}},
      {"DeclaredPath", DeclaredAccess{.config_path = "/etc/certs.d"}, Containerd("2.0.1"),
       RegistryAccess{"/etc/certs.d", "declared", {}, "", {}}},
      {"DeclaredAsTold", DeclaredAccess{.config_path = "/etc/certs.d"}, Tells("/etc/certs.d"),
       RegistryAccess{"/etc/certs.d", "declared", {}, "", {}}},
      {"DeclaredAgainstTold", DeclaredAccess{.config_path = "/etc/certs.d"}, Tells("/etc/hosts.d"),
       RegistryAccess{
           "/etc/certs.d",
           "declared",
           {},
           "",
           {"containerd tells that its config_path is /etc/hosts.d; /etc/certs.d is declared, and counts"}}},
      {"DeclaredPathDoesNotHideTables", DeclaredAccess{.config_path = "/etc/certs.d"}, Tells("", {"*"}),
       RegistryAccess{"/etc/certs.d",
                      "declared",
                      {"*"},
                      "runtime",
                      {"containerd tells that it has no config_path; /etc/certs.d is declared, and counts"}}},
      {"DeclaredByPull", DeclaredAccess{.by_pull = true, .config_path = "/etc/certs.d"},
       Tells("/etc/certs.d"), RegistryAccess{"", "", {"*"}, "declared", {}}},
      {"Crio", {}, {"cri-o", "1.34.2", {}}, {"", "", {"*"}, "runtime", {}}},
      {"CrioWithAPathDeclared", DeclaredAccess{.config_path = "/etc/certs.d"},
       image::RuntimeInfo{"cri-o", "1.34.2", {}}, RegistryAccess{"", "", {"*"}, "runtime", {}}},
      {"NotConnectedYet", {}, {}, {"", "", {"*"}, "", {}}},
      {"Path", {}, Containerd("2.1.9"), {"/etc/hosts.d", "file", {}, "", {"a note"}}, File("/etc/hosts.d")},
      {"LocalPull", DeclaredAccess{}, Containerd("2.1.9"),
       RegistryAccess{"/a:/b", "file", {}, "", {"a note"}, true}, File("/a:/b", {}, false, true)},
      {"NoPathAndNoDefault", {}, Containerd("2.1.9"), {"", "file", {}, "", {"a note"}}, File("")},
      {"TheReleasesDefault", DeclaredAccess{}, Containerd("2.2.1"),
       RegistryAccess{kDefaultPath, "default", {}, "", {"a note"}, true}, File("", {}, false, true)},
      {"MirrorsLeaveNoDefault", DeclaredAccess{}, Containerd("2.2.1"),
       RegistryAccess{"", "file", {"docker.io"}, "file", {"a note"}, true},
       File("", {"docker.io"}, true, true)},
      {"WhatIsToldCounts", DeclaredAccess{}, Tells("/etc/hosts.d"),
       RegistryAccess{"/etc/hosts.d", "runtime", {}, "", {}}, File("/other", {"r.io"}, true, true)},
      {"DeclaredAgainstIt", DeclaredAccess{.config_path = "/etc/certs.d"}, Containerd("2.1.9"),
       RegistryAccess{"/etc/certs.d",
                      "declared",
                      {"r.io"},
                      "file",
                      {"a note",
                       "containerd's configuration file says that its config_path is /etc/hosts.d; "
                       "/etc/certs.d is declared, and counts"},
                      true},
       File("/etc/hosts.d", {"r.io"}, false, true)},
      {"DeclaredAndItHasNone", DeclaredAccess{.config_path = "/etc/certs.d"}, Containerd("2.1.9"),
       RegistryAccess{"/etc/certs.d",
                      "declared",
                      {},
                      "",
                      {"a note",
                       "containerd's configuration file says that it has no config_path; /etc/certs.d is "
                       "declared, and counts"}},
       File("")},
      {"NotThere", {}, Containerd("2.2.1"), {kDefaultPath, "default", {}, "", {"it is not there"}}, kNoFile},
      {"Broken", {}, Containerd("2.2.1"), {"", "", {"*"}, "file", {"it is broken"}}, kBrokenFile},
      {"DeclaredAndBroken", DeclaredAccess{.config_path = "/etc/certs.d"}, Containerd("2.2.1"),
       RegistryAccess{"/etc/certs.d", "declared", {}, "", {"it is broken"}}, kBrokenFile},
      {"BrokenAndTold", {}, Tells("/c"), {"/c", "runtime", {}, "", {}}, kBrokenFile},
      {"OfAnotherRuntime", {}, {"cri-o", "1.34.2", {}}, {"", "", {"*"}, "runtime", {}}, File("/c")},
      {"DeclaredByPull", {.by_pull = true}, Containerd("2.1.9"), {"", "", {"*"}, "declared", {}}, File("/c")},
      {"RegistriesConf", DeclaredAccess{}, Crio(),
       RegistryAccess{"/etc/containers/registries.conf", "registries.conf", {}, "", {"a note"}},
       ContainerdSettings{}, RegistriesConfIs(std::make_shared<const RegistriesConf>())},
      {"RegistriesConfThatCannotBeFollowed", DeclaredAccess{}, Crio(),
       RegistryAccess{"", "", {"*"}, "file", {"a note"}}, ContainerdSettings{}, RegistriesConfIs(nullptr)},
      {"RegistriesConfAndDeclaredByPull", DeclaredAccess{.by_pull = true}, Crio(),
       RegistryAccess{"", "", {"*"}, "declared", {}}, ContainerdSettings{},
       RegistriesConfIs(std::make_shared<const RegistriesConf>())},
      {"RegistriesConfOfAnotherRuntime", DeclaredAccess{}, Containerd("2.1.9"),
       RegistryAccess{"", "default", {}, "", {}}, ContainerdSettings{},
       RegistriesConfIs(std::make_shared<const RegistriesConf>())},
  };
  for (const AccessRow& row : rows) {
    SCOPED_TRACE(row.name);
    FileFacts files{.containerd = row.file, .crio = row.crio};
    EXPECT_EQ(DecideAccess(row.declared, row.runtime, files), row.expect);
  }
}

}  // namespace
}  // namespace prefetch::registry::node_access_test
