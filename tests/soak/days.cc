#include "soak/days.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "agent/metrics.h"
#include "status/status_json.h"

namespace prefetch::tests::soak {
namespace {

// Contents that a tag moves between, over and over.
constexpr int kVersions = 4;
// Images and registries that are on the list for one day.
constexpr int kComers = 6;
// Unlisted images of one day: the agent names a thousand of them at most, which four days bring.
constexpr int kUnlisted = 260;

// Every back-off of passing failures ends within it.
constexpr minutes kBetween{2}, kSettles{10};

constexpr const char* kProviders = R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["plugged.test"]
  defaultCacheDuration: 2h
)";

NodeOptions Options() {
  NodeOptions options{.persona = Persona::kContainerd23, .provider_config = kProviders};
  options.kubelet =
      kubelet::KubeletDeclarations{.version = image::KubeletVersion{1, 36},
                                   .policy = kubelet::VerificationPolicy::kNeverVerifyPreloadedImages};
  return options;
}

std::size_t Count(const char* folder) {
  const auto all = std::filesystem::directory_iterator(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool IsPrivate(const std::string& image) {
  return image.starts_with("plugged.test/");
}

FakeImage Version(const std::string& name, int number) {
  FakeImage image = MakeImage(name, {{"base", 40 * kMB}, {name + std::to_string(number % kVersions), kMB}});
  return image;
}

}  // namespace

Days::Days(bool nights) : nights_(nights), node_(Options()) {
  node_.runtime.SetBandwidth(50 * kMB);
  node_.runtime.SetLatency(std::chrono::milliseconds(20));
  for (int i = 0; i < 12; i++) lasting_.push_back("open.test/team/app" + std::to_string(i) + ":v1");
  for (int i = 0; i < 6; i++) lasting_.push_back("plugged.test/team/tool" + std::to_string(i) + ":v1");
  // Registries keep all versions, and from the beginning on, so that they do not grow.
  for (int version = kVersions; version >= 0; version--) {
    for (const std::string& image : lasting_) PushPrivate(Version(image, version));
  }
  KubeletRestarts();
}

const std::vector<Days::Happening>& Days::Happenings() {
  static const std::vector<Happening> all = {
      {4, &Days::Evict},
      {4, &Days::MoveTag},
      {1, &Days::LoseTag},
      {2, &Days::ExpireToken},
      {1, &Days::PluginHangs},
      {1, &Days::RuntimeRestarts},
      {1, &Days::RuntimeStops},
      {1, &Days::RuntimeIsUpgraded},
      {1, &Days::RegistryIsDown},
      {1, &Days::RegistryLimits},
      {1, &Days::ConnectionsAreCut},
      {1, &Days::KubeletRestarts},
      {2, &Days::PodsPull},
      {1, &Days::UnlistedImagesCome},
      {2, &Days::PreflightAsks},
      {1, &Days::ClockIsSet},
      {1, &Days::DiskFills},
      {3, &Days::ListIsEdited},
  };
  return all;
}

Evening Days::Live() {
  day_++;
  Morning();
  std::vector<void (Days::*)()> plan;
  for (const Happening& one : Happenings())
    plan.insert(plan.end(), static_cast<std::size_t>(one.a_day), one.happens);
  std::shuffle(plan.begin(), plan.end(), random_);
  for (auto happens : plan) {
    (this->*happens)();
    node_.RunFor(kBetween);
  }
  EveningComes();
  return Measure();
}

void Days::Morning() {
  today_ = Comers("ci", kComers);
  for (const std::string& image : today_) PushPrivate(MakeImage(image, kMB));
  SetList();
  node_.RunFor(minutes(15));
}

void Days::EveningComes() {
  for (const std::string& image : std::exchange(today_, {})) {
    unlisted_.push_back(image);
    node_.runtime.Forget(image);
  }
  SetList();
  for (const std::string& image : std::exchange(unlisted_, {})) {
    node_.runtime.Remove(image);
    node_.runtime.Forget(image);
  }
  KubeletCollects();
  const base::Duration midnight = day_ * hours(24);
  node_.RunFor(nights_ ? midnight - node_.Elapsed() : kSettles);
  if (!nights_) node_.clock.Advance(midnight - kSettles - node_.Elapsed());
  node_.RunFor(midnight - node_.Elapsed());
  node_.registries.ForgetRequests();
}

// Images that have lost their tags go, and records of absent images.
void Days::KubeletCollects() {
  std::set<std::string> ids;
  std::vector<std::string> without_tag;
  if (const auto images = node_.runtime.ListImages({})) {
    for (const image::LocalImage& image : *images) {
      if (!image.repo_tags.empty()) {
        ids.insert(image.id);
      } else if (!image.repo_digests.empty()) {
        without_tag.push_back(image.repo_digests.front());
      }
    }
  }
  for (const std::string& name : without_tag) node_.runtime.Remove(name);
  node_.Kubelet([&](FakeKubelet& kubelet) { kubelet.GarbageCollect(ids); });
}

Evening Days::Measure() {
  const plan::SnapshotPtr snapshot = node_.Snapshot();
  Evening evening{.day = day_,
                  .ready = snapshot->readiness.ready,
                  .descriptors = Count("/proc/self/fd"),
                  .threads = Count("/proc/self/task"),
                  .leases = node_.runtime.Leases().size(),
                  .log_lines = node_.log.size(),
                  .metric_lines = LinesOf(
                      agent::MetricsText(*snapshot, node_.Metrics().Copy(), {}, "1.0", status::View::kFull)),
                  .status_bytes = status::StatusJson(*snapshot).size()};
  for (const std::string& line : node_.log) evening.log_bytes += line.size() + 1;
  // The log is the test's.
  std::vector<std::string>().swap(node_.log);
  evening.heap_bytes = ::mallinfo2().uordblks;
  return evening;
}

// ---- what happens

void Days::Evict() {
  node_.runtime.Remove(Any(lasting_));
}

void Days::MoveTag() {
  PushPrivate(Version(Any(lasting_), ++versions_));
}

void Days::LoseTag() {
  const std::string image = Any(lasting_);
  node_.runtime.DeleteTag(image);
  node_.RunFor(minutes(70));
  PushPrivate(Version(image, ++versions_));
}

// Registries of clouds give a new token each time, and the node's plugin still has the one before.
void Days::ExpireToken() {
  password_ = "token-" + std::to_string(++tokens_);
  for (const std::string& image : lasting_) {
    if (IsPrivate(image)) PushPrivate(Version(image, versions_));
  }
}

void Days::PluginHangs() {
  node_.plugins.Hang("plugged.test");
  ExpireToken();
  node_.RunFor(minutes(10));
  node_.plugins.Hang("plugged.test", false);
}

void Days::RuntimeRestarts() {
  Evict();
  node_.RunFor(std::chrono::milliseconds(500));
  node_.runtime.Restart();
}

void Days::RuntimeStops() {
  node_.runtime.SetRuntimeUp(false);
  node_.RunFor(minutes(3));
  node_.runtime.SetRuntimeUp(true);
}

void Days::RuntimeIsUpgraded() {
  node_.runtime.SetRuntimeUp(false);
  node_.RunFor(seconds(5));
  node_.runtime.SetVersion("2.3." + std::to_string(day_ % 10));
  node_.runtime.SetRuntimeUp(true);
}

void Days::RegistryIsDown() {
  node_.runtime.SetRegistry(RegistryState::kDown);
  node_.registries.Set("open.test", RegistryMood::kDown);
  Evict();
  node_.RunFor(minutes(25));
  node_.runtime.SetRegistry(RegistryState::kUp);
  node_.registries.Set("open.test", RegistryMood::kUp);
}

void Days::RegistryLimits() {
  node_.registries.Set("open.test", RegistryMood::kLimiting, minutes(1));
  node_.runtime.Fail(lasting_.front(), image::ErrorClass::kRateLimited);
  node_.runtime.Remove(lasting_.front());
  node_.RunFor(minutes(20));
  node_.registries.Set("open.test", RegistryMood::kUp);
  node_.runtime.Fail(lasting_.front(), std::nullopt);
}

void Days::ConnectionsAreCut() {
  Evict();
  node_.RunFor(std::chrono::milliseconds(500));
  node_.runtime.CutConnections();
}

void Days::KubeletRestarts() {
  std::vector<image::LocalImage> here;
  if (auto images = node_.runtime.ListImages({})) here = *std::move(images);
  node_.Kubelet([&](FakeKubelet& kubelet) {
    kubelet.Stop();
    kubelet.Start({.version = {1, 36}}, here);
  });
}

// A pod with a secret, and one without.
void Days::PodsPull() {
  PullCredential secret;
  secret.secret =
      kubelet::HashedSecret{{.uid = "u" + std::to_string(day_), .namespace_name = "team", .name = "s"},
                            base::Secret("hash" + std::to_string(day_))};
  const auto pull = [this](const std::string& image, const PullCredential& credential) {
    const std::string id = node_.IdOf(image);
    if (id.empty()) return;
    node_.Kubelet([&](FakeKubelet& kubelet) {
      if (kubelet.BeginPull(image)) kubelet.EndPull(image, id, credential);
    });
  };
  pull(Any(today_), secret);
  pull(Any(lasting_), {});
}

void Days::UnlistedImagesCome() {
  for (const std::string& image : Comers("stranger", kUnlisted)) {
    node_.runtime.Preload(MakeImage(image, kMB));
    unlisted_.push_back(image);
  }
}

void Days::PreflightAsks() {
  for (const std::string& image : Comers("asked", 2)) {
    node_.runtime.Push(MakeImage(image, kMB));
    node_.RequestPull(image);
    unlisted_.push_back(image);
  }
  node_.RunFor(minutes(2));
}

void Days::ClockIsSet() {
  node_.clock.StepWall(hours(2));
  node_.RunFor(minutes(5));
  node_.clock.StepWall(-hours(2));
}

void Days::DiskFills() {
  node_.runtime.SetDiskFull(true);
  Evict();
  node_.RunFor(minutes(2));
  node_.runtime.SetDiskFull(false);
}

// An entry of the day comes, and so does another registry.
void Days::ListIsEdited() {
  for (const std::string& image : Comers("edit", 2)) {
    PushPrivate(MakeImage(image, kMB));
    today_.push_back(image);
  }
  SetList();
  node_.RunFor(minutes(1));
  node_.runtime.Forget(today_.back());  // and its tag is gone
}

// ---- tools

void Days::PushPrivate(FakeImage image) {
  if (IsPrivate(image.name)) {
    image.username = "ci";
    image.password = password_;
    node_.plugins.Knows("plugged.test", {.auth = {.username = "ci", .password = base::Secret(password_)},
                                         .takes = std::chrono::milliseconds(200)});
  }
  node_.runtime.Push(image);
}

void Days::SetList() {
  std::vector<std::string> all = lasting_;
  all.insert(all.end(), today_.begin(), today_.end());
  node_.List(all, [](plan::DesiredImage& desired) {
    desired.refresh = plan::Refresh::kIfDigestChanged;
    desired.refresh_interval = hours(1);
  });
}

const std::string& Days::Any(const std::vector<std::string>& images) {
  return images[random_() % images.size()];
}

// Returns images of registries that the agent has never seen.
std::vector<std::string> Days::Comers(const std::string& kind, int count) {
  std::vector<std::string> images;
  for (int i = 0; i < count; i++) {
    const std::string number = std::to_string(++comers_);
    images.push_back(kind + number + ".test/job" + number + ":run");
  }
  return images;
}

}  // namespace prefetch::tests::soak
