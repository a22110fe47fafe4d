#include "faults/world.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/fs.h"

namespace prefetch::tests::faults {
namespace {

constexpr const char* kProviders = R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["plugged.test"]
  defaultCacheDuration: 0s
)";

std::string DockerConfig(const std::string& password) {
  return R"({"auths":{"docked.test":{"username":"ci","password":")" + password + "\"}}}";
}

NodeOptions Options(Persona runtime, bool touches) {
  NodeOptions options{
      .persona = runtime, .docker_config = DockerConfig(kTruePassword), .provider_config = kProviders};
  options.limits.parallel_pulls = 2;  // so that pulls begin while faults last, too
  options.kubelet =
      kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36},
                                   .policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages};
  options.touch = touches;
  options.near_registries = runtime == Persona::kContainerd23;  // the one whose images may be fetched
  return options;
}

}  // namespace

World::World(Persona runtime, bool touches)
    : node(Options(runtime, touches)), runtime_(runtime), touches_(touches), settings_{.version = {1, 36}} {
  Push(MakeImage("open.test/base:v1", {{"base", 60 * kMB}}));
  Push(MakeImage("open.test/app:v1", {{"base", 60 * kMB}, {"app", 40 * kMB}}));
  Push(MakeImage("open.test/small:v1", kMB));
  Push(Private(MakeImage("docked.test/tool:v1", {{"base", 60 * kMB}, {"tool", 20 * kMB}}), "ci",
               kTruePassword));
  Push(Private(MakeImage("plugged.test/runner:v1", 80 * kMB), "ci", kTruePassword));
  CachingProvider(kTruePassword);
  node.runtime.SetBandwidth(kLink);
  node.runtime.SetLatency(std::chrono::milliseconds(20));
  node.runtime.LookTakes(kLook);
  agent_since = node.clock.Now();
  if (touches_)
    node.Cluster().pods.SetNodeCredential(
        image::AuthConfig{.username = "ci", .password = base::Secret(kTruePassword)});
  KubeletStarts();
  SetListed({images_.begin(), images_.end()});
}

void World::Push(FakeImage image) {
  image.unpack = kUnpacking;
  node.runtime.Push(image);
  images_.push_back(image.name);
  pushed_.push_back(image);
}

void World::SetListed(std::set<std::string> images) {
  listed_ = std::move(images);
  node.List({listed_.begin(), listed_.end()}, [this](plan::DesiredImage& desired) {
    if (touches_) desired.open = plan::Open::kAlways;
  });
}

void World::Unlist(const std::string& image) {
  std::set<std::string> rest = listed_;
  rest.erase(image);
  SetListed(std::move(rest));
}

void World::Relist(const std::string& image) {
  std::set<std::string> more = listed_;
  more.insert(image);
  SetListed(std::move(more));
}

void World::ShowTag(const std::string& image) {
  node.runtime.Push(Pushed(image));
}

void World::Evict(const std::string& image) {
  Destroyed(BytesOf(image));
  Stirred();
  if (node.runtime.IsLookedAt(image)) went_unseen_.insert(image);
  node.runtime.Remove(image);
}

void World::RestartAgent() {
  Stirred();
  restarts_++;
  node.RestartAgent();
  agent_since = node.clock.Now();
}

void World::Do(Due what, const std::string& image) {
  if (what == Due::kBreak) return BreakRecord(image);
  PullCredential credential;
  if (what == Due::kClose) {
    credential.secret =
        kubelet::HashedSecret{{.uid = "u", .namespace_name = "team", .name = "pull"}, base::Secret("hash")};
  }
  node.Kubelet([&](FakeKubelet& kubelet) {
    if (kubelet.BeginPull(image)) kubelet.EndPull(image, node.IdOf(image), credential);
  });
}

void World::BreakRecord(const std::string& image) {
  Do(Due::kOpen, image);  // there is one
  const std::string id = node.IdOf(image);
  KubeletStops();
  for (const auto& file : std::filesystem::directory_iterator(node.KubeletRoot() + "/image_manager/pulled")) {
    auto content = base::ReadFile(file.path().string(), 1 << 20);
    if (!content || content->find(id) == std::string::npos) continue;
    std::ofstream(file.path(), std::ios::trunc) << "{";
  }
  KubeletStarts();
}

void World::Tend() {
  if (!kubelet_runs_) return;
  for (auto one = due_.begin(); one != due_.end();) {
    if (!Has(one->first)) {
      ++one;
      continue;
    }
    const auto [image, what] = *one;
    one = due_.erase(one);
    Do(what, image);
  }
}

void World::FlapRegistry() {
  flapped_down_ = !flapped_down_;
  node.runtime.SetRegistry(flapped_down_ ? RegistryState::kDown : RegistryState::kUp);
}

void World::CachingProvider(const std::string& password, base::Duration takes) {
  node.plugins.Knows("plugged.test",
                     {.auth = {.username = "ci", .password = base::Secret(password)}, .takes = takes});
}

void World::MendDockerConfig(const std::string& password) {
  node.WriteDockerConfig(DockerConfig(password));
}

void World::FlapApiServer() {
  api_server_is_away_ = !api_server_is_away_;
  api_server_is_away_ ? node.Cluster().server.GoAway() : node.Cluster().server.ComeBack();
}

// Without a runtime, kubelet starts nothing.
void World::PodsRunIfTheyCan() {
  if (touches_) node.Cluster().pods.SetRuns(kubelet_runs_ && runtime_up);
}

void World::RuntimeIs(bool up) {
  runtime_up = up;
  PodsRunIfTheyCan();
}

void World::KubeletStops() {
  if (!std::exchange(kubelet_runs_, false)) return;
  PodsRunIfTheyCan();
  node.Kubelet([](FakeKubelet& kubelet) { kubelet.Stop(); });
}

void World::KubeletStarts() {
  if (std::exchange(kubelet_runs_, true)) return;
  PodsRunIfTheyCan();
  std::vector<image::LocalImage> here;
  if (auto images = node.runtime.ListImages({})) here = *std::move(images);
  node.Kubelet([&](FakeKubelet& kubelet) { kubelet.Start(settings_, here); });
}

bool World::IsTrulyReady() {
  if (!also_needs.empty() && !Has(also_needs)) return false;
  return std::all_of(listed_.begin(), listed_.end(),
                     [&](const std::string& image) { return IsUsable(image); });
}

const FakeImage& World::Pushed(const std::string& image) const {
  return *std::find_if(pushed_.begin(), pushed_.end(),
                       [&](const FakeImage& pushed) { return pushed.name == image; });
}

std::uint64_t World::BytesOf(const std::string& image) const {
  return Pushed(image).Bytes();
}

namespace {

std::uint64_t BytesOfBlobs(const std::vector<FakeImage>& images) {
  std::uint64_t sum = 0;
  std::set<std::string> counted;
  for (const FakeImage& image : images) {
    for (const FakeBlob& blob : image.Blobs()) {
      if (counted.insert(blob.digest).second) sum += blob.bytes;
    }
  }
  return sum;
}

}  // namespace

std::uint64_t World::BytesToFetch() const {
  if (!IsCrio(runtime_)) return BytesOfBlobs(pushed_);
  std::uint64_t sum = 0;
  for (const FakeImage& image : pushed_) sum += image.Bytes();
  return sum;
}

std::uint64_t World::BytesUnfinished() {
  std::vector<FakeImage> here = pushed_;
  std::erase_if(here, [&](const FakeImage& image) { return !Has(image.name); });
  const std::uint64_t stored = node.runtime.BytesStored();
  return stored - std::min(stored, BytesOfBlobs(here));
}

std::uint64_t World::BytesAbsent() {
  std::vector<FakeImage> absent = pushed_;
  std::erase_if(absent, [&](const FakeImage& image) { return Has(image.name); });
  return BytesOfBlobs(absent);
}

}  // namespace prefetch::tests::faults
