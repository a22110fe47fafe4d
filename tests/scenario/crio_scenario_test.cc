// CRI-O differs in its words for failures (C30), its names of images (C34), its downloads (C36), and in how
// it stops (C35).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "scenario/mid_pull.h"
#include "scenario/node.h"

namespace prefetch::tests::crio_scenario_test {
namespace {

constexpr std::uint64_t kNoLayer = 10'000;  // manifest and configuration, which every pull fetches

FakeImage Version(const std::string& name, const std::string& seed) {
  return MakeImage(name, {{seed, 10 * kMB}});
}

std::string ByDigest(const FakeImage& image) {
  return RepositoryOf(image.name) + "@" + image.digest;
}

// It has an image, lists it by its digest, and its registry is away.
class CutOffNode : public Node {
 public:
  explicit CutOffNode(const FakeImage& image) : Node({.persona = Persona::kCrio}) {
    runtime.Preload(image);
    runtime.SetRegistry(RegistryState::kDown);
    List({ByDigest(image)});
  }
};

struct AnswerRow {
  const char *status, *body;
  plan::Reason reason;
  bool for_good;  // it is not tried again within minutes
};

// Each image's reason is the registry's answer for it, whatever the registry answers for others.
TEST(CrioAnswers, EachImageHasTheReasonOfItsOwnAnswer) {
  const AnswerRow rows[] = {
      {"401 Unauthorized", R"({"errors":[{"code":"UNAUTHORIZED","message":""}]})",
       plan::Reason::kAccessDenied, true},
      {"403 Forbidden", R"({"errors":[{"code":"DENIED","message":""}]})", plan::Reason::kAccessDenied, true},
      {"403 Forbidden", "<html>no</html>", plan::Reason::kAccessDenied, true},
      {"404 Not Found", R"({"errors":[{"code":"NOT_FOUND","message":"artifact a:v1 not found"}]})",
       plan::Reason::kNotFound, true},
      {"410 Gone", "gone", plan::Reason::kNotFound, true},
      {"451 Unavailable For Legal Reasons", "legal", plan::Reason::kAccessDenied, true},
      {"400 Bad Request", "bad", plan::Reason::kServerError, false},
      {"408 Request Timeout", "slow", plan::Reason::kServerError, false},
      {"418 Teapot", "teapot", plan::Reason::kServerError, false},
      {"500 Internal Server Error", "", plan::Reason::kServerError, false},
      {"503 Service Unavailable", "", plan::Reason::kServerError, false},
  };
  Node node({.persona = Persona::kCrio});
  std::vector<std::string> names;
  for (const AnswerRow& row : rows) {
    names.push_back("r.io/a" + std::to_string(names.size()) + ":v1");
    node.runtime.Push(Version(names.back(), names.back()));
    node.runtime.Answer(names.back(), row.status, row.body);
  }
  node.List(names);
  node.RunFor(minutes(4));
  int asked_for_good = 0, good = 0;
  const std::vector<std::string> asked = node.runtime.TakeAsked();
  for (std::size_t i = 0; i < names.size(); i++) {
    const plan::Reason reason = node.ReasonOf(names[i]);
    EXPECT_TRUE(reason == rows[i].reason || (!rows[i].for_good && reason == plan::Reason::kPulling))
        << rows[i].status << ": " << base::EnumName(reason);
    if (!rows[i].for_good) continue;
    good++;
    const std::string request = "GET /v2/a" + std::to_string(i) + "/manifests/v1";
    asked_for_good += static_cast<int>(std::count(asked.begin(), asked.end(), request));
  }
  EXPECT_EQ(asked_for_good, 2 * good) << "each once, and once as an artifact";
}

// A limited registry keeps CRI-O busy for a minute, which is no stall.
TEST(CrioAnswers, ARateLimitIsHeardAfterItsMinute) {
  Node node({.persona = Persona::kCrio});
  node.runtime.Push(Version("r.io/a:v1", "a"));
  node.runtime.Answer("r.io/a:v1", "429 Too Many Requests",
                      R"({"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your limit"}]})");
  node.List({"r.io/a:v1"});
  node.RunFor(seconds(55));
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kPulling);
  node.RunFor(seconds(10));
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kRateLimited);
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_EQ(node.LogLines("pull stalled, started anew"), 0);
}

// A connection that breaks now and then costs nothing; the agent does not even hear of it.
TEST(CrioDownloads, AConnectionThatBreaksNowAndThenIsNoFailure) {
  MidPullOnCrio node;
  for (int i = 0; i < 4; i++) {
    node.runtime.CutConnections();
    node.RunFor(seconds(10));
  }
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1);
  EXPECT_LT(node.runtime.counters().bytes_served, 61 * kMB);
}

// pull_progress_timeout is CRI-O's own end of a pull, with the code of a cancel.
TEST(CrioDownloads, ThatAreSilentAreEndedByCrioItselfAndTriedAgain) {
  MidPullOnCrio node;
  node.runtime.GiveUpOnSilenceAfter(seconds(30));
  node.runtime.SetRegistry(RegistryState::kStalled);
  node.RunFor(minutes(2));
  EXPECT_GE(node.runtime.counters().pull_calls, 2);
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(10)));
}

// CRI-O finds a digest through a tag of its repository: when somebody moves the tag, it is gone.
TEST(CrioNames, ADigestThatATagBroughtStaysWhenTheTagMoves) {
  Node node({.persona = Persona::kCrio});
  const FakeImage old = Version("r.io:5000/a:v1", "old");
  node.runtime.Push(old);
  node.runtime.Preload(old);
  node.List({ByDigest(old)});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(1)));
  node.RunFor(minutes(1));
  const int pulls = node.runtime.counters().pull_calls;
  EXPECT_EQ(pulls, 1) << "under its own name, once";
  EXPECT_LT(node.runtime.counters().bytes_served, kNoLayer);
  node.runtime.Push(Version(old.name, "new"));
  node.runtime.Preload(Version(old.name, "new"));
  node.runtime.SetRegistry(RegistryState::kDown);
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.LogLines("image vanished"), 0);
  EXPECT_EQ(node.runtime.counters().pull_calls, pulls);
}

// containerd keeps the digest's name, so there is nothing to pull.
TEST(CrioNames, OnContainerdADigestStaysByItself) {
  for (Persona persona : {Persona::kContainerd16, Persona::kContainerd23}) {
    Node node({.persona = persona});
    const FakeImage old = Version("r.io:5000/a:v1", "old");
    node.runtime.Push(old);
    node.runtime.Preload(old);
    node.List({ByDigest(old)});
    node.RunFor(minutes(1));
    node.runtime.Preload(Version(old.name, "new"));
    node.RunFor(minutes(1));
    EXPECT_TRUE(node.Ready());
    EXPECT_EQ(node.runtime.counters().pull_calls, 0);
  }
}

// The node is as ready as it was: the image is here, and stays in use.
TEST(CrioNames, ARegistryThatDoesNotAnswerForTheDigestLeavesTheNodeReady) {
  const FakeImage image = Version("r.io/a:v1", "a");
  CutOffNode node(image);
  node.RunFor(minutes(10));
  EXPECT_TRUE(node.Ready());
  EXPECT_EQ(node.LogLines("node not ready"), 0);
  EXPECT_LE(node.runtime.counters().pull_calls, 12);
  node.runtime.Push(image);
  node.runtime.SetRegistry(RegistryState::kUp);
  node.RunFor(minutes(10));
  node.runtime.Preload(Version("r.io/a:v1", "b"));
  node.RunFor(minutes(1));
  EXPECT_EQ(node.LogLines("image vanished"), 0);
}

// An image that has lost its last tag is listed with a digest by which CRI-O does not find it.
TEST(CrioNames, WhatIsListedWithoutANameIsAbsent) {
  Node node({.persona = Persona::kCrio});
  const FakeImage old = Version("r.io/a:v1", "old");
  node.runtime.Push(old);
  node.runtime.Preload(old);
  node.runtime.Preload(Version("r.io/a:v1", "new"));
  node.runtime.SetRegistry(RegistryState::kDown);
  node.List({ByDigest(old)});
  node.RunFor(minutes(1));
  EXPECT_FALSE(node.Ready()) << "a pod would not find it";
  node.runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(5)));
  EXPECT_LT(node.runtime.counters().bytes_served, kNoLayer) << "its layers are here";
}

// The same under the agent's eyes, while the registry is away.
TEST(CrioNames, WhatLosesItsLastNameIsMissed) {
  CutOffNode node(Version("r.io/a:v1", "old"));
  node.RunFor(minutes(1));
  ASSERT_TRUE(node.Ready());
  node.runtime.Preload(Version("r.io/a:v1", "new"));
  node.RunFor(seconds(20));
  EXPECT_FALSE(node.Ready());
}

// `crictl rmi NAME` takes one name and leaves the others.
TEST(CrioNames, ANameThatIsRemovedIsMissedAndTheOthersStay) {
  Node node({.persona = Persona::kCrio});
  const FakeImage image = Version("r.io/a:v1", "a");
  FakeImage other = image;
  other.name = "r.io/b:v1";
  node.runtime.Push(image);
  node.runtime.Push(other);
  node.List({image.name, other.name});
  ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
  const std::uint64_t served = node.runtime.counters().bytes_served;
  node.runtime.Untag(other.name);
  node.RunFor(seconds(20));
  EXPECT_EQ(node.LogLines("image vanished"), 1);
  EXPECT_TRUE(node.Ready());
  EXPECT_LT(node.runtime.counters().bytes_served - served, kNoLayer) << "pulled again by name alone";
}

// `crictl pull` of the same image is another pull: that the agent ends does not end it (C32).
TEST(CrioPulls, AreTheAgentsOwn) {
  for (const bool crio : {true, false}) {
    Node node({.persona = crio ? Persona::kCrio : Persona::kContainerd16});
    node.PushAndList("r.io/a:v1", kMB);
    ASSERT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(1)));
    EXPECT_EQ(node.runtime.SandboxCgroups(), std::set<std::string>{crio ? cri::kOwnPullCgroup : ""});
  }
}

// Told to stop, CRI-O takes its socket away, and ends its pulls all the same.
TEST(CrioStops, APullThatEndsMeanwhileIsFoundAndNotRepeated) {
  MidPullOnCrio node;
  node.runtime.Drain();
  node.RunFor(seconds(20));
  EXPECT_FALSE(node.Snapshot()->runtime.up);
  EXPECT_HAS(node.Snapshot()->runtime.error, "1 pull that it has begun may still succeed");
  EXPECT_EQ(node.ReasonOf("r.io/a:v1"), plan::Reason::kPulling);
  node.RunFor(seconds(60));
  EXPECT_LACKS(node.Snapshot()->runtime.error, "may still succeed");
  EXPECT_EQ(node.LogLines("pull failed"), 0);
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, seconds(3)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 1) << "it was looked for before anything was pulled anew";
  EXPECT_EQ(node.Image("r.io/a:v1").pull.last_error, "");
}

// Killed after its time was up, it has not ended them: they begin anew, once it is back.
TEST(CrioStops, APullThatDidNotEndIsRepeated) {
  MidPullOnCrio node;
  node.runtime.Drain();
  node.RunFor(seconds(20));
  node.runtime.SetRuntimeUp(true);
  EXPECT_TRUE(node.RunUntil([&] { return node.Ready(); }, minutes(2)));
  EXPECT_EQ(node.runtime.counters().pull_calls, 2);
}

}  // namespace
}  // namespace prefetch::tests::crio_scenario_test
