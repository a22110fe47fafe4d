// The rows are the library's own semantics: containers/image pkg/sysregistriesv2 (refMatchingPrefix,
// rewriteReference, PullSourcesFromReference) and docker/docker_image_src.go.
#include "registry/endpoint_files.h"

#include <gtest/gtest.h>

namespace prefetch::registry::pull_places_test {
namespace {

constexpr const char* kDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

// "mirror one.io/a:v1 anonymous insecure", "own quay.io/a:v1 blocked by quay.io"
std::string Words(const PullEndpoint& place) {
  std::string words = (place.mirror ? "mirror " : "own ") + place.as.Normalized();
  if (!place.same_domain) words += " anonymous";
  if (place.insecure) words += " insecure";
  if (!place.blocked_by.empty()) words += " blocked by " + place.blocked_by;
  return words;
}

std::vector<std::string> PlacesIn(const std::string& text, const std::string& written) {
  auto conf = ParseRegistriesConf(text, ConfKind::kMain);
  auto reference = image::Reference::Parse(written);
  EXPECT_TRUE(conf) << (conf ? "" : conf.error().message());
  EXPECT_TRUE(reference) << written;
  if (!conf || !reference) return {};
  PullEndpoints places = PullEndpointsFor(*conf, *reference);
  if (!places.only_by_pull_reason.empty()) {
    EXPECT_TRUE(places.endpoints.empty());
    return {places.only_by_pull_reason};
  }
  std::vector<std::string> words;
  for (const PullEndpoint& place : places.endpoints) words.push_back(Words(place));
  return words;
}

struct PlacesRow {
  std::string name, conf, image;
  std::vector<std::string> expect;
};

std::string Of(const std::string& prefix, const std::string& location, const std::string& keys = "") {
  return "[[registry]]\nprefix = \"" + prefix + "\"\n" +
         (location.empty() ? "" : "location = \"" + location + "\"\n") + keys;
}

std::string Mirror(const std::string& location, const std::string& keys = "") {
  return "[[registry.mirror]]\nlocation = \"" + location + "\"\n" + keys;
}

const std::string kSearchHub = "unqualified-search-registries = [\"docker.io\"]\n";

TEST(PlacesOfTest, AreThoseOfTheLibrary) {
  const PlacesRow rows[] = {
      {"NoEntry", "", "quay.io/a:v1", {"own quay.io/a:v1"}},
      {"OfAnotherHost", Of("quay.io", "x.io"), "quay.iox/a:v1", {"own quay.iox/a:v1"}},
      {"OfAnotherRepository", Of("quay.io/a", "x.io/a"), "quay.io/ab:v1", {"own quay.io/ab:v1"}},
      {"AWholeHost", Of("quay.io", "x.io"), "quay.io/a/b:v1", {"own x.io/a/b:v1 anonymous"}},
      {"ANamespace", Of("quay.io/a", "x.io/y/z"), "quay.io/a/b:v1", {"own x.io/y/z/b:v1 anonymous"}},
      {"ARepository", Of("quay.io/a/b", "x.io/c"), "quay.io/a/b:v1", {"own x.io/c:v1 anonymous"}},
      {"ARepositoryByDigest",
       Of("quay.io/a/b", "x.io/c"),
       std::string("quay.io/a/b:v1@") + kDigest,
       {std::string("own x.io/c@") + kDigest + " anonymous"}},
      {"TheLongestWins",
       Of("quay.io", "x.io") + Of("quay.io/a/b", "z.io") + Of("quay.io/a", "y.io"),
       "quay.io/a/c:v1",
       {"own y.io/c:v1 anonymous"}},
      // "This allows example.com:5000 to match example.com, which is unintended."
      {"AnyPortOfAHost", Of("reg.io", "x.io"), "reg.io:5000/a:v1", {"own x.io:5000/a:v1 anonymous"}},
      {"ATagIsNoPrefix", Of("quay.io/a:v1", "x.io/a"), "quay.io/a:v1", {"own quay.io/a:v1"}},
      {"DockerHub",
       Of("docker.io/library", "x.io/hub"),
       "docker.io/busybox",
       {"own x.io/hub/busybox:latest anonymous"}},
      {"AnotherPathOnTheSameHost", Of("quay.io/a", "quay.io/b"), "quay.io/a/c:v1", {"own quay.io/b/c:v1"}},
      {"Subdomain", Of("*.acme.io", ""), "reg.acme.io/a:v1", {"own reg.acme.io/a:v1"}},
      {"SubdomainElsewhere",
       Of("*.acme.io", "x.io"),
       "a.b.acme.io:5000/a:v1",
       {"own x.io:5000/a:v1 anonymous"}},
      {"TheDomainItselfIsNone", Of("*.acme.io", "x.io"), "acme.io/a:v1", {"own acme.io/a:v1"}},
      {"SubdomainOnlyInTheHost",
       Of("*.acme.io", "x.io"),
       "quay.io/b.acme.io/a:v1",
       {"own quay.io/b.acme.io/a:v1"}},
      {"SubdomainAtItsFirstPlaceOnly",
       Of("*.acme.io", "x.io"),
       "a.acme.io.acme.io/a:v1",
       {"own a.acme.io.acme.io/a:v1"}},
      {"NoFullName",
       Of("quay.io", "inner"),
       "quay.io/a:v1",
       {"The location inner in registries.conf makes no image's name of quay.io/a; only a pull "
        "can tell."}},
      {"NoFullNameOfAMirror",
       Of("quay.io", "quay.io", Mirror("docker.io")),
       "quay.io/a:v1",
       {"The location docker.io in registries.conf makes no image's name of quay.io/a; only "
        "a pull can tell."}},
      {"InOrderThenItself",
       Of("quay.io", "quay.io", Mirror("one.io/q") + Mirror("two.io", "insecure = true\n")),
       "quay.io/a:v1",
       {"mirror one.io/q/a:v1 anonymous", "mirror two.io/a:v1 anonymous insecure", "own quay.io/a:v1"}},
      {"OnTheSameHost",
       Of("quay.io/a", "quay.io/a", Mirror("quay.io/m")),
       "quay.io/a/b:v1",
       {"mirror quay.io/m/b:v1", "own quay.io/a/b:v1"}},
      {"AnotherPortIsAnotherHost",
       Of("reg.io", "reg.io", Mirror("reg.io:5000")),
       "reg.io/b:v1",
       {"mirror reg.io:5000/b:v1 anonymous", "own reg.io/b:v1"}},
      {"ByDigestOnlyForATag",
       Of("quay.io", "quay.io", "mirror-by-digest-only = true\n" + Mirror("one.io")),
       "quay.io/a:v1",
       {"own quay.io/a:v1"}},
      {"ByDigestOnlyForADigest",
       Of("quay.io", "quay.io", "mirror-by-digest-only = true\n" + Mirror("one.io")),
       std::string("quay.io/a@") + kDigest,
       {std::string("mirror one.io/a@") + kDigest + " anonymous", std::string("own quay.io/a@") + kDigest}},
      {"EachForATag",
       Of("quay.io", "quay.io",
          Mirror("d.io", "pull-from-mirror = \"digest-only\"\n") +
              Mirror("t.io", "pull-from-mirror = \"tag-only\"\n") +
              Mirror("b.io", "pull-from-mirror = \"all\"\n")),
       "quay.io/a:v1",
       {"mirror t.io/a:v1 anonymous", "mirror b.io/a:v1 anonymous", "own quay.io/a:v1"}},
      {"EachForADigest",
       Of("quay.io", "quay.io",
          Mirror("d.io", "pull-from-mirror = \"digest-only\"\n") +
              Mirror("t.io", "pull-from-mirror = \"tag-only\"\n")),
       std::string("quay.io/a@") + kDigest,
       {std::string("mirror d.io/a@") + kDigest + " anonymous", std::string("own quay.io/a@") + kDigest}},
      {"InsecureIsOfThePlace",
       Of("quay.io", "quay.io", "insecure = true\n" + Mirror("one.io")),
       "quay.io/a:v1",
       {"mirror one.io/a:v1 anonymous", "own quay.io/a:v1 insecure"}},
      {"ARegistry",
       Of("quay.io", "quay.io", "blocked = true\n"),
       "quay.io/a:v1",
       {"own quay.io/a:v1 blocked by quay.io"}},
      {"NotItsMirrors",
       Of("quay.io", "quay.io", "blocked = true\n" + Mirror("one.io")),
       "quay.io/a:v1",
       {"mirror one.io/a:v1 anonymous", "own quay.io/a:v1 blocked by quay.io"}},
      {"ByTheNameThatIsAskedFor",
       Of("quay.io", "x.io", "blocked = true\n"),
       "quay.io/a:v1",
       {"own x.io/a:v1 anonymous"}},
      {"AMirrorByAnEntryOfItsOwn",
       Of("quay.io", "quay.io", Mirror("one.io")) + Of("one.io", "one.io", "blocked = true\n"),
       "quay.io/a:v1",
       {"mirror one.io/a:v1 anonymous blocked by one.io", "own quay.io/a:v1"}},
      {"ARepositoryOfAnOpenRegistry",
       Of("quay.io/a", "quay.io/a", "blocked = true\n"),
       "quay.io/b:v1",
       {"own quay.io/b:v1"}},
      {"SearchedOnDockerHubAlone", kSearchHub, "busybox:1.36", {"own docker.io/library/busybox:1.36"}},
      {"WithAMirror",
       kSearchHub + Of("docker.io", "docker.io", Mirror("one.io/hub")),
       "busybox",
       {"mirror one.io/hub/library/busybox:latest anonymous", "own docker.io/library/busybox:latest"}},
      {"AnAliasThatMeansTheSame",
       "[aliases]\nbusybox = \"docker.io/library/busybox\"\n",
       "busybox:v1",
       {"own docker.io/library/busybox:v1"}},
      {"AnAliasElsewhere",
       kSearchHub + "[aliases]\nbusybox = \"quay.io/x/busybox\"\n",
       "busybox:v1",
       {"An alias of registries.conf makes this short name quay.io/x/busybox; only a pull can tell."}},
      {"AnAliasThatIsNoneAnyMore",
       kSearchHub + "[aliases]\nbusybox = \"\"\n",
       "busybox:v1",
       {"own docker.io/library/busybox:v1"}},
      {"NoSearch",
       "",
       "busybox",
       {"registries.conf has no alias for this short name; only a pull can tell."}},
      {"SeveralSearches",
       "unqualified-search-registries = [\"docker.io\", \"quay.io\"]\n",
       "busybox",
       {"registries.conf has several registries to search for this short name; only a pull can tell."}},
      {"SearchedElsewhere",
       "unqualified-search-registries = [\"quay.io\"]\n",
       "library/busybox",
       {"registries.conf has this short name searched for at quay.io; only a pull can tell."}},
      {"AFullNameIsNone",
       "[aliases]\nbusybox = \"quay.io/x/busybox\"\n",
       "docker.io/library/busybox",
       {"own docker.io/library/busybox:latest"}},
  };
  for (const PlacesRow& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(PlacesIn(row.conf, row.image), row.expect);
  }
}

}  // namespace
}  // namespace prefetch::registry::pull_places_test
