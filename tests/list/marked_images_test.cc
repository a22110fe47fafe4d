#include "list/draft.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::list::marked_images_test {
namespace {

struct MarkedCase {
  std::string name, text, expect;
};
class MarkedImagesTest : public testing::TestWithParam<MarkedCase> {};
TEST_P(MarkedImagesTest, AreFound) {
  doc::Problems problems("f");
  std::string found;
  for (const MarkedImage& image : ReadMarkedImages(GetParam().text, "prefetch:me", problems)) {
    found += std::to_string(image.at.line) + ":" + std::to_string(image.at.column) + " " +
             image.reference.written() + "\n";
  }
  for (const std::string& line : problems.Lines()) found += line + "\n";
  EXPECT_EQ(found, GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    All, MarkedImagesTest,
    testing::Values(
        MarkedCase{"Dockerfile", "FROM quay.io/acme/b:v3 AS build  # prefetch:me\n",
                   "1:6 quay.io/acme/b:v3\n"},
        MarkedCase{"Go", "const x = \"quay.io/acme/x:v1\" // prefetch:me\n", "1:12 quay.io/acme/x:v1\n"},
        MarkedCase{"Shell", "IMAGE=quay.io/acme/x:v1 # prefetch:me\n", "1:7 quay.io/acme/x:v1\n"},
        MarkedCase{"Yaml", "image: quay.io/acme/x:v1 # prefetch:me", "1:8 quay.io/acme/x:v1\n"},
        MarkedCase{"Json", "{\"a\": \"reg:5000/x\", \"//\": \"prefetch:me\"}\n", "1:8 reg:5000/x\n"},
        MarkedCase{"TheNextLine", "# prefetch:me\n\nimage = 'quay.io/acme/x:v1'\n",
                   "3:10 quay.io/acme/x:v1\n"},
        MarkedCase{"InTheComment", "# prefetch:me quay.io/acme/x:v1\nother: quay.io/y:v1\n",
                   "1:15 quay.io/acme/x:v1\n"},
        MarkedCase{"Skopeo", "docker://quay.io/acme/x:v1 # prefetch:me\n", "1:10 quay.io/acme/x:v1\n"},
        MarkedCase{"ARegistryGoesFirst", "run:x nginx:1.27 q.io/a # prefetch:me\n", "1:18 q.io/a\n"},
        MarkedCase{"AShortNameWithATag", "FROM nginx:1.27 # prefetch:me\n", "1:6 nginx:1.27\n"},
        MarkedCase{"WordsAreNoNames", "see src/main.go at 12:30 std::string # prefetch:me\nnothing here\n",
                   "f:1:40: no image name stands in the line of this marker, nor in the next one\n"},
        MarkedCase{"TheEnd", "x\n# prefetch:me\n",
                   "f:2:3: no image name stands in the line of this marker, nor in the next one\n"},
        MarkedCase{"NoMarker", "quay.io/acme/x:v1\n", ""},
        MarkedCase{"WindowsLines", "FROM quay.io/a:v1 # prefetch:me\r\n", "1:6 quay.io/a:v1\n"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::list::marked_images_test
