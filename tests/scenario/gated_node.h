// GatedNode: an agent on a fake runtime whose node gate speaks over HTTP with an API server that grants what
// the shipped manifests grant, and nothing more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster/kubelet_readers.h"
#include "agent/cluster/node_gate.h"
#include "fakes/fake_api_server.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "kube/identity.h"
#include "scenario/node.h"
#include "temp_dir.h"

namespace prefetch::tests {

// The objects of deploy/ with the component node-gate, as `prefetchctl generate` prints them.
std::string ShippedManifests();

struct GatedNodeOptions {
  NodeOptions node;
  plan::GateOptions gate{.label = true, .condition = true, .taint = true};
  std::string manifests = ShippedManifests();
  std::chrono::seconds token_life = std::chrono::hours(24);
};

// The Node object n1, with our startup taint and one of somebody else's.
class GatedNode {
 public:
  explicit GatedNode(GatedNodeOptions options = {});

  // The agent, and beside it the gate, which sees each second what the agent has published.
  void RunFor(base::Duration time);
  bool RunUntil(const std::function<bool()>& condition, base::Duration limit);

  // State of the Node object.
  std::string Label(const std::string& key = "prefetchd.dev/prefetchd") const;
  std::string Condition() const;  // "False ImagesNotReady"; empty: there is none
  std::vector<std::string> Taints() const;
  // Our Events, such as "NotFound x3".
  std::vector<std::string> Events() const;

  // A second agent's gate on the same Node, which says what `node` says.
  void AddGate(const plan::GateOptions& gate);
  // The agent is replaced, and its gate with it.
  void Replace();
  // kubelet, of this version, has written its Node just now.
  void KubeletReports(const std::string& version);
  // The API server's packets are lost from now on: each call lasts until its end.
  void LosesPackets(bool loses = true) { AnswersAfter(loses ? std::chrono::hours(1) : base::Duration{0}); }
  // Delays each answer of the API server by `latency`.
  void AnswersAfter(base::Duration latency) { client_.latency = latency; }
  // kubelet has put another token into the volume.
  void WriteToken(const std::string& token);
  // Runs just before the next request of this method and with this in its body goes out.
  void Before(const std::string& method, const std::string& body, std::function<void()> act);

  Node node;
  FakeApiServer server;

 private:
  // Lets somebody act between two requests of the gate.
  class Interrupted final : public http::Client {
   public:
    http::ExchangeResult Exchange(const base::Call& call, const http::Request& request) override;

    http::CurlClient real;
    FakeClock* clock = nullptr;  // moves by `latency`
    base::Duration latency{0};
    std::string method, body;
    std::function<void()> act;
  };
  struct Gate {
    std::unique_ptr<agent::NodeGate> gate;
    base::TimePoint next;
  };

  TempDir dir_;
  Interrupted client_;
  kube::Identity identity_;
  std::unique_ptr<kube::Api> api_;
  agent::Board board_;
  plan::GateOptions gate_;
  std::vector<Gate> gates_;
  void Read();
  std::unique_ptr<agent::VersionReader> reader_;  // only with NodeOptions::learns_version
  base::TimePoint next_read_;
  std::optional<plan::KubeletStart> start_;  // that the reader was woken for
};

}  // namespace prefetch::tests
