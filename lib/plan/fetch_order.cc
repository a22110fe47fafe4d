#include "plan/fetch_order.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace prefetch::plan {

void FetchOrder::Add(ImageId image, const std::string& registry, std::vector<BlobToFetch> blobs) {
  // The largest layer first: one that begins last would keep a single stream busy after all others have
  // ended.
  std::stable_sort(blobs.begin(), blobs.end(), [](const auto& a, const auto& b) { return a.size > b.size; });
  Image& added = images_[image];
  added.registry = registry;
  for (std::size_t rank = 0; rank < blobs.size(); rank++) {
    auto [it, is_new] = blobs_.try_emplace(blobs[rank].digest);
    // A layer of several images is fetched once, from the registry of the image that came first.
    if (is_new) it->second.registry = registry;
    // Manifests may name several sizes. One that changed later would not be that of the stream under way.
    if (is_new) it->second.size = blobs[rank].size;
    it->second.wanted_by.insert({image, rank});
    for (auto& [key, part] : blobs_) {
      if (part.part_of == it->first) part.wanted_by.insert({image, rank});
    }
    added.missing.insert(blobs[rank].digest);
  }
  registries_[registry];
}

void FetchOrder::Remove(ImageId image) {
  images_.erase(image);
  for (auto it = blobs_.begin(); it != blobs_.end();) {
    Blob& blob = it->second;
    std::erase_if(blob.wanted_by, [&](const auto& entry) { return entry.first == image; });
    if (blob.wanted_by.empty()) {
      it = blobs_.erase(it);
      continue;
    }
    // The next stream of the blob asks the registry of the earliest image that is left.
    const bool waits = blob.state == Blob::State::kQueued || blob.state == Blob::State::kPostponed;
    if (waits) blob.registry = images_.at(ImageOf(blob)).registry;
    ++it;
  }
  // Rate limits are forgotten once nothing is wanted. Until then, a registry keeps its halved number of
  // streams.
  if (images_.empty()) registries_.clear();
}

FetchOrder::Shares FetchOrder::CountShares() const {
  Shares shares;
  for (const auto& [digest, blob] : blobs_) {
    // A stream that was preempted is about to end, so it is no part of any share.
    if (blob.state != Blob::State::kActive) continue;
    shares.registries[blob.registry]++;
    shares.images[ImageOf(blob)]++;
  }
  return shares;
}

// The blob's own stream fetches kPartSize bytes while parts come from behind them: from where it is when the
// first part begins, and again behind each kMaxParts parts. It would be idle otherwise.
std::uint64_t FetchOrder::NextPart(const Blob& blob) {
  if (blob.next_part <= blob.offset) return blob.offset + kPartSize;
  return blob.parts_in_row == kMaxParts ? blob.next_part + kPartSize : blob.next_part;
}

bool FetchOrder::MayStartPart(const std::string& digest, const Blob& blob) const {
  if (blob.state != Blob::State::kActive || NextPart(blob) >= blob.size) return false;
  const bool none = std::none_of(blobs_.begin(), blobs_.end(),
                                 [&](const auto& one) { return one.second.part_of == digest; });
  return blob.split == Blob::Split::kYes || (blob.split == Blob::Split::kTrying && none);
}

bool FetchOrder::MayAsk(const Registry& registry, int streams, base::TimePoint now) {
  return now >= registry.not_before && streams < registry.max_streams;
}

// Returns the image from whose registry the next part comes. Another registry than the blob's has to have
// brought as much as a part: one that hangs or trickles would hold up the blob's own stream. The first part
// shows whether the blob's own server bears parts.
FetchOrder::ImageId FetchOrder::SourceOfPart(const Blob& blob, const Shares& shares,
                                             base::TimePoint now) const {
  ImageId source = ImageOf(blob);
  if (blob.split != Blob::Split::kYes) return source;
  int least = shares.Of(blob.registry);
  for (const auto& [image, rank] : blob.wanted_by) {
    const std::string& name = images_.at(image).registry;
    const Registry& registry = registries_.at(name);
    const int streams = shares.Of(name);
    if (streams >= least || registry.bytes < kPartSize || !MayAsk(registry, streams, now)) continue;
    source = image;
    least = streams;
  }
  return source;
}

// Returns the blob that deserves the next stream: of the registry with the fewest streams, then of the image
// with the fewest, then of the earliest image. It waits, or its own stream runs and a part of it may come
// beside that. end() if none may start.
FetchOrder::Blobs::iterator FetchOrder::Best(const Shares& shares, Parts parts, base::TimePoint now) {
  const auto is_part = [](const auto& one) { return !one.second.part_of.empty(); };
  const bool may_split =
      parts == Parts::kYes && std::count_if(blobs_.begin(), blobs_.end(), is_part) < kMaxParts;
  auto best = blobs_.end();
  std::tuple<int, int, std::pair<ImageId, std::size_t>> least;
  for (auto it = blobs_.begin(); it != blobs_.end(); ++it) {
    const Blob& blob = it->second;
    const bool has_part = may_split && MayStartPart(it->first, blob);
    if (blob.state != Blob::State::kQueued && !has_part) continue;
    const std::string& registry =
        has_part ? images_.at(SourceOfPart(blob, shares, now)).registry : blob.registry;
    const int of_registry = shares.Of(registry);
    if (!MayAsk(registries_[registry], of_registry, now)) continue;
    const std::tuple rank(of_registry, shares.Of(ImageOf(blob)), *blob.wanted_by.begin());
    if (best != blobs_.end() && least <= rank) continue;
    best = it;
    least = rank;
  }
  return best;
}

std::optional<FetchOrder::Step> FetchOrder::Next(base::TimePoint now) {
  const Shares shares = CountShares();
  auto best = Best(shares, Parts::kYes, now);
  if (best == blobs_.end()) return std::nullopt;
  Step step{.key = best->first,
            .digest = best->first,
            .image = ImageOf(best->second),
            .size = best->second.size,
            .end = best->second.size};
  if (best->second.state == Blob::State::kActive) {
    Blob& whole = best->second;
    step.is_part = true;
    step.image = SourceOfPart(whole, shares, now);
    step.begin = NextPart(whole);
    whole.parts_in_row = step.begin == whole.next_part ? whole.parts_in_row + 1 : 1;
    step.end = whole.next_part = std::min(step.begin + kPartSize, whole.size);
    step.key += "@" + std::to_string(step.begin);
    Blob part{
        .registry = images_.at(step.image).registry, .wanted_by = whole.wanted_by, .part_of = step.digest};
    best = blobs_.insert_or_assign(step.key, std::move(part)).first;
  }
  Blob& blob = best->second;
  blob.state = Blob::State::kActive;
  // Steps are numbered so that RateLimited() can tell requests that ran side by side from later ones.
  blob.begun = ++steps_;
  blob.window_at = now;
  blob.window_bytes = 0;
  blob.slow = false;
  return step;
}

bool FetchOrder::RegistryIsHeld(const std::string& key, base::TimePoint now) const {
  auto found = blobs_.find(key);
  return found != blobs_.end() && now < registries_.at(found->second.registry).not_before;
}

base::TimePoint FetchOrder::NextAt(base::TimePoint now) const {
  base::TimePoint next = base::TimePoint::max();
  for (const auto& [name, registry] : registries_) {
    if (now < registry.not_before) next = std::min(next, registry.not_before);
  }
  return next;
}

bool FetchOrder::OnBytes(const std::string& key, std::uint64_t bytes, std::uint64_t offset,
                         base::TimePoint now) {
  auto found = blobs_.find(key);
  if (found == blobs_.end()) return false;
  Blob& blob = found->second;
  blob.offset = offset;
  blob.window_bytes += bytes;
  registries_[blob.registry].bytes += bytes;
  if (auto whole = blobs_.find(blob.part_of);
      whole != blobs_.end() && whole->second.split == Blob::Split::kTrying) {
    whole->second.split = Blob::Split::kYes;
    return true;
  }
  // Speed is judged over whole windows. A shorter one would call a stream too slow that pauses between two
  // packets.
  if (now - blob.window_at < kFetchFloorTime) return false;
  blob.slow = IsBelow(kFetchFloor, blob, now);
  // A stream below the floor is no sign of a connection's limit, and more requests would hang as well.
  const bool split = blob.part_of.empty() && blob.size > kSplitFrom && blob.split == Blob::Split::kNo &&
                     !blob.slow && IsBelow(kSplitBelow, blob, now);
  if (split) blob.split = Blob::Split::kTrying;
  blob.window_at = now;
  blob.window_bytes = 0;
  return split;
}

// The pause was the agent's own (the blob was being opened, or pulls of kubelet come first). It is no
// slowness of the network, so the window starts again.
void FetchOrder::RestartSpeedWindow(const std::string& key, base::TimePoint now) {
  if (auto found = blobs_.find(key); found != blobs_.end()) {
    found->second.window_at = now;
    found->second.window_bytes = 0;
  }
}

// The window goes on: a stream that waits a little at each part would otherwise never have a whole one.
void FetchOrder::ShiftSpeedWindow(const std::string& key, base::Duration time) {
  if (auto found = blobs_.find(key); found != blobs_.end()) found->second.window_at += time;
}

bool FetchOrder::IsBelow(std::uint64_t speed, const Blob& blob, base::TimePoint now) {
  return static_cast<double>(blob.window_bytes) <
         static_cast<double>(speed) * std::chrono::duration<double>(now - blob.window_at).count();
}

bool FetchOrder::IsTooSlow(const Blob& blob, base::TimePoint now) {
  // Within a window that has just begun, the result of the window before still holds.
  return now - blob.window_at < kFetchFloorTime ? blob.slow : IsBelow(kFetchFloor, blob, now);
}

bool FetchOrder::IsTooSlow(const std::string& key, base::TimePoint now) const {
  auto found = blobs_.find(key);
  return found != blobs_.end() && IsTooSlow(found->second, now);
}

std::optional<FetchOrder::Preemption> FetchOrder::StreamToPreempt(base::TimePoint now) {
  const Shares shares = CountShares();
  // A part takes no stream from another image: it only makes a blob quicker that has one.
  const auto best = Best(shares, Parts::kNo, now);
  if (best == blobs_.end()) return std::nullopt;
  const Blob& waits = best->second;
  const auto count_of = [&](const Blob& blob) {
    return std::pair(shares.Of(blob.registry), shares.Of(ImageOf(blob)));
  };
  const auto [of_registry, of_image] = count_of(waits);
  // The slow stream is chosen first. Without one, it is a stream of the largest share, and there the
  // newest, which loses the least.
  auto most = blobs_.end();
  std::tuple<bool, int, int, std::uint64_t> rank;
  for (auto it = blobs_.begin(); it != blobs_.end(); ++it) {
    const Blob& blob = it->second;
    // One stream at a time is preempted. That may be enough.
    if (blob.state == Blob::State::kPreempted) return std::nullopt;
    if (blob.state != Blob::State::kActive) continue;
    const auto [registry, image] = count_of(blob);
    const bool too_slow = ImageOf(blob) != ImageOf(waits) && IsTooSlow(blob, now);
    // A difference of one is an even share: giving it up would only turn the two round, again and again.
    const bool has_more = blob.registry == waits.registry ? image > of_image + 1 : registry > of_registry + 1;
    if (!too_slow && !has_more) continue;
    const std::tuple now_rank(too_slow, registry, image, blob.begun);
    if (most != blobs_.end() && now_rank <= rank) continue;
    most = it;
    rank = now_rank;
  }
  if (most == blobs_.end()) return std::nullopt;
  most->second.state = Blob::State::kPreempted;
  // A slow part speaks not against its image: the blob's own stream may be quick.
  return Preemption{.key = most->first, .too_slow = std::get<bool>(rank) && most->second.part_of.empty()};
}

void FetchOrder::Preempt(const std::string& key) {
  if (auto found = blobs_.find(key); found != blobs_.end()) found->second.state = Blob::State::kPreempted;
}

// The image that its stream began for may have gone, so the next stream asks the registry of the earliest
// one.
void FetchOrder::Requeue(const std::string& digest) {
  auto found = blobs_.find(digest);
  if (found == blobs_.end()) return;
  found->second.state = Blob::State::kQueued;
  found->second.registry = images_.at(ImageOf(found->second)).registry;
}

void FetchOrder::Postponed(const std::string& digest) {
  if (auto found = blobs_.find(digest); found != blobs_.end()) found->second.state = Blob::State::kPostponed;
}

void FetchOrder::Reopen() {
  for (auto& [digest, blob] : blobs_) {
    if (blob.state == Blob::State::kPostponed) blob.state = Blob::State::kQueued;
  }
}

bool FetchOrder::RateLimited(const std::string& key, base::TimePoint until) {
  auto found = blobs_.find(key);
  // Its image was removed meanwhile, so there is nothing to give up.
  if (found == blobs_.end()) return true;
  Blob& blob = found->second;
  Registry& registry = registries_[blob.registry];
  registry.not_before = std::max(registry.not_before, until);
  // Requests that began before the last halving ran beside the limited one. Their answers count as one, and
  // halve nothing again.
  if (blob.begun >= registry.first_step_after_halving) {
    bool again = false;
    // Every image that wants the blob is marked, so that each of them waits after one limit at most.
    // A part speaks for the images of its registry only.
    for (const auto& [id, rank] : blob.wanted_by) {
      Image& image = images_.at(id);
      if (blob.part_of.empty() || image.registry == blob.registry)
        again = std::exchange(image.was_limited, true) || again;
    }
    const int moving = CountShares().registries[blob.registry];
    if (again || moving <= 1) return false;
    // The registry gets half of the streams that moved when it limited the request: that number was too much
    // for it.
    registry.max_streams = std::max(1, moving / 2);
    registry.first_step_after_halving = steps_ + 1;
  }
  blob.state = Blob::State::kQueued;
  return true;
}

void FetchOrder::Erase(const std::string& digest) {
  std::erase_if(blobs_, [&](const auto& one) { return one.first == digest || one.second.part_of == digest; });
}

void FetchOrder::PartFetched(const std::string& key, bool failed) {
  auto found = blobs_.find(key);
  if (found == blobs_.end()) return;
  found->second.state = Blob::State::kInMemory;
  if (!failed) return;
  // Its server may not know ranges, or not bear the requests.
  Blob& whole = blobs_.at(found->second.part_of);
  if (found->second.registry == whole.registry) {
    whole.split = Blob::Split::kNever;
  } else {
    registries_.at(found->second.registry).bytes = 0;
  }
}

void FetchOrder::RemovePart(const std::string& key) {
  auto found = blobs_.find(key);
  if (found == blobs_.end()) return;
  // It did not come in time. Another registry than the blob's has to prove itself again.
  const Blob& part = found->second;
  if (part.state == Blob::State::kActive && part.registry != blobs_.at(part.part_of).registry)
    registries_.at(part.registry).bytes = 0;
  blobs_.erase(found);
}

void FetchOrder::Done(const std::string& digest) {
  for (auto& [id, image] : images_) image.missing.erase(digest);
  Erase(digest);
}

void FetchOrder::Failed(const std::string& digest) {
  for (auto& [id, image] : images_) image.failed = image.failed || image.missing.contains(digest);
  Erase(digest);
}

FetchOrder::Progress FetchOrder::ProgressOf(ImageId image) const {
  auto found = images_.find(image);
  if (found == images_.end() || found->second.failed) return Progress::kFailed;
  return found->second.missing.empty() ? Progress::kComplete : Progress::kUnderWay;
}

bool FetchOrder::LacksNoneOfItsOwn(ImageId image) const {
  auto found = images_.find(image);
  if (found == images_.end() || found->second.failed) return false;
  return std::all_of(found->second.missing.begin(), found->second.missing.end(),
                     [&](const std::string& digest) { return ImageOf(blobs_.at(digest)) < image; });
}

bool MayFetch(std::string_view runtime, std::string_view version) {
  return runtime == "containerd" && base::IsAtLeast(version, {2, 1});
}

FetchReason ChooseFetch(const FetchFacts& facts, base::TimePoint now) {
  // The most certain facts come first: the runtime, its configuration, then observations of the network. The
  // first obstacle is the reported reason.
  if (!MayFetch(facts.runtime, facts.version)) return FetchReason::kRuntime;
  if (facts.snapshotter != "overlayfs") return FetchReason::kSnapshotter;
  if (!facts.hosts_known) return FetchReason::kHosts;
  if (now < facts.health.failed_until) return FetchReason::kTrouble;
  if (now < facts.health.near_until) return FetchReason::kNear;
  return FetchReason::kFar;
}

bool MayQuerySize(const FetchHealth& health, base::TimePoint now) {
  // `near_until` has to be in the future: an unknown registry counts as far, and far ones are not asked.
  return now < health.near_until && now >= health.failed_until && now >= health.size_denied_until;
}

FetchHealth AfterFetchFailed(FetchHealth health, base::TimePoint now) {
  health.failed_until = now + kFetchFailedPeriod;
  return health;
}

bool CanDiscard(const FetchHealth& health, base::TimePoint now) {
  return std::max({health.failed_until, health.near_until, health.size_denied_until, health.limited_until}) <=
         now;
}

FetchHealth AfterLimited(FetchHealth health, std::optional<base::Duration> retry_after, base::TimePoint now) {
  if (retry_after) health.limited_until = now + *retry_after;
  return AfterFetchFailed(health, now);
}

FetchHealth AfterSizeDenied(FetchHealth health, base::TimePoint now) {
  health.size_denied_until = now + kSizeDeniedPeriod;
  return health;
}

FetchHealth AfterManifest(FetchHealth health, base::Duration answer_time,
                          std::optional<base::Duration> round_trip, base::TimePoint now) {
  // `near_until` only grows. A slow answer after quick ones does not make a registry far before the time is
  // over.
  const bool beside_us = round_trip && *round_trip < kNearRoundTrip;
  if (answer_time < (beside_us ? kNearAndBusy : kNearRegistry)) health.near_until = now + kNearPeriod;
  return health;
}

// Ingests of the first poll may be remnants of long ago, so they count from the second poll on. A new one
// counts at once.
void YieldPolicy::Observe(std::map<std::string, std::uint64_t> ingests, base::TimePoint now) {
  const bool moved = observed_ && std::any_of(ingests.begin(), ingests.end(), [&](const auto& one) {
                       auto before = ingests_.find(one.first);
                       return before == ingests_.end() || before->second != one.second;
                     });
  if (moved) {
    moved_until_ = now + kForeignPullIdleAfter;
  } else if (ingests.empty() && !ingests_.empty()) {
    moved_until_ = now + kForeignPullGoneAfter;
  }
  observed_ = true;
  ingests_ = std::move(ingests);
}

bool YieldPolicy::ShouldYield(base::TimePoint now) const {
  return now < moved_until_;
}

base::TimePoint YieldPolicy::NextBurst(base::TimePoint now) const {
  // If the other pull does not move until `moved_until_`, the pause is pointless.
  return ShouldYield(now) ? std::min(pause_until_, moved_until_) : now;
}

void YieldPolicy::BurstEnded(base::TimePoint began, base::TimePoint now) {
  last_burst_ = std::max<base::Duration>(now - began, last_burst_ / 2);
  pause_until_ = now + kPauseFactor * last_burst_;
}

}  // namespace prefetch::plan
