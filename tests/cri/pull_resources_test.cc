#include "cri/pull_resources.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/sha256.h"
#include "must.h"
#include "rows.h"

namespace prefetch::cri::pull_resources_test {
namespace {

const StoredManifest kManifest = {"sha256:m", {{"sha256:c", 10}, {"sha256:a", 1000}, {"sha256:b", 2000}}};

PullFacts Facts(std::map<std::string, std::uint64_t> ingests, std::set<std::string> committed) {
  return {{}, std::move(ingests), kManifest, std::move(committed)};
}

struct Row {
  std::string name;
  PullFacts facts;
  image::PullProgress expect;  // without the fingerprint
};

TEST_TABLE(ProgressTest, Counts, Row) {
  image::PullProgress progress = ProgressFrom(row.facts);
  progress.fingerprint = 0;
  EXPECT_EQ(progress, row.expect);
}

TEST_ROWS(Stages, ProgressTest, {"NothingYet", {}, {}},
          {"OthersOnly", {{}, {{"sha256:x", 5}}, std::nullopt, {}}, {}},
          {"Queued", Facts({}, {"sha256:c"}), {.bytes_done = 10, .bytes_total = 3010}},
          {"TwoLayersAtOnce", Facts({{"sha256:a", 300}, {"sha256:b", 200}}, {"sha256:c"}),
           image::PullProgress{.bytes_done = 510, .bytes_total = 3010, .active = true}},
          {"BlobsOfOthersDoNotCount", Facts({{"sha256:x", 300}}, {"sha256:c", "sha256:a"}),
           image::PullProgress{.bytes_done = 1010, .bytes_total = 3010}},
          {"CommittedWhileLookedAt", Facts({{"sha256:a", 1000}}, {"sha256:c", "sha256:a"}),
           image::PullProgress{.bytes_done = 1010, .bytes_total = 3010}},
          {"Unpacking", Facts({}, {"sha256:c", "sha256:a", "sha256:b"}),
           image::PullProgress{.bytes_done = 3010, .bytes_total = 3010, .unpacking = true}});

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

TEST(SourceLabelTest, IsTheHostWithoutItsPort) {
  const std::string prefix = "containerd.io/distribution.source.";
  EXPECT_EQ(SourceLabel("docker.io"), prefix + "docker.io");
  EXPECT_EQ(SourceLabel("127.0.0.1:5000"), prefix + "127.0.0.1");
  EXPECT_EQ(SourceLabel("[::1]:5000"), prefix + "::1");
}

TEST(LeaseForTest, IsTheSameForEverySpellingOfAName) {
  auto lease = [](const char* text) { return LeaseFor("a", *image::Reference::Parse(text)); };
  EXPECT_EQ(lease("busybox"), lease("docker.io/library/busybox:latest"));
  EXPECT_NE(lease("busybox:1"), lease("busybox:2"));
  EXPECT_TRUE(lease("busybox").starts_with(kLeasePrefix));
  EXPECT_TRUE(lease("busybox").starts_with(LeasePrefix("a")));
  EXPECT_NE(LeasePrefix("a"), LeasePrefix("b"));
}

const std::string kConfig = "sha256:" + std::string(64, 'c');
const std::string kLayer = "sha256:" + std::string(64, 'a');
const std::string kOther = "sha256:" + std::string(64, 'b');

image::Reference Named(const std::string& name) {
  return *image::Reference::Parse(name);
}

std::string Descriptor(const std::string& type, const std::string& digest, const std::string& more = "") {
  return R"({"mediaType":")" + type + R"(","digest":")" + digest + R"(","size":)" +
         (more.starts_with("size:") ? more.substr(5) : "10" + more) + "}";
}

std::string Layer(const std::string& digest, const std::string& more = "") {
  return Descriptor("application/vnd.oci.image.layer.v1.tar+gzip", digest, more);
}

std::string Manifest(const std::string& layers,
                     const std::string& config_type = "application/vnd.oci.image.config.v1+json") {
  return R"({"config":)" + Descriptor(config_type, kConfig) + R"(,"layers":[)" + layers + "]}";
}

TEST(ImageBlobsTest, NamesAndLabelsAreContainerdsOwn) {
  const std::string manifest = Manifest(Layer(kLayer) + "," + Layer(kOther));
  auto image = tests::Must(BlobsOf(Named("reg.example:5000/team/app:v1"), "", manifest));
  const std::map<std::string, std::string> source = {
      {"containerd.io/distribution.source.reg.example", "team/app"}};
  EXPECT_EQ(image->blobs, (std::vector<BlobToWrite>{{"config-" + kConfig, kConfig, 10, source},
                                                    {"layer-" + kLayer, kLayer, 10, source},
                                                    {"layer-" + kOther, kOther, 10, source}}));
  ASSERT_EQ(image->documents.size(), 1U);
  const std::string digest = "sha256:" + base::Sha256Hex(manifest);
  std::map<std::string, std::string> labels = source;
  labels["containerd.io/gc.ref.content.config"] = kConfig;
  labels["containerd.io/gc.ref.content.l.0"] = kLayer;
  labels["containerd.io/gc.ref.content.l.1"] = kOther;
  EXPECT_EQ(image->documents.front().blob,
            (BlobToWrite{"manifest-" + digest, digest, manifest.size(), labels}));
  EXPECT_EQ(image->documents.front().bytes, manifest);
}

TEST(ImageBlobsTest, AnIndexKeepsItsManifest) {
  const std::string manifest = Manifest(Layer(kLayer));
  auto image = tests::Must(BlobsOf(Named("app"), "{}", manifest));
  ASSERT_EQ(image->documents.size(), 2U);
  const ImageDocument& index = image->documents.back();
  EXPECT_EQ(index.bytes, "{}");
  EXPECT_EQ(index.blob.ref, "index-sha256:" + base::Sha256Hex("{}"));
  EXPECT_EQ(index.blob.labels, (std::map<std::string, std::string>{
                                   {"containerd.io/distribution.source.docker.io", "library/app"},
                                   {"containerd.io/gc.ref.content.m.0", image->documents[0].blob.digest}}));
}

TEST(ImageBlobsTest, ALayerThatIsListedTwiceIsOneBlob) {
  auto image = tests::Must(BlobsOf(Named("app"), "", Manifest(Layer(kLayer) + "," + Layer(kLayer))));
  EXPECT_EQ(image->blobs.size(), 2U);
}

TEST(ImageBlobsTest, TheSizeIsThatOfAllBlobs) {
  EXPECT_EQ(BlobsOf(Named("app"), "", Manifest(Layer(kLayer)))->size_bytes, 20U);
}

TEST(ImageBlobsTest, WhatIsLeftToTheRuntime) {
  const std::string foreign = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip";
  std::string many = Layer(kLayer);
  for (int i = 0; i < 1000; i++) many += "," + Layer("sha256:" + base::Sha256Hex(std::to_string(i)));
  const std::string rows[] = {
      Manifest(many),
      "",
      "<html>",
      R"({"manifests":[]})",
      Manifest(Layer("sha256:short")),
      Manifest(Layer("sha512:" + std::string(128, 'a'))),
      Manifest(Layer(kLayer, "size:0")),
      Manifest(Layer(kLayer, "size:-1")),
      Manifest(Layer(kLayer, "size:9223372036854775807")),
      Manifest(Layer(kLayer, R"(,"urls":["https://elsewhere.example/layer"])")),
      Manifest(Descriptor(foreign, kLayer)),
      Manifest(Descriptor("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", kLayer)),
      Manifest(Descriptor("application/vnd.oci.image.layer.v1.tar+gzip+encrypted", kLayer)),
      Manifest(Layer(kLayer), "application/vnd.cncf.helm.config.v1+json"),
  };
  for (const std::string& manifest : rows) EXPECT_FALSE(BlobsOf(Named("app"), "", manifest)) << manifest;
}

}  // namespace
}  // namespace prefetch::cri::pull_resources_test
