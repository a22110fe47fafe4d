#include "screen/list_difference.h"

#include <gtest/gtest.h>

#include "doc/json.h"
#include "rig/expect_has.h"
#include "rows.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "status/words.h"

namespace prefetch::screen::list_difference_test {
namespace {

plan::DesiredImage Want(const char* image) {
  plan::DesiredImage desired;
  desired.reference = *image::Reference::Parse(image);
  return desired;
}

status::StatusImage Has(const char* image) {
  return {.image = image, .ready_for = "Never", .present = true, .from = {"images.yaml:7"}};
}

// The list here, the list there, and what is on the node.
TEST(DiffWithNode, SaysWhatIsWhere) {
  plan::ImageList list;
  for (const char* image :
       {"q.io/same:v1", "nginx:1.27", "q.io/new:v1", "q.io/absent:v1", "q.io/other:v1", "q.io/windows:v1"}) {
    list.images.push_back(Want(image));
  }
  list.images[4].required = false;
  list.images[4].ready_for = image::PullPolicy::kAlways;
  status::StatusDocument node{.node = "ci-7"};
  node.images = {Has("q.io/same:v1"),   Has("docker.io/library/nginx:1.27"),
                 Has("q.io/absent:v1"), Has("q.io/other:v1"),
                 Has("q.io/gone:v1"),   Has("q.io/windows:v1")};
  node.images[2].present = false;
  node.images[2].message = "waiting for the registry";
  node.images[5].applies = node.images[5].present = false;
  list.images[5].nodes.platforms = {{.os = "windows", .architecture = "amd64", .variant = ""}};
  EXPECT_EQ(
      ListDifferencesText(DiffWithNode(list, node)),
      "~ q.io/absent:v1  not on the node: waiting for the registry\n"
      "+ q.io/gone:v1    only on the list of node ci-7 (images.yaml:7)\n"
      "- q.io/new:v1     not on the list of node ci-7\n"
      "~ q.io/other:v1   optional here, required on the node; readyFor: Always here, Never on the node\n"
      "1 added, 1 removed, 2 changed\n");
}

TEST(DiffWithNode, SaysThatAnEntryIsForOtherNodesOrRefreshed) {
  plan::ImageList list;
  list.images = {Want("q.io/pool:v1"), Want("q.io/tag:v1")};
  list.images[1].refresh = plan::Refresh::kAlways;
  status::StatusDocument node{.node = "ci-7"};
  node.images = {Has("q.io/pool:v1"), Has("q.io/tag:v1")};
  node.images[0].applies = node.images[0].present = false;
  node.images[1].refresh = "IfNotPresent";
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ q.io/pool:v1  for other nodes here than on the node\n"
            "~ q.io/tag:v1   refresh: Always here, IfNotPresent on the node\n"
            "2 changed\n");
}

// kubelet judges pods by what they write.
TEST(DiffWithNode, SaysHowAnImageIsWritten) {
  plan::ImageList list;
  list.images.push_back(Want("nginx:1.27"));
  status::StatusDocument node{.node = "ci-7"};
  node.images = {Has("docker.io/library/nginx:1.27")};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)), "no difference\n") << "there is no kubelet";
  node.images[0].verdicts.never = {"Starts", "Preloaded"};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ nginx:1.27  written nginx:1.27 here, docker.io/library/nginx:1.27 on the node\n1 changed\n");
  list.images[0].other_pods.push_back({*image::Reference::Parse("docker.io/library/nginx:1.27")});
  node.images[0].verdicts.never = {};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ nginx:1.27  written docker.io/library/nginx:1.27, nginx:1.27 here, "
            "docker.io/library/nginx:1.27 on the node\n1 changed\n");
  node.images[0].spellings = {{.image = "docker.io/library/nginx:1.27"}, {.image = "nginx:1.27"}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)), "no difference\n")
      << "their order is no difference";
}

// The node's list judges an image for other pods.
TEST(DiffWithNode, SaysForWhichPods) {
  plan::ImageList list;
  list.images.push_back(Want("q.io/a:v1"));
  status::StatusDocument node{.node = "ci-7"};
  node.images = {Has("q.io/a:v1")};
  list.images[0].ready_as = image::PodCredentialRefs{.secrets = {{"", "ci", "pull"}}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ q.io/a:v1  readyAs: secret ci/pull here, none on the node\n1 changed\n");
  node.images[0].ready_as = {.secrets = {{"", "ci", "pull"}}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)), "no difference\n");
  node.images[0].ready_as = {};
  node.images[0].spellings = {{.image = "q.io/a:v1", .ready_as = {.secrets = {{"", "ci", "pull"}}}},
                              {.image = "q.io/a:v1"}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ q.io/a:v1  readyAs: secret ci/pull here, none; secret ci/pull on the node\n1 changed\n");
}

// An agent that is asked over the network does not tell for which pods an entry is.
TEST(DiffWithNode, ClaimsNothingOfHiddenPods) {
  plan::ImageList list;
  list.images.push_back(Want("q.io/a:v1"));
  list.images[0].ready_as = image::PodCredentialRefs{.secrets = {{"", "ci", "pull"}}};
  status::StatusDocument node{.node = "ci-7"};
  node.images = {Has("q.io/a:v1")};
  node.images[0].ready_as_hidden = true;
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ q.io/a:v1  readyAs on the node is hidden from callers without a token\n1 changed\n");
}

TEST(ListDifferences, Nothing) {
  EXPECT_EQ(ListDifferencesText({}), "no difference\n");
  EXPECT_EQ(ListDifferencesJson({}),
            "{\"apiVersion\":\"prefetchd.dev/v1\",\"kind\":\"ListDiff\",\"same\":true,\"differences\":[]}\n");
}

TEST(ListDifferences, AsJson) {
  std::string json = ListDifferencesJson({{'+', "a\"b", "x\ny"}, {'-', "c", ""}, {'~', "d", "e"}});
  doc::Problems problems("json");
  EXPECT_TRUE(doc::ParseJson(json, problems));
  EXPECT_HAS(json, R"("same":false,"differences":[{"change":"added","image":"a\"b","message":"x y"},)"
                   R"({"change":"removed","image":"c","message":""},{"change":"changed")");
}

using Names = std::vector<std::string>;

const std::string kDigest = "@sha256:9ab1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff";

struct NamesCase {
  std::string name, image;
  Names aliases, expect;
};
TEST_TABLE(OtherNamesTest, SaysEachNameOnce, NamesCase) {
  EXPECT_EQ(status::OtherNames(row.image, row.aliases), row.expect);
}
TEST_ROWS(All, OtherNamesTest, {"None", "q.io/a:v1", {}, {}},
          {"TagAndDigestOfOneRepository", "q.io/a:v1", Names{"m.io/a:v1", "m.io/a" + kDigest},
           Names{"m.io/a:v1"}},
          {"ADigestAlone", "q.io/a:v1", {"m.io/a" + kDigest}, {"m.io/a" + kDigest}},
          {"TheOwnRepository", "q.io/a:v1", {"q.io/a" + kDigest}, {}},
          {"AnotherTagOfIt", "q.io/a:v1", {"q.io/a:v2"}, {"q.io/a:v2"}},
          {"NoReference", "q.io/a:v1", {"<none>"}, {"<none>"}});

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
TEST_TABLE(AliasNotesTest, ProposesWhatIsMissing, NotesCase) {
  plan::ImageState app = sample::Ready("quay.io/acme/app:v1", 1);
  app.aliases = row.aliases;
  auto document = status::ParseStatusDocument(status::StatusJson(sample::Node({app})));
  ASSERT_TRUE(document);
  EXPECT_EQ(AliasNotes(ListOf(row.list), *document), row.expect);
}

const std::string kApp = "quay.io/acme/app:v1";
const std::string kNote =
    "images.yaml:10 quay.io/acme/app:v1 is also here as mirror.acme.io/app:v1: kubelet judges both by one "
    "record; list it too";

TEST_ROWS(All, AliasNotesTest, {"Missing", {kApp}, {"mirror.acme.io/app:v1"}, {kNote}},
          {"Listed", {kApp, "mirror.acme.io/app:v1"}, {"mirror.acme.io/app:v1"}, {}},
          {"ListedInAnotherSpelling", {kApp, "tool:1"}, {"docker.io/library/tool:1"}, {}},
          {"OnlyItsOwnDigest", {kApp}, {"quay.io/acme/app" + kDigest}, {}},
          {"OfAnImageThatTheAgentDoesNotList", Names{"ghcr.io/acme/other:v1"}, Names{"mirror.acme.io/app:v1"},
           Names{}});

}  // namespace
}  // namespace prefetch::screen::list_difference_test
