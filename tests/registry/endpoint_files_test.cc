#include "registry/endpoint_files.h"

#include <gtest/gtest.h>

#include "late_change.h"
#include "registry/host.h"
#include "settle.h"
#include "temp_dir.h"

namespace prefetch::registry::place_files_test {
namespace {

using Strings = std::vector<std::string>;
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
    EXPECT_EQ(host.http_fallback, row.insecure) << row.registry;
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
  tests::Settle(dir_);
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
  EXPECT_EQ(Chain("quay.io/a:v1")->only_by_pull_reason,
            "The certificates for quay.io cannot be used here (/etc/containers/certs.d/quay.io/me.cert has "
            "no key beside it); only a pull can tell.");
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

// The rows are the library's own semantics: containers/image pkg/sysregistriesv2 (refMatchingPrefix,
// rewriteReference, PullSourcesFromReference) and docker/docker_image_src.go. The judge of the family
// "registries-conf" (tests/judges) has more of them; it knows no short names, and not who stays anonymous.

constexpr const char* kDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

// "mirror one.io/a:v1 anonymous insecure"
std::string Words(const ChainedHost& place) {
  std::string words = (place.mirror ? "mirror " : "own ") + place.as->Normalized();
  if (!place.own) words += " anonymous";
  if (place.host.http_fallback) words += " insecure";
  return words;
}

std::vector<std::string> PlacesIn(const std::string& text, const std::string& written) {
  auto conf = ParseRegistriesConf(text, ConfKind::kMain);
  auto reference = image::Reference::Parse(written);
  EXPECT_TRUE(conf) << (conf ? "" : conf.error().message());
  EXPECT_TRUE(reference) << written;
  if (!conf || !reference) return {};
  HostChain places = PullEndpointsFor(*conf, *reference);
  if (!places.only_by_pull_reason.empty()) {
    EXPECT_TRUE(places.hosts.empty());
    return {places.only_by_pull_reason};
  }
  std::vector<std::string> words;
  for (const ChainedHost& place : places.hosts) words.push_back(Words(place));
  return words;
}

struct PlacesRow {
  std::string name, conf, image;
  std::vector<std::string> expect;
};

std::string Of(const std::string& prefix, const std::string& location, const std::string& keys = "") {
  return "[[registry]]\nprefix = \"" + prefix + "\"\nlocation = \"" + location + "\"\n" + keys;
}

std::string Mirror(const std::string& location, const std::string& keys = "") {
  return "[[registry.mirror]]\nlocation = \"" + location + "\"\n" + keys;
}

const std::string kSearchHub = "unqualified-search-registries = [\"docker.io\"]\n";

TEST(PlacesOfTest, AreThoseOfTheLibrary) {
  const PlacesRow rows[] = {
      {"AWholeHost", Of("quay.io", "x.io"), "quay.io/a/b:v1", {"own x.io/a/b:v1 anonymous"}},
      {"ARepositoryByDigest", Of("quay.io/a/b", "x.io/c"), std::string("quay.io/a/b:v1@") + kDigest,
       Strings{std::string("own x.io/c@") + kDigest + " anonymous"}},
      {"AnotherPathOnTheSameHost", Of("quay.io/a", "quay.io/b"), "quay.io/a/c:v1", {"own quay.io/b/c:v1"}},
      {"SubdomainOnlyInTheHost", Of("*.acme.io", "x.io"), "quay.io/b.acme.io/a:v1",
       Strings{"own quay.io/b.acme.io/a:v1"}},
      {"SubdomainAtItsFirstPlaceOnly", Of("*.acme.io", "x.io"), "a.acme.io.acme.io/a:v1",
       Strings{"own a.acme.io.acme.io/a:v1"}},
      {"NoFullName", Of("quay.io", "inner"), "quay.io/a:v1",
       Strings{"The location inner in registries.conf makes no image's name of quay.io/a; only a pull can "
               "tell."}},
      {"NoFullNameOfAMirror", Of("quay.io", "quay.io", Mirror("docker.io")), "quay.io/a:v1",
       Strings{"The location docker.io in registries.conf makes no image's name of quay.io/a; only a pull "
               "can tell."}},
      {"InOrderThenItself",
       Of("quay.io", "quay.io", Mirror("one.io/q") + Mirror("two.io", "insecure = true\n")), "quay.io/a:v1",
       Strings{"mirror one.io/q/a:v1 anonymous", "mirror two.io/a:v1 anonymous insecure",
               "own quay.io/a:v1"}},
      {"OnTheSameHost", Of("quay.io/a", "quay.io/a", Mirror("quay.io/m")), "quay.io/a/b:v1",
       Strings{"mirror quay.io/m/b:v1", "own quay.io/a/b:v1"}},
      {"AnotherPortIsAnotherHost", Of("reg.io", "reg.io", Mirror("reg.io:5000")), "reg.io/b:v1",
       Strings{"mirror reg.io:5000/b:v1 anonymous", "own reg.io/b:v1"}},
      {"SearchedOnDockerHubAlone", kSearchHub, "busybox:1.36", {"own docker.io/library/busybox:1.36"}},
      {"WithAMirror", kSearchHub + Of("docker.io", "docker.io", Mirror("one.io/hub")), "busybox",
       Strings{"mirror one.io/hub/library/busybox:latest anonymous", "own docker.io/library/busybox:latest"}},
      {"AnAliasThatMeansTheSame", "[aliases]\nbusybox = \"docker.io/library/busybox\"\n", "busybox:v1",
       Strings{"own docker.io/library/busybox:v1"}},
      {"AnAliasElsewhere", kSearchHub + "[aliases]\nbusybox = \"quay.io/x/busybox\"\n", "busybox:v1",
       Strings{"An alias of registries.conf makes this short name quay.io/x/busybox; only a pull can tell."}},
      {"AnAliasThatIsNoneAnyMore", kSearchHub + "[aliases]\nbusybox = \"\"\n", "busybox:v1",
       Strings{"own docker.io/library/busybox:v1"}},
      {"NoSearch", "", "busybox",
       Strings{"registries.conf has no alias for this short name; only a pull can tell."}},
      {"SeveralSearches", "unqualified-search-registries = [\"docker.io\", \"quay.io\"]\n", "busybox",
       Strings{
           "registries.conf has several registries to search for this short name; only a pull can tell."}},
      {"SearchedElsewhere", "unqualified-search-registries = [\"quay.io\"]\n", "library/busybox",
       Strings{"registries.conf has this short name searched for at quay.io; only a pull can tell."}},
      {"AFullNameIsNone", "[aliases]\nbusybox = \"quay.io/x/busybox\"\n", "docker.io/library/busybox",
       Strings{"own docker.io/library/busybox:latest"}},
  };
  for (const PlacesRow& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(PlacesIn(row.conf, row.image), row.expect);
  }
}

}  // namespace
}  // namespace prefetch::registry::place_files_test
