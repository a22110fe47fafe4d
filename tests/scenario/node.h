// Node: one agent on one fake runtime, in virtual time. A scenario reads as a story:
//
//   Node node;  // or TEST_F of a NodeTest
//   node.runtime.Push(MakeImage("r.io/a:v1", 100'000'000));
//   node.List({"r.io/a:v1"});
//   node.RunFor(minutes(1));
//   EXPECT_TRUE(node.Ready());
//
// The agent's worker threads are real; time moves only when all of them wait for it. So a story of hours
// takes milliseconds and ends the same way every time.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "credentials/keyring.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "fakes/fake_kubelet.h"
#include "fakes/fake_plugins.h"
#include "fakes/fake_pod_runner.h"
#include "fakes/fake_registries.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "rig/expect_has.h"
#include "temp_dir.h"

namespace prefetch::tests {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr std::uint64_t kMB = 1'000'000;

struct NodeOptions {
  Persona persona = Persona::kContainerd16;
  plan::Limits limits;
  std::string docker_config;  // content of the node's docker config; empty: none
  // Nobody names a docker config: it is looked for below kubelet's root, as the agent has learnt that.
  bool looks_for_docker_config = false;
  std::string provider_config;  // content of kubelet's credential provider configuration; empty: none
  // Its providers with tokenAttributes get tokens of an account (providerServiceAccount).
  bool provider_account = false;
  std::string instance = "a";
  bool asks_registries = true;
  // --fetch=auto, with registries so near that the runtime fetches (FakeRegistries::NearContents).
  bool near_registries = false;
  bool once = false;
  bool unpin = false;
  // The agent waits for Labels().
  bool reads_labels = false;
  // Declarations for the node's kubelet, whose root is below the node's folder; none: --kubelet=none.
  std::optional<kubelet::KubeletDeclarations> kubelet;
  // Its version is learnt from its Node object (GatedNode): `learnt` is handed to the agent.
  bool learns_version = false;
  // kubelet's process is seen: Node::KubeletRuns.
  bool sees_processes = false;
  // kubelet is a part of what makes this file anew when it starts: Node::EmbeddedKubeletStarts.
  bool kubelet_is_embedded = false;
  // --touch, with an API server whose pods of this node kubelet runs, and the rights that deploy/ gives.
  bool touch = false;
  bool touch_image_volumes = false;
  // The same API server and kubelet, without --touch.
  bool runs_pods = false;
  // --touch where there is no API server.
  bool touch_nowhere = false;
  // Manifests with the rights of --touch, instead of those in deploy/.
  std::string touch_manifests;
  // Content of a mounted pull secret for all repositories of reg.example.test; empty: none.
  std::string pull_secret;
  // A second agent beside the first, with the same list.
  std::string second_instance;
};

// A change of Node::List: the entry follows its tag.
inline void Refreshed(plan::DesiredImage& desired) {
  desired.refresh = plan::Refresh::kIfDigestChanged;
}

// deploy/touch, and the rights of the component.
std::string ShippedTouchManifests();

// The API server, and kubelet's side of it.
struct NodeCluster {
  NodeCluster(const base::Clock& clock, FakeKubelet& kubelet, PodRuntime runtime);

  FakeApiServer server;
  http::CurlClient client;
  kube::Identity identity;
  std::unique_ptr<kube::Api> api;
  FakePodRunner pods;
};

class Node {
 public:
  explicit Node(NodeOptions options = {});
  ~Node();

  // Declarations that the agent starts from; `change` edits each entry.
  void List(const std::vector<std::string>& images,
            const std::function<void(plan::DesiredImage&)>& change = nullptr);
  // An image of the registry, and a list of it alone.
  void PushAndList(const std::string& name, std::uint64_t bytes,
                   const std::function<void(plan::DesiredImage&)>& change = nullptr) {
    runtime.Push(MakeImage(name, bytes));
    List({name}, change);
  }

  // The same from the sources themselves: a.txt, b.yaml, …, each with this text, whose form is seen by it.
  void Sources(const std::vector<std::string>& texts);

  // A preflight that has just looked wants it pulled.
  void RequestPull(const std::string& name);

  // The labels of its Node were read; nullopt: they cannot be read.
  void Labels(const std::optional<image::NodeLabels>& labels);
  // An operator requests a retry of these.
  void Retry(const std::vector<std::string>& names);
  // A component beside the loop reports its problem; "": it is over.
  void ReportProblem(const std::string& component, const std::string& problem);

  void RunFor(base::Duration time);
  // Until `condition`, at most `limit`; false if it never became true.
  bool RunUntil(const std::function<bool()>& condition, base::Duration limit);

  // The agent is gone as by SIGKILL or SIGTERM, and a new one starts on the same node.
  void RestartAgent();
  // As by SIGTERM, in real time, with nothing after it.
  void StopAgent();
  // One that runs --once, in real time: does it end within `limit`? It is over afterwards.
  bool EndsByItself(std::chrono::seconds limit);
  // An agent that must restart ends by itself, in real time.
  void AgentEnds();

  plan::SnapshotPtr Snapshot() const { return agents_.front()->board().Latest(); }
  bool MustRestart() const { return agents_.front()->MustRestart(); }
  bool Ready() const { return Snapshot()->readiness.ready; }
  const agent::Metrics& Metrics() const { return agents_.front()->metrics(); }
  // The state of one image of the list.
  const plan::ImageState& Image(const std::string& name);
  plan::Reason ReasonOf(const std::string& name) { return Image(name).reason; }
  // Lets kubelet do something, and tells the agent that files have changed, as the watch would.
  void Kubelet(const std::function<void(FakeKubelet&)>& act);
  // Would kubelet let a pod, by default one without secrets, with policy Never use the image that is here?
  bool Admits(const std::string& image, const kubelet::PodIdentity& pod = {}) {
    return kubelet_.Admits(image, IdOf(image), pod);
  }
  std::string KubeletRoot() const { return dir_ / "kubelet"; }
  std::string KubeletConfigFile() const { return dir_ / "kubelet.yaml"; }
  // Files of the node have changed and nobody tells.
  void WriteKubeletConfig(const std::string& content) { dir_.Write("kubelet.yaml", content); }
  // Restarts the agent with other declarations.
  void Redeclare(kubelet::KubeletDeclarations declared);
  // The id under which the runtime has an image; empty if it is absent.
  std::string IdOf(const std::string& name);
  // Another content of the node's docker config, on disk, while the agent runs.
  void WriteDockerConfig(const std::string& content) { dir_.Write("config.json", content); }
  // Another content of the credential provider configuration, on disk, while the agent runs.
  void WriteProviderConfig(const std::string& content);
  std::string ProviderConfigFile() const { return dir_ / "providers.yaml"; }
  // As this process, in place of the one before; empty: none runs.
  void KubeletRuns(const std::string& pid, const std::string& flag = "");
  // With NodeOptions::kubelet_is_embedded: the program that kubelet is a part of makes its runtime's socket
  // anew.
  void EmbeddedKubeletStarts();
  // Any file of the node; gives its path.
  std::string WriteFile(const std::string& name, const std::string& content) {
    return dir_.Write(name, content);
  }
  // Only with NodeOptions::touch.
  NodeCluster& Cluster() { return *cluster_; }
  plan::SnapshotPtr SecondSnapshot() const { return agents_.at(1)->board().Latest(); }
  base::Duration Elapsed() const { return clock.Now() - started_; }
  int LogLines(std::string_view message) const;
  // How often the agent went through all its entries.
  std::uint64_t Turns() const { return agents_.front()->turns(); }

  FakeClock clock;
  FakeImageService runtime;
  FakeRegistries registries;
  FakePlugins plugins;  // of the provider configuration
  // Disk of the node, as the agent sees it; by default endless.
  plan::DiskSpace disk;
  // Bytes that the runtime stores take room: `disk` is then the disk without them.
  bool disk_fills = false;
  std::vector<std::string> log;  // every line since the start
  // Only with NodeOptions::learns_version.
  std::shared_ptr<agent::LatestNodeReport> learnt;
  std::shared_ptr<agent::LatestKubeletStart> kubelet_start = std::make_shared<agent::LatestKubeletStart>();

 private:
  void Settle();  // until every worker waits for time
  void Start();
  void EndAgents();
  std::unique_ptr<agent::Agent> MakeAgent(const std::string& instance);
  plan::DiskSpace Disk() const;
  PodRuntime RuntimeForPods();
  bool TurnAgents();
  base::TimePoint NextTurn() const;

  NodeOptions options_;
  TempDir dir_;
  FakeKubelet kubelet_;
  std::unique_ptr<credentials::Keyring> keyring_;
  std::unique_ptr<NodeCluster> cluster_;
  std::vector<std::unique_ptr<agent::Agent>> agents_;  // the first is the one that is asked
  std::shared_ptr<const plan::ImageList> list_;
  plan::SnapshotPtr held_;
  base::TimePoint started_;
};

// The fixture of suites whose stories are of a usual node.
class NodeTest : public testing::Test {
 protected:
  Node node;
};

}  // namespace prefetch::tests
