#include "scenario/gated_node.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "doc/node.h"
#include "doc/write.h"

namespace prefetch::tests {
namespace {

const doc::Node kNothing;
constexpr std::string_view kNode = R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},
  "spec":{"taints":[{"key":"dedicated","value":"ci","effect":"NoSchedule"},
                    {"key":"prefetchd.dev/not-ready","effect":"NoSchedule"}]},
  "status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"ok"}],
            "nodeInfo":{"kubeletVersion":"v1.36.2"}}})";

std::vector<doc::Node> Shipped() {
  auto generated =
      deploy::Generate(deploy::EmbeddedFiles(), {.platform = "generic", .components = {"node-gate"}});
  EXPECT_TRUE(generated) << generated.error().message();
  return generated ? generated->documents : std::vector<doc::Node>();
}

std::string AsYaml(const std::vector<doc::Node>& documents) {
  std::string text;
  for (const doc::Node& document : documents) text += "---\n" + doc::WriteYaml(document);
  return text;
}

}  // namespace

std::string ShippedManifests() {
  return AsYaml(Shipped());
}

http::ExchangeResult GatedNode::Interrupted::Exchange(const base::Call& call, const http::Request& request) {
  const base::Duration patience = call.deadline - std::chrono::steady_clock::now();
  if (latency > base::Duration{0}) clock->Advance(std::min(latency, patience));
  if (latency > patience) {
    return {base::DeadlineExceeded(request.method + " " + request.url + ": timed out"),
            http::Fault::kTimeout};
  }
  bool now = act && request.method == method && request.body.find(body) != std::string::npos;
  if (now) std::exchange(act, nullptr)();
  return real.Exchange(call, request);
}

GatedNode::GatedNode(GatedNodeOptions options)
    : node(std::move(options.node)),
      server(node.clock),
      identity_({.server = server.url(), .token_file = dir_ / "token"}, node.clock),
      api_(kube::MakeHttpApi(client_, identity_, node.clock)) {
  base::Status loaded = server.LoadRbac(options.manifests);
  EXPECT_TRUE(loaded) << loaded.error().message();
  server.Put("nodes/n1", kNode);
  WriteToken(server.AddServiceAccountToken("prefetchd", "prefetchd", options.token_life));
  client_.clock = &node.clock;
  gate_ = options.gate;
  AddGate(gate_);
  Read();
}

// A reader of the version starts, as with an agent.
void GatedNode::Read() {
  if (!node.learnt) return;
  reader_ =
      std::make_unique<agent::VersionReader>("n1", node.learnt, node.kubelet_start, *api_, node.clock, 1);
  next_read_ = node.clock.Now();
}

void GatedNode::KubeletReports(const std::string& version) {
  const std::string ready = R"({"type":"Ready","status":"True","reason":"KubeletReady","message":"ok",)"
                            R"("lastHeartbeatTime":")" +
                            base::Rfc3339(node.clock.Wall()) + "\"}";
  server.Put("nodes/n1", R"({"metadata":{"labels":{"kubernetes.io/os":"linux"}},"status":{"conditions":[)" +
                             ready + R"(],"nodeInfo":{"kubeletVersion":")" + version + "\"}}}");
}

void GatedNode::AddGate(const plan::GateOptions& gate) {
  gates_.push_back(
      {std::make_unique<agent::NodeGate>(
           agent::NodeGateOptions{
               .gate = gate, .node = "n1", .kubelet_version = node.learnt, .seed = gates_.size() + 1},
           *api_, board_, node.clock),
       node.clock.Now()});
}

void GatedNode::Replace() {
  gates_.clear();
  node.RestartAgent();
  board_.Publish(node.Snapshot());
  AddGate(gate_);
  Read();
}

void GatedNode::RunFor(base::Duration time) {
  RunUntil([] { return false; }, time);
}

bool GatedNode::RunUntil(const std::function<bool()>& condition, base::Duration limit) {
  base::TimePoint end = node.clock.Now() + limit;
  while (!condition()) {
    if (node.clock.Now() >= end) return false;
    node.RunFor(std::chrono::seconds(1));
    board_.Publish(node.Snapshot());
    const std::optional<plan::KubeletStart> newest = node.kubelet_start->Get();
    const bool woken = std::exchange(start_, newest) != newest;
    if (reader_ && (woken || node.clock.Now() >= next_read_)) {
      next_read_ = reader_->Turn(base::Call{}.Within(std::chrono::seconds(20)));
    }
    for (Gate& one : gates_) {
      if (node.clock.Now() >= one.next)
        one.next = one.gate->Turn(base::Call{}.Within(std::chrono::seconds(20)));
    }
  }
  return true;
}

std::string GatedNode::Label(const std::string& key) const {
  auto object = server.Get("nodes/n1");
  return object ? TextAt(*object, {"metadata", "labels", key}) : "";
}

std::string GatedNode::Condition() const {
  auto object = server.Get("nodes/n1");
  for (const doc::Node& one : ItemsAt(object ? *object : kNothing, {"status", "conditions"})) {
    if (TextAt(one, {"type"}) == "ImagesPrefetched")
      return TextAt(one, {"status"}) + " " + TextAt(one, {"reason"});
  }
  return "";
}

std::vector<std::string> GatedNode::Taints() const {
  std::vector<std::string> keys;
  auto object = server.Get("nodes/n1");
  for (const doc::Node& one : ItemsAt(object ? *object : kNothing, {"spec", "taints"}))
    keys.push_back(TextAt(one, {"key"}));
  return keys;
}

std::vector<std::string> GatedNode::Events() const {
  std::vector<std::string> events;
  for (const std::string& path : server.Paths()) {
    auto event = path.starts_with("events/") ? server.Get(path) : std::nullopt;
    if (event) events.push_back(TextAt(*event, {"reason"}) + " x" + event->Find("count")->text);
  }
  return events;
}

void GatedNode::WriteToken(const std::string& token) {
  dir_.Write("token.new", token);
  std::filesystem::rename(dir_ / "token.new", dir_ / "token");
}

void GatedNode::Before(const std::string& method, const std::string& body, std::function<void()> act) {
  client_.method = method;
  client_.body = body;
  client_.act = std::move(act);
}

}  // namespace prefetch::tests
