#include "cri/pull_resources.h"

#include <gtest/gtest.h>

namespace prefetch::cri::pull_resources_test {
namespace {

const StoredManifest kManifest = {"sha256:m", {{"sha256:c", 10}, {"sha256:a", 1000}, {"sha256:b", 2000}}};

PullFacts Facts(std::map<std::string, std::uint64_t> ingests, std::set<std::string> committed) {
  return {{}, std::move(ingests), kManifest, std::move(committed)};
}

struct Row {
  std::string name;
  PullFacts facts;
  PullProgress expect;  // without the fingerprint
};

class ProgressTest : public testing::TestWithParam<Row> {};

TEST_P(ProgressTest, Counts) {
  PullProgress progress = ProgressFrom(GetParam().facts);
  progress.fingerprint = 0;
  EXPECT_EQ(progress, GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Stages, ProgressTest,
    testing::Values(Row{"NothingYet", {}, {}},
                    Row{"OthersOnly", {{}, {{"sha256:x", 5}}, std::nullopt, {}}, {}},
                    Row{"Queued", Facts({}, {"sha256:c"}), {.bytes_done = 10, .bytes_total = 3010}},
                    Row{"TwoLayersAtOnce",
                        Facts({{"sha256:a", 300}, {"sha256:b", 200}}, {"sha256:c"}),
                        {.bytes_done = 510, .bytes_total = 3010, .active = true}},
                    Row{"BlobsOfOthersDoNotCount",
                        Facts({{"sha256:x", 300}}, {"sha256:c", "sha256:a"}),
                        {.bytes_done = 1010, .bytes_total = 3010}},
                    Row{"CommittedWhileLookedAt",
                        Facts({{"sha256:a", 1000}}, {"sha256:c", "sha256:a"}),
                        {.bytes_done = 1010, .bytes_total = 3010}},
                    Row{"Unpacking",
                        Facts({}, {"sha256:c", "sha256:a", "sha256:b"}),
                        {.bytes_done = 3010, .bytes_total = 3010, .unpacking = true}}),
    [](const auto& row) { return row.param.name; });

TEST(ProgressTest, FingerprintMovesWithBytesBlobsAndSnapshots) {
  PullFacts facts = Facts({{"sha256:a", 300}}, {"sha256:c"});
  std::uint64_t before = ProgressFrom(facts).fingerprint;
  EXPECT_EQ(ProgressFrom(facts).fingerprint, before);
  PullFacts more_bytes = facts;
  more_bytes.ingests["sha256:a"] = 301;
  EXPECT_NE(ProgressFrom(more_bytes).fingerprint, before);
  PullFacts more_snapshots = facts;
  more_snapshots.resources.insert({"snapshots/overlayfs", "sha256:chain"});
  EXPECT_NE(ProgressFrom(more_snapshots).fingerprint, before);
  PullFacts strangers = facts;
  strangers.ingests["sha256:x"] = 5;
  EXPECT_EQ(ProgressFrom(strangers).fingerprint, before);
}

TEST(DigestOfIngestTest, ShapesOfContainerd) {
  EXPECT_EQ(DigestOfIngest("layer-sha256:ab"), "sha256:ab");
  EXPECT_EQ(DigestOfIngest("manifest-sha256:ab"), "sha256:ab");
  EXPECT_EQ(DigestOfIngest("something"), "");
}

TEST(ResourcesOfTest, NamesManifestConfigAndLayers) {
  std::vector<LeaseResource> expect = {{"content", "sha256:m"},        {"content", "sha256:c"},
                                       {"ingests", "config-sha256:c"}, {"content", "sha256:a"},
                                       {"ingests", "layer-sha256:a"},  {"content", "sha256:b"},
                                       {"ingests", "layer-sha256:b"}};
  EXPECT_EQ(ResourcesOf(kManifest), expect);
}

TEST(SourceLabelTest, IsTheHostWithoutItsPort) {
  const std::string prefix = "containerd.io/distribution.source.";
  EXPECT_EQ(SourceLabel("docker.io"), prefix + "docker.io");
  EXPECT_EQ(SourceLabel("127.0.0.1:5000"), prefix + "127.0.0.1");
  EXPECT_EQ(SourceLabel("[::1]:5000"), prefix + "::1");
  EXPECT_TRUE(ListsRepository("library/a,team/app", "team/app"));
  EXPECT_FALSE(ListsRepository("team/app2", "team/app"));
}

TEST(LeaseForTest, IsTheSameForEverySpellingOfAName) {
  auto lease = [](const char* text) { return LeaseFor("a", *image::Reference::Parse(text)); };
  EXPECT_EQ(lease("busybox"), lease("docker.io/library/busybox:latest"));
  EXPECT_NE(lease("busybox:1"), lease("busybox:2"));
  EXPECT_TRUE(lease("busybox").starts_with(kLeasePrefix));
  EXPECT_TRUE(lease("busybox").starts_with(LeasePrefix("a")));
  EXPECT_NE(LeasePrefix("a"), LeasePrefix("b"));
}

}  // namespace
}  // namespace prefetch::cri::pull_resources_test
