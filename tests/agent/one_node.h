// OneNode: an API server for the node gate: one Node in memory, its Events, and failures that a test asks
// for. It refuses calls that the gate does not make.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/label_syntax.h"
#include "fakes/fake_clock.h"
#include "fakes/refusing_api.h"
#include "kube/api.h"
#include "plan/node_gate.h"

namespace prefetch::agent {

class OneNode final : public tests::RefusingApi {
 public:
  OneNode() {
    node.name = "n1";
    node.resource_version = "1";
    node.kubelet_version = "v1.36.2-gke.100";
    node.taints = {{"other", "", "NoExecute", ""},
                   {std::string(base::kStartupTaintKey), "", "NoSchedule", ""}};
    node.labels = {{"kubernetes.io/os", "linux"}};
    version = {"1", "36", "v1.36.2"};
  }

  kube::Answer<kube::ServerVersion> GetServerVersion(const base::Call&) override {
    if (auto failure = Refused("version")) return *failure;
    return version;
  }
  kube::Answer<kube::Node> GetNode(const base::Call& call, const std::string&) override {
    gets++;
    patience = call.deadline - std::chrono::steady_clock::now();
    const auto deadline = std::chrono::round<std::chrono::seconds>(patience);
    if (clock != nullptr) clock->Advance(std::min<base::Duration>(latency, deadline));
    if (latency > deadline) return Failure(kube::ApiError::kTimeout);
    if (failing) return Failure(*failing);
    return node;
  }
  kube::Answer<kube::Done> SetNodeLabel(const base::Call&, const std::string&, const std::string& key,
                                        const std::optional<std::string>& value) override {
    if (auto failure = Refused("label")) return *failure;
    writes++;
    node.labels[key] = *value;
    Touch();
    return kube::Done{};
  }
  kube::Answer<kube::Node> SetNodeTaints(const base::Call&, const std::string&,
                                         const std::string& resource_version,
                                         const std::vector<kube::Taint>& taints) override {
    if (auto failure = Refused("taints")) return *failure;
    if (resource_version != node.resource_version) return Failure(kube::ApiError::kConflict);
    writes++;
    node.taints = taints;
    Touch();
    return node;
  }
  kube::Answer<kube::Done> SetNodeCondition(const base::Call&, const std::string&,
                                            const kube::NodeCondition& condition) override {
    if (auto failure = Refused("condition")) return *failure;
    writes++;
    std::erase_if(node.conditions, [&](const auto& old) { return old.type == condition.type; });
    node.conditions.push_back(condition);
    Touch();
    return kube::Done{};
  }
  kube::Answer<kube::NodeEvent> CreateEvent(const base::Call&, const kube::NodeEvent& event) override {
    if (auto failure = Refused("events")) return *failure;
    events.push_back(event);
    events.back().name = "e" + std::to_string(events.size());
    return events.back();
  }
  kube::Answer<kube::Done> UpdateEvent(const base::Call&, const kube::NodeEvent& event) override {
    if (auto failure = Refused("events")) return *failure;
    auto old =
        std::find_if(events.begin(), events.end(), [&](const auto& e) { return e.name == event.name; });
    if (old == events.end()) return Failure(kube::ApiError::kNotFound);
    *old = event;
    return kube::Done{};
  }
  static kube::Failure Failure(kube::ApiError kind) { return {.kind = kind, .message = "told so"}; }
  bool Tainted() const {
    return std::any_of(node.taints.begin(), node.taints.end(),
                       [](const auto& taint) { return taint.key == base::kStartupTaintKey; });
  }
  std::string Label() const {
    auto found = node.labels.find("prefetchd.dev/prefetchd");
    return found == node.labels.end() ? "" : found->second;
  }
  const kube::NodeCondition* Condition() const {
    for (const auto& condition : node.conditions) {
      if (condition.type == plan::kConditionType) return &condition;
    }
    return nullptr;
  }

  kube::Node node;
  kube::ServerVersion version;
  std::deque<kube::NodeEvent> events;
  std::optional<kube::ApiError> failing;  // every call, until it is cleared
  // Calls that fail, and how: "version", "condition", "label", "taints", "events".
  std::map<std::string, kube::ApiError> refusing;
  int gets = 0, writes = 0;
  base::Duration patience{0};  // of the newest question for the Node
  tests::FakeClock* clock = nullptr;
  base::Duration latency{0};  // of the Node, on that clock

 private:
  std::optional<kube::Failure> Refused(const std::string& what) const {
    if (failing) return Failure(*failing);
    auto found = refusing.find(what);
    if (found == refusing.end()) return std::nullopt;
    return Failure(found->second);
  }
  void Touch() { node.resource_version = std::to_string(std::stoi(node.resource_version) + 1); }
};

}  // namespace prefetch::agent
