#include "screen/list_difference.h"

#include <gtest/gtest.h>

#include "doc/json.h"

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
  EXPECT_EQ(
      ListDifferencesText(DiffWithNode(list, node)),
      "~ q.io/absent:v1  not on the node: waiting for the registry\n"
      "+ q.io/gone:v1    only on the list of node ci-7 (images.yaml:7)\n"
      "- q.io/new:v1     not on the list of node ci-7\n"
      "~ q.io/other:v1   optional here, required on the node; readyFor: Always here, Never on the node\n"
      "1 added, 1 removed, 2 changed\n");
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
  EXPECT_EQ(
      ListDifferencesText(DiffWithNode(list, node)),
      "~ nginx:1.27  written docker.io/library/nginx:1.27, nginx:1.27 here, docker.io/library/nginx:1.27 "
      "on the node\n1 changed\n");
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
  list.images[0].ready_as = image::PodCredentialRefs{.secrets = {{"", "ci", "pull"}}, .service_account = {}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ q.io/a:v1  readyAs: secret ci/pull here, none on the node\n1 changed\n");
  node.images[0].ready_as = {.secrets = {{"", "ci", "pull"}}, .service_account = {}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)), "no difference\n");
  node.images[0].ready_as = {};
  node.images[0].spellings = {
      {.image = "q.io/a:v1", .ready_as = {.secrets = {{"", "ci", "pull"}}, .service_account = {}}},
      {.image = "q.io/a:v1"}};
  EXPECT_EQ(ListDifferencesText(DiffWithNode(list, node)),
            "~ q.io/a:v1  readyAs: secret ci/pull here, none; secret ci/pull on the node\n1 changed\n");
}

// An agent that is asked over the network does not tell for which pods an entry is.
TEST(DiffWithNode, ClaimsNothingOfHiddenPods) {
  plan::ImageList list;
  list.images.push_back(Want("q.io/a:v1"));
  list.images[0].ready_as = image::PodCredentialRefs{.secrets = {{"", "ci", "pull"}}, .service_account = {}};
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
  EXPECT_NE(json.find(R"("same":false,"differences":[{"change":"added","image":"a\"b","message":"x y"},)"
                      R"({"change":"removed","image":"c","message":""},{"change":"changed")"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace prefetch::screen::list_difference_test
