#include "image/reference.h"

#include <gtest/gtest.h>

#include <string>

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

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class ParseTest : public testing::TestWithParam<Row> {};

TEST_P(ParseTest, NormalizesOrRefuses) {
  const Row& row = GetParam();
  base::Result<Reference> reference = Reference::Parse(row.written);
  if (row.normalized.empty()) {
    ASSERT_FALSE(reference.ok()) << reference->Normalized();
    EXPECT_EQ(reference.error().code(), base::Code::kInvalidArgument);
    EXPECT_NE(reference.error().message().find(row.complaint), std::string::npos)
        << reference.error().message();
    return;
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

// Registry rules R1 and R2, case by case; computed once with another implementation of the grammar.
INSTANTIATE_TEST_SUITE_P(
    Spec, ParseTest,
    testing::Values(
        Row{"Row01", "busybox", "docker.io/library/busybox:latest", ""},
        Row{"Row02", "busybox:1.36", "docker.io/library/busybox:1.36", ""},
        Row{"Row03", "library/busybox", "docker.io/library/busybox:latest", ""},
        Row{"Row04", "docker.io/busybox", "docker.io/library/busybox:latest", ""},
        Row{"Row05", "index.docker.io/busybox:1", "docker.io/library/busybox:1", ""},
        Row{"Row06", "docker.io/library/busybox:latest", "docker.io/library/busybox:latest", ""},
        Row{"Row07", "bitnami/redis", "docker.io/bitnami/redis:latest", ""},
        Row{"Row08", "bitnami/redis:7@sha256:" + std::string(64, 'f'),
            "docker.io/bitnami/redis@sha256:" + std::string(64, 'f'), ""},
        Row{"Row09", "busybox@sha256:" + std::string(64, 'f'),
            "docker.io/library/busybox@sha256:" + std::string(64, 'f'), ""},
        Row{"Row10", "localhost/app", "localhost/app:latest", ""},
        Row{"Row11", "localhost:5000/app", "localhost:5000/app:latest", ""},
        Row{"Row12", "localhost:5000", "docker.io/library/localhost:5000", ""},
        Row{"Row13", "test.com:5000", "docker.io/library/test.com:5000", ""},
        Row{"Row14", "test.com:5000/app", "test.com:5000/app:latest", ""},
        Row{"Row15", "test.com:tag", "docker.io/library/test.com:tag", ""},
        Row{"Row16", "registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10", ""},
        Row{"Row17", "ghcr.io/Org/app", "", "path must be lowercase"},
        Row{"Row18", "Org/app", "Org/app:latest", ""},
        Row{"Row19", "REG.example.com/app", "REG.example.com/app:latest", ""},
        Row{"Row20", "UPPER/app", "UPPER/app:latest", ""},
        Row{"Row21", "reg/app", "docker.io/reg/app:latest", ""},
        Row{"Row22", "reg:5000/app", "reg:5000/app:latest", ""},
        Row{"Row23", "192.168.1.1:5000/team/app:5050", "192.168.1.1:5000/team/app:5050", ""},
        Row{"Row24", "[2001:db8::1]:5000/app:v1", "[2001:db8::1]:5000/app:v1", ""},
        Row{"Row25", "[fe80::1%eth0]:5000/app", "", "invalid reference format"},
        Row{"Row26", "[2001:db8::1]", "", "invalid reference format"},
        Row{"Row27", "xn--n3h.com/app", "xn--n3h.com/app:latest", ""},
        Row{"Row28", "a_b.com/app", "a_b.com/app:latest", ""},
        Row{"Row29", "foo_bar.com:8080", "docker.io/library/foo_bar.com:8080", ""},
        Row{"Row30", "my__app", "docker.io/library/my__app:latest", ""},
        Row{"Row31", "my___app", "", "invalid reference format"},
        Row{"Row32", "my--app", "docker.io/library/my--app:latest", ""},
        Row{"Row33", "my..app", "", "invalid reference format"},
        Row{"Row34", "my.-app", "", "invalid reference format"},
        Row{"Row35", "-app", "", "invalid reference format"},
        Row{"Row36", "app-", "", "invalid reference format"},
        Row{"Row37", "_app", "", "invalid reference format"},
        Row{"Row38", "app:", "", "invalid reference format"},
        Row{"Row39", "app:-x", "", "invalid reference format"},
        Row{"Row40", "app:.x", "", "invalid reference format"},
        Row{"Row41", "app:_x", "docker.io/library/app:_x", ""},
        Row{"Row42", "app:" + std::string(128, 't'), "docker.io/library/app:" + std::string(128, 't'), ""},
        Row{"Row43", "app:" + std::string(129, 't'), "", "invalid reference format"},
        Row{"Row44", "app:La.te-st_1", "docker.io/library/app:La.te-st_1", ""},
        Row{"Row45", "app:ta/g", "", "invalid reference format"},
        Row{"Row46", "app:tag:tag", "", "invalid reference format"},
        Row{"Row47", "app@sha256:" + std::string(32, 'f'), "", "digest has the wrong length"},
        Row{"Row48", "app@sha256:" + std::string(64, 'F'), "", "digest must be lowercase hex"},
        Row{"Row49", "app@sha512:" + std::string(128, 'f'),
            "docker.io/library/app@sha512:" + std::string(128, 'f'), ""},
        Row{"Row50", "app@md5:" + std::string(32, 'f'), "", "digest has an unsupported algorithm"},
        Row{"Row51", "app@sha256", "", "digest has an invalid format"},
        Row{"Row52", "app@", "", "digest has an invalid format"},
        Row{"Row53", std::string(64, 'f'), "", "look like an image ID"},
        Row{"Row54", std::string(63, 'f'), "docker.io/library/" + std::string(63, 'f') + ":latest", ""},
        Row{"Row55", "", "", "invalid reference format"},
        Row{"Row56", "/app", "", "invalid reference format"},
        Row{"Row57", "app/", "", "invalid reference format"},
        Row{"Row58", "a//b", "", "invalid reference format"},
        Row{"Row59", "host.io/a/b/c/d:1", "host.io/a/b/c/d:1", ""},
        Row{"Row60", "https://reg.io/app", "", "invalid reference format"},
        Row{"Row61", " app", "", "invalid reference format"},
        Row{"Row62", "app ", "", "invalid reference format"},
        Row{"Row63", "app:tag\n", "", "invalid reference format"},
        Row{"Row64", "é/app", "", "invalid reference format"},
        Row{"Row65", "host.io/" + Repeat(127, "a/") + "a", "host.io/" + Repeat(127, "a/") + "a:latest", ""},
        Row{"Row66", "host.io/" + Repeat(127, "a/") + "ab", "", "path is longer than 255"},
        Row{"LongBelowAHostWithUnderscore", "my_host.io/" + Repeat(121, "a/") + "a",
            "my_host.io/" + Repeat(121, "a/") + "a:latest", ""},
        Row{"TooLongBelowAHostWithUnderscore", "my_host.io/" + Repeat(122, "a/") + "a", "",
            "path is longer than 255"},
        Row{"Row67", "docker.io/a", "docker.io/library/a:latest", ""},
        Row{"Row68", "docker.io:443/app", "docker.io:443/app:latest", ""},
        Row{"Row69", "registry-1.docker.io/library/busybox", "registry-1.docker.io/library/busybox:latest",
            ""},
        Row{"Row70", "gcr.io:443/p/app", "gcr.io:443/p/app:latest", ""},
        Row{"Row71", "host.io:/app", "", "invalid reference format"},
        Row{"Row72", "host.io:port/app", "", "invalid reference format"},
        Row{"Row73", "host..io/app", "", "invalid reference format"},
        Row{"Row74", "-host.io/app", "", "invalid reference format"},
        Row{"Row75", "public.ecr.aws/docker/library/busybox:1.36",
            "public.ecr.aws/docker/library/busybox:1.36", ""},
        Row{"Row76", "1234567890", "docker.io/library/1234567890:latest", ""},
        Row{"Row77", "deadbeef", "docker.io/library/deadbeef:latest", ""},
        Row{"Row78", "app:v1@sha256:" + std::string(64, 'f') + ":x", "", "digest has an invalid format"}),
    [](const auto& row) { return row.param.name; });

// What the grammar allows and we refuse: it could never be pulled.
INSTANTIATE_TEST_SUITE_P(
    Agent, ParseTest,
    testing::Values(Row{"LongerThan1024", "host.io/" + std::string(1017, 'a'), "", "longer than 1024"},
                    Row{"PortZero", "host.io:0/app", "", "port must be between"},
                    Row{"PortTooHigh", "host.io:65536/app", "", "port must be between"},
                    Row{"PortOverflows", "host.io:99999999999999999999999/app", "", "port must be between"},
                    Row{"PortHighest", "host.io:65535/app", "host.io:65535/app:latest", ""},
                    Row{"Label63", std::string(63, 'h') + ".io/a", std::string(63, 'h') + ".io/a:latest", ""},
                    Row{"Label64", std::string(64, 'h') + ".io/a", "", "label longer than 63"},
                    Row{"Host253", Repeat(126, "h.") + "h/a", Repeat(126, "h.") + "h/a:latest", ""},
                    Row{"Host254", Repeat(126, "h.") + "hh/a", "", "host is longer than 253"},
                    Row{"BadIpv6", "[1::2::3]/app", "", "not a valid IPv6"},
                    Row{"Ipv6WithoutPort", "[::1]/app", "[::1]/app:latest", ""},
                    Row{"Ipv6Trailing", "[::1]x/app", "", "invalid reference format"},
                    Row{"Ipv6Open", "[::1/app", "", "invalid reference format"},
                    Row{"Ipv6Empty", "[]:5000/app", "", "invalid reference format"},
                    Row{"NulByte", std::string("app\0x", 5), "", "invalid reference format"},
                    Row{"TwoDigests",
                        "app@sha256:" + std::string(64, 'f') + "@sha256:" + std::string(64, 'f'), "",
                        "digest has an invalid format"}),
    [](const auto& row) { return row.param.name; });

struct SpecImageRow {
  std::string name;
  std::string written;
  std::string spec_image;  // empty: refused
  std::string repository;
  std::string tag;
};

void PrintTo(const SpecImageRow& row, std::ostream* out) {
  *out << row.name;
}

class SpecImageTest : public testing::TestWithParam<SpecImageRow> {};

TEST_P(SpecImageTest, IsWhatKubeletSends) {
  const SpecImageRow& row = GetParam();
  base::Result<Reference> reference = Reference::Parse(row.written);
  ASSERT_EQ(reference.ok(), !row.spec_image.empty());
  if (!reference.ok()) return;
  EXPECT_EQ(reference->SpecImage(), row.spec_image);
  EXPECT_EQ(reference->Repository(), row.repository);
  EXPECT_EQ(reference->tag(), row.tag);
}

const std::string kDigest = "@sha256:" + std::string(64, 'a');

// kubelet's rule K1, and its corners.
INSTANTIATE_TEST_SUITE_P(
    Spec, SpecImageTest,
    testing::Values(
        SpecImageRow{"Plain", "nginx", "nginx:latest", "docker.io/library/nginx", "latest"},
        SpecImageRow{"Tag", "nginx:1.27", "nginx:1.27", "docker.io/library/nginx", "1.27"},
        SpecImageRow{"DigestOnly", "team/app" + kDigest, "team/app" + kDigest, "docker.io/team/app", ""},
        SpecImageRow{"TagAndDigest", "reg:5000/a:latest" + kDigest, "reg:5000/a:latest" + kDigest,
                     "reg:5000/a", "latest"},
        SpecImageRow{"Localhost", "localhost/x", "localhost/x:latest", "localhost/x", "latest"},
        SpecImageRow{"Url", "http://x", "", "", ""}, SpecImageRow{"UpperCase", "ROOT", "", "", ""},
        SpecImageRow{"ImageId", std::string(64, 'a'), "", "", ""},
        SpecImageRow{"LatestWritten", "nginx:latest", "nginx:latest", "docker.io/library/nginx", "latest"},
        SpecImageRow{"NamedLatest", "latest", "latest:latest", "docker.io/library/latest", "latest"},
        SpecImageRow{"HostAloneIsAnImage", "foo.io:5000", "foo.io:5000", "docker.io/library/foo.io", "5000"},
        SpecImageRow{"LocalhostAlone", "localhost", "localhost:latest", "docker.io/library/localhost",
                     "latest"},
        SpecImageRow{"LegacyHubHostStaysWritten", "index.docker.io/nginx", "index.docker.io/nginx:latest",
                     "docker.io/library/nginx", "latest"}),
    [](const auto& row) { return row.param.name; });

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

}  // namespace
}  // namespace prefetch::image::reference_test
