#include "scenario/node.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "base/fs.h"
#include "base/log.h"
#include "base/sha256.h"
#include "golden.h"
#include "list/canonical.h"
#include "list/merge.h"
#include "plan/check.h"

namespace prefetch::tests {

NodeCluster::NodeCluster(const base::Clock& clock, FakeKubelet& kubelet, PodRuntime runtime)
    : server(clock),
      identity({.server = server.url(),
                .token = base::Secret(
                    server.AddServiceAccountToken("prefetchd", "prefetchd", std::chrono::hours(10'000)))},
               clock),
      api(kube::MakeHttpApi(client, identity, clock)),
      pods(server, kubelet, clock, "n1", std::move(runtime)) {
  server.Put("nodes/n1", "{}");
}

std::string ShippedTouchManifests() {
  std::string all;
  for (const char* file : {"components/touch/rbac.yaml", "touch/namespace.yaml", "touch/rbac.yaml"}) {
    auto manifests = base::ReadFile(Testdata() + "/../../deploy/" + file, 1 << 20);
    EXPECT_TRUE(manifests) << file;
    if (manifests) all += "---\n" + *manifests;
  }
  return all;
}

Node::Node(NodeOptions options)
    : runtime(clock, options.persona),
      registries(clock, runtime),
      plugins(clock),
      options_(std::move(options)),
      kubelet_(KubeletRoot(), clock) {
  std::filesystem::create_directories(KubeletRoot());
  base::SetLogFormat(base::LogFormat::kJson);
  base::SetLogSink([this](std::string_view line) { log.emplace_back(line); });
  credentials::KeyringOptions keyring;
  keyring.run_plugin = plugins.Runner();
  keyring.docker_configs = {dir_ / "config.json"};
  dir_.Write("config.json", options_.docker_config.empty() ? "{}" : options_.docker_config);
  if (options_.looks_for_docker_config) {
    dir_.Write("kubelet/config.json", options_.docker_config);
    keyring.docker_configs.clear();
    keyring.docker_config_search = {
        .kubelet_root = dir_ / "none", .working_directory = dir_ / "none", .home = dir_ / "none"};
  }
  if (!options_.provider_config.empty()) {
    WriteProviderConfig(options_.provider_config);
    keyring.provider_config = dir_ / "providers.yaml";
    keyring.provider_bin_dir = "/bin";
  }
  if (options_.provider_account) {
    keyring.service_account = credentials::ServiceAccountName{"apps", "puller"};
    keyring.grants = [](const base::Call&, const std::string&) {
      return credentials::ServiceAccountGrant{.uid = "u-1", .token = base::Secret("token")};
    };
  }
  if (!options_.pull_secret.empty()) {
    keyring.pull_secrets = {{.name = "team-pull",
                             .path = dir_.Write("secret/.dockerconfigjson", options_.pull_secret),
                             .allow_repositories = {"reg.example.test"},
                             .sources = {"images.yaml"}}};
  }
  keyring_ = std::make_unique<credentials::Keyring>(keyring, clock);
  if (options_.touch || options_.runs_pods) {
    cluster_ = std::make_unique<NodeCluster>(clock, kubelet_, RuntimeForPods());
    EXPECT_TRUE(cluster_->server.Apply(options_.touch_manifests.empty() ? ShippedTouchManifests()
                                                                        : options_.touch_manifests));
  }
  started_ = clock.Now();
  Start();
}

Node::~Node() {
  EndAgents();
  base::SetLogSink(nullptr);
}

PodRuntime Node::RuntimeForPods() {
  auto pull = [this](const std::string& image, const image::AuthConfig* auth) -> base::Result<std::string> {
    std::string name = image::Reference::Parse(image)->Normalized();
    std::optional<FakeImage> offered = runtime.Offered(name);
    if (!offered && runtime.InRegistry(name))
      return base::Unavailable("dial tcp 192.0.2.1:443: connect: connection refused");
    if (!offered)
      return base::NotFound("failed to resolve reference \"" + name + "\": " + name + ": not found");
    bool allowed = offered->username.empty() || (auth != nullptr && auth->username == offered->username &&
                                                 auth->password.Reveal() == offered->password);
    if (!allowed) return base::PermissionDenied("unexpected status from HEAD request: 401 Unauthorized");
    runtime.Preload(*offered);
    return IdOf(name);
  };
  return {.id_of = [this](const std::string& image) { return IdOf(image); }, .pull = std::move(pull)};
}

std::unique_ptr<agent::Agent> Node::MakeAgent(const std::string& instance) {
  agent::Parts parts{runtime, runtime, *keyring_, clock, [this](const std::string&) { return Disk(); }};
  agent::Options options{.limits = options_.limits,
                         .platform = {.os = "linux", .architecture = "amd64"},
                         .node = "n1",
                         .instance = instance};
  options.seed = 1;
  options.once = options_.once;
  options.unpin = options_.unpin;
  options.reads_labels = options_.reads_labels;
  if (options_.asks_registries) parts.registry = registries.Requester();
  options.fetch = options_.near_registries;
  if (options_.near_registries) parts.contents = registries.NearContents();
  if (options_.kubelet) {
    kubelet::KubeletDeclarations declared = *options_.kubelet;
    declared.root = KubeletRoot();
    declared.config_file = KubeletConfigFile();
    if (!std::filesystem::exists(declared.config_file)) declared.config_file.clear();
    if (options_.kubelet_is_embedded) declared.start_file = dir_ / "runtime.sock";
    // The watch is in real time; Kubelet() tells instead.
    options.kubelet.emplace(agent::KubeletOptions{
        .facts = kubelet::NodeFactsReader(declared, options_.sees_processes ? dir_ / "proc" : "", {}),
        .watch = false,
        .version = learnt,
        .start = kubelet_start});
  }
  if (cluster_) parts.api = cluster_->api.get();
  if (options_.touch || options_.touch_nowhere) {
    options.touch.emplace(agent::TouchOptions{
        .node = "n1", .instance = instance, .image_volumes = options_.touch_image_volumes});
  }
  return std::make_unique<agent::Agent>(std::move(options), parts);
}

plan::DiskSpace Node::Disk() const {
  plan::DiskSpace now = disk;
  if (disk_fills) now.available_bytes -= std::min(now.available_bytes, runtime.BytesUsed());
  return now;
}

void Node::Start() {
  if (options_.learns_version) {
    learnt = std::make_shared<agent::LatestNodeReport>();
    learnt->OnChange([this] {
      for (const auto& agent : agents_) agent->RecordsChanged({.all = true});
    });
  }
  agents_.push_back(MakeAgent(options_.instance));
  if (!options_.second_instance.empty()) agents_.push_back(MakeAgent(options_.second_instance));
  for (const auto& agent : agents_) {
    if (list_) agent->SetList(list_);
  }
  // The watch is in real time; the fake tells instead.
  runtime.OnImages([this] {
    for (const auto& agent : agents_) agent->ImagesChanged();
  });
}

void Node::EmbeddedKubeletStarts() {
  const std::string file = dir_.Write("runtime.new", "");
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(clock.Wall().time_since_epoch());
  const timespec made{.tv_sec = now.count() / 1'000'000'000, .tv_nsec = now.count() % 1'000'000'000};
  const timespec times[] = {made, made};
  ::utimensat(AT_FDCWD, file.c_str(), times, 0);
  std::filesystem::rename(file, dir_ / "runtime.sock");
}

void Node::KubeletRuns(const std::string& pid, const std::string& flag) {
  std::filesystem::remove_all(dir_ / "proc");
  if (pid.empty()) return;
  dir_.Write("proc/" + pid + "/stat",
             pid + " (kubelet) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 " + pid + " 23\n");
  dir_.Write("proc/" + pid + "/status", "Uid:\t0\t0\t0\t0\nNSpid:\t" + pid + "\n");
  dir_.Write("proc/" + pid + "/cmdline", std::string("kubelet\0", 8) + flag);
  // It has begun just now: its ticks since the boot are its number.
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock.Wall().time_since_epoch());
  const long boot = static_cast<long>(now.count()) - std::stol(pid) / ::sysconf(_SC_CLK_TCK);
  dir_.Write("proc/stat", "btime " + std::to_string(boot) + "\n");
}

void Node::RestartAgent() {
  EndAgents();
  Start();
}

void Node::EndAgents() {
  runtime.OnImages(nullptr);
  agents_.clear();
}

void Node::StopAgent() {
  std::stop_source stop;
  stop.request_stop();
  for (const auto& agent : agents_) agent->Run(stop.get_token());
  EndAgents();
}

bool Node::EndsByItself(std::chrono::seconds limit) {
  std::stop_source stop;
  std::promise<void> ended;
  agents_.front()->Release();
  std::jthread run([&] {
    agents_.front()->Run(stop.get_token());
    ended.set_value();
  });
  const bool by_itself = ended.get_future().wait_for(limit) == std::future_status::ready;
  stop.request_stop();
  return by_itself;
}

void Node::AgentEnds() {
  for (const auto& agent : agents_) {
    ASSERT_TRUE(agent->MustRestart());
    agent->Run({});
  }
  EndAgents();
}

void Node::List(const std::vector<std::string>& images,
                const std::function<void(plan::DesiredImage&)>& change) {
  plan::ImageList list;
  std::string all;
  for (const std::string& name : images) {
    plan::DesiredImage desired;
    desired.reference = *image::Reference::Parse(name);
    desired.sources = {"images.yaml"};
    if (change) change(desired);
    list.images.push_back(std::move(desired));
    all += name + "\n";
  }
  list.hash = "sha256:" + base::Sha256Hex(all);
  list.sources = {
      {.name = "images.yaml", .hash = list.hash, .entries = images.size(), .loaded_at = clock.Wall()}};
  list_ = std::make_shared<const plan::ImageList>(std::move(list));
  for (const auto& agent : agents_) agent->SetList(list_);
}

void Node::Sources(const std::vector<std::string>& texts) {
  std::vector<list::LoadedSource> sources;
  for (const std::string& text : texts) {
    std::string name = std::string(1, static_cast<char>('a' + sources.size())) +
                       (list::FormatOfText(text) == list::SourceFormat::kPlain ? ".txt" : ".yaml");
    auto content = list::DecodeSource(name, text, {});
    ASSERT_TRUE(content) << content.error().message();
    sources.push_back({{.name = name, .hash = list::SourceHash(*content), .loaded_at = clock.Wall()},
                       std::make_shared<const list::SourceContent>(*content)});
  }
  list_ = std::make_shared<const plan::ImageList>(list::Merge(sources));
  for (const auto& agent : agents_) agent->SetList(list_);
}

void Node::RequestPull(const std::string& name) {
  for (const auto& agent : agents_) agent->RequestPull(*image::Reference::Parse(name), clock.Now());
}

void Node::Labels(const std::optional<image::NodeLabels>& labels) {
  for (const auto& agent : agents_) agent->SetNodeLabels(labels);
}

void Node::Retry(const std::vector<std::string>& names) {
  std::vector<std::string> normalized;
  for (const std::string& name : names) {
    // As an agent answers POST /v1/retry.
    if (plan::AwaitsRetry(Image(name))) normalized.push_back(image::Reference::Parse(name)->Normalized());
  }
  for (const auto& agent : agents_) agent->Retry(normalized);
}

void Node::ReportProblem(const std::string& component, const std::string& problem) {
  for (const auto& agent : agents_) agent->ReportProblem(component, problem);
}

void Node::WriteProviderConfig(const std::string& content) {
  dir_.Write("providers.yaml", content);
}

void Node::Kubelet(const std::function<void(FakeKubelet&)>& act) {
  act(kubelet_);
  for (const auto& agent : agents_) agent->RecordsChanged({.all = true, .names = {}});
}

void Node::Redeclare(kubelet::KubeletDeclarations declared) {
  options_.kubelet = std::move(declared);
  RestartAgent();
}

std::string Node::IdOf(const std::string& name) {
  auto images = runtime.ListImages({});
  if (!images) return "";
  const image::LocalImageIndex index(*images);
  const image::LocalImage* found = index.Find(*image::Reference::Parse(name));
  return found == nullptr ? "" : found->id;
}

// One event, or one turn that is due, of any agent.
bool Node::TurnAgents() {
  for (const auto& agent : agents_) {
    if (auto event = agent->TryPop()) {
      agent->Turn(std::move(event));
      return true;
    }
    if (agent->NextTurn() <= clock.Now()) {
      agent->Turn(std::nullopt);
      return true;
    }
  }
  return false;
}

base::TimePoint Node::NextTurn() const {
  base::TimePoint next = base::TimePoint::max();
  for (const auto& agent : agents_) next = std::min(next, agent->NextTurn());
  return next;
}

void Node::Settle() {
  while (true) {
    if (TurnAgents()) continue;
    int jobs = 0;
    for (const auto& agent : agents_) jobs += agent->jobs_under_way();
    if (jobs > runtime.Parked() + plugins.Parked() + keyring_->waiting()) {
      std::this_thread::yield();  // a worker is on its way to its next wait
      continue;
    }
    if (!cluster_ || !cluster_->pods.Step()) return;
    for (const auto& agent : agents_) agent->RecordsChanged({.all = true, .names = {}});
  }
}

bool Node::RunUntil(const std::function<bool()>& condition, base::Duration limit) {
  base::TimePoint end = clock.Now() + limit;
  while (true) {
    Settle();
    if (condition()) return true;
    if (clock.Now() >= end) return false;
    base::TimePoint pods = cluster_ ? cluster_->pods.NextEvent() : base::TimePoint::max();
    clock.AdvanceTo(std::min({NextTurn(), runtime.NextEvent(), plugins.NextEvent(), pods, end}));
  }
}

void Node::RunFor(base::Duration time) {
  RunUntil([] { return false; }, time);
}

const plan::ImageState& Node::Image(const std::string& name) {
  held_ = Snapshot();
  image::Reference reference = *image::Reference::Parse(name);
  auto found = std::find_if(held_->images.begin(), held_->images.end(), [&](const plan::ImageState& image) {
    return image.desired->reference == reference;
  });
  if (found == held_->images.end()) {
    static const plan::ImageState kNone;
    ADD_FAILURE() << name << " is not on the list";
    return kNone;
  }
  return *found;
}

int Node::LogLines(std::string_view message) const {
  return static_cast<int>(std::count_if(log.begin(), log.end(), [&](const std::string& line) {
    return line.find("\"msg\":\"" + std::string(message) + "\"") != std::string::npos;
  }));
}

}  // namespace prefetch::tests
