#include "registry/host_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "late_change.h"
#include "temp_dir.h"

namespace prefetch::registry::host_files_test {
namespace {

using Texts = std::vector<std::string>;

class HostFilesTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir_ / path).parent_path());
    std::ofstream(dir_ / path) << text;
  }
  void Make(RuntimeConfig runtime) {
    files_.emplace(HostFilesOptions{.runtime = std::move(runtime),
                                    .host_root = dir_.path(),
                                    .system_ca_files = {dir_ / "absent.pem", dir_ / "system.pem"}});
  }
  std::shared_ptr<const HostChain> Chain(const std::string& registry) {
    if (!files_) Make({.containerd_version = "1.7.32", .config_path = "/one:/two"});
    return files_->ChainFor(registry);
  }
  Texts Origins(const std::string& registry) {
    Texts origins;
    for (const ChainedHost& host : Chain(registry)->hosts) origins.push_back(host.host.server.Origin());
    return origins;
  }

  tests::TempDir dir_;
  std::optional<HostFiles> files_;
};

std::string Mirror(const std::string& url) {
  return "[host.\"" + url + "\"]\n";
}

TEST_F(HostFilesTest, NothingThereMeansTheRegistryItself) {
  EXPECT_EQ(Origins("docker.io"), Texts{"https://registry-1.docker.io"});
  EXPECT_TRUE(Chain("docker.io")->hosts[0].own);
  EXPECT_EQ(Chain("docker.io")->source, "");
}

TEST_F(HostFilesTest, ANamedFolderThatIsNotToBeSeenIsSaid) {
  std::filesystem::create_directories(dir_ / "two");
  RuntimeConfig named{.containerd_version = "1.7.32", .config_path = "/one:/two"};
  Texts notes = NotesOnFolders(named, dir_.path());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].find("/one, where containerd finds its mirrors, is not visible to the agent: "), 0U);
  EXPECT_EQ(Chain("docker.io")->notes, notes);
  EXPECT_TRUE(Chain("docker.io")->is_guess);
  std::filesystem::create_directories(dir_ / "one");
  EXPECT_EQ(Chain("docker.io")->notes, Texts{});
  EXPECT_FALSE(Chain("docker.io")->is_guess);
  EXPECT_EQ(NotesOnFolders(named, dir_.path()), Texts{});
}

TEST_F(HostFilesTest, TheReleasesOwnFolderMayBeAbsent) {
  RuntimeConfig usual{.containerd_version = "2.3.0", .config_path = "/absent", .path_is_default = true};
  EXPECT_EQ(NotesOnFolders(usual, dir_.path()), Texts{});
  EXPECT_EQ(NotesOnFolders({.containerd_version = "2.3.0"}, dir_.path()), Texts{});
  Make(usual);
  EXPECT_EQ(Chain("docker.io")->notes, Texts{});
}

TEST_F(HostFilesTest, TheReleasesOwnFoldersAreIgnoredWhichMattersWhereSomethingIsInOneOfThem) {
  RuntimeConfig usual{.containerd_version = "2.3.0", .config_path = "/one:/two", .path_is_default = true};
  std::filesystem::create_directories(dir_ / "two");
  EXPECT_EQ(NotesOnFolders(usual, dir_.path()), Texts{});
  Write("two/quay.io/hosts.toml", Mirror("https://a"));
  Texts notes = NotesOnFolders(usual, dir_.path());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("RegistryConfigPathIgnored"), std::string::npos);
  usual.local_pull = true;
  EXPECT_EQ(NotesOnFolders(usual, dir_.path()), Texts{});
}

TEST_F(HostFilesTest, TheFirstFolderThatIsThereCounts) {
  Write("two/reg:5000/hosts.toml", Mirror("https://exact-in-two"));
  EXPECT_EQ(Origins("reg:5000"), (Texts{"https://exact-in-two", "https://reg:5000"}));
  EXPECT_EQ(Chain("reg:5000")->source, "/two/reg:5000");
  // A default in an earlier root beats an exact match in a later one; within a root it comes last.
  Write("one/_default/hosts.toml", Mirror("https://default-in-one"));
  EXPECT_EQ(Origins("reg:5000"), (Texts{"https://default-in-one", "https://reg:5000"}));
  Write("one/reg:5000/hosts.toml", Mirror("https://colon"));
  EXPECT_EQ(Origins("reg:5000"), (Texts{"https://colon", "https://reg:5000"}));
  Write("one/reg_5000_/hosts.toml", Mirror("https://underscore"));
  EXPECT_EQ(Origins("reg:5000"), (Texts{"https://underscore", "https://reg:5000"}));
  EXPECT_EQ(Origins("quay.io"), (Texts{"https://default-in-one", "https://quay.io"}));
  EXPECT_FALSE(Chain("quay.io")->hosts[0].own);
  EXPECT_TRUE(Chain("quay.io")->hosts[1].own);
}

TEST_F(HostFilesTest, AChangedFileIsReadAgain) {
  Write("one/quay.io/hosts.toml", Mirror("https://a"));
  auto before = Chain("quay.io");
  EXPECT_EQ(Chain("quay.io"), before);  // the same object: nothing was read
  Write("one/quay.io/hosts.toml", Mirror("https://b-longer"));
  EXPECT_EQ(Origins("quay.io"), (Texts{"https://b-longer", "https://quay.io"}));
  std::filesystem::remove(dir_ / "one/quay.io/hosts.toml");
  EXPECT_EQ(Origins("quay.io"), (Texts{"https://quay.io"}));
}

TEST_F(HostFilesTest, AChangeDuringTheReadingIsSeenTheNextTime) {
  late_change::AddCertificates(dir_, "one/quay.io");
  std::string ca = "ca = [\"z0.crt\"";
  for (int i = 1; i < 30; i++) ca += ", \"z" + std::to_string(i) + ".crt\"";
  const Texts last{"https://b-longer", "https://quay.io"};
  EXPECT_EQ(late_change::Missed(dir_, "one/quay.io/hosts.toml", Mirror("https://a") + ca + "]\n",
                                Mirror("https://b-longer") + ca + "]\n",
                                [&] { return Origins("quay.io") == last; }),
            0);
}

TEST_F(HostFilesTest, NewAuthoritiesOfTheSystemAreReadAgain) {
  Write("one/quay.io/ca.crt", "CA");
  EXPECT_EQ(Chain("quay.io")->hosts[0].tls->ca_pem, "CA\n");
  Write("system.pem", "SYSTEM");
  EXPECT_EQ(Chain("quay.io")->hosts[0].tls->ca_pem, "CA\nSYSTEM\n");
}

TEST_F(HostFilesTest, ABrokenFileMeansCertificatesAndTheRegistryItself) {
  Write("one/quay.io/hosts.toml", "[host.\"https://m\"]\ncapabilities = [\"fly\"]\n");
  Write("one/quay.io/a.crt", "CA-A");
  Write("one/quay.io/b.crt", "CA-B");
  Write("one/quay.io/me.cert", "CERT");
  Write("one/quay.io/me.key", "KEY");
  Write("system.pem", "SYSTEM");
  auto chain = Chain("quay.io");
  ASSERT_EQ(chain->hosts.size(), 1U);
  ASSERT_EQ(chain->notes.size(), 1U);
  EXPECT_EQ(chain->notes[0],
            "/one/quay.io/hosts.toml is ignored, as the runtime does: line 2: an unknown capability");
  ASSERT_TRUE(chain->hosts[0].tls);
  EXPECT_EQ(chain->hosts[0].tls->ca_pem, "CA-A\nCA-B\nSYSTEM\n");
  EXPECT_EQ(chain->hosts[0].tls->certificate_pem, "CERT");
  EXPECT_EQ(chain->hosts[0].tls->key_pem.Reveal(), "KEY");
  EXPECT_TRUE(chain->hosts[0].tls->verify);
  ASSERT_TRUE(chain->hosts[0].redirect_tls);
  EXPECT_EQ(chain->hosts[0].redirect_tls->ca_pem, "CA-A\nCA-B\nSYSTEM\n");
  EXPECT_EQ(chain->hosts[0].redirect_tls->certificate_pem, "");
}

// Which of several a server wants is found out in the handshake, by Go and not by us.
TEST_F(HostFilesTest, OfSeveralClientCertificatesTheFirstIsShownAndThatIsSaid) {
  Write("one/quay.io/a.cert", "CERT-A");
  Write("one/quay.io/a.key", "KEY-A");
  EXPECT_TRUE(Chain("quay.io")->notes.empty());
  Write("one/quay.io/b.cert", "CERT-B");
  Write("one/quay.io/hosts.toml",
        "server = \"https://quay.io\"\nclient = [[\"a.cert\", \"a.key\"], [\"b.cert\", \"\"]]\n");
  auto chain = Chain("quay.io");
  EXPECT_EQ(chain->hosts.at(0).tls->certificate_pem, "CERT-A");
  EXPECT_EQ(chain->notes,
            Texts{"quay.io is shown the first of 2 client certificates, /one/quay.io/a.cert; the runtime "
                  "shows the one that the server asks for"});
}

TEST_F(HostFilesTest, KeyInTheCertificatesFileAndSkipVerify) {
  Write("one/quay.io/hosts.toml", "[host.\"https://m\"]\nclient = \"both.pem\"\nskip_verify = true\n");
  Write("one/quay.io/both.pem", "BOTH");
  auto chain = Chain("quay.io");
  ASSERT_TRUE(chain->hosts[0].tls);
  EXPECT_EQ(chain->hosts[0].tls->certificate_pem, "BOTH");
  EXPECT_EQ(chain->hosts[0].tls->key_pem.Reveal(), "BOTH");
  EXPECT_FALSE(chain->hosts[0].tls->verify);
  EXPECT_FALSE(chain->hosts[0].redirect_tls);
  EXPECT_FALSE(chain->hosts[1].tls);
}

TEST_F(HostFilesTest, AFileThatIsNotThereEndsEveryPull) {
  Write("one/quay.io/hosts.toml", "[host.\"https://m\"]\n[host.\"https://n\"]\nca = \"absent.pem\"\n");
  EXPECT_NE(Chain("quay.io")->only_by_pull_reason.find("absent.pem"), std::string::npos);
  Write("one/quay.io/absent.pem", "no PEM");
  EXPECT_NE(Chain("quay.io")->only_by_pull_reason.find("absent.pem holds no certificate"), std::string::npos);
  Write("one/quay.io/absent.pem", "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(Chain("quay.io")->only_by_pull_reason, "");
  // Every pair is loaded, whichever the server asks for.
  Write("one/quay.io/hosts.toml", "client = [[\"absent.pem\", \"absent.pem\"]]\n[host.\"https://m\"]\n");
  EXPECT_NE(Chain("quay.io")->only_by_pull_reason.find("absent.pem holds no private key"), std::string::npos);
}

TEST_F(HostFilesTest, AFileBeyondOurLimitsLeavesItToPulls) {
  std::string many;
  for (int i = 0; i < 33; i++) many += Mirror("https://m" + std::to_string(i));
  Write("one/quay.io/hosts.toml", many);
  EXPECT_EQ(Chain("quay.io")->only_by_pull_reason,
            "/one/quay.io/hosts.toml is not followed here (line 1: there are too many hosts); only a pull "
            "can tell.");
}

TEST_F(HostFilesTest, AConfigPathThatTheRuntimeIgnores) {
  Write("one/quay.io/hosts.toml", Mirror("https://a"));
  Make({.containerd_version = "2.3.0", .config_path = "/one:/two"});
  EXPECT_EQ(Origins("quay.io"), Texts{"https://quay.io"});
  ASSERT_EQ(Chain("quay.io")->notes.size(), 1U);
  EXPECT_NE(Chain("quay.io")->notes[0].find("ignores every hosts.toml"), std::string::npos);
  EXPECT_EQ(NotesOnFolders({.containerd_version = "2.3.0", .config_path = "/one:/two"}, dir_.path()),
            Chain("quay.io")->notes);
}

}  // namespace
}  // namespace prefetch::registry::host_files_test
