// Schedule: all due pulls and all limits -> the pulls that start now; and the order in which they start.
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "plan/credential_lookup.h"
#include "plan/disk_budget.h"
#include "plan/limits.h"
#include "plan/registry_health.h"

namespace prefetch::plan {

// How far the agent's own download of a running pull is.
enum class FetchPhase {
  kDownloads,     // or the runtime downloads: the pull takes a slot
  kAwaitsShared,  // it lacks only layers that the agent fetches for earlier images
  kFetched,       // all content is here, and its PullImage waits for PullImagesToStart
  kUnpacks,       // its PullImage may run, which only unpacks
};

// A pull that is due, or runs.
struct PullCandidate {
  std::size_t entry = 0;  // index in agent::Entries::all(): the list's entries in its order, then requested
  std::string registry;   // domain of the reference
  std::string content;    // digest in the reference; empty if it has none
  int priority = 0;
  bool update = false;           // a usable image is here, so the pull goes behind those of absent images
  bool preflight_waits = false;  // it goes first
  bool unlisted = false;  // requested, and on no list: such pulls never take more than half of the slots
  bool suspect = false;   // plan::IsCrashSuspect: such pulls run one at a time
  bool stalled = false;   // its last pull stalled: it goes behind all others, since it may hold a slot again
  FetchPhase fetch = FetchPhase::kDownloads;
  // PullImage has returned, less than kShortVerification ago, and the image is looked at: the pull takes no
  // slot.
  bool being_verified = false;
  bool idle = false;        // plan::IsIdle of a running pull: it takes no slot of other registries
  bool far = false;         // the registry is far (plan::Distance)
  int failures = 0;         // entries that failed go behind those of their priority that did not
  std::uint64_t bytes = 0;  // 0: not known
  DiskReservation disk;
  CredentialLookup lookup;
  base::TimePoint started_at = base::TimePoint::max();  // of one that runs
};

// The one order of pulls. Schedule starts due pulls in this order, and the disk budget ends running pulls in
// its reverse. With two orders, a pull could be started only to be ended for the pull that it overtook. The
// criteria are, in this order: its last pull has not stalled, the image is missing, a preflight requests it,
// highest priority, started first, fewest failures, position in the list.
bool ComesBefore(const PullCandidate& a, const PullCandidate& b);

// After PullImage has returned, the worker verifies the new image, which takes milliseconds. If it takes
// longer than this, the pull takes its slot again, so that pulls do not pile up behind a runtime that hangs.
constexpr std::chrono::seconds kShortVerification{1};

// An entry whose next try is due within this time counts as one that could use a slot.
constexpr std::chrono::seconds kSoonDue{10};

struct ScheduleInput {
  std::vector<PullCandidate> due;
  std::vector<PullCandidate> running;
  std::map<std::string, RegistryHealth> registries;
  std::set<std::string> soon;        // registries of entries whose next try is due within kSoonDue
  std::set<std::string> delivering;  // registries that have delivered an image, or plan::IsDelivering
  bool settled = false;              // every entry has been settled once (History::settled)
  bool agent_downloads = false;      // the runtime lets it, and --fetch=auto
  bool may_reorder = false;          // the largest first
  base::TimePoint disk_full_until;   // nothing starts before
  std::uint64_t usable = std::numeric_limits<std::uint64_t>::max();  // plan::Usable
};

struct ScheduleOutput {
  std::vector<std::size_t> start;  // entries, in the order to start them
  // Entries that lack only their credentials. The caller looks these up now.
  std::vector<std::size_t> needs_credentials;
  // Entries that lack only disk space, which other pulls may still need.
  std::vector<std::size_t> short_of_disk_space;
  // The earliest time at which a due pull that only waits for a time may start; max() if there is none.
  base::TimePoint next_turn_at = base::TimePoint::max();
};

// Pulls at a time may be this many times the limit if some of them are idle or have nothing to download. A
// limit of one pull stays one.
constexpr int kPullsPerSlot = 4;

// A registry that took every slot when it alone had work leaves others one slot more, beyond the limit,
// once its pulls have run for this time. A limit of one pull stays one.
constexpr std::chrono::seconds kDominanceLimit{10};

// Returns the due pulls that start now. No pull starts before `disk_full_until`.
//
// Until the node is settled, if the agent downloads, a registry without a running pull may start one beyond
// the limit: registries that hang may have all slots, and the agent's streams are shared among registries. A
// pull of higher rank that waits comes first. Where the runtime downloads, its own queue would hold such a
// pull. For the same reason, pulls of registries that have delivered nothing yet keep no slot from those
// that deliver.
//
// A pull takes no slot while it waits for layers of earlier images or for its PullImage, up to twice as many
// as the limit. The slots of pulls that the runtime only unpacks are free for further downloads, up to as
// many again as the limit. A limit of one pull stays one.
//
// No registry gets the last slot while another registry could use it, so a registry that hangs does not stop
// the others. A registry that alone has work gets all slots. Pulls of another registry that become due later
// wait for kDominanceLimit at most.
ScheduleOutput Schedule(const ScheduleInput& input, const Limits& limits, base::TimePoint now);

// Returns the entries of running pulls with fetched content whose PullImage may begin now, in the order of
// pulls, and makes them kUnpacks. At a time, the runtime unpacks at most twice as many of them as there are
// slots.
std::vector<std::size_t> PullImagesToStart(ScheduleInput& input, const Limits& limits);

// A pull phase begins when images are missing. In its second half, Schedule starts a large image before
// smaller ones of the same rank, so that the phase does not end with one large image that could have been
// unpacked beside the small ones. The first half keeps the order of the list, so half of the images are never
// later.

struct PhaseCount {
  std::size_t images = 0;    // that were missing when the phase began
  std::size_t finished = 0;  // here, or not worth waiting for
  std::size_t running = 0;   // being pulled
};

// Returns true once half of the images are finished.
bool MayReorder(const PhaseCount& phase);
// Returns true once half of the images are finished or running: the sizes of the others are worth a question
// then.
bool NeedsSizes(const PhaseCount& phase);

// `due` is in order. An image that is larger than its share of all that wait among its equals goes to their
// front: with `parallel` pulls at a time, it would end after all others. Images of far registries keep their
// positions, since their size alone does not decide how long they take. Images of unknown size keep them,
// too; for the sum they count as the average of the others.
void MoveLargestFirst(std::vector<PullCandidate>& due, int parallel);

}  // namespace prefetch::plan
