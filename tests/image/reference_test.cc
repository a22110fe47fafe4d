#include "image/reference.h"

#include <gtest/gtest.h>

#include <string>

#include "image/registry_access.h"
#include "rows.h"

namespace prefetch::image::reference_test {
namespace {

std::string Repeat(int times, const std::string& text) {
  std::string out;
  for (int i = 0; i < times; i++) out += text;
  return out;
}

struct Row {
  std::string name;
  std::string written;
  std::string normalized;  // empty: refused
  std::string complaint;   // part of the message if refused
};

TEST(ParseTest, NormalizesOrRefuses) {
  const Row rows[] = {
      // Registry rules R1 and R2, case by case; computed once with another implementation of the grammar.
      {"Row01", "busybox", "docker.io/library/busybox:latest", ""},
      {"Row02", "busybox:1.36", "docker.io/library/busybox:1.36", ""},
      {"Row03", "library/busybox", "docker.io/library/busybox:latest", ""},
      {"Row04", "docker.io/busybox", "docker.io/library/busybox:latest", ""},
      {"Row05", "index.docker.io/busybox:1", "docker.io/library/busybox:1", ""},
      {"Row06", "docker.io/library/busybox:latest", "docker.io/library/busybox:latest", ""},
      {"Row07", "bitnami/redis", "docker.io/bitnami/redis:latest", ""},
      {"Row08", "bitnami/redis:7@sha256:" + std::string(64, 'f'),
       "docker.io/bitnami/redis@sha256:" + std::string(64, 'f'), ""},
      {"Row09", "busybox@sha256:" + std::string(64, 'f'),
       "docker.io/library/busybox@sha256:" + std::string(64, 'f'), ""},
      {"Row10", "localhost/app", "localhost/app:latest", ""},
      {"Row11", "localhost:5000/app", "localhost:5000/app:latest", ""},
      {"Row12", "localhost:5000", "docker.io/library/localhost:5000", ""},
      {"Row13", "test.com:5000", "docker.io/library/test.com:5000", ""},
      {"Row14", "test.com:5000/app", "test.com:5000/app:latest", ""},
      {"Row15", "test.com:tag", "docker.io/library/test.com:tag", ""},
      {"Row16", "registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10", ""},
      {"Row17", "ghcr.io/Org/app", "", "path must be lowercase"},
      {"Row18", "Org/app", "Org/app:latest", ""},
      {"Row19", "REG.example.com/app", "REG.example.com/app:latest", ""},
      {"Row20", "UPPER/app", "UPPER/app:latest", ""},
      {"Row21", "reg/app", "docker.io/reg/app:latest", ""},
      {"Row22", "reg:5000/app", "reg:5000/app:latest", ""},
      {"Row23", "192.168.1.1:5000/team/app:5050", "192.168.1.1:5000/team/app:5050", ""},
      {"Row24", "[2001:db8::1]:5000/app:v1", "[2001:db8::1]:5000/app:v1", ""},
      {"Row25", "[fe80::1%eth0]:5000/app", "", "invalid reference format"},
      {"Row26", "[2001:db8::1]", "", "invalid reference format"},
      {"Row27", "xn--n3h.com/app", "xn--n3h.com/app:latest", ""},
      {"Row28", "a_b.com/app", "a_b.com/app:latest", ""},
      {"Row29", "foo_bar.com:8080", "docker.io/library/foo_bar.com:8080", ""},
      {"Row30", "my__app", "docker.io/library/my__app:latest", ""},
      {"Row31", "my___app", "", "invalid reference format"},
      {"Row32", "my--app", "docker.io/library/my--app:latest", ""},
      {"Row33", "my..app", "", "invalid reference format"},
      {"Row34", "my.-app", "", "invalid reference format"},
      {"Row35", "-app", "", "invalid reference format"},
      {"Row36", "app-", "", "invalid reference format"},
      {"Row37", "_app", "", "invalid reference format"},
      {"Row38", "app:", "", "invalid reference format"},
      {"Row39", "app:-x", "", "invalid reference format"},
      {"Row40", "app:.x", "", "invalid reference format"},
      {"Row41", "app:_x", "docker.io/library/app:_x", ""},
      {"Row42", "app:" + std::string(128, 't'), "docker.io/library/app:" + std::string(128, 't'), ""},
      {"Row43", "app:" + std::string(129, 't'), "", "invalid reference format"},
      {"Row44", "app:La.te-st_1", "docker.io/library/app:La.te-st_1", ""},
      {"Row45", "app:ta/g", "", "invalid reference format"},
      {"Row46", "app:tag:tag", "", "invalid reference format"},
      {"Row47", "app@sha256:" + std::string(32, 'f'), "", "digest has the wrong length"},
      {"Row48", "app@sha256:" + std::string(64, 'F'), "", "digest must be lowercase hex"},
      {"Row49", "app@sha512:" + std::string(128, 'f'),
       "docker.io/library/app@sha512:" + std::string(128, 'f'), ""},
      {"Row50", "app@md5:" + std::string(32, 'f'), "", "digest has an unsupported algorithm"},
      {"Row51", "app@sha256", "", "digest has an invalid format"},
      {"Row52", "app@", "", "digest has an invalid format"},
      {"Row53", std::string(64, 'f'), "", "look like an image ID"},
      {"Row54", std::string(63, 'f'), "docker.io/library/" + std::string(63, 'f') + ":latest", ""},
      {"Row55", "", "", "invalid reference format"},
      {"Row56", "/app", "", "invalid reference format"},
      {"Row57", "app/", "", "invalid reference format"},
      {"Row58", "a//b", "", "invalid reference format"},
      {"Row59", "host.io/a/b/c/d:1", "host.io/a/b/c/d:1", ""},
      {"Row60", "https://reg.io/app", "", "invalid reference format"},
      {"Row61", " app", "", "invalid reference format"},
      {"Row62", "app ", "", "invalid reference format"},
      {"Row63", "app:tag\n", "", "invalid reference format"},
      {"Row64", "é/app", "", "invalid reference format"},
      {"Row65", "host.io/" + Repeat(127, "a/") + "a", "host.io/" + Repeat(127, "a/") + "a:latest", ""},
      {"Row66", "host.io/" + Repeat(127, "a/") + "ab", "", "path is longer than 255"},
      {"LongBelowAHostWithUnderscore", "my_host.io/" + Repeat(121, "a/") + "a",
       "my_host.io/" + Repeat(121, "a/") + "a:latest", ""},
      {"TooLongBelowAHostWithUnderscore", "my_host.io/" + Repeat(122, "a/") + "a", "",
       "path is longer than 255"},
      {"Row67", "docker.io/a", "docker.io/library/a:latest", ""},
      {"Row68", "docker.io:443/app", "docker.io:443/app:latest", ""},
      {"Row69", "registry-1.docker.io/library/busybox", "registry-1.docker.io/library/busybox:latest", ""},
      {"Row70", "gcr.io:443/p/app", "gcr.io:443/p/app:latest", ""},
      {"Row71", "host.io:/app", "", "invalid reference format"},
      {"Row72", "host.io:port/app", "", "invalid reference format"},
      {"Row73", "host..io/app", "", "invalid reference format"},
      {"Row74", "-host.io/app", "", "invalid reference format"},
      {"Row75", "public.ecr.aws/docker/library/busybox:1.36", "public.ecr.aws/docker/library/busybox:1.36",
       ""},
      {"Row76", "1234567890", "docker.io/library/1234567890:latest", ""},
      {"Row77", "deadbeef", "docker.io/library/deadbeef:latest", ""},
      {"Row78", "app:v1@sha256:" + std::string(64, 'f') + ":x", "", "digest has an invalid format"},
      // The grammar allows this name, and we refuse it: no runtime could pull it.
      {"LongerThan1024", "host.io/" + std::string(1017, 'a'), "", "longer than 1024"},
      {"PortZero", "host.io:0/app", "", "port must be between"},
      {"PortTooHigh", "host.io:65536/app", "", "port must be between"},
      {"PortOverflows", "host.io:99999999999999999999999/app", "", "port must be between"},
      {"PortHighest", "host.io:65535/app", "host.io:65535/app:latest", ""},
      {"Label63", std::string(63, 'h') + ".io/a", std::string(63, 'h') + ".io/a:latest", ""},
      {"Label64", std::string(64, 'h') + ".io/a", "", "label longer than 63"},
      {"Host253", Repeat(126, "h.") + "h/a", Repeat(126, "h.") + "h/a:latest", ""},
      {"Host254", Repeat(126, "h.") + "hh/a", "", "host is longer than 253"},
      {"BadIpv6", "[1::2::3]/app", "", "not a valid IPv6"},
      {"Ipv6WithoutPort", "[::1]/app", "[::1]/app:latest", ""},
      {"Ipv6Trailing", "[::1]x/app", "", "invalid reference format"},
      {"Ipv6Open", "[::1/app", "", "invalid reference format"},
      {"Ipv6Empty", "[]:5000/app", "", "invalid reference format"},
      {"NulByte", std::string("app\0x", 5), "", "invalid reference format"},
      {"TwoDigests", "app@sha256:" + std::string(64, 'f') + "@sha256:" + std::string(64, 'f'), "",
       "digest has an invalid format"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    base::Result<Reference> reference = Reference::Parse(row.written);
    if (row.normalized.empty()) {
      ASSERT_FALSE(reference.ok()) << reference->Normalized();
      EXPECT_EQ(reference.error().code(), base::Code::kInvalidArgument);
      EXPECT_NE(reference.error().message().find(row.complaint), std::string::npos)
          << reference.error().message();
      continue;
    }
    ASSERT_TRUE(reference.ok()) << reference.error().message();
    EXPECT_EQ(reference->Normalized(), row.normalized);
    EXPECT_EQ(reference->written(), row.written);
    // Parsing what it normalises to changes nothing.
    base::Result<Reference> again = Reference::Parse(reference->Normalized());
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->Normalized(), reference->Normalized());
    EXPECT_TRUE(*again == *reference);
  }
}

struct SpecImageRow {
  std::string name;
  std::string written;
  std::string spec_image;  // empty: refused
  std::string repository;
  std::string tag;
};

const std::string kDigest = "@sha256:" + std::string(64, 'a');

TEST(SpecImageTest, IsWhatKubeletSends) {
  const SpecImageRow rows[] = {
      // kubelet's rule K1, and its corners.
      {"Plain", "nginx", "nginx:latest", "docker.io/library/nginx", "latest"},
      {"Tag", "nginx:1.27", "nginx:1.27", "docker.io/library/nginx", "1.27"},
      {"DigestOnly", "team/app" + kDigest, "team/app" + kDigest, "docker.io/team/app", ""},
      {"TagAndDigest", "reg:5000/a:latest" + kDigest, "reg:5000/a:latest" + kDigest, "reg:5000/a", "latest"},
      {"Localhost", "localhost/x", "localhost/x:latest", "localhost/x", "latest"},
      {"Url", "http://x", "", "", ""},
      {"UpperCase", "ROOT", "", "", ""},
      {"ImageId", std::string(64, 'a'), "", "", ""},
      {"LatestWritten", "nginx:latest", "nginx:latest", "docker.io/library/nginx", "latest"},
      {"NamedLatest", "latest", "latest:latest", "docker.io/library/latest", "latest"},
      {"HostAloneIsAnImage", "foo.io:5000", "foo.io:5000", "docker.io/library/foo.io", "5000"},
      {"LocalhostAlone", "localhost", "localhost:latest", "docker.io/library/localhost", "latest"},
      {"LegacyHubHostStaysWritten", "index.docker.io/nginx", "index.docker.io/nginx:latest",
       "docker.io/library/nginx", "latest"},
  };
  for (const SpecImageRow& row : rows) {
    SCOPED_TRACE(row.name);
    base::Result<Reference> reference = Reference::Parse(row.written);
    ASSERT_EQ(reference.ok(), !row.spec_image.empty());
    if (!reference.ok()) continue;
    EXPECT_EQ(reference->SpecImage(), row.spec_image);
    EXPECT_EQ(reference->has_tag_or_digest(), row.spec_image == reference->written());
    EXPECT_EQ(reference->Repository(), row.repository);
    EXPECT_EQ(reference->tag(), row.tag);
  }
}

TEST(Reference, EqualityIsOfTheNormalisedName) {
  auto parse = [](const std::string& written) { return *Reference::Parse(written); };
  EXPECT_TRUE(parse("nginx") == parse("docker.io/library/nginx:latest"));
  EXPECT_TRUE(parse("nginx:1" + kDigest) == parse("nginx:2" + kDigest));
  EXPECT_FALSE(parse("nginx:1") == parse("nginx:2"));
  EXPECT_FALSE(parse("REG.io/a") == parse("reg.io/a"));
}

TEST(Reference, AComplaintIsShortAndPrintable) {
  base::Result<Reference> reference = Reference::Parse("\xff\n" + std::string(5000, 'x'));
  ASSERT_FALSE(reference.ok());
  EXPECT_LT(reference.error().message().size(), 300U);
}

TEST(IsDigest, KnownAlgorithmExactLengthLowerCase) {
  const struct {
    std::string text;
    bool is_digest;
  } rows[] = {
      {"sha256:" + std::string(64, 'f'), true},
      {"sha384:" + std::string(96, '0'), true},
      {"sha512:" + std::string(128, 'a'), true},
      {"sha256:" + std::string(63, 'f'), false},
      {"sha256:" + std::string(65, 'f'), false},
      {"sha256:" + std::string(64, 'F'), false},
      {"sha256:" + std::string(64, 'g'), false},
      {"SHA256:" + std::string(64, 'f'), false},
      {"md5:" + std::string(32, 'f'), false},
      {"sha1:" + std::string(40, 'f'), false},
      {"sha512:" + std::string(64, 'f'), false},
      {std::string(64, 'f'), false},
      {"", false},
      {":", false},
      {"sha256:", false},
      {"sha256:" + std::string(64, 'f') + "\n", false},
  };
  for (const auto& row : rows) EXPECT_EQ(IsDigest(row.text), row.is_digest) << row.text;
}

struct PatternCase {
  std::string name;
  std::string pattern, image;
  bool matches;
};
TEST_TABLE(PatternTest, Matches, PatternCase) {
  EXPECT_EQ(MatchesPattern(row.pattern, row.image), row.matches);
}

const std::string kNginx = "docker.io/library/nginx:1.27";
const std::string kByDigest = "reg:5000/a/b@sha256:1111";

TEST_ROWS(Rows, PatternTest, {"Whole", kNginx, kNginx, true},
          {"Repository", "docker.io/library/nginx", kNginx, true},
          {"RepositoryOfADigest", "reg:5000/a/b", kByDigest, true},
          {"APortIsNoTag", "reg", "reg:5000/a/b", false}, {"Registry", "docker.io/*", kNginx, true},
          {"OtherRegistry", "quay.io/*", kNginx, false},
          {"AnyTag", "docker.io/library/nginx:*", kNginx, true},
          {"OtherTag", "docker.io/library/nginx:1.28", kNginx, false}, {"LastPart", "*/nginx", kNginx, true},
          {"PartOfAName", "*/ngin", kNginx, false}, {"Beginning", "docker.io", kNginx, false},
          {"All", "*", kNginx, true}, {"StarForNothing", "docker.io/library/nginx*:1.27*", kNginx, true},
          {"SeveralStars", "*dock*/*x:*7", kNginx, true}, {"GoesBack", "*aab", "aaaaab", true},
          {"TooMuch", "*aab*c", "aaaaab", false}, {"CaseMatters", "Docker.io/*", kNginx, false},
          {"Nothing", "", kNginx, false});

TEST(CheckPattern, Refuses) {
  EXPECT_TRUE(CheckPattern("registry.k8s.io/*"));
  EXPECT_TRUE(CheckPattern(std::string(20, '*')));
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\n"), std::string(501, 'a'), std::string(21, '*')}) {
    EXPECT_FALSE(CheckPattern(bad)) << bad;
  }
}

TEST(MatchesPattern, AStrangersPatternTakesNoTime) {
  std::string pattern;
  for (int i = 0; i < 20; i++) pattern += "a*";
  EXPECT_FALSE(MatchesPattern(pattern + "b", std::string(10'000, 'a')));
}

TEST(WrittenName, IsWithoutTagAndDigest) {
  const struct {
    std::string image, name;
    bool registry;
  } rows[] = {{"nginx", "nginx", false},
              {"nginx:1.27", "nginx", false},
              {"acme/app:v1", "acme/app", false},
              {"reg:5000/a", "reg:5000/a", true},
              {"reg:5000/a:v1@sha256:0", "reg:5000/a", true},
              {"localhost/a@sha256:0", "localhost/a", true},
              {"q.io/a", "q.io/a", true},
              {"[::1]:5000/a:v1", "[::1]:5000/a", true},
              {"foo.bar", "foo.bar", false},
              {"a/b.c/d", "a/b.c/d", false},
              {"", "", false}};
  for (const auto& row : rows) {
    EXPECT_EQ(WrittenName(row.image), row.name);
    EXPECT_EQ(NamesRegistry(row.image), row.registry) << row.image;
  }
}

using Texts = std::vector<std::string>;

TEST(TableHosts, AreHostsOfNamesAndUrls) {
  TableHosts hosts;
  EXPECT_EQ(hosts.Hosts(), Texts{});
  for (const char* name : {"quay.io", "https://r.io:5000/v2/", "docker.io", "quay.io", "[::1]:5000"}) {
    hosts.Add(name);
  }
  EXPECT_EQ(hosts.Hosts(), (Texts{"[::1]:5000", "docker.io", "quay.io", "r.io:5000"}));
}

TEST(TableHosts, WhatCannotBeAHostMayMeanAny) {
  for (const std::string& name : {std::string("*"), std::string(""), std::string("r.io\n"), std::string("/x"),
                                  std::string("u:p@r.io"), std::string(256, 'a')}) {
    TableHosts hosts;
    hosts.Add("quay.io");
    hosts.Add(name);
    EXPECT_EQ(hosts.Hosts(), Texts{"*"}) << name;
  }
}

TEST(TableHosts, HeadersGoToAnyHostButForItsOwn) {
  TableHosts hosts;
  hosts.AddHeader("user-agent");
  hosts.AddHeader("x-meta-source-client");
  EXPECT_EQ(hosts.Hosts(), Texts{});
  hosts.AddHeader("X-Team");
  EXPECT_EQ(hosts.Hosts(), Texts{"*"});
}

TEST(TableHosts, MoreThanAreWorthNamingAreAny) {
  TableHosts hosts;
  for (int i = 0; i < 256; i++) hosts.Add("r" + std::to_string(i) + ".io");
  EXPECT_EQ(hosts.Hosts().size(), 256U);
  hosts.Add("r0.io");
  EXPECT_EQ(hosts.Hosts().size(), 256U);
  hosts.Add("one-more.io");
  EXPECT_EQ(hosts.Hosts(), Texts{"*"});
}

TEST(TableHosts, ArePutTogether) {
  TableHosts one, other;
  one.Add("a.io");
  other.Add("b.io");
  one.Add(other);
  EXPECT_EQ(one.Hosts(), (Texts{"a.io", "b.io"}));
  other.AddAny();
  one.Add(other);
  EXPECT_EQ(one.Hosts(), Texts{"*"});
}

TEST(IsConfigPath, IsAbsoluteAndPrintable) {
  for (std::string_view path : {"", "/a", "/a:/b", "/a:"}) EXPECT_TRUE(IsConfigPath(path)) << path;
  for (std::string_view path : {"a", "./a", "/a b", "/a\nb", ":/a", "/\xc3\xa4"}) {
    EXPECT_FALSE(IsConfigPath(path)) << path;
  }
  EXPECT_FALSE(IsConfigPath("/" + std::string(4096, 'a')));
}

}  // namespace
}  // namespace prefetch::image::reference_test
