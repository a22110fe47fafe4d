#include "registry/endpoint_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "late_change.h"
#include "registry/host.h"
#include "temp_dir.h"

namespace prefetch::registry::place_files_test {
namespace {

TEST(CrioHost, ByNameAndInsecurity) {
  const struct {
    std::string registry;
    bool insecure;
    std::string server;
    int https_port;  // 0: it is asked by https alone
  } rows[] = {{"quay.io", false, "https://quay.io/v2", 0},
              {"docker.io", false, "https://registry-1.docker.io/v2", 0},
              {"localhost:5000", false, "https://localhost:5000/v2", 0},
              {"127.0.0.1:5000", true, "http://127.0.0.1:5000/v2", 5000},
              {"reg.io", true, "http://reg.io/v2", 443},
              {"docker.io", true, "http://registry-1.docker.io/v2", 443}};
  for (const auto& row : rows) {
    Host host = CrioHost(row.registry, row.insecure);
    EXPECT_EQ(host.server.ToString(), row.server);
    EXPECT_EQ(host.https_port, row.https_port) << row.registry;
    EXPECT_EQ(host.https_first, row.insecure) << row.registry;
    EXPECT_EQ(host.skip_verify, row.insecure) << row.registry;
  }
}

class PlaceFilesTest : public testing::Test {
 protected:
  void Conf(const std::string& text) {
    auto conf = ParseRegistriesConf(text, ConfKind::kMain);
    ASSERT_TRUE(conf);
    files_.emplace(std::make_shared<const RegistriesConf>(std::move(*conf)), dir_.path(),
                   std::vector<std::string>{dir_ / "system.pem"});
  }
  std::shared_ptr<const HostChain> Chain(const std::string& image) {
    auto reference = image::Reference::Parse(image);
    EXPECT_TRUE(reference);
    return files_->ChainFor(*reference);
  }

  tests::TempDir dir_;
  std::optional<EndpointFiles> files_;
};

TEST_F(PlaceFilesTest, HostsAreThePlacesInOrder) {
  Conf("[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"one.io:5000/q\"\n");
  auto chain = Chain("quay.io/a:v1");
  ASSERT_EQ(chain->hosts.size(), 2U);
  EXPECT_EQ(chain->source, "the entry quay.io of registries.conf");
  EXPECT_EQ(chain->hosts[0].host.server.Origin(), "https://one.io:5000");
  EXPECT_EQ(chain->hosts[0].as->Normalized(), "one.io:5000/q/a:v1");
  EXPECT_TRUE(chain->hosts[0].mirror);
  EXPECT_FALSE(chain->hosts[0].own);
  EXPECT_EQ(chain->hosts[1].host.server.Origin(), "https://quay.io");
  EXPECT_FALSE(chain->hosts[1].mirror);
  EXPECT_TRUE(chain->hosts[1].own);
  EXPECT_EQ(Chain("docker.io/a:v1")->source, "");
}

TEST_F(PlaceFilesTest, CertificatesAreThoseOfTheFirstFolderThatIsThere) {
  dir_.Write("system.pem", "SYSTEM");
  dir_.Write("etc/docker/certs.d/quay.io/ca.crt", "DOCKER");
  Conf("");
  ASSERT_TRUE(Chain("quay.io/a:v1")->hosts[0].tls);
  EXPECT_EQ(Chain("quay.io/a:v1")->hosts[0].tls->ca_pem, "DOCKER\nSYSTEM\n");
  dir_.Write("etc/containers/certs.d/quay.io/ca.crt", "CONTAINERS");
  dir_.Write("etc/containers/certs.d/quay.io/me.cert", "CERT");
  dir_.Write("etc/containers/certs.d/quay.io/me.key", "KEY");
  auto chain = Chain("quay.io/a:v1");
  EXPECT_EQ(chain->hosts[0].tls->ca_pem, "CONTAINERS\nSYSTEM\n");
  EXPECT_EQ(chain->hosts[0].tls->certificate_pem, "CERT");
  EXPECT_EQ(chain->hosts[0].tls, Chain("quay.io/b:v1")->hosts[0].tls);  // nothing was read again
  EXPECT_FALSE(Chain("quay.io:5000/a:v1")->hosts[0].tls);
}

TEST_F(PlaceFilesTest, AChangeDuringTheReadingIsSeenTheNextTime) {
  Conf("");
  const std::string folder = "etc/containers/certs.d/quay.io";
  late_change::AddCertificates(dir_, folder);
  EXPECT_EQ(late_change::Missed(dir_, folder + "/ca.crt", "CA", "CA-B",
                                [&] {
                                  auto tls = Chain("quay.io/a:v1")->hosts[0].tls;
                                  return tls && tls->ca_pem.starts_with("CA-B\n");
                                }),
            0);
}

TEST_F(PlaceFilesTest, CertificatesThatCannotBeUsedLeaveItToPulls) {
  dir_.Write("etc/containers/certs.d/quay.io/me.cert", "CERT");
  Conf("");
  EXPECT_EQ(
      Chain("quay.io/a:v1")->only_by_pull_reason,
      "The certificates for quay.io cannot be used here (/etc/containers/certs.d/quay.io/me.cert has no key "
      "beside it); only a pull can tell.");
  EXPECT_EQ(Chain("docker.io/a:v1")->only_by_pull_reason, "");
}

// The library would not ask, and neither would it take the next folder.
TEST_F(PlaceFilesTest, AFolderThatCannotBeReadLeavesItToPulls) {
  for (int i = 0; i <= 1000; i++) {
    dir_.Write("etc/containers/certs.d/quay.io/" + std::to_string(i), "");
  }
  dir_.Write("etc/docker/certs.d/quay.io/ca.crt", "DOCKER");
  Conf("");
  EXPECT_NE(Chain("quay.io/a:v1")->only_by_pull_reason.find("has more than 1000 entries"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::registry::place_files_test
