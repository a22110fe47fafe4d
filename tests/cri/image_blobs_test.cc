#include "cri/pull_resources.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/sha256.h"

namespace prefetch::cri::image_blobs_test {
namespace {

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
  auto image = BlobsOf(Named("reg.example:5000/team/app:v1"), "", manifest);
  ASSERT_TRUE(image);
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
  auto image = BlobsOf(Named("app"), "{}", manifest);
  ASSERT_TRUE(image);
  ASSERT_EQ(image->documents.size(), 2U);
  const ImageDocument& index = image->documents.back();
  EXPECT_EQ(index.bytes, "{}");
  EXPECT_EQ(index.blob.ref, "index-sha256:" + base::Sha256Hex("{}"));
  EXPECT_EQ(index.blob.labels, (std::map<std::string, std::string>{
                                   {"containerd.io/distribution.source.docker.io", "library/app"},
                                   {"containerd.io/gc.ref.content.m.0", image->documents[0].blob.digest}}));
}

TEST(ImageBlobsTest, ALayerThatIsListedTwiceIsOneBlob) {
  auto image = BlobsOf(Named("app"), "", Manifest(Layer(kLayer) + "," + Layer(kLayer)));
  ASSERT_TRUE(image);
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
}  // namespace prefetch::cri::image_blobs_test
