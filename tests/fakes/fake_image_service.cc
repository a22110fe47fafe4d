#include "fakes/fake_image_service.h"

#include <algorithm>
#include <utility>

#include "fakes/crio_words.h"

namespace prefetch::tests {
namespace {

using image::ErrorClass;

constexpr std::string_view kSha = "sha256:";
constexpr const char* kMountpoint = "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs";
constexpr const char* kCrioMountpoint = "/var/lib/containers/storage/overlay-images";
constexpr std::size_t kShortestIdPrefix = 3;

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "sha256:ab…", "ab…" or a prefix of it: a hexadecimal word may hit an unrelated image (C5).
bool MayBeId(std::string_view name, const std::string& id) {
  if (name.starts_with(kSha)) name.remove_prefix(kSha.size());
  std::string_view bare = std::string_view(id).substr(kSha.size());
  return name.size() >= kShortestIdPrefix && IsHex(name) && bare.starts_with(name);
}

}  // namespace

FakeImageService::FakeImageService(FakeClock& clock, Persona persona)
    : clock_(clock),
      persona_(persona),
      store_(IsCrio(persona) ? Naming::kPulledNames : Naming::kDigestsStay),
      simulated_(clock.Now()) {
  clock_.OnAdvance([this] { OnAdvance(); });
}

FakeImageService::~FakeImageService() = default;

// ---- the registries' side

void FakeImageService::Push(const FakeImage& image) {
  base::Lock lock(mutex_);
  FakeImage& there = registry_[image.name];
  if (!there.digest.empty()) untagged_[RepositoryOf(there.name) + "@" + there.digest] = there;
  there = image;
}

void FakeImageService::DeleteTag(const std::string& name) {
  base::Lock lock(mutex_);
  registry_.erase(name);
}

void FakeImageService::Forget(const std::string& name) {
  base::Lock lock(mutex_);
  registry_.erase(name);
  failures_.erase(name);
  mirrored_.erase(name);
  std::erase_if(untagged_, [&](const auto& one) { return RepositoryOf(one.first) == RepositoryOf(name); });
}

void FakeImageService::Lag(const std::string& name, std::optional<FakeImage> image) {
  base::Lock lock(mutex_);
  mirrored_.erase(name);
  if (image) mirrored_.emplace(name, *std::move(image));
}

std::optional<FakeImage> FakeImageService::Offered(const std::string& name) const {
  {
    base::Lock lock(mutex_);
    if (registry_state_ != RegistryState::kUp) return std::nullopt;
  }
  return InRegistry(name);
}

void FakeImageService::SetRegistry(RegistryState state) {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  registry_state_ = state;
  for (Pull& pull : pulls_) {
    bool reads = !pull.result && pull.stage == Stage::kDownloading && !Missing(pull).empty();
    if (reads && state == RegistryState::kDown) {
      End(pull, IsCrio(persona_) ? Heard(CrioWordsOfReset(true), pull.name)
                                 : Error(ErrorClass::kUnreachable, pull));
    }
    pull.silent_since = clock_.Now();
  }
  Simulate(clock_.Now());
}

std::optional<FakeImage> FakeImageService::InRegistry(const std::string& normalized) const {
  base::Lock lock(mutex_);
  const FakeImage* found = Find(normalized);
  if (found == nullptr) return std::nullopt;
  return *found;
}

void FakeImageService::SetBandwidth(std::uint64_t per_second) {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  bandwidth_ = per_second;
  Simulate(clock_.Now());
}

void FakeImageService::SetLatency(base::Duration latency) {
  base::Lock lock(mutex_);
  latency_ = latency;
}

void FakeImageService::Fail(const std::string& name, std::optional<ErrorClass> error_class) {
  base::Lock lock(mutex_);
  if (error_class) {
    failures_[name] = *error_class;
  } else {
    failures_.erase(name);
  }
}

// ---- the node's side

void FakeImageService::SetRuntimeUp(bool up) {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  const bool starts = up && !up_;
  if (starts) EndAll(ErrorClass::kRuntimeDown);  // what a process that is gone did not end
  if (starts) generation_++;
  up_ = up;
  if (starts) TellOfImages();
  condition_.notify_all();
  if (!up) EndAll(ErrorClass::kRuntimeDown);
}

void FakeImageService::Drain() {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  up_ = false;
  condition_.notify_all();
}

void FakeImageService::Restart() {
  SetRuntimeUp(false);
  SetRuntimeUp(true);
}

void FakeImageService::CancelShared(const std::string& name) {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  for (Pull& pull : pulls_) {
    if (!pull.result && pull.name == name) End(pull, Error(ErrorClass::kRuntimeProgressTimeout, pull));
  }
}

void FakeImageService::SetVersion(const std::string& version, image::RuntimeRegistries registries) {
  base::Lock lock(mutex_);
  version_ = version;
  registries_ = std::move(registries);
}

void FakeImageService::LookTakes(base::Duration time) {
  base::Lock lock(mutex_);
  look_takes_ = time;
}

void FakeImageService::LooksTimeOut(int times) {
  base::Lock lock(mutex_);
  looks_time_out_ = times;
}

void FakeImageService::SetReady(bool ready) {
  base::Lock lock(mutex_);
  ready_ = ready;
}

void FakeImageService::SetDiskFull(bool full) {
  base::Lock lock(mutex_);
  Simulate(clock_.Now());
  disk_full_ = full;
  Simulate(clock_.Now());
}

void FakeImageService::Preload(const FakeImage& image) {
  base::Lock lock(mutex_);
  store_.Put({image.digest, image.manifest_bytes});
  for (const FakeBlob& blob : image.Blobs()) store_.Put(blob);
  store_.Record(image, image.name, true);
  TellOfImages();
}

void FakeImageService::TagLocally(const FakeImage& image, const std::string& name) {
  base::Lock lock(mutex_);
  store_.Record(image, name, false);
  TellOfImages();
}

void FakeImageService::Import(const FakeImage& image, bool unpacked) {
  base::Lock lock(mutex_);
  store_.Put({image.digest, image.manifest_bytes});
  for (const FakeBlob& blob : image.Blobs()) store_.Put(blob);
  store_.Record(image, image.name, false);
  store_.images[image.config.digest].unpacked = unpacked && image.unpackable;
  TellOfImages();
}

void FakeImageService::Remove(const std::string& name) {
  base::Lock lock(mutex_);
  store_.Remove(name);
  CollectGarbage();
  TellOfImages();
}

void FakeImageService::Untag(const std::string& name) {
  base::Lock lock(mutex_);
  store_.Untag(name);
  CollectGarbage();
  TellOfImages();
}

void FakeImageService::OnImages(std::function<void()> told) {
  base::Lock lock(mutex_);
  on_images_ = std::move(told);
}

void FakeImageService::TellOfImages() {
  if (!up_ || !HasContentApi(persona_)) return;
  told_++;
  condition_.notify_all();
  if (on_images_) on_images_();
}

void FakeImageService::LoseSnapshot(const std::string& name) {
  base::Lock lock(mutex_);
  for (auto& [id, stored] : store_.images) {
    if (stored.tags.count(name) != 0 || stored.digests.count(name) != 0) stored.unpacked = false;
  }
}

// ---- for the harness

int FakeImageService::Parked() const {
  base::Lock lock(mutex_);
  const auto looks = std::distance(looks_.upper_bound(clock_.Now()), looks_.end());
  const auto pulls = std::count_if(pulls_.begin(), pulls_.end(), [](const Pull& pull) {
    return !pull.result && !pull.stop.stop_requested();
  });
  return static_cast<int>(looks + pulls);
}

std::optional<PullStage> FakeImageService::StageOf(const std::string& name) const {
  base::Lock lock(mutex_);
  std::optional<PullStage> stage;
  for (const Pull& pull : pulls_) {
    if (pull.name == name && !pull.result && !pull.stop.stop_requested()) stage = pull.stage;
  }
  return stage;
}

bool FakeImageService::IsLookedAt(const std::string& name) const {
  base::Lock lock(mutex_);
  return std::any_of(looks_.upper_bound(clock_.Now()), looks_.end(),
                     [&](const auto& look) { return look.second == name; });
}

base::TimePoint FakeImageService::NextEvent() const {
  base::Lock lock(mutex_);
  auto look = looks_.upper_bound(clock_.Now());
  return look == looks_.end() ? NextChange() : std::min(NextChange(), look->first);
}

int FakeImageService::opened_blobs() const {
  base::Lock lock(mutex_);
  return opened_blobs_;
}

FakeCounters FakeImageService::counters() const {
  base::Lock lock(mutex_);
  return counters_;
}

std::uint64_t FakeImageService::BytesStored() const {
  base::Lock lock(mutex_);
  double sum = 0;
  for (const auto& [digest, blob] : store_.blobs) sum += blob.done;
  return static_cast<std::uint64_t>(sum);
}

std::uint64_t FakeImageService::BytesUsed() const {
  base::Lock lock(mutex_);
  double sum = 0;
  for (const auto& [digest, blob] : store_.blobs) sum += blob.done;
  for (const auto& [id, stored] : store_.images) {
    sum += static_cast<double>(stored.image.Bytes()) * stored.image.unpack_factor;
  }
  for (const Pull& pull : pulls_) {
    if (pull.result || pull.stage != Stage::kUnpacking || pull.image.unpack.count() == 0) continue;
    double left = std::chrono::duration<double>(pull.stage_ends - simulated_) /
                  std::chrono::duration<double>(pull.image.unpack);
    sum += static_cast<double>(pull.image.Bytes()) * pull.image.unpack_factor * (1 - left);
  }
  return static_cast<std::uint64_t>(sum);
}

// ---- cri::ImageService

std::optional<cri::CallError> FakeImageService::Refusal(const base::Call& call) const {
  if (call.Stopped()) return cri::CallError{ErrorClass::kCancelled, "stopped"};
  if (!up_) return Say(persona_, ErrorClass::kRuntimeDown, "");
  return std::nullopt;
}

std::string FakeImageService::IdOf(const FakeImage& image) const {
  if (!IsCrio(persona_)) return image.config.digest;
  return (image.unpackable ? image.config.digest : image.digest).substr(kSha.size());  // C31
}

image::LocalImage FakeImageService::ToLocal(const StoredImage& stored) const {
  image::LocalImage local;
  local.id = IdOf(stored.image);
  local.repo_tags.assign(stored.tags.begin(), stored.tags.end());
  const std::set<std::string> digests = store_.ListedDigests(stored);
  local.repo_digests.assign(digests.begin(), digests.end());
  local.size_bytes = stored.image.Bytes() + stored.image.manifest_bytes;
  // The old release does not know the label (C39).
  if (persona_ == Persona::kContainerd16) return local;
  for (const auto* names : {&stored.tags, &stored.digests}) {
    for (const std::string& name : *names) {
      auto pin = store_.pins.find(name);
      local.pinned = local.pinned || (pin != store_.pins.end() && pin->second.value == cri::kPinValue);
    }
  }
  return local;
}

cri::CallResult<image::RuntimeInfo> FakeImageService::Connect(const base::Call& call) {
  base::Lock lock(mutex_);
  if (auto refusal = Refusal(call)) return std::move(*refusal);
  if (!ready_) {
    return cri::CallError{ErrorClass::kRuntimeDown,
                          "the runtime says that it is not ready: ContainerdNotReady: loading plugins"};
  }
  image::RuntimeInfo info = InfoOf(persona_);
  if (!version_.empty()) {
    info.version = version_;
    info.registries = registries_;
  }
  return info;
}

std::uint64_t FakeImageService::Generation() {
  base::Lock lock(mutex_);
  return generation_;
}

cri::CallResult<std::vector<image::LocalImage>> FakeImageService::ListImages(const base::Call& call) {
  base::Lock lock(mutex_);
  counters_.list_calls++;
  if (auto refusal = Refusal(call)) return std::move(*refusal);
  std::vector<image::LocalImage> images;
  images.reserve(store_.images.size());
  for (const auto& [id, stored] : store_.images) images.push_back(ToLocal(stored));
  return images;
}

void FakeImageService::Look(const base::Call& call, const std::string& name) {
  if (look_takes_.count() == 0) return;
  auto look = looks_.emplace(clock_.Now() + look_takes_, name);
  while (clock_.Now() < look->first && !call.Stopped()) condition_.wait(mutex_);
  looks_.erase(look);
}

cri::CallResult<std::optional<cri::ImageDetails>> FakeImageService::ImageStatus(const base::Call& call,
                                                                                const std::string& name) {
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    condition_.notify_all();
  });
  base::Lock lock(mutex_);
  Look(call, name);
  if (looks_time_out_ > 0) {
    looks_time_out_--;
    return Say(persona_, ErrorClass::kTimeout, "");
  }
  if (auto refusal = Refusal(call)) return std::move(*refusal);
  if (IsCrio(persona_)) {
    if (auto words = CrioWordsOfName(name)) return Heard(*words, name);
  }
  // The empty name is a prefix of every id; with two of them it is ambiguous.
  if (name.empty() && store_.images.size() > 1)
    return cri::CallError{ErrorClass::kUnknown, "can not resolve \"\" locally"};
  const StoredImage* found = nullptr;
  if (auto reference = image::Reference::Parse(name)) found = store_.FindByName(reference->Normalized());
  for (const auto& [id, stored] : store_.images) {
    if (!found && MayBeId(name, id)) found = &stored;
  }
  if (!found) return std::optional<cri::ImageDetails>();
  if (IsCrio(persona_) && !found->image.unpackable) {
    return std::optional<cri::ImageDetails>(
        {.image = ToLocal(*found), .platform = std::nullopt, .chain_id = "", .artifact = true});
  }
  bool tells_chain = HasContentApi(persona_);
  return std::optional<cri::ImageDetails>(
      {ToLocal(*found), found->image.platform, tells_chain ? found->image.ChainId() : ""});
}

cri::CallResult<std::string> FakeImageService::PullImage(const base::Call& call,
                                                         const cri::PullRequest& request) {
  // Before the lock: it may run at once, here. A stop counts from the moment at which it is asked for,
  // however late this thread wakes up.
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    EndStopped();
  });
  base::Lock lock(mutex_);
  counters_.pull_calls++;
  if (auto refusal = Refusal(call)) return std::move(*refusal);
  auto reference = image::Reference::Parse(request.image);
  if (!reference || (IsCrio(persona_) && CrioWordsOfName(request.image)))
    return Say(persona_, ErrorClass::kInvalidReference, request.image);
  Simulate(clock_.Now());
  auto pull = pulls_.insert(pulls_.end(), Pull{});
  pull->name = reference->Normalized();
  pull->asked = AskedFor(pull->name);
  pull->serial = ++pulls_begun_;
  pull->request = request;
  pull->stop = call.stop;
  pull->stage_ends = clock_.Now() + latency_;
  sandbox_cgroups_.insert(request.sandbox_cgroup);
  pull->leader = LeaderOf(*pull);
  if (pull->leader != nullptr) {
    pull->stage = Stage::kShared;
    pull->stage_ends = base::TimePoint::max();
  }
  Simulate(clock_.Now());
  while (!pull->result && !call.Stopped()) {
    if (call.deadline == base::TimePoint::max()) {
      condition_.wait(mutex_);
    } else if (condition_.wait_until(mutex_, call.deadline) == std::cv_status::timeout) {
      break;
    }
  }
  if (!pull->result) End(*pull, Error(call.Stopped() ? ErrorClass::kCancelled : ErrorClass::kTimeout, *pull));
  cri::CallResult<std::string> result = std::move(*pull->result);
  pulls_.erase(pull);
  return result;
}

cri::CallResult<std::vector<cri::ImageFilesystem>> FakeImageService::ImageFsInfo(const base::Call& call) {
  base::Lock lock(mutex_);
  if (auto refusal = Refusal(call)) return std::move(*refusal);
  return std::vector<cri::ImageFilesystem>{{.mountpoint = IsCrio(persona_) ? kCrioMountpoint : kMountpoint}};
}

}  // namespace prefetch::tests
