// `audit` of one node, and of saved pods against lists.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "status/sample.h"
#include "status/status_json.h"
#include "temp_dir.h"

namespace prefetch::ctl::audit_test {
namespace {

constexpr const char* kPods = R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod",
"metadata":{"name":"job-1","namespace":"ci"},"spec":{"nodeName":"ci-7","containers":[
{"name":"main","image":"q.io/stray:v1","imagePullPolicy":"IfNotPresent"}]}}]})";

class AuditTest : public testing::Test {
 protected:
  // A node that lists q.io/a:v1, to which these names came besides.
  void NodeHas(const std::vector<std::string>& strays) {
    plan::Snapshot snapshot = sample::Node({sample::Ready("q.io/a:v1", 1000)});
    plan::Unlisted unlisted{.since = sample::At(-500), .left_out = 0};
    for (const std::string& name : strays) {
      unlisted.images.push_back({.image = name,
                                 .image_id = "sha256:1",
                                 .size_bytes = 5000,
                                 .first_seen = sample::At(-100),
                                 .arrived_at = sample::At(-100)});
    }
    snapshot.unlisted = std::make_shared<const plan::Unlisted>(std::move(unlisted));
    agent_.Answers("/v1/status", 200, status::StatusJson(snapshot));
  }
  Ran OfNode(const AuditOptions& options = {}) {
    return tests::Run(
        [&](auto& out, auto& err) { return AuditOfNode({}, agent_.Client(), options, out, err); });
  }
  Ran OfPods(const std::string& list, const std::vector<std::string>& ignore = {}) {
    AuditOptions options{.pods_file = folder_.Write("pods.json", kPods),
                         .lists = {folder_.Write("images.txt", list)},
                         .ignore = ignore};
    return tests::Run([&](auto& out, auto& err) { return AuditOfPods(options, out, err); });
  }

  tests::FakeAgent agent_;
  tests::TempDir folder_;
};

TEST_F(AuditTest, OfANodeAsJson) {
  NodeHas({"q.io/stray:v1"});
  const Ran ran = OfNode({.json = true});
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_TRUE(ran.out.starts_with("{")) << ran;
}

// They are read in pieces, as they are no document that is held.
TEST_F(AuditTest, SavedPodsMayBeLongerThanAnyDocument) {
  NodeHas({"q.io/stray:v1"});
  std::string pods = kPods;
  const std::string more = R"({"kind":"ConfigMap","data":{"x":")" + std::string(1 << 20, 'x') + "\"}},";
  for (int i = 0; i < 12; i++) pods.insert(pods.find('[') + 1, more);
  EXPECT_TRUE(Prints(OfNode({.pods_file = folder_.Write("pods.json", pods)}), kNegative, "job-1"));
}

// An agent that has just started knows nothing: that is no clean node.
TEST_F(AuditTest, AnAgentThatDoesNotKnowYetIsNoYes) {
  agent_.Answers("/v1/status", 200, status::StatusJson(sample::Node({sample::Ready("q.io/a:v1", 1000)})));
  EXPECT_TRUE(Complains(OfNode(), kUnreachable, "ci-7"));
}

TEST_F(AuditTest, WithoutAnAgentNothingIsKnown) {
  agent_.Goes(base::Unavailable("connection refused"));
  EXPECT_EQ(OfNode().exit, kUnreachable);
}

TEST_F(AuditTest, PodsThatCannotBeReadAreBadInput) {
  NodeHas({});
  for (const std::string& file : {folder_.Write("bad.json", "{"), folder_ / "none.json"}) {
    EXPECT_EQ(OfNode({.pods_file = file}).exit, kBadInput) << file;
    EXPECT_EQ(
        tests::Run([&](auto& out, auto& err) { return AuditOfPods({.pods_file = file}, out, err); }).exit,
        kBadInput)
        << file;
  }
}

TEST_F(AuditTest, EphemeralContainersAndImageVolumesOfSavedPods) {
  const std::string pods =
      folder_.Write("all.json",
                    R"({"kind":"List","items":[{"kind":"Pod","metadata":{"name":"p"},"spec":{
"containers":[{"name":"c","image":"q.io/a:v1"}],"ephemeralContainers":[{"name":"e","image":"q.io/debug:v1"}],
"volumes":[{"name":"v","image":{"reference":"q.io/volume:v1"}}]}}]})");
  Ran ran = tests::Run([&](auto& out, auto& err) {
    return AuditOfPods({.pods_file = pods, .lists = {folder_.Write("images.txt", "q.io/a:v1\n")}}, out, err);
  });
  EXPECT_TRUE(Prints(ran, kNegative, "q.io/debug:v1"));
  EXPECT_HAS(ran.out, "q.io/volume:v1");
}

TEST_F(AuditTest, SavedPodsAgainstAList) {
  Ran ran = OfPods("q.io/a:v1\n");
  EXPECT_EQ(ran.exit, kNegative) << ran;
  for (const char* part :
       {"1 image on no list:\n  q.io/stray:v1\n", "on 1 node: ci-7", "asked for by ci/job-1"}) {
    EXPECT_HAS(ran.out, part);
  }
  ran = OfPods("q.io/a:v1\n", {"q.io/stray"});
  EXPECT_TRUE(Prints(ran, kOk, "clean"));
  EXPECT_EQ(OfPods("q.io/stray:v1\n").exit, kOk);
  EXPECT_EQ(OfPods("not an image\n").exit, kBadInput);
}

}  // namespace
}  // namespace prefetch::ctl::audit_test
