// `prefetchctl explain`, `check` and `list check --agent` on a node with a real containerd and a kubelet that
// pulls for its pods.

#include <gtest/gtest.h>

#include <string>

#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "system/two_names.h"

namespace prefetch::system::explain_command_test {
namespace {

constexpr const char* kHost = "registry.example.test";

// A pod with a secret has made kubelet pull the image under its first name; another image is not in the
// registry.
class ExplainCommand : public TwoNames {
 protected:
  void SetUp() override {
    TwoNames::SetUp();
    node_.HasDockerConfig(kHost, {"ann", "s3cr3t-of-ann"});
    node_.HasListFile("images.txt", image_ + "\n" + mirror_ + "\n" + absent_ + "\n");
    // containerd 2 does not tell where it asks.
    node_.StartAgent({"--registry-containerd-config", node_.containerd().config_file()});
    ASSERT_TRUE(rig::Eventually(seconds(30), [&] {
      return node_.StatusOf(mirror_).ready && node_.StatusOf(image_).ready &&
             node_.StatusOf(absent_).reason.text() == "NotFound" && !node_.StatusOf(image_).aliases.empty() &&
             !node_.StatusOf(mirror_).aliases.empty();  // a look after both pulls tells them
    })) << node_.AgentLog();
    PodPulls(image_);
    ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return !node_.StatusOf(image_).ready; }))
        << node_.AgentLog();
  }

  // stdout, once it ended with `exit`.
  std::string Out(int exit, const std::vector<std::string>& words) {
    rig::Ran ran = node_.Ctl(words);
    EXPECT_EQ(ran.exit, (rig::Exit{exit, 0})) << ran.out << ran.err;
    EXPECT_LACKS(ran.out + ran.err, "hash-of-a-secret");
    EXPECT_LACKS(ran.out + ran.err, "s3cr3t-of-ann");
    return ran.out + ran.err;
  }
  static void ExpectHas(const std::string& text, const std::vector<std::string>& parts) {
    rig::ExpectHas(rig::OneLine(text), parts);
  }

  std::string absent_ = std::string(kHost) + "/none:v1";
};

TEST_F(ExplainCommand, TellsAllThatIsKnownAndAPreflightAgrees) {
  ExpectHas(Out(0, {"explain", image_}),
            {"present yes, sha256:", "pulled by this agent",
             "also known as registry.example.test/mirror:v1 (listed)", "kubelet 1.36",
             "(declared), NeverVerifyPreloadedImages (", "record yes, kubelet has pulled this content",
             "as registry.example.test/app by pods with 1 secret", "Never REFUSED", "IfNotPresent PULLS",
             "Always PULLS", "because rule 12 (no credential matches)",
             "ready no, for pods of imagePullPolicy Never: RecordedForOthers", "1. login from",
             "as ann, for registry.example.test", "what helps - "});
  ExpectHas(Out(0, {"explain", image_, "--show-identities"}), {"1 secret (secret team/pull)"});
  std::string without = Out(0, {"explain", image_, "--no-credentials"});
  EXPECT_LACKS(without, "\n  credentials");
  ExpectHas(Out(0, {"explain", mirror_}),
            {"There is no entry for registry.example.test/mirror, the name that kubelet looks for.",
             "because rule 6 (record has the repository)", "RecordedUnderOtherName"});
  ExpectHas(Out(0, {"explain", absent_}), {"present no", "Never REFUSED", "last pull", "tried", "NotFound"});
  ExpectHas(Out(0, {"explain", "quay.io/nobody/knows:v1"}),
            {"listed no", "present no: it is not on the list, and not on the node", "Never REFUSED"});
  auto document = status::ParseImageDocument(Out(0, {"explain", image_, "-o", "json"}));
  ASSERT_OK(document);
  EXPECT_EQ(document->reasoning->never.reason.text(), "RecordedForOthers");

  ExpectHas(Out(1, {"check", "--image", image_, "--policy", "Never"}),
            {"FAIL", image_ + " Never (stated) on node ",
             "refused (RecordedForOthers): ", "the image will not start on node "});
  ExpectHas(Out(1, {"check", "--image", mirror_, "--image", absent_}),
            {"ok – " + mirror_ + " IfNotPresent (default) starts (RecordedUnderOtherName)",
             "the registry has it and gives this node access: the pod waits for a pull",
             "FAIL – " + absent_ + " IfNotPresent (default) on node ", "refused (TagMissing)"});
  Out(0, {"check", "--image", image_, "--policy", "Never", "--pod-secret", "team/pull/u1"});
  NodePulls(image_);
  ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return node_.StatusOf(image_).ready; })) << node_.AgentLog();
  ExpectHas(Out(0, {"check", "--image", image_, "--policy", "Never"}), {"starts from the node (OpenToNode)"});
}

TEST_F(ExplainCommand, TheListsMissingEntriesAreProposed) {
  std::string list = node_.scratch().Write("check/images.txt", "# ours\n" + image_ + "\n");
  std::string agent = "--agent=unix://" + (node_.scratch() / "agent.sock");
  std::string note = "note: images.txt:2 " + image_ + " is also here as " + mirror_ +
                     ": kubelet judges both by one record; list it too";
  ExpectHas(Out(0, {"list", "check", list, agent}), {"1 entry", note});
  ExpectHas(Out(0, {"list", "check", "--agent", list}), {note});
  EXPECT_LACKS(Out(0, {"list", "check", list}), "note:");
  std::string both = node_.scratch().Write("both/images.txt", image_ + "\n" + mirror_ + "\n");
  EXPECT_LACKS(Out(0, {"list", "check", agent, both}), "note:");
  std::string bad = node_.scratch().Write("bad/images.txt", "A\n");
  ExpectHas(Out(2, {"list", "check", agent, bad}), {"images.txt:1"});
  Out(4, {"list", "check", "--agent=unix:///nonexistent.sock", list});
}

}  // namespace
}  // namespace prefetch::system::explain_command_test
