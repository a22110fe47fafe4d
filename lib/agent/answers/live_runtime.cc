#include "agent/answers/live_runtime.h"

#include <algorithm>
#include <utility>

#include "agent/observe.h"
#include "image/platform.h"

namespace prefetch::agent {
namespace {

// Time limits for one question, if the runtime was up at the last poll, and if not: a preflight must not wait
// long for a runtime that is known to be away.
constexpr std::chrono::seconds kListTimeout{10};
constexpr std::chrono::seconds kListTimeoutWhileAway{1};

bool HasName(const image::LocalImageIndex& index, const plan::ImageState& entry) {
  const std::vector<std::string>& names = index.NamesOf(entry.image_id);
  return std::find(names.begin(), names.end(), entry.want->reference.Normalized()) != names.end();
}

void SetLocal(const image::LocalImage& found, const image::LocalImageIndex& index, plan::ImageState& state) {
  plan::Local local = ToLocal(found, state.want->reference, index.NamesOf(found.id));
  state.present = state.usable = true;
  state.image_id = local.id;
  state.digest = local.digest;
  state.other_digests = local.other_digests;
  state.size_bytes = local.size_bytes;
  state.aliases = local.aliases;
}

// Describes an image that was there at the last poll and is gone.
void SetAbsent(plan::ImageState& state) {
  bool was_here = state.present;
  bool not_reported = state.reason == plan::Reason::kFactsUnknown;
  state.present = state.usable = state.ready = false;
  state.image_id.clear();
  state.digest.clear();
  state.other_digests.clear();
  if (!was_here && !not_reported) return;  // the message names the agent's next step
  state.reason = plan::Reason::kImageAbsent;
  state.message =
      was_here ? "it was removed a moment ago; the agent pulls it again" : "it is not on the node";
}

}  // namespace

base::Duration LiveRuntime::Timeout(const plan::RuntimeStatus& last_seen) {
  return last_seen.up ? kListTimeout : kListTimeoutWhileAway;
}

LiveRuntime::Listing LiveRuntime::Ask(const base::Call& call, base::Duration age) {
  const base::TimePoint now = clock_.Now();
  {
    base::Lock lock(mutex_);
    // Clients over TCP share an answer for a moment, so that many pods cost the runtime one list.
    if (newest_ != nullptr && age > base::Duration::zero() && now - listed_at_ < age) return newest_;
  }
  const bool hurried = call.IsHurried(kListTimeoutWhileAway);
  auto images = images_.ListImages(call);
  using Answer = cri::CallResult<image::LocalImageIndex>;
  auto listing = images ? std::make_shared<const Answer>(image::LocalImageIndex(*std::move(images)))
                        : std::make_shared<const Answer>(images.error());
  // A failure of a call that its client abandoned, or had no time for, says nothing about the runtime, so it
  // is not shared.
  const bool cut_short = call.Stopped() || (hurried && !*listing);
  if (age > base::Duration::zero() && !cut_short) {
    base::Lock lock(mutex_);
    newest_ = listing;
    listed_at_ = now;
  }
  return listing;
}

const image::LocalImage* LiveRuntime::FindImported(const base::Call& call, const image::Reference& reference,
                                                   const image::LocalImageIndex& index) const {
  const image::LocalImage* tagged = index.FindTagged(reference);
  if (tagged == nullptr) return nullptr;
  // A name without a repo digest may be an import that no container starts from, so it is checked before it
  // counts.
  auto details = images_.ImageStatus(call, reference.Normalized());
  if (!details || !*details) return nullptr;
  return StartsNow(call, tagged->id, **details, true) ? tagged : nullptr;
}

bool LiveRuntime::StartsNow(const base::Call& call, const std::string& id, const cri::ImageDetails& details,
                            bool search) const {
  // The walk through the content store is expensive, so pods get the cheap check.
  const bool only_unpacked = !search || IsForeign(image::Platform::Host(), details);
  auto starts = Starts(call, content_, id, details.chain_id, only_unpacked);
  return starts && *starts;
}

void LiveRuntime::SetVerdicts(const base::Call& call, const std::string& id, const cri::ImageDetails& details,
                              bool search, plan::ImageState& state) const {
  if (details.artifact) {
    state.usable = false;
    state.reason = plan::Reason::kNotAnImage;
    state.message = "it is an OCI artifact: no container starts from it";
  } else if (!StartsNow(call, id, details, search)) {
    state.usable = false;
    state.reason = plan::Reason::kNotUnpacked;
    state.message = "its content is not unpacked: no container starts from it";
  }
}

plan::ImageState LiveRuntime::Entry(const base::Call& call, plan::ImageState entry,
                                    const image::LocalImageIndex& index, bool search) const {
  // The poll's facts about this image id still hold; most questions end here.
  if (entry.present && HasName(index, entry)) return entry;
  const image::LocalImage* found = index.Find(entry.want->reference);
  if (found == nullptr && search) found = FindImported(call, entry.want->reference, index);
  if (found == nullptr) {
    SetAbsent(entry);
    return entry;
  }
  auto details = images_.ImageStatus(call, entry.want->reference.Normalized());
  if (details && !*details) {  // listed, and not found by name (C34)
    SetAbsent(entry);
    return entry;
  }
  // Another content came since the poll. The poll's facts about platform and unpacking were about the old
  // one.
  SetLocal(*found, index, entry);
  entry.reason = plan::Reason::kPresent;
  entry.message = "it came a moment ago";
  if (!details || !*details) return entry;
  SetVerdicts(call, found->id, **details, search, entry);
  if (!(*details)->platform) return entry;
  const image::Platform& platform = *(*details)->platform;
  if (!image::Runs(image::Platform::Host(), platform)) {
    entry.usable = false;
    entry.reason = plan::Reason::kWrongPlatform;
    entry.message = "it is for " + platform.ToString() + ", which does not run here";
  }
  return entry;
}

plan::ImageState LiveRuntime::Unlisted(const base::Call& call, const image::Reference& reference,
                                       const image::LocalImageIndex& index, bool search) const {
  plan::ImageState state;
  state.want = plan::DesiredImage{.reference = reference, .required = false};
  state.phase = plan::Phase::kFailing;
  state.reason = plan::Reason::kImageAbsent;
  state.message = "it is not on the list, and not on the node";
  const image::LocalImage* found = index.Find(reference);
  if (found == nullptr && search) found = FindImported(call, reference, index);
  if (found == nullptr) return state;
  auto details = images_.ImageStatus(call, reference.Normalized());
  if (details && !*details) return state;  // listed, and not found by name (C34)
  SetLocal(*found, index, state);
  state.reason = plan::Reason::kPresent;
  state.message = "it is on the node, but not on the list: the agent does not keep it there";
  if (details && *details) SetVerdicts(call, found->id, **details, search, state);
  return state;
}

}  // namespace prefetch::agent
