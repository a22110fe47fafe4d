// `prefetchctl explain`, `check` and `list check --agent` on a node with a real containerd and a kubelet that
// pulls for its pods.

#include <gtest/gtest.h>

#include <string>

#include "base/clock.h"
#include "fakes/fake_kubelet.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::explain_command_test {
namespace {

constexpr const char* kHost = "registry.example.test";

// Two names of one image, which a pod with a secret has made kubelet pull under the first; and one that is
// not in the registry.
class ExplainCommand : public testing::Test {
 protected:
  void SetUp() override {
    app_ = Push("app");
    mirror_ = Push("mirror");
    node_.HasDockerConfig(kHost, {"ann", "s3cr3t-of-ann"});
    node_.HasListFile("images.txt", app_ + "\n" + mirror_ + "\n" + absent_ + "\n");
    node_.scratch().Write("kubelet.yaml", kKubeletConfig);
    node_.HasKubelet({"--kubelet-version", "1.36.2", "--kubelet-config", node_.scratch() / "kubelet.yaml",
                      "--kubelet-root", root_});
    kubelet_.Start({.version = {1, 36}});
    // containerd 2 does not tell where it asks.
    node_.StartAgent({"--registry-containerd-config", node_.containerd().config_file()});
    ASSERT_TRUE(rig::Eventually(seconds(30), [&] {
      return node_.StatusOf(mirror_).ready && node_.StatusOf(app_).ready &&
             node_.StatusOf(absent_).reason.text() == "NotFound" && !node_.StatusOf(app_).aliases.empty() &&
             !node_.StatusOf(mirror_).aliases.empty();  // a look after both pulls tells them
    })) << node_.AgentLog();
    Pull({.secret = kubelet::HashedSecret{{.uid = "u1", .namespace_name = "team", .name = "pull"},
                                          base::Secret("hash-of-a-secret")}});
    ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return !node_.StatusOf(app_).ready; }))
        << node_.AgentLog();
  }

  std::string Push(const std::string& repository) {
    rig::Pusher pusher(registry_->registry().address());
    auto pushed =
        pusher.Push({.repository = repository, .tag = "v1", .layers = {{1, 100'000}}, .name = "one"});
    EXPECT_OK(pushed);
    if (pushed) id_ = pushed->config;
    return registry_->host() + "/" + repository + ":v1";
  }
  void Pull(const tests::PullCredential& credential) {
    ASSERT_TRUE(kubelet_.BeginPull(app_));
    kubelet_.EndPull(app_, id_, credential);
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

  Node node_;
  std::string root_ = node_.scratch() / "kubelet";
  base::SystemClock clock_;
  tests::FakeKubelet kubelet_{root_, clock_};
  std::unique_ptr<Host> registry_ = node_.AddRegistry(kHost, {});
  std::string app_, mirror_, id_;
  std::string absent_ = std::string(kHost) + "/none:v1";
};

TEST_F(ExplainCommand, TellsAllThatIsKnownAndAPreflightAgrees) {
  ExpectHas(Out(0, {"explain", app_}),
            {"present yes, sha256:", "pulled by this agent",
             "also known as registry.example.test/mirror:v1 (listed)", "kubelet 1.36",
             "(declared), NeverVerifyPreloadedImages (", "record yes, kubelet has pulled this content",
             "as registry.example.test/app by pods with 1 secret", "Never REFUSED", "IfNotPresent PULLS",
             "Always PULLS", "because rule 12 (no credential matches)",
             "ready no, for pods of imagePullPolicy Never: RecordedForOthers", "1. login from",
             "as ann, for registry.example.test", "what helps - "});
  ExpectHas(Out(0, {"explain", app_, "--show-identities"}), {"1 secret (secret team/pull)"});
  std::string without = Out(0, {"explain", app_, "--no-credentials"});
  EXPECT_LACKS(without, "\n  credentials");
  ExpectHas(Out(0, {"explain", mirror_}),
            {"There is no entry for registry.example.test/mirror, the name that kubelet looks for.",
             "because rule 6 (record has the repository)", "RecordedUnderOtherName"});
  ExpectHas(Out(0, {"explain", absent_}), {"present no", "Never REFUSED", "last pull", "tried", "NotFound"});
  ExpectHas(Out(0, {"explain", "quay.io/nobody/knows:v1"}),
            {"listed no", "present no: it is not on the list, and not on the node", "Never REFUSED"});
  auto document = status::ParseImageDocument(Out(0, {"explain", app_, "-o", "json"}));
  ASSERT_OK(document);
  EXPECT_EQ(document->reasoning->never.reason.text(), "RecordedForOthers");

  ExpectHas(Out(1, {"check", "--image", app_, "--policy", "Never"}),
            {"FAIL", app_ + " Never (stated) on node ",
             "refused (RecordedForOthers): ", "the image will not start on node "});
  ExpectHas(Out(1, {"check", "--image", mirror_, "--image", absent_}),
            {"ok – " + mirror_ + " IfNotPresent (default) starts (RecordedUnderOtherName)",
             "the registry has it and gives this node access: the pod waits for a pull",
             "FAIL – " + absent_ + " IfNotPresent (default) on node ", "refused (TagMissing)"});
  Out(0, {"check", "--image", app_, "--policy", "Never", "--pod-secret", "team/pull/u1"});
  Pull({});
  ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return node_.StatusOf(app_).ready; })) << node_.AgentLog();
  ExpectHas(Out(0, {"check", "--image", app_, "--policy", "Never"}), {"starts from the node (OpenToNode)"});
}

TEST_F(ExplainCommand, TheListsMissingEntriesAreProposed) {
  std::string list = node_.scratch().Write("check/images.txt", "# ours\n" + app_ + "\n");
  std::string agent = "--agent=unix://" + (node_.scratch() / "agent.sock");
  std::string note = "note: images.txt:2 " + app_ + " is also here as " + mirror_ +
                     ": kubelet judges both by one record; list it too";
  ExpectHas(Out(0, {"list", "check", list, agent}), {"1 entry", note});
  ExpectHas(Out(0, {"list", "check", "--agent", list}), {note});
  EXPECT_LACKS(Out(0, {"list", "check", list}), "note:");
  std::string both = node_.scratch().Write("both/images.txt", app_ + "\n" + mirror_ + "\n");
  EXPECT_LACKS(Out(0, {"list", "check", agent, both}), "note:");
  std::string bad = node_.scratch().Write("bad/images.txt", "A\n");
  ExpectHas(Out(2, {"list", "check", agent, bad}), {"images.txt:1"});
  Out(4, {"list", "check", "--agent=unix:///nonexistent.sock", list});
}

}  // namespace
}  // namespace prefetch::system::explain_command_test
