// The pulls of a FakeImageService in virtual time: resolve, download, unpack, record.
//
// Downloads share the bandwidth equally. Between two events nothing changes but byte counts, in proportion to
// time; so the simulation jumps from event to event, and gives the same result in one step or in a thousand.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fakes/crio_words.h"
#include "fakes/fake_image_service.h"

namespace prefetch::tests {
namespace {

using image::ErrorClass;

constexpr std::size_t kDownloads = 3;             // for each pull, or for the node: see Persona
constexpr std::size_t kCrioDownloads = 6;         // of layers, for each pull
constexpr std::chrono::seconds kCrioAsksFor{60};  // a registry that answers 429, before it gives up
constexpr int kCrioAsks = 5;                      // requests in that time
constexpr double kAlmost = 0.5;                   // of a byte: what rounding of times may leave

double Remaining(const StoredBlob& blob) {
  return static_cast<double>(blob.total) - blob.done;
}

}  // namespace

void FakeImageService::OnAdvance() {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  if (!looks_.empty()) condition_.notify_all();
}

cri::CallError FakeImageService::Error(ErrorClass error_class, const Pull& pull) const {
  return Say(persona_, error_class, pull.name, pull.asked);
}

const FakeImage* FakeImageService::Find(const std::string& normalized) const {
  auto by_tag = registry_.find(normalized);
  if (by_tag != registry_.end()) return &by_tag->second;
  for (const auto& [name, image] : registry_) {
    if (RepositoryOf(name) + "@" + image.digest == normalized) return &image;
  }
  auto untagged = untagged_.find(normalized);
  return untagged == untagged_.end() ? nullptr : &untagged->second;
}

// The blobs that the pull still needs, by the names of downloads (Key).
std::vector<FakeBlob> FakeImageService::Missing(const Pull& pull) const {
  std::vector<FakeBlob> missing;
  for (const FakeBlob& blob : pull.image.Blobs()) {
    const std::string key = Key(pull, blob.digest);
    const bool begun = pull.begun.contains(key);
    // CRI-O fetches the configuration every time.
    const bool kept = !begun && !(IsCrio(persona_) && blob == pull.image.config);
    if (!store_.IsComplete(kept ? blob.digest : key)) missing.push_back({key, blob.bytes});
  }
  return missing;
}

// Does it have a blob with all its bytes and a wrong one among them? The commit fails, and that of each later
// pull which finds them.
bool FakeImageService::HasWrongBlob(const Pull& pull) const {
  for (const FakeBlob& one : Missing(pull)) {
    auto blob = store_.blobs.find(one.digest);
    if (blob != store_.blobs.end() && blob->second.wrong && Remaining(blob->second) <= kAlmost) return true;
  }
  return false;
}

// The blobs that are being fetched now: each once, however many pulls want it; with CRI-O each pull for
// itself.
std::set<std::string> FakeImageService::ActiveBlobs() const {
  std::set<std::string> active;
  if (registry_state_ != RegistryState::kUp) return active;
  const bool node_wide = persona_ == Persona::kContainerd23;
  const std::size_t most = IsCrio(persona_) ? kCrioDownloads : kDownloads;
  for (const Pull& pull : pulls_) {
    if (pull.result || pull.stage != Stage::kDownloading || pull.image.silent) continue;
    std::size_t mine = 0;
    for (const FakeBlob& blob : Missing(pull)) {
      if ((node_wide ? active.size() : mine) >= most) break;
      if (written_.contains(blob.digest)) continue;  // its writer has to end first
      active.insert(blob.digest);
      mine++;
    }
  }
  return active;
}

base::TimePoint FakeImageService::NextChange() const {
  base::TimePoint next = base::TimePoint::max();
  for (const Pull& pull : pulls_) {
    if (pull.result) continue;
    bool waits_for_registry = pull.stage == Stage::kResolving && registry_state_ == RegistryState::kStalled;
    if (!waits_for_registry) next = std::min(next, pull.stage_ends);
    next = std::min(next, GivenUpAt(pull));
  }
  std::set<std::string> active = ActiveBlobs();
  if (bandwidth_ == 0) return active.empty() ? next : simulated_;
  double nanos_per_byte = 1e9 * static_cast<double>(active.size()) / static_cast<double>(bandwidth_);
  for (const std::string& digest : active) {
    auto blob = store_.blobs.find(digest);
    double nanos = std::ceil(blob == store_.blobs.end() ? 0 : Remaining(blob->second) * nanos_per_byte);
    next = std::min(next, simulated_ + std::chrono::nanoseconds(static_cast<std::int64_t>(nanos)));
  }
  return next;
}

// Lets `span` pass in which nothing but byte counts changes.
void FakeImageService::Download(base::Duration span) {
  if (IsCrio(persona_)) BeginBlobs();
  std::set<std::string> active = ActiveBlobs();
  double each = std::chrono::duration<double>(span).count() * static_cast<double>(bandwidth_) /
                static_cast<double>(std::max<std::size_t>(active.size(), 1));
  for (const std::string& digest : active) {
    StoredBlob& blob = store_.blobs[digest];
    double bytes = bandwidth_ == 0 ? Remaining(blob) : std::min(each, Remaining(blob));
    counters_.bytes_served +=
        static_cast<std::uint64_t>(std::floor(blob.done + bytes) - std::floor(blob.done));
    blob.done += bytes;
    if (Remaining(blob) > kAlmost) continue;
    counters_.bytes_served += blob.total - static_cast<std::uint64_t>(std::floor(blob.done));
    blob.done = static_cast<double>(blob.total);
    if (auto spoilt = spoilt_.find(digest); spoilt != spoilt_.end() && spoilt->second > 0) {
      spoilt->second--;
      blob.wrong = true;
    }
    blob.complete = !blob.wrong;
  }
  if (IsCrio(persona_)) CommitLayers();
}

void FakeImageService::Simulate(base::TimePoint to) {
  while (true) {
    Step();
    base::TimePoint next = std::min(NextChange(), to);
    Download(next - simulated_);
    simulated_ = next;
    if (NextChange() > to) break;
  }
  Step();
}

// All that is due at this moment, until nothing is.
void FakeImageService::Step() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Pull& pull : pulls_) {
      if (!pull.result) changed = StepPull(pull) || changed;
    }
  }
}

bool FakeImageService::StepPull(Pull& pull) {
  bool due = pull.stage_ends <= simulated_;
  switch (pull.stage) {
    case Stage::kResolving:
      if (!due || registry_state_ == RegistryState::kStalled) return false;
      Resolve(pull);
      return true;
    case Stage::kDownloading:
      if (GivenUpAt(pull) <= simulated_) {
        End(pull, Error(ErrorClass::kRuntimeProgressTimeout, pull));
        return true;
      }
      if (HasWrongBlob(pull)) {
        End(pull, Error(ErrorClass::kCorrupt, pull));
        return true;
      }
      if (Missing(pull).empty()) {
        const StoredImage* known = store_.FindByName(pull.name);
        bool again = known && known->unpacked && known->image.config == pull.image.config;
        pull.stage = Stage::kUnpacking;
        pull.stage_ends = simulated_ + (again ? base::Duration{} : pull.image.unpack);
        return true;
      }
      if (!disk_full_) return false;
      End(pull, Error(ErrorClass::kDiskFull, pull));
      return true;
    case Stage::kUnpacking:
      if (!due && !disk_full_) return false;
      due ? Finish(pull) : End(pull, Error(ErrorClass::kDiskFull, pull));
      return true;
    case Stage::kShared:
      return false;
  }
  return false;
}

// CRI-O asks once more, for an OCI artifact.
void FakeImageService::Refuse(Pull& pull, cri::CallError error) {
  if (IsCrio(persona_)) AskForManifest(pull, pull.waited ? kCrioAsks : 1);
  End(pull, std::move(error));
}

// Returns the failure that a test has told the registry to answer.
std::optional<cri::CallError> FakeImageService::ToldFailure(const Pull& pull) const {
  if (auto answer = answers_.find(pull.asked); answer != answers_.end()) {
    const auto& [status, body] = answer->second;
    return Heard(CrioWordsOfAnswer(status, body, pull.name, pull.asked), pull.name);
  }
  auto failure = failures_.find(pull.asked);
  if (failure == failures_.end()) return std::nullopt;
  return Error(failure->second, pull);
}

std::optional<cri::CallError> FakeImageService::LoginRefusal(const Pull& pull, const FakeImage& image) {
  if (image.username.empty() || MayLogIn(pull, image)) return std::nullopt;
  const auto& auth = pull.request.auth;
  int tries = auth && !open_pings_.contains(RegistryOf(pull.asked)) ? RefusedTries(persona_) : 0;
  if (!IsCrio(persona_)) counters_.registry_requests += tries;
  counters_.refused_passwords += tries;
  bool hides = image.hidden && !(auth && auth->username == image.refused_user);
  return Error(hides ? ErrorClass::kNotFound : ErrorClass::kAccessDenied, pull);
}

void FakeImageService::Resolve(Pull& pull) {
  pull.stage_ends = base::TimePoint::max();
  if (registry_state_ == RegistryState::kDown) return End(pull, Error(ErrorClass::kUnreachable, pull));
  const std::optional<cri::CallError> failure = ToldFailure(pull);
  const bool limits = failure && failure->error_class == ErrorClass::kRateLimited && IsCrio(persona_);
  if (limits && !pull.waited) {
    pull.waited = true;
    pull.stage_ends = simulated_ + kCrioAsksFor;
    return AskForManifest(pull, kCrioAsks);
  }
  if (!limits) AskForManifest(pull, 1);
  if (failure) return Refuse(pull, *failure);
  auto mirrored = mirrored_.find(pull.name);
  const FakeImage* image = mirrored == mirrored_.end() ? Find(pull.asked) : &mirrored->second;
  if (!image) return Refuse(pull, Error(ErrorClass::kNotFound, pull));
  if (auto refusal = LoginRefusal(pull, *image)) return Refuse(pull, *std::move(refusal));
  pull.image = *image;
  if (HasContentApi(persona_) && !pull.request.lease.empty()) {
    auto lease = store_.leases.find(pull.request.lease);
    if (lease == store_.leases.end()) {
      return End(pull, cri::CallError{ErrorClass::kRuntimeError, "lease does not exist: not found"});
    }
    for (const std::string& digest : image->ContentDigests()) lease->second.digests.insert(digest);
  }
  Download(pull);
}

void FakeImageService::Download(Pull& pull) {
  const FakeImage& image = pull.image;
  if (IsCrio(persona_) || !store_.IsComplete(image.digest)) {
    counters_.bytes_served += image.manifest_bytes;
    store_.Put({image.digest, image.manifest_bytes});
    if (!IsCrio(persona_)) counters_.registry_requests++;
  }
  std::set<std::string> fetched = ActiveBlobs();
  pull.stage = Stage::kDownloading;
  pull.silent_since = simulated_;
  if (IsCrio(persona_)) return;  // each when it is begun
  for (const FakeBlob& blob : Missing(pull)) {
    store_.blobs.try_emplace(blob.digest, StoredBlob{blob.bytes, 0, false});
    if (fetched.count(blob.digest) == 0) counters_.registry_requests++;
  }
}

void FakeImageService::Finish(Pull& pull) {
  if (pull.image.ends_runtime) {
    generation_++;
    return EndAll(ErrorClass::kRuntimeDown);
  }
  for (const FakeBlob& blob : pull.image.Blobs()) store_.Put(blob);
  pull.stage_ends = base::TimePoint::max();
  bool artifact_refused = !pull.image.unpackable && persona_ == Persona::kContainerd16;
  // The failed pull of an artifact leaves its tag behind (C22).
  store_.Record(pull.image, pull.name, !artifact_refused);
  TellOfImages();
  if (artifact_refused) return End(pull, Error(ErrorClass::kUnsupportedImage, pull));
  End(pull,
      persona_ == Persona::kCrio134 ? RepositoryOf(pull.name) + "@" + pull.image.digest : IdOf(pull.image));
}

// The pull of another caller that asks for the same as `pull`, with the same words, credentials and sandbox.
const FakeImageService::Pull* FakeImageService::LeaderOf(const Pull& pull) const {
  if (!IsCrio(persona_)) return nullptr;
  auto same = [](const std::optional<image::AuthConfig>& a, const std::optional<image::AuthConfig>& b) {
    if (!a || !b) return !a && !b;
    return a->username == b->username && a->password.Reveal() == b->password.Reveal();
  };
  for (const Pull& other : pulls_) {
    if (&other == &pull || other.result || other.leader != nullptr) continue;
    const cri::PullRequest& theirs = other.request;
    const cri::PullRequest& ours = pull.request;
    if (theirs.image == ours.image && theirs.sandbox_cgroup == ours.sandbox_cgroup &&
        same(theirs.auth, ours.auth)) {
      return &other;
    }
  }
  return nullptr;
}

void FakeImageService::End(Pull& pull, cri::CallResult<std::string> result) {
  pull.result = std::move(result);
  for (Pull& other : pulls_) {
    if (other.leader != &pull || other.result) continue;
    // That its own caller has gone is no news to the leader only.
    const bool left = !*pull.result && pull.result->error().error_class == ErrorClass::kCancelled;
    End(other, left ? cri::CallResult<std::string>(Error(ErrorClass::kRuntimeProgressTimeout, other))
                    : *pull.result);
  }
  if (IsCrio(persona_)) {  // layers that it has stored stay; others start again
    for (const FakeBlob& blob : pull.image.layers) {
      if (store_.IsComplete(blob.digest)) store_.orphans.insert(blob.digest);
    }
  }
  CollectGarbage();
  condition_.notify_all();
}

void FakeImageService::EndAll(ErrorClass error_class) {
  for (Pull& pull : pulls_) {
    if (pull.result) continue;
    // A killed daemon leaves the leases of its pulls behind, and with them their bytes.
    if (HasContentApi(persona_)) {
      for (const std::string& digest : pull.image.ContentDigests()) store_.orphans.insert(digest);
    }
    End(pull, Error(error_class, pull));
  }
}

void FakeImageService::EndStopped() {
  Simulate(clock_.Now());
  for (Pull& pull : pulls_) {
    if (!pull.result && pull.stop.stop_requested()) End(pull, Error(ErrorClass::kCancelled, pull));
  }
}

void FakeImageService::CollectGarbage() {
  std::set<std::string> in_use;
  for (const Pull& pull : pulls_) {
    if (pull.result) continue;
    for (const std::string& digest : pull.image.ContentDigests()) in_use.insert(digest);
    in_use.insert(pull.begun.begin(), pull.begun.end());
  }
  store_.CollectGarbage(clock_.Now(), in_use);
}

}  // namespace prefetch::tests
