#include <gtest/gtest.h>

#include "screen/list_difference.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "status/words.h"

namespace prefetch::screen::alias_test {
namespace {

using Names = std::vector<std::string>;

const std::string kDigest = "@sha256:9ab1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff";

struct NamesCase {
  std::string name, image;
  Names aliases, expect;
};
class OtherNamesTest : public testing::TestWithParam<NamesCase> {};
TEST_P(OtherNamesTest, SaysEachNameOnce) {
  EXPECT_EQ(status::OtherNames(GetParam().image, GetParam().aliases), GetParam().expect);
}
INSTANTIATE_TEST_SUITE_P(
    All, OtherNamesTest,
    testing::Values(NamesCase{"None", "q.io/a:v1", {}, {}},
                    NamesCase{"TagAndDigestOfOneRepository",
                              "q.io/a:v1",
                              {"m.io/a:v1", "m.io/a" + kDigest},
                              {"m.io/a:v1"}},
                    NamesCase{"ADigestAlone", "q.io/a:v1", {"m.io/a" + kDigest}, {"m.io/a" + kDigest}},
                    NamesCase{"TheOwnRepository", "q.io/a:v1", {"q.io/a" + kDigest}, {}},
                    NamesCase{"AnotherTagOfIt", "q.io/a:v1", {"q.io/a:v2"}, {"q.io/a:v2"}},
                    NamesCase{"NoReference", "q.io/a:v1", {"<none>"}, {"<none>"}}),
    [](const auto& row) { return row.param.name; });

plan::ImageList ListOf(const Names& names) {
  plan::ImageList list;
  for (const std::string& name : names) {
    plan::ImageState state = sample::Ready(name, 1);
    state.desired.Change([&](plan::DesiredImage& desired) {
      desired.from = {"images.yaml:" + std::to_string(10 + list.images.size())};
    });
    list.images.push_back(state.desired);
  }
  return list;
}

struct NotesCase {
  std::string name;
  Names list;
  Names aliases;  // of quay.io/acme/app:v1, which the agent lists
  Names expect;
};
class AliasNotesTest : public testing::TestWithParam<NotesCase> {};
TEST_P(AliasNotesTest, ProposesWhatIsMissing) {
  plan::ImageState app = sample::Ready("quay.io/acme/app:v1", 1);
  app.aliases = GetParam().aliases;
  auto document = status::ParseStatusDocument(status::StatusJson(sample::Node({app})));
  ASSERT_TRUE(document);
  EXPECT_EQ(AliasNotes(ListOf(GetParam().list), *document), GetParam().expect);
}

const std::string kApp = "quay.io/acme/app:v1";
const std::string kNote =
    "images.yaml:10 quay.io/acme/app:v1 is also here as mirror.acme.io/app:v1: kubelet judges both by one "
    "record; list it too";

INSTANTIATE_TEST_SUITE_P(
    All, AliasNotesTest,
    testing::Values(NotesCase{"Missing", {kApp}, {"mirror.acme.io/app:v1"}, {kNote}},
                    NotesCase{"Listed", {kApp, "mirror.acme.io/app:v1"}, {"mirror.acme.io/app:v1"}, {}},
                    NotesCase{"ListedInAnotherSpelling", {kApp, "tool:1"}, {"docker.io/library/tool:1"}, {}},
                    NotesCase{"OnlyItsOwnDigest", {kApp}, {"quay.io/acme/app" + kDigest}, {}},
                    NotesCase{"OfAnImageThatTheAgentDoesNotList",
                              {"ghcr.io/acme/other:v1"},
                              {"mirror.acme.io/app:v1"},
                              {}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::screen::alias_test
