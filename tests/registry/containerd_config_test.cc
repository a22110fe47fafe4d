#include "registry/containerd_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/fs.h"
#include "base/text.h"
#include "registry/host_files.h"
#include "registry/node_access.h"
#include "temp_dir.h"

namespace prefetch::registry::containerd_config_test {
namespace {

using Texts = std::vector<std::string>;

constexpr const char* kImages = "plugins.\"io.containerd.cri.v1.images\"";
constexpr const char* kOld = "plugins.\"io.containerd.grpc.v1.cri\"";

std::string Version(int version) {
  return "version = " + std::to_string(version) + "\n";
}

std::string Table(const std::string& name, const std::string& text) {
  return "[" + name + "]\n" + text + "\n";
}

std::string Images(const std::string& text) {
  return Version(3) + Table(kImages, text);
}

// "registry.mirrors" of that plugin with these hosts.
std::string Mirrors(const std::string& plugin, const Texts& hosts) {
  std::string text;
  for (const std::string& host : hosts) {
    text += Table(plugin + ".registry.mirrors.\"" + host + "\"", "endpoint = [\"https://m.io\"]");
  }
  return text;
}

std::string Path(const std::string& plugin, const std::string& path) {
  return Table(plugin + ".registry", "config_path = \"" + path + "\"");
}

// Several files: "/f0" is containerd's own, "/f1" … its imports.
ContainerdSettings Word(const Texts& files) {
  std::vector<NamedConfig> named;
  for (const std::string& text : files) {
    auto config = ParseContainerdConfig(text);
    EXPECT_TRUE(config) << config.error().message() << "\n" << text;
    if (config) named.push_back({"/f" + std::to_string(named.size()), *std::move(config)});
  }
  return MergeContainerdConfigs(named);
}

image::RuntimeRegistries Says(std::string path, Texts in_tables = {}, bool has_mirrors = false,
                              bool local_pull = false, bool discards_layers = false) {
  return {true, std::move(path), std::move(in_tables), has_mirrors, local_pull, discards_layers};
}

const image::RuntimeRegistries kOnlyTheRuntimeKnows = {.hosts_in_tables = {"*"}};

struct WordRow {
  std::string name;
  Texts files;
  image::RuntimeRegistries expect;
  Texts notes = {};  // a part of each
};

constexpr const char* kDiscord = "containerd's releases do not agree on what /f0 says";

std::string Registry(const std::string& text) {
  return Version(3) + Table(std::string(kImages) + ".registry", text);
}

// Where releases of containerd differ, or nearly so, and what is noted. The judge of the family
// "containerd-2.1" (tests/judges) has the rest.
TEST(ContainerdConfigTest, IsWhatContainerdMakesOfIt) {
  const WordRow rows[] = {
      {"Version4", {Version(4) + Path(kImages, "/c")}, Says("/c")},
      // The registry that is carried over takes the place of the new table's as a whole.
      {"Version2WithBoth",
       Texts{Version(2) + Path(kOld, "/old") + Path(kImages, "/new") + Mirrors(kImages, {"a.io"})},
       Says("/old")},
      // 2.1 renames the plugin and then carries nothing over; later releases do.
      {"NoVersion", {Path("plugins.cri", "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
      {"Version0", {Version(0) + Path("plugins.cri", "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
      {"Version1", {Version(1) + Path("plugins.cri", "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
      {"Version1FullName", {Version(1) + Path(kOld, "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
      {"Version1NewTable", {Version(1) + Path(kImages, "/c")}, Says("/c")},
      {"Version1WithoutRegistries", {Version(1) + Table("plugins.cri", "sandbox_image = \"p\"")}, Says("")},
      {"ShortNameFromVersion2On", Texts{Version(2) + Path("plugins.cri", "/c")}, Says(""),
       Texts{"/f0, line 2: this plugin's table has no effect in a file of version 2"}},
      {"OldTableInVersion3", Texts{Version(3) + Path(kOld, "/old")}, kOnlyTheRuntimeKnows,
       Texts{"/f0, line 2: this plugin's table has no effect in a file of version 3", kDiscord}},
      {"OldTableInVersion3SaysTheSame", Texts{Version(3) + Path(kOld, "/c") + Path(kImages, "/c")},
       Says("/c"), Texts{"has no effect in a file of version 3"}},
      {"OldTableInVersion3AboutOtherThings",
       Texts{Version(3) + Table(kOld, "stream_server_port = \"0\"") + Path(kImages, "/c")}, Says("/c")},
      {"OldTableInVersion4", Texts{Version(4) + Path(kOld, "/old") + Path(kImages, "/c")}, Says("/c"),
       Texts{"has no effect in a file of version 4"}},
      {"OtherLettersBesideAnotherFile",
       Texts{Version(3) + Path(kImages, "/a"),
             Version(3) + Table(std::string(kImages) + ".registry", "Config_Path = \"/b\"")},
       kOnlyTheRuntimeKnows, Texts{"in different spellings"}},
      {"DropInWithoutAVersion", {Version(3), Path(kImages, "/b")}, Says("/b")},
      {"OldDropInWithoutAVersion", {Version(2), Path("plugins.cri", "/b")}, Says("/b")},
      {"OldDropInUnderANewFile", Texts{Version(3) + Path(kImages, "/a"), Version(2) + Path(kOld, "/b")},
       Says("/b")},
      {"NewDropInUnderAnOldFile", {Version(2), Version(3) + Path(kImages, "/b")}, Says("/b")},
      // 2.1 takes the last version for all of them, and carries nothing of the old file over.
      {"NewDropInHidesTheOldFile",
       Texts{Version(2) + Path(kOld, "/a"), Version(3) + Table(kImages, "snapshotter = \"x\"")},
       kOnlyTheRuntimeKnows, Texts{kDiscord}},
      // 2.1 puts them together first, so that the old file wins; later releases let the drop-in win.
      {"NewTableOfAnOldDropIn", Texts{Version(2) + Path(kOld, "/a"), Version(2) + Path(kImages, "/b")},
       kOnlyTheRuntimeKnows, Texts{kDiscord}},
      {"NoVersionUnderANewFile", {Version(3), Path("plugins.cri", "/b")}, kOnlyTheRuntimeKnows, {kDiscord}},
      {"BothMirrorsAndARelativePath", Texts{Registry("config_path = \"c\"\nmirrors.\"a.io\" = {}")},
       kOnlyTheRuntimeKnows, Texts{"/f0 has both mirrors and a config_path"}},
      {"BothMirrorsAndAPath", Texts{Registry("config_path = \"/c\"\nmirrors.\"a.io\" = {}")},
       kOnlyTheRuntimeKnows, Texts{"/f0 has both mirrors and a config_path"}},
  };
  for (const WordRow& row : rows) {
    SCOPED_TRACE(row.name);
    ContainerdSettings word = Word(row.files);
    EXPECT_EQ(word.registries.known, row.expect.known);
    EXPECT_EQ(word.registries.config_path, row.expect.config_path);
    EXPECT_EQ(word.registries.hosts_in_tables, row.expect.hosts_in_tables);
    EXPECT_EQ(word.registries, row.expect);
    ASSERT_EQ(word.notes.size(), row.notes.size()) << (word.notes.empty() ? "" : word.notes[0]);
    for (std::size_t i = 0; i < word.notes.size(); i++) {
      EXPECT_NE(word.notes[i].find(row.notes[i]), std::string::npos) << word.notes[i];
    }
  }
}

TEST(ContainerdConfig, ManyHostsAreAnyHost) {
  Texts hosts;
  for (int i = 0; i < 300; i++) hosts.push_back("r" + std::to_string(i) + ".io");
  EXPECT_EQ(Word({Version(3) + Mirrors(kImages, hosts)}).registries.hosts_in_tables, Texts{"*"});
}

// A table within a table for each part.
std::string Deep(int parts) {
  std::string key = "a";
  for (int i = 1; i < parts; i++) key += ".a";
  return key;
}

struct BrokenRow {
  std::string name, text, message;
};

TEST(BrokenContainerdConfigTest, IsSaidWithItsLineAndWithoutItsValues) {
  const BrokenRow rows[] = {
      {"NoToml", "version = 3\n[plugins\npassword = topsecret", "line 2: this is no TOML"},
      {"Unended", "\npassword = \"topsecret", "line 2: this is no TOML"},
      {"Twice", "a = \"topsecret\"\na = \"topsecret\"", "line 2: this is no TOML"},
      {"TooLong", std::string(1024 * 1024 + 1, '#'), "the file is too long"},
      {"TooManyValues", "a = [" + base::ReplaceAll(std::string(60'000, '1'), "1", "1,") + "1]\n",
       "has more than 50000 values"},
      {"TooDeep", "\n" + Deep(500'000) + " = 1", "line 2: too many dots for one line"},
      {"VersionAsText", "version = \"3\"", "line 1: version is no whole number"},
      {"FutureVersion", "\nversion = 5", "line 2: no version from 0 to 4"},
      {"NegativeVersion", "version = -1", "line 1: no version from 0 to 4"},
      {"ImportsAsText", "imports = \"topsecret\"", "line 1: imports is no list of strings"},
      {"ImportOfANumber", "imports = [\n3]", "line 1: imports is no list of strings"},
      {"PluginsAsText", "plugins = \"topsecret\"", "line 1: plugins is no table"},
      {"PluginAsText", "version = 2\nplugins.\"io.containerd.grpc.v1.cri\" = \"topsecret\"",
       "line 2: a plugin is no table"},
      {"NewPluginAsText", "version = 3\nplugins.\"io.containerd.cri.v1.images\" = \"topsecret\"",
       "line 2: a plugin is no table"},
      {"ContainerdAsText", Version(2) + Table(kOld, "containerd = \"topsecret\""),
       "line 3: containerd is no table"},
      {"RegistryAsText", Images("registry = \"topsecret\""), "line 3: registry is no table"},
      {"PathAsList", Registry("config_path = [\"topsecret\"]"), "line 3: config_path is no string"},
      {"MirrorsAsText", Registry("mirrors = \"topsecret\""), "line 3: mirrors is no table"},
      {"MirrorAsText", Registry("mirrors.\"r.io\" = \"topsecret\""),
       "line 3: an entry of mirrors is no table"},
      {"ConfigAsText", Registry("configs.\"r.io\" = \"topsecret\""),
       "line 3: an entry of configs is no table"},
      {"AuthAsText", Registry("auths.\"r.io\" = \"topsecret\""), "line 3: an entry of auths is no table"},
      {"AuthOfNoUrl", Registry("auths.\"http://[::1\" = {}"), "line 3: an entry of auths is no URL"},
      {"TimeoutWithoutUnit", "timeouts = {x = \"5\"}", "line 1: timeouts is no table of durations"},
      {"EmptyTimeout", "timeouts = {x = \"\"}", "line 1: timeouts is no table of durations"},
      {"HeadersAsText", Registry("headers = \"topsecret\""),
       "line 3: headers is no table of lists of strings"},
      {"DownloadsAsText", Images("max_concurrent_downloads = \"topsecret\""),
       "line 3: max_concurrent_downloads is no whole number"},
      {"SnapshotFlagAsText", Images("discard_unpacked_layers = \"topsecret\""),
       "line 3: discard_unpacked_layers is neither true nor false"},
      {"NoUtf8", "# \xe9", "the file is not UTF-8"},
      {"StateAsList", "state = [\"topsecret\"]", "line 1: state is no string"},
      {"TableBelowAText", "[root.x]", "line 1: root is no string"},
      {"AddressAsNumber", "[grpc]\naddress = 1", "line 2: address is no string"},
      {"TimeoutAsNumber", "[timeouts]\nx = 1", "line 1: timeouts is no table of durations"},
      {"ProxyPluginAsText", "proxy_plugins.x = \"y\"", "line 1: an entry of proxy_plugins is no table"},
      {"CapabilitiesOfAProxyPlugin", "proxy_plugins.x.capabilities = 1",
       "line 1: capabilities is no list of strings"},
      {"ShortPluginName", "version = 2\ndisabled_plugins = [\"cri\"]",
       "line 2: disabled_plugins holds a short name"},
      {"KeyTwice", "Version = 3\nversion = 3", "line 2: version is there twice, in different spellings"},
      {"PluginTwice", Table("plugins.cri", "") + Table(kOld, ""),
       "line 1: the plugin is there twice, in different spellings"},
      {"PasswordAsNumber", Registry("configs.\"r.io\".auth.password = 1"), "line 3: password is no string"},
      {"HeaderAsText", Registry("headers.X = \"topsecret\""),
       "line 3: headers is no table of lists of strings"},
      {"NoDuration", Images("image_pull_progress_timeout = \"soon\""),
       "line 3: image_pull_progress_timeout is no duration"},
      {"OldSandboxImageAsNumber", Version(2) + Table(kOld, "sandbox_image = 1"),
       "line 3: sandbox_image is no string"},
      {"OldRuntimeAsText", Version(2) + Table(kOld, "containerd.runtimes.x = \"y\""),
       "line 3: an entry of runtimes is no table"},
      {"FlagAsText", Images("use_local_image_pull = \"topsecret\""),
       "line 3: use_local_image_pull is neither true nor false"},
  };
  for (const BrokenRow& row : rows) {
    SCOPED_TRACE(row.name);
    auto config = ParseContainerdConfig(row.text);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().message(), row.message);
    EXPECT_EQ(config.error().message().find("topsecret"), std::string::npos);
  }
}

// Nodes of platforms, of what they document: which folders count, for which releases.
struct PlatformRow {
  std::string name, file, version;
  image::RuntimeRegistries expect;
  Texts folders = {};
  bool ignored = false;
};

constexpr const char* kTwo = "/etc/containerd/certs.d:/etc/docker/certs.d";
constexpr const char* kOfK3s = "/var/lib/rancher/k3s/agent/etc/containerd/certs.d";

TEST(PlatformTest, IsAskedWhereItsContainerdAsks) {
  const PlatformRow rows[] = {
      {"K3s", "k3s.toml", "2.1.4-k3s1", Says(kOfK3s, {}, false, true), {kOfK3s}},
      {"K3sOldTemplate", "k3s-old-template.toml", "2.2.1-k3s1",
       Says("", {"docker.io", "mirror.acme.io"}, true, true)},
      {"Eks", "eks-al2023.toml", "2.1.5", Says(kTwo, {}, false, true, true),
       Texts{"/etc/containerd/certs.d", "/etc/docker/certs.d"}},
      {"Gke", "gke.toml", "2.0.6", Says("/etc/containerd/hosts.d", {}, false, true, true),
       Texts{"/etc/containerd/hosts.d"}},
      {"KubeadmOn20", "kubeadm.toml", "2.0.2", Says(kTwo),
       Texts{"/etc/containerd/certs.d", "/etc/docker/certs.d"}},
      {"KubeadmOn22", "kubeadm.toml", "2.2.1", Says(kTwo), {}, true},
  };
  for (const PlatformRow& row : rows) {
    SCOPED_TRACE(row.name);
    std::string file = std::string(std::getenv("PREFETCH_TESTDATA")) + "/registry/containerd/" + row.file;
    auto text = base::ReadFile(file, 1 << 20);
    ASSERT_TRUE(text) << text.error().message();
    ContainerdSettings word = Word({*text});
    EXPECT_EQ(word.registries, row.expect);
    EXPECT_EQ(word.notes, Texts{});
    image::RegistryAccess access = DecideAccess({}, {"containerd", row.version, {}}, {word, {}});
    ConfigRoots roots = RootsOf({.containerd_version = row.version,
                                 .config_path = access.config_path,
                                 .local_pull = access.local_pull});
    EXPECT_EQ(access.discards_layers, row.expect.discards_layers);
    EXPECT_EQ(roots.folders, row.folders);
    EXPECT_EQ(roots.ignored, row.ignored);
  }
}

constexpr const char* kFile = "/etc/containerd/config.toml";

std::string ContainerdFilesPath(const std::string& path) {
  return "version = 3\n[plugins.\"io.containerd.cri.v1.images\".registry]\nconfig_path = \"" + path + "\"\n";
}

std::string Imports(const std::string& list, const std::string& rest) {
  return "imports = " + list + "\n" + rest;
}

class ContainerdFilesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) { dir_.Write(path.substr(1), text); }
  std::shared_ptr<const ContainerdSettings> Current() {
    return word_ = files_.Get(
               [this](base::StampedFiles& disk) { return LoadContainerdConfig(kFile, dir_.path(), disk); });
  }
  std::string ConfigPath() { return Current()->registries.config_path; }
  std::string OnlyNote() {
    Current();
    EXPECT_EQ(word_->notes.size(), 1U);
    return word_->notes.empty() ? "" : word_->notes[0];
  }

  tests::TempDir dir_;
  base::CachedFromFiles<ContainerdSettings> files_;
  std::shared_ptr<const ContainerdSettings> word_;
};

TEST_F(ContainerdFilesTest, NoFileMeansDefaults) {
  EXPECT_EQ(OnlyNote(),
            "/etc/containerd/config.toml is not there: containerd is taken to run with its defaults; if it "
            "has its configuration elsewhere, set --registry-containerd-config");
  EXPECT_EQ(word_->registries, image::RuntimeRegistries{});
}

TEST_F(ContainerdFilesTest, IsReadAgainOnlyWhenSomethingHasChanged) {
  Write(kFile, ContainerdFilesPath("/a"));
  auto before = Current();
  EXPECT_EQ(before->registries.config_path, "/a");
  EXPECT_EQ(before->notes, Texts{});
  EXPECT_EQ(Current(), before);
  // A file that means the same as before is no news, either.
  Write(kFile, "# touched\n" + ContainerdFilesPath("/a"));
  EXPECT_EQ(Current(), before);
  Write(kFile, ContainerdFilesPath("/other"));
  EXPECT_EQ(ConfigPath(), "/other");
  std::filesystem::remove(dir_ / kFile);
  EXPECT_FALSE(Current()->registries.known);
  Write(kFile, ContainerdFilesPath("/a"));
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, ImportsComeAfterTheFileInTheirOrderAndThenTheirs) {
  Write(kFile, Imports(R"(["a.toml", "/etc/b.toml"])", ContainerdFilesPath("/root")));
  Write("/etc/containerd/a.toml", Imports(R"(["sub/../c.toml"])", ContainerdFilesPath("/a")));
  Write("/etc/b.toml", ContainerdFilesPath("/b"));
  Write("/etc/containerd/c.toml", ContainerdFilesPath("/c"));
  EXPECT_EQ(ConfigPath(), "/c");
  Write("/etc/containerd/c.toml", "version = 3\n");
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/b.toml", "version = 3\n");
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, ACircleEnds) {
  Write(kFile, Imports(R"(["a.toml", "./config.toml"])", ContainerdFilesPath("/root")));
  Write("/etc/containerd/a.toml", Imports(R"(["config.toml", "a.toml"])", ContainerdFilesPath("/a")));
  EXPECT_EQ(ConfigPath(), "/a");
  EXPECT_EQ(word_->notes, Texts{});
}

TEST_F(ContainerdFilesTest, PatternsAreMatchedInOrder) {
  Write(kFile, Imports(R"(["conf.d/*.toml"])", ContainerdFilesPath("/root")));
  std::filesystem::create_directories(dir_ / "etc/containerd/conf.d");
  EXPECT_EQ(ConfigPath(), "/root");
  EXPECT_EQ(word_->notes, Texts{});
  Write("/etc/containerd/conf.d/b.toml", ContainerdFilesPath("/b"));  // a new file in the folder is seen
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/containerd/conf.d/a.toml", ContainerdFilesPath("/a"));
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/containerd/conf.d/c.toml.off", ContainerdFilesPath("/c"));
  EXPECT_EQ(ConfigPath(), "/b");
  Write("/etc/containerd/conf.d/.d.toml", "version = 3\n");
  Write("/etc/containerd/conf.d/b.toml", ContainerdFilesPath("/changed"));
  EXPECT_EQ(ConfigPath(), "/changed");
  std::filesystem::remove(dir_ / "etc/containerd/conf.d/b.toml");
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, FoldersMayBePatternsToo) {
  Write(kFile, Imports(R"(["/etc/*/conf.d/*.toml*"])", ContainerdFilesPath("/root")));
  Write("/etc/one/conf.d/1.toml", ContainerdFilesPath("/one"));
  Write("/etc/two/conf.d/1.toml", ContainerdFilesPath("/two"));
  EXPECT_EQ(ConfigPath(), "/two");
}

TEST_F(ContainerdFilesTest, OtherSignsOfPatternsAreLeftToTheRuntime) {
  Write("/etc/containerd/a.toml", ContainerdFilesPath("/a"));
  for (const char* name : {"[!b]*.toml", "[*.toml", "?*.toml", "\\\\*.toml"}) {
    Write(kFile, Imports("[\"" + std::string(name) + "\"]", ContainerdFilesPath("/root")));
    EXPECT_EQ(Current()->registries, kOnlyTheRuntimeKnows) << name;
  }
}

// Without a "*" it is a name, as containerd takes it.
TEST_F(ContainerdFilesTest, AQuestionMarkAloneIsNoPattern) {
  Write(kFile, Imports(R"(["d?.toml"])", ContainerdFilesPath("/root")));
  Write("/etc/containerd/d1.toml", ContainerdFilesPath("/d"));
  EXPECT_EQ(Current()->registries, kOnlyTheRuntimeKnows);
}

TEST_F(ContainerdFilesTest, AnImportThatIsNotToBeSeenIsSaid) {
  Write(kFile, Imports(R"(["/opt/more.toml"])", ContainerdFilesPath("/root")));
  EXPECT_EQ(OnlyNote(),
            "/opt/more.toml, which /etc/containerd/config.toml imports, is not visible to the agent: mount "
            "it at the same path. Until then the agent checks by pulling");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
  Write("/opt/more.toml", ContainerdFilesPath("/more"));
  EXPECT_EQ(ConfigPath(), "/more");
}

TEST_F(ContainerdFilesTest, AFolderOfImportsThatIsNotToBeSeenIsSaid) {
  Write(kFile, Imports(R"(["/opt/*.toml"])", ContainerdFilesPath("/root")));
  EXPECT_EQ(OnlyNote(),
            "/opt, from which /etc/containerd/config.toml imports, is not visible to the agent: if the node "
            "has it, mount it at the same path");
  EXPECT_EQ(word_->registries.config_path, "/root");
  Write("/opt/a.toml", ContainerdFilesPath("/a"));
  EXPECT_EQ(ConfigPath(), "/a");
  EXPECT_EQ(word_->notes, Texts{});
}

TEST_F(ContainerdFilesTest, ABrokenFileIsSaidAndOnlyTheRuntimeKnows) {
  Write(kFile, Imports(R"(["a.toml"])", ContainerdFilesPath("/root")));
  Write("/etc/containerd/a.toml", "version = 3\n[plugins\npassword = \"topsecret\"\n");
  EXPECT_EQ(OnlyNote(),
            "/etc/containerd/a.toml cannot be used: line 2: this is no TOML. Until you correct it, the agent "
            "checks by pulling");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
  Write("/etc/containerd/a.toml", ContainerdFilesPath("/a"));
  EXPECT_EQ(ConfigPath(), "/a");
}

TEST_F(ContainerdFilesTest, WhatIsNoFileIsSaid) {
  std::filesystem::create_directories(dir_ / kFile);
  EXPECT_EQ(OnlyNote(), "/etc/containerd/config.toml cannot be read: " + dir_.path() + kFile +
                            " is not a regular file. Until then the agent checks by pulling");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
}

TEST_F(ContainerdFilesTest, BoundsAreKept) {
  Write(kFile, Imports(R"(["conf.d/*.toml"])", ContainerdFilesPath("/root")));
  for (int i = 100; i < 163; i++) {
    Write("/etc/containerd/conf.d/" + std::to_string(i) + ".toml",
          ContainerdFilesPath("/" + std::to_string(i)));
  }
  EXPECT_EQ(ConfigPath(), "/162");
  Write("/etc/containerd/conf.d/163.toml", ContainerdFilesPath("/163"));
  EXPECT_EQ(OnlyNote(), "/etc/containerd/config.toml imports too many files");
  EXPECT_EQ(word_->registries, kOnlyTheRuntimeKnows);
  std::filesystem::remove_all(dir_ / "etc/containerd/conf.d");
  std::filesystem::create_directories(dir_ / "etc/containerd/conf.d");
  Write("/etc/containerd/conf.d/a.toml", std::string(1024 * 1024 + 1, '#'));
  EXPECT_NE(OnlyNote().find("/etc/containerd/conf.d/a.toml cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::registry::containerd_config_test
