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
  EXPECT_EQ(ParseImageManifest(GetParam().json), GetParam().expect);
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

}  // namespace
}  // namespace prefetch::doc::image_manifest_test
