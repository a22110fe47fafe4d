#include "registry/containerd_config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/fs.h"
#include "base/text.h"
#include "registry/host_files.h"
#include "registry/node_access.h"

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
  return Assemble(named);
}

image::RuntimeRegistries Says(std::string path, Texts in_tables = {}, bool has_mirrors = false,
                              bool local_pull = false, bool discards_layers = false) {
  return {true, std::move(path), std::move(in_tables), has_mirrors, local_pull, discards_layers};
}

const image::RuntimeRegistries kOnlyTheRuntimeKnows = {.in_tables = {"*"}};

struct WordRow {
  std::string name;
  Texts files;
  image::RuntimeRegistries expect;
  Texts notes = {};  // a part of each
};

class ContainerdConfigTest : public testing::TestWithParam<WordRow> {};

TEST_P(ContainerdConfigTest, IsWhatContainerdMakesOfIt) {
  ContainerdSettings word = Word(GetParam().files);
  EXPECT_EQ(word.registries.known, GetParam().expect.known);
  EXPECT_EQ(word.registries.config_path, GetParam().expect.config_path);
  EXPECT_EQ(word.registries.in_tables, GetParam().expect.in_tables);
  EXPECT_EQ(word.registries, GetParam().expect);
  ASSERT_EQ(word.notes.size(), GetParam().notes.size()) << (word.notes.empty() ? "" : word.notes[0]);
  for (std::size_t i = 0; i < word.notes.size(); i++) {
    EXPECT_NE(word.notes[i].find(GetParam().notes[i]), std::string::npos) << word.notes[i];
  }
}

constexpr const char* kDiscord = "containerd's releases do not agree on what /f0 says";

INSTANTIATE_TEST_SUITE_P(
    Versions, ContainerdConfigTest,
    testing::Values(
        WordRow{"Empty", {""}, Says("")}, WordRow{"NothingOfInterest", {Version(3)}, Says("")},
        WordRow{"Version3", {Version(3) + Path(kImages, "/c")}, Says("/c")},
        WordRow{"Version4", {Version(4) + Path(kImages, "/c")}, Says("/c")},
        WordRow{"Version2", {Version(2) + Path(kOld, "/c")}, Says("/c")},
        WordRow{"Version2WithTheNewTable", {Version(2) + Path(kImages, "/c")}, Says("/c")},
        // The registry that is carried over takes the place of the new table's as a whole.
        WordRow{"Version2WithBoth",
                {Version(2) + Path(kOld, "/old") + Path(kImages, "/new") + Mirrors(kImages, {"a.io"})},
                Says("/old")},
        WordRow{"Version2Mirrors",
                {Version(2) + Mirrors(kOld, {"docker.io", "a.io"})},
                Says("", {"a.io", "docker.io"}, true, true)},
        // 2.1 renames the plugin and then carries nothing over; later releases do.
        WordRow{"NoVersion", {Path("plugins.cri", "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
        WordRow{"Version0", {Version(0) + Path("plugins.cri", "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
        WordRow{"Version1", {Version(1) + Path("plugins.cri", "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
        WordRow{"Version1FullName", {Version(1) + Path(kOld, "/c")}, kOnlyTheRuntimeKnows, {kDiscord}},
        WordRow{"Version1NewTable", {Version(1) + Path(kImages, "/c")}, Says("/c")},
        WordRow{"Version1WithoutRegistries",
                {Version(1) + Table("plugins.cri", "sandbox_image = \"p\"")},
                Says("")},
        WordRow{"Version2KeysInOtherLetters",
                {Version(2) + Table(kOld, "Max_Concurrent_Downloads = 4") + Path(kOld, "/c")},
                Says("/c")},
        WordRow{"Version2TableInOtherLetters",
                {Version(2) + Table(std::string(kOld) + ".Registry", "config_path = \"/c\"")},
                Says("")},
        WordRow{"ShortNameFromVersion2On",
                {Version(2) + Path("plugins.cri", "/c")},
                Says(""),
                {"/f0, line 2: this plugin's table has no effect in a file of version 2"}},
        WordRow{"OldTableInVersion3",
                {Version(3) + Path(kOld, "/old")},
                kOnlyTheRuntimeKnows,
                {"/f0, line 2: this plugin's table has no effect in a file of version 3", kDiscord}},
        WordRow{"OldTableInVersion3SaysTheSame",
                {Version(3) + Path(kOld, "/c") + Path(kImages, "/c")},
                Says("/c"),
                {"has no effect in a file of version 3"}},
        WordRow{"OldTableInVersion3AboutOtherThings",
                {Version(3) + Table(kOld, "stream_server_port = \"0\"") + Path(kImages, "/c")},
                Says("/c")},
        WordRow{"OldTableInVersion4",
                {Version(4) + Path(kOld, "/old") + Path(kImages, "/c")},
                Says("/c"),
                {"has no effect in a file of version 4"}},
        WordRow{"KeysInAnyCase",
                {"VERSION = 3\n[Plugins.\"io.containerd.cri.v1.images\".Registry]\nCONFIG_PATH = \"/c\"\n"},
                Says("/c")}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Imports, ContainerdConfigTest,
    testing::Values(
        WordRow{"LaterFilesOverride",
                {Version(3) + Path(kImages, "/a"), Version(3) + Path(kImages, "/b")},
                Says("/b")},
        // Seen of 2.1.9: within a plugin's table an empty value overrides, too.
        WordRow{
            "EmptyOverrides", {Version(3) + Path(kImages, "/a"), Version(3) + Path(kImages, "")}, Says("")},
        WordRow{"FalseOverrides",
                {Images("use_local_image_pull = true"), Images("use_local_image_pull = false")},
                Says("")},
        WordRow{"WhatIsNotSaidStays",
                {Version(3) + Path(kImages, "/a"), Images("use_local_image_pull = true")},
                Says("/a", {}, false, true)},
        WordRow{"TablesArePutTogether",
                {Version(3) + Mirrors(kImages, {"a.io"}), Version(3) + Mirrors(kImages, {"b.io"})},
                Says("", {"a.io", "b.io"}, true, true)},
        WordRow{"OtherLettersBesideAnotherFile",
                {Version(3) + Path(kImages, "/a"),
                 Version(3) + Table(std::string(kImages) + ".registry", "Config_Path = \"/b\"")},
                kOnlyTheRuntimeKnows,
                {"in different spellings"}},
        WordRow{"BothOfVersion2", {Version(2) + Path(kOld, "/a"), Version(2) + Path(kOld, "/b")}, Says("/b")},
        WordRow{"DropInWithoutAVersion", {Version(3), Path(kImages, "/b")}, Says("/b")},
        WordRow{"OldDropInWithoutAVersion", {Version(2), Path("plugins.cri", "/b")}, Says("/b")},
        WordRow{"OldDropInUnderANewFile",
                {Version(3) + Path(kImages, "/a"), Version(2) + Path(kOld, "/b")},
                Says("/b")},
        WordRow{"NewDropInUnderAnOldFile", {Version(2), Version(3) + Path(kImages, "/b")}, Says("/b")},
        // 2.1 takes the last version for all of them, and carries nothing of the old file over.
        WordRow{"NewDropInHidesTheOldFile",
                {Version(2) + Path(kOld, "/a"), Version(3) + Table(kImages, "snapshotter = \"x\"")},
                kOnlyTheRuntimeKnows,
                {kDiscord}},
        // 2.1 puts them together first, so that the old file wins; later releases let the drop-in win.
        WordRow{"NewTableOfAnOldDropIn",
                {Version(2) + Path(kOld, "/a"), Version(2) + Path(kImages, "/b")},
                kOnlyTheRuntimeKnows,
                {kDiscord}},
        WordRow{"NoVersionUnderANewFile",
                {Version(3), Path("plugins.cri", "/b")},
                kOnlyTheRuntimeKnows,
                {kDiscord}}),
    [](const auto& row) { return row.param.name; });

const auto kLocal = Says("", {}, false, true);
const auto kDiscards = Says("", {}, false, true, true);

INSTANTIATE_TEST_SUITE_P(
    LocalPulls, ContainerdConfigTest,
    testing::Values(
        WordRow{"Asked", {Images("use_local_image_pull = true")}, kLocal},
        WordRow{"SnapshotAnnotations", {Images("disable_snapshot_annotations = false")}, kLocal},
        WordRow{"DiscardedLayers", {Images("discard_unpacked_layers = true")}, kDiscards},
        WordRow{"OtherDownloads", {Images("max_concurrent_downloads = 4")}, kLocal},
        WordRow{"NoDownloads", {Images("max_concurrent_downloads = 0")}, kLocal},
        WordRow{"SyncFs", {Images("image_pull_with_sync_fs = true")}, kLocal},
        WordRow{"AConfigThatSaysNothing",
                {Version(3) + Table(std::string(kImages) + ".registry.configs.\"r.io\"", "")},
                kLocal},
        WordRow{
            "Usual",
            {Images("use_local_image_pull = false\ndisable_snapshot_annotations = true\n"
                    "discard_unpacked_layers = false\nmax_concurrent_downloads = 3\n"
                    "image_pull_with_sync_fs = false\nregistry = {mirrors = {}, configs = {}, auths = {}}")},
            Says("")},
        WordRow{"OldDownloads", {Version(2) + Table(kOld, "max_concurrent_downloads = 4")}, kLocal},
        WordRow{"OldSyncFs", {Version(2) + Table(kOld, "image_pull_with_sync_fs = true")}, kLocal},
        WordRow{"OldDiscardedLayers",
                {Version(2) +
                 Table(std::string(kOld) + ".containerd", "discard_unpacked_layers = true\nruntimes = {}")},
                kDiscards},
        WordRow{"OldSnapshotAnnotations",
                {Version(2) + Table(std::string(kOld) + ".containerd",
                                    "disable_snapshot_annotations = false\nruntimes = {}")},
                kLocal},
        // Seen of 2.1.9: without runtimes beside them these are not carried over.
        WordRow{"OldDiscardedLayersWithoutRuntimes",
                {Version(2) + Table(std::string(kOld) + ".containerd", "discard_unpacked_layers = true")},
                Says("")},
        WordRow{"OldKeyThatIsNotCarriedOver",
                {Version(2) + Table(kOld, "use_local_image_pull = true")},
                Says("")}),
    [](const auto& row) { return row.param.name; });

std::string Registry(const std::string& text) {
  return Version(3) + Table(std::string(kImages) + ".registry", text);
}

INSTANTIATE_TEST_SUITE_P(
    Tables, ContainerdConfigTest,
    testing::Values(
        WordRow{
            "Credentials",
            {Registry("config_path = \"/c\"\nconfigs.\"r.io\".auth = {username = \"u\", password = \"p\"}")},
            Says("/c", {"r.io"}, false, true)},
        WordRow{"Certificates",
                {Registry("configs.\"r.io:5000\".tls.ca_file = \"/ca\"")},
                Says("", {"r.io:5000"}, false, true)},
        WordRow{"OldCredentialsByUrl",
                {Registry("auths.\"https://r.io\" = {auth = \"x\"}")},
                Says("", {"r.io"}, false, true)},
        WordRow{"AnyHost", {Version(3) + Mirrors(kImages, {"*", "a.io"})}, Says("", {"*"}, true, true)},
        WordRow{"Headers", {Registry("headers.X-Team = [\"t\"]")}, Says("", {"*"})},
        WordRow{"ItsOwnUserAgent", {Registry("headers.User-Agent = [\"c\"]")}, Says("")},
        WordRow{"HeaderOfAks",
                {Registry("config_path = \"/c\"\nheaders.X-Meta-Source-Client = [\"azure/aks\"]")},
                Says("/c")},
        WordRow{"StrangeHost",
                {Registry("mirrors.\"r.io/\\n\" = {}\nmirrors.\"ä.io\" = {}")},
                Says("", {"*"}, true, true)},
        WordRow{"CredentialsThatSayNothing",
                {Registry("configs.\"r.io\".auth = {username = \"\", x = 1}")},
                kLocal},
        WordRow{"RelativePath", {Registry("config_path = \"certs.d\"")}, Says("", {"*"})},
        WordRow{"BothMirrorsAndARelativePath",
                {Registry("config_path = \"c\"\nmirrors.\"a.io\" = {}")},
                kOnlyTheRuntimeKnows,
                {"/f0 has both mirrors and a config_path"}},
        WordRow{"BothMirrorsAndAPath",
                {Registry("config_path = \"/c\"\nmirrors.\"a.io\" = {}")},
                kOnlyTheRuntimeKnows,
                {"/f0 has both mirrors and a config_path"}}),
    [](const auto& row) { return row.param.name; });

TEST(ContainerdConfig, ManyHostsAreAnyHost) {
  Texts hosts;
  for (int i = 0; i < 300; i++) hosts.push_back("r" + std::to_string(i) + ".io");
  EXPECT_EQ(Word({Version(3) + Mirrors(kImages, hosts)}).registries.in_tables, Texts{"*"});
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

class BrokenContainerdConfigTest : public testing::TestWithParam<BrokenRow> {};

TEST_P(BrokenContainerdConfigTest, IsSaidWithItsLineAndWithoutItsValues) {
  auto config = ParseContainerdConfig(GetParam().text);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message(), GetParam().message);
  EXPECT_EQ(config.error().message().find("topsecret"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, BrokenContainerdConfigTest,
    testing::Values(
        BrokenRow{"NoToml", "version = 3\n[plugins\npassword = topsecret", "line 2: this is no TOML"},
        BrokenRow{"Unended", "\npassword = \"topsecret", "line 2: this is no TOML"},
        BrokenRow{"Twice", "a = \"topsecret\"\na = \"topsecret\"", "line 2: this is no TOML"},
        BrokenRow{"TooLong", std::string(1024 * 1024 + 1, '#'), "the file is too long"},
        BrokenRow{"TooManyValues", "a = [" + base::ReplaceAll(std::string(60'000, '1'), "1", "1,") + "1]\n",
                  "has more than 50000 values"},
        BrokenRow{"TooDeep", "\n" + Deep(500'000) + " = 1", "line 2: too many dots for one line"},
        BrokenRow{"VersionAsText", "version = \"3\"", "line 1: version is no whole number"},
        BrokenRow{"FutureVersion", "\nversion = 5", "line 2: no version from 0 to 4"},
        BrokenRow{"NegativeVersion", "version = -1", "line 1: no version from 0 to 4"},
        BrokenRow{"ImportsAsText", "imports = \"topsecret\"", "line 1: imports is no list of strings"},
        BrokenRow{"ImportOfANumber", "imports = [\n3]", "line 1: imports is no list of strings"},
        BrokenRow{"PluginsAsText", "plugins = \"topsecret\"", "line 1: plugins is no table"},
        BrokenRow{"PluginAsText", "version = 2\nplugins.\"io.containerd.grpc.v1.cri\" = \"topsecret\"",
                  "line 2: a plugin is no table"},
        BrokenRow{"NewPluginAsText", "version = 3\nplugins.\"io.containerd.cri.v1.images\" = \"topsecret\"",
                  "line 2: a plugin is no table"},
        BrokenRow{"ContainerdAsText", Version(2) + Table(kOld, "containerd = \"topsecret\""),
                  "line 3: containerd is no table"},
        BrokenRow{"RegistryAsText", Images("registry = \"topsecret\""), "line 3: registry is no table"},
        BrokenRow{"PathAsList", Registry("config_path = [\"topsecret\"]"),
                  "line 3: config_path is no string"},
        BrokenRow{"MirrorsAsText", Registry("mirrors = \"topsecret\""), "line 3: mirrors is no table"},
        BrokenRow{"MirrorAsText", Registry("mirrors.\"r.io\" = \"topsecret\""),
                  "line 3: an entry of mirrors is no table"},
        BrokenRow{"ConfigAsText", Registry("configs.\"r.io\" = \"topsecret\""),
                  "line 3: an entry of configs is no table"},
        BrokenRow{"AuthAsText", Registry("auths.\"r.io\" = \"topsecret\""),
                  "line 3: an entry of auths is no table"},
        BrokenRow{"AuthOfNoUrl", Registry("auths.\"http://[::1\" = {}"),
                  "line 3: an entry of auths is no URL"},
        BrokenRow{"TimeoutWithoutUnit", "timeouts = {x = \"5\"}",
                  "line 1: timeouts is no table of durations"},
        BrokenRow{"EmptyTimeout", "timeouts = {x = \"\"}", "line 1: timeouts is no table of durations"},
        BrokenRow{"HeadersAsText", Registry("headers = \"topsecret\""),
                  "line 3: headers is no table of lists of strings"},
        BrokenRow{"DownloadsAsText", Images("max_concurrent_downloads = \"topsecret\""),
                  "line 3: max_concurrent_downloads is no whole number"},
        BrokenRow{"SnapshotFlagAsText", Images("discard_unpacked_layers = \"topsecret\""),
                  "line 3: discard_unpacked_layers is neither true nor false"},
        BrokenRow{"NoUtf8", "# \xe9", "the file is not UTF-8"},
        BrokenRow{"StateAsList", "state = [\"topsecret\"]", "line 1: state is no string"},
        BrokenRow{"TableBelowAText", "[root.x]", "line 1: root is no string"},
        BrokenRow{"AddressAsNumber", "[grpc]\naddress = 1", "line 2: address is no string"},
        BrokenRow{"TimeoutAsNumber", "[timeouts]\nx = 1", "line 1: timeouts is no table of durations"},
        BrokenRow{"ProxyPluginAsText", "proxy_plugins.x = \"y\"",
                  "line 1: an entry of proxy_plugins is no table"},
        BrokenRow{"CapabilitiesOfAProxyPlugin", "proxy_plugins.x.capabilities = 1",
                  "line 1: capabilities is no list of strings"},
        BrokenRow{"ShortPluginName", "version = 2\ndisabled_plugins = [\"cri\"]",
                  "line 2: disabled_plugins holds a short name"},
        BrokenRow{"KeyTwice", "Version = 3\nversion = 3",
                  "line 2: version is there twice, in different spellings"},
        BrokenRow{"PluginTwice", Table("plugins.cri", "") + Table(kOld, ""),
                  "line 1: the plugin is there twice, in different spellings"},
        BrokenRow{"PasswordAsNumber", Registry("configs.\"r.io\".auth.password = 1"),
                  "line 3: password is no string"},
        BrokenRow{"HeaderAsText", Registry("headers.X = \"topsecret\""),
                  "line 3: headers is no table of lists of strings"},
        BrokenRow{"NoDuration", Images("image_pull_progress_timeout = \"soon\""),
                  "line 3: image_pull_progress_timeout is no duration"},
        BrokenRow{"OldSandboxImageAsNumber", Version(2) + Table(kOld, "sandbox_image = 1"),
                  "line 3: sandbox_image is no string"},
        BrokenRow{"OldRuntimeAsText", Version(2) + Table(kOld, "containerd.runtimes.x = \"y\""),
                  "line 3: an entry of runtimes is no table"},
        BrokenRow{"FlagAsText", Images("use_local_image_pull = \"topsecret\""),
                  "line 3: use_local_image_pull is neither true nor false"}),
    [](const auto& row) { return row.param.name; });

// Nodes of platforms, of what they document: which folders count, for which releases.
struct PlatformRow {
  std::string name, file, version;
  image::RuntimeRegistries expect;
  Texts folders = {};
  bool ignored = false;
};

class PlatformTest : public testing::TestWithParam<PlatformRow> {};

TEST_P(PlatformTest, IsAskedWhereItsContainerdAsks) {
  std::string file =
      std::string(std::getenv("PREFETCH_TESTDATA")) + "/registry/containerd/" + GetParam().file;
  auto text = base::ReadFile(file, 1 << 20);
  ASSERT_TRUE(text) << text.error().message();
  ContainerdSettings word = Word({*text});
  EXPECT_EQ(word.registries, GetParam().expect);
  EXPECT_EQ(word.notes, Texts{});
  image::RegistryAccess access = DecideAccess({}, {"containerd", GetParam().version, {}}, {word, {}});
  ConfigRoots roots = RootsOf({.containerd_version = GetParam().version,
                               .config_path = access.config_path,
                               .local_pull = access.local_pull});
  EXPECT_EQ(access.discards_layers, GetParam().expect.discards_layers);
  EXPECT_EQ(roots.folders, GetParam().folders);
  EXPECT_EQ(roots.ignored, GetParam().ignored);
}

constexpr const char* kTwo = "/etc/containerd/certs.d:/etc/docker/certs.d";
constexpr const char* kOfK3s = "/var/lib/rancher/k3s/agent/etc/containerd/certs.d";

INSTANTIATE_TEST_SUITE_P(
    Platforms, PlatformTest,
    testing::Values(PlatformRow{"K3s", "k3s.toml", "2.1.4-k3s1", Says(kOfK3s, {}, false, true), {kOfK3s}},
                    PlatformRow{"K3sOldTemplate", "k3s-old-template.toml", "2.2.1-k3s1",
                                Says("", {"docker.io", "mirror.acme.io"}, true, true)},
                    PlatformRow{"Eks",
                                "eks-al2023.toml",
                                "2.1.5",
                                Says(kTwo, {}, false, true, true),
                                {"/etc/containerd/certs.d", "/etc/docker/certs.d"}},
                    PlatformRow{"Gke",
                                "gke.toml",
                                "2.0.6",
                                Says("/etc/containerd/hosts.d", {}, false, true, true),
                                {"/etc/containerd/hosts.d"}},
                    PlatformRow{"KubeadmOn20",
                                "kubeadm.toml",
                                "2.0.2",
                                Says(kTwo),
                                {"/etc/containerd/certs.d", "/etc/docker/certs.d"}},
                    PlatformRow{"KubeadmOn22", "kubeadm.toml", "2.2.1", Says(kTwo), {}, true}),
    [](const auto& row) { return row.param.name; });

TEST(ContainerdConfig, NothingOfASecretIsKept) {
  std::string file =
      std::string(std::getenv("PREFETCH_TESTDATA")) + "/registry/containerd/k3s-old-template.toml";
  auto text = base::ReadFile(file, 1 << 20);
  ASSERT_TRUE(text);
  ContainerdSettings word = Word({*text, "version = 3\n[plugins.cri]\npassword = \"topsecret\""});
  for (const std::string& note : word.notes) EXPECT_EQ(note.find("topsecret"), std::string::npos) << note;
  for (const std::string& host : word.registries.in_tables)
    EXPECT_EQ(host.find("topsecret"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::registry::containerd_config_test
