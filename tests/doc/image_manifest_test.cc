#include "doc/image_manifest.h"

#include <gtest/gtest.h>

namespace prefetch::doc::image_manifest_test {
namespace {

struct ManifestRow {
  std::string name;
  std::string json;
  std::optional<std::vector<Blob>> expect;
};

class ImageManifestTest : public testing::TestWithParam<ManifestRow> {};

TEST_P(ImageManifestTest, ListsItsBlobs) {
  const auto manifest = ParseImageManifest(GetParam().json);
  EXPECT_EQ(manifest ? std::optional(manifest->blobs) : std::nullopt, GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ImageManifestTest,
    testing::Values(
        ManifestRow{"Image",
                    R"({"config":{"digest":"sha256:c","size":7},"layers":[{"digest":"sha256:a","size":10},
                        {"digest":"sha256:b","size":20}]})",
                    std::vector<Blob>{{"sha256:c", 7}, {"sha256:a", 10}, {"sha256:b", 20}}},
        ManifestRow{"SameLayerTwice",
                    R"({"config":{"digest":"sha256:c","size":7},"layers":[{"digest":"sha256:a","size":10},
                        {"digest":"sha256:a","size":10}]})",
                    std::vector<Blob>{{"sha256:c", 7}, {"sha256:a", 10}}},
        ManifestRow{"NoLayers", R"({"config":{"digest":"sha256:c","size":7},"layers":[]})",
                    std::vector<Blob>{{"sha256:c", 7}}},
        ManifestRow{"Index", R"({"manifests":[{"digest":"sha256:m","size":5}]})", std::nullopt},
        ManifestRow{"Configuration", R"({"architecture":"amd64","config":{},"rootfs":{}})", std::nullopt},
        ManifestRow{"NegativeSize", R"({"config":{"digest":"sha256:c","size":-7},"layers":[]})",
                    std::nullopt},
        ManifestRow{"LargestSize", R"({"config":{"digest":"sha256:c","size":1125899906842624},"layers":[]})",
                    std::vector<Blob>{{"sha256:c", 1ULL << 50}}},
        ManifestRow{"ImpossibleSize",
                    R"({"config":{"digest":"sha256:c","size":1125899906842625},"layers":[]})", std::nullopt},
        ManifestRow{"BrokenLayer", R"({"config":{"digest":"sha256:c","size":7},"layers":[1]})", std::nullopt},
        ManifestRow{"NotJson", "\x1f\x8b", std::nullopt}, ManifestRow{"Empty", "", std::nullopt}),
    [](const auto& row) { return row.param.name; });

struct UnpackRow {
  std::string name;
  std::string config;
  std::vector<std::string> layers;
  bool can;
};

void PrintTo(const UnpackRow& row, std::ostream* out) {
  *out << row.name;
}

class UnpackTest : public testing::TestWithParam<UnpackRow> {};

TEST_P(UnpackTest, ByMediaTypes) {
  std::string layers;
  for (const std::string& type : GetParam().layers) {
    layers += (layers.empty() ? "" : ",") + std::string(R"({"digest":"sha256:b","size":1,"mediaType":")") +
              type + "\"}";
  }
  const auto manifest = ParseImageManifest(R"({"config":{"digest":"sha256:a","size":1,"mediaType":")" +
                                           GetParam().config + R"("},"layers":[)" + layers + "]}");
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->can_be_unpacked, GetParam().can);
}

const std::string kOciConfig = "application/vnd.oci.image.config.v1+json";
const std::string kOciLayer = "application/vnd.oci.image.layer.v1.tar";

INSTANTIATE_TEST_SUITE_P(
    Manifest, UnpackTest,
    testing::Values(
        UnpackRow{"Oci", kOciConfig, {kOciLayer, kOciLayer + "+gzip", kOciLayer + "+zstd"}, true},
        UnpackRow{"Foreign", kOciConfig, {"application/vnd.oci.image.layer.nondistributable.v1.tar"}, true},
        UnpackRow{"Docker",
                  "application/vnd.docker.container.image.v1+json",
                  {"application/vnd.docker.image.rootfs.diff.tar.gzip"},
                  true},
        UnpackRow{"NoLayers", kOciConfig, {}, true},
        UnpackRow{"Encrypted", kOciConfig, {kOciLayer, kOciLayer + "+gzip+encrypted"}, false},
        UnpackRow{"Chart", "application/vnd.cncf.helm.config.v1+json", {kOciLayer}, false},
        UnpackRow{
            "LayerOfAChart", kOciConfig, {"application/vnd.cncf.helm.chart.content.v1.tar+gzip"}, false}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::doc::image_manifest_test
