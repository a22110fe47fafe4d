#include "doc/image_manifest.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::doc::image_manifest_test {
namespace {

struct ManifestRow {
  std::string name;
  std::string json;
  std::optional<std::vector<Blob>> expect;
};

TEST_TABLE(ImageManifestTest, ListsItsBlobs, ManifestRow) {
  const auto manifest = ParseImageManifest(row.json);
  EXPECT_EQ(manifest ? std::optional(manifest->blobs) : std::nullopt, row.expect);
}

TEST_ROWS(Shapes, ImageManifestTest,
          {"Image",
           R"({"config":{"digest":"sha256:c","size":7},"layers":[{"digest":"sha256:a","size":10},
                        {"digest":"sha256:b","size":20}]})",
           std::vector<Blob>{{"sha256:c", 7}, {"sha256:a", 10}, {"sha256:b", 20}}},
          {"SameLayerTwice",
           R"({"config":{"digest":"sha256:c","size":7},"layers":[{"digest":"sha256:a","size":10},
                        {"digest":"sha256:a","size":10}]})",
           std::vector<Blob>{{"sha256:c", 7}, {"sha256:a", 10}}},
          {"NoLayers", R"({"config":{"digest":"sha256:c","size":7},"layers":[]})",
           std::vector<Blob>{{"sha256:c", 7}}},
          {"Index", R"({"manifests":[{"digest":"sha256:m","size":5}]})", std::nullopt},
          {"Configuration", R"({"architecture":"amd64","config":{},"rootfs":{}})", std::nullopt},
          {"NegativeSize", R"({"config":{"digest":"sha256:c","size":-7},"layers":[]})", std::nullopt},
          {"LargestSize", R"({"config":{"digest":"sha256:c","size":1125899906842624},"layers":[]})",
           std::vector<Blob>{{"sha256:c", 1ULL << 50}}},
          {"ImpossibleSize", R"({"config":{"digest":"sha256:c","size":1125899906842625},"layers":[]})",
           std::nullopt},
          {"BrokenLayer", R"({"config":{"digest":"sha256:c","size":7},"layers":[1]})", std::nullopt},
          {"NotJson", "\x1f\x8b", std::nullopt}, {"Empty", "", std::nullopt});

struct UnpackRow {
  std::string name;
  std::string config;
  std::vector<std::string> layers;
  bool can;
};

TEST_TABLE(UnpackTest, ByMediaTypes, UnpackRow) {
  std::string layers;
  for (const std::string& type : row.layers) {
    layers += (layers.empty() ? "" : ",") + std::string(R"({"digest":"sha256:b","size":1,"mediaType":")") +
              type + "\"}";
  }
  const auto manifest = ParseImageManifest(R"({"config":{"digest":"sha256:a","size":1,"mediaType":")" +
                                           row.config + R"("},"layers":[)" + layers + "]}");
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->can_be_unpacked, row.can);
}

const std::string kOciConfig = "application/vnd.oci.image.config.v1+json";
const std::string kOciLayer = "application/vnd.oci.image.layer.v1.tar";

TEST_ROWS(Manifest, UnpackTest,
          {"Oci", kOciConfig, {kOciLayer, kOciLayer + "+gzip", kOciLayer + "+zstd"}, true},
          {"Foreign", kOciConfig, {"application/vnd.oci.image.layer.nondistributable.v1.tar"}, true},
          {"Docker",
           "application/vnd.docker.container.image.v1+json",
           {"application/vnd.docker.image.rootfs.diff.tar.gzip"},
           true},
          {"NoLayers", kOciConfig, {}, true},
          {"Encrypted", kOciConfig, {kOciLayer, kOciLayer + "+gzip+encrypted"}, false},
          {"Chart", "application/vnd.cncf.helm.config.v1+json", {kOciLayer}, false},
          {"LayerOfAChart", kOciConfig, {"application/vnd.cncf.helm.chart.content.v1.tar+gzip"}, false});

}  // namespace
}  // namespace prefetch::doc::image_manifest_test
