// `uninstall --nodes`: what is taken off a Node object, and what stays.
#include "ctl/uninstall.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "ctl/exit_code.h"
#include "ctl/ran.h"
#include "fakes/refusing_api.h"

namespace prefetch::ctl::uninstall_test {
namespace {

// Nodes that keep what is written to them. Any thread.
class NodesApi final : public tests::RefusingApi {
 public:
  explicit NodesApi(std::vector<kube::Node> nodes) : nodes_(std::move(nodes)) {}
  bool listable = true, writable = true;
  bool endless = false;  // each page announces another one

  const kube::Node& node(std::size_t i) const { return nodes_[i]; }
  int writes() const { return writes_; }

  kube::Answer<kube::Page<kube::Node>> ListNodes(const base::Call& call,
                                                 const kube::ListOptions& options) override {
    if (!listable) return RefusingApi::ListNodes(call, options);
    base::Lock lock(mutex_);
    return kube::Page<kube::Node>{nodes_, endless ? "more" : ""};
  }
  kube::Answer<kube::Node> GetNode(const base::Call&, const std::string& name) override {
    base::Lock lock(mutex_);
    return Find(name);
  }
  kube::Answer<kube::Done> SetNodeLabel(const base::Call& call, const std::string& name,
                                        const std::string& key,
                                        const std::optional<std::string>& value) override {
    if (!writable) return RefusingApi::SetNodeLabel(call, name, key, value);
    base::Lock lock(mutex_);
    writes_++;
    Find(name).labels.erase(key);
    return kube::Done{};
  }
  kube::Answer<kube::Node> SetNodeTaints(const base::Call& call, const std::string& name,
                                         const std::string& version,
                                         const std::vector<kube::Taint>& taints) override {
    if (!writable) return RefusingApi::SetNodeTaints(call, name, version, taints);
    base::Lock lock(mutex_);
    writes_++;
    Find(name).taints = taints;
    return Find(name);
  }
  kube::Answer<kube::Done> RemoveNodeCondition(const base::Call& call, const std::string& name,
                                               const std::string& type) override {
    if (!writable) return RefusingApi::RemoveNodeCondition(call, name, type);
    base::Lock lock(mutex_);
    writes_++;
    std::erase_if(Find(name).conditions, [&](const auto& one) { return one.type == type; });
    return kube::Done{};
  }

 private:
  kube::Node& Find(const std::string& name) {
    return *std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) { return node.name == name; });
  }

  base::Mutex mutex_;
  std::vector<kube::Node> nodes_;
  int writes_ = 0;
};

kube::Node HasReported(const std::string& name) {
  kube::Node node;
  node.name = name;
  node.labels = {{"pool", "ci"},
                 {"prefetchd.dev/prefetchd", "ready"},
                 {"prefetchd.dev/team-a", "notready"},
                 {"example.com/images", "ok"}};
  node.taints = {{.key = "dedicated", .value = "ci", .effect = "NoSchedule"},
                 {.key = "prefetchd.dev/not-ready", .value = "", .effect = "NoSchedule"}};
  node.conditions.resize(2);
  node.conditions[0].type = "Ready";
  node.conditions[1].type = "ImagesPrefetched";
  return node;
}

std::vector<std::string> LabelsOf(const kube::Node& node) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node.labels) keys.push_back(key);
  return keys;
}

tests::Ran Clear(NodesApi& api, const UninstallOptions& options = {}) {
  return tests::Run([&](auto& out, auto& err) { return Uninstall({}, api, options, out, err); });
}

TEST(UninstallNodes, TakesWhatIsOursAndLeavesTheRest) {
  kube::Node other;
  other.name = "n2";
  other.labels = {{"pool", "ci"}};
  NodesApi api({HasReported("n1"), other});
  tests::Ran ran = Clear(api);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(LabelsOf(api.node(0)), (std::vector<std::string>{"example.com/images", "pool"}));
  ASSERT_EQ(api.node(0).taints.size(), 1U);
  EXPECT_EQ(api.node(0).taints[0].key, "dedicated");
  ASSERT_EQ(api.node(0).conditions.size(), 1U);
  EXPECT_EQ(api.node(0).conditions[0].type, "Ready");
  EXPECT_EQ(api.node(1), other);
  EXPECT_NE(ran.out.find("n1"), std::string::npos) << ran;
  EXPECT_EQ(ran.out.find("n2"), std::string::npos) << ran;
}

TEST(UninstallNodes, OfOneInstanceIsItsLabelAlone) {
  NodesApi api({HasReported("n1")});
  EXPECT_EQ(Clear(api, {.instance = "team-a"}).exit, kOk);
  EXPECT_EQ(LabelsOf(api.node(0)),
            (std::vector<std::string>{"example.com/images", "pool", "prefetchd.dev/prefetchd"}));
  EXPECT_EQ(api.node(0).taints.size(), 2U);
  EXPECT_EQ(api.node(0).conditions.size(), 2U);
}

TEST(UninstallNodes, ALabelThatIsNamedGoesToo) {
  NodesApi api({HasReported("n1")});
  EXPECT_EQ(Clear(api, {.labels = {"example.com/images"}}).exit, kOk);
  EXPECT_EQ(LabelsOf(api.node(0)), std::vector<std::string>{"pool"});
}

TEST(UninstallNodes, AStartupTaintOfAnotherKeyGoesToo) {
  kube::Node node = HasReported("n1");
  node.taints.push_back({.key = "example.com/cold", .value = "", .effect = "NoSchedule"});
  NodesApi api({node});
  tests::Ran ran = Clear(api, {.taint_key = "example.com/cold"});
  EXPECT_EQ(ran.exit, kOk) << ran;
  ASSERT_EQ(api.node(0).taints.size(), 1U);
  EXPECT_EQ(api.node(0).taints[0].key, "dedicated");
  EXPECT_NE(ran.out.find("taint prefetchd.dev/not-ready, taint example.com/cold"), std::string::npos) << ran;
}

TEST(UninstallNodes, ATaintOfKubernetesIsRejected) {
  kube::Node node = HasReported("n1");
  node.taints.push_back({.key = "node.kubernetes.io/unschedulable", .value = "", .effect = "NoSchedule"});
  NodesApi api({node});
  for (const char* key : {"node.kubernetes.io/unschedulable", "dedicated"}) {
    tests::Ran ran = Clear(api, {.taint_key = key});
    EXPECT_EQ(ran.exit, kBadInput) << ran;
    EXPECT_TRUE(ran.err.starts_with("prefetchctl: --startup-taint-key must be a key of a domain")) << ran;
    EXPECT_EQ(api.node(0), node);
  }
}

TEST(UninstallNodes, ADryRunWritesNothingAndSaysWhatItWould) {
  NodesApi api({HasReported("n1")});
  tests::Ran ran = Clear(api, {.dry_run = true});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(api.node(0), HasReported("n1"));
  EXPECT_EQ(api.writes(), 0);
  EXPECT_NE(ran.out.find("prefetchd.dev/not-ready"), std::string::npos) << ran;
  EXPECT_NE(ran.err.find("pin: true"), std::string::npos) << "what no object of the cluster shows: " << ran;
}

TEST(UninstallNodes, AMissingRightIsToldWithTheNode) {
  NodesApi api({HasReported("n1")});
  api.writable = false;
  tests::Ran ran = Clear(api);
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_NE((ran.out + ran.err).find("n1"), std::string::npos) << ran;
  EXPECT_NE((ran.out + ran.err).find("not let in"), std::string::npos) << ran;
}

TEST(UninstallNodes, NodesThatCannotBeListed) {
  NodesApi api({});
  api.listable = false;
  tests::Ran ran = Clear(api);
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_NE(ran.err.find("not let in"), std::string::npos) << ran;
}

TEST(UninstallNodes, PagesThatNeverEndAreAFailure) {
  NodesApi api({});
  api.endless = true;
  tests::Ran ran = Clear(api);
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_NE(ran.err.find("ever more pages"), std::string::npos) << ran;
}

}  // namespace
}  // namespace prefetch::ctl::uninstall_test
