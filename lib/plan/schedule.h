// Schedule: all due pulls and all limits -> the pulls that start now. Pure.
#pragma once

#include <chrono>
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

namespace prefetch::plan {

// How one registry has answered lately. A registry that is in trouble gets one probe at a time, so that it
// neither is stormed when it comes back nor keeps the places that others could use.
struct RegistryHealth {
  // In a row, over all images: rate limited, unreachable, DNS, TLS, server error, timeout.
  int failures = 0;
  int limited = 0;  // of these, waves of 429: answers to pulls that ran side by side are one
  base::TimePoint not_before;
  base::TimePoint limited_until;
};

RegistryHealth AfterRegistryFailure(RegistryHealth past, bool rate_limited, base::Duration retry_after,
                                    base::TimePoint now, double random);

// A request to pull an image of this registry now ends every hold but that of a rate limit. A registry that
// failed again and again still gets one pull at a time.
RegistryHealth AfterRetryRequested(RegistryHealth past, base::TimePoint now);

// Nothing is lost if this is forgotten, once no entry is of that registry: it has not been held for an hour.
bool MayBeForgotten(const RegistryHealth& health, base::TimePoint now);

// A pull that is due, or runs.
struct PullSlot {
  std::size_t entry = 0;  // index in agent::Entries::all(): the list's entries in its order, then requested
  std::string registry;   // domain of the reference
  std::string content;    // the digest that it asks for, where it is written; else empty
  int priority = 0;
  bool update = false;     // a usable image is here: goes behind absent ones
  bool requested = false;  // a preflight waits for it now: goes first
  bool unlisted = false;   // asked for, and on no list: such pulls never take more than half of the places
  bool suspect = false;    // plan::IsSuspicious: one at a time
  bool stalled = false;    // its newest failure: goes behind all others, which it would keep waiting again
  // The pull runs. `fetched`: the agent has fetched its content, and PullImage unpacks it. `over`: PullImage
  // has returned, less than kShortPoll ago, and the image is looked at. Such a pull takes no place.
  bool fetched = false;
  bool over = false;
  bool idle = false;        // of one that runs: plan::IsIdle. It takes no place of other registries
  bool far = false;         // its registry is: plan/distance.h
  int failures = 0;         // entries that failed go behind those of their priority that did not
  std::uint64_t bytes = 0;  // 0: not known
  DiskReservation disk;
  CredentialLookup lookup;
  base::TimePoint started_at = base::TimePoint::max();  // of one that runs
};

// The one order of pulls: of those that are due, and of all for the room on the disk. If there were two, a
// pull could be started only to be ended for the one that it overtook. In this order: not stalled, which
// would hold a place again; missing images before updates; asked for by a preflight; highest priority;
// started first; fewest failures; place in the list.
bool ComesBefore(const PullSlot& a, const PullSlot& b);

// The look at what came takes milliseconds. One that takes longer than this keeps the place of its pull,
// so that pulls behind a runtime that hangs do not pile up.
constexpr std::chrono::seconds kShortPoll{1};

// An entry that waits no longer than this for its next try could use a place.
constexpr std::chrono::seconds kSoonDue{10};

struct ScheduleInput {
  std::vector<PullSlot> due;
  std::vector<PullSlot> running;
  std::map<std::string, RegistryHealth> registries;
  std::set<std::string> soon;  // registries with something that is due within kSoonDue
  bool settled = false;        // every entry was ready or failed for good once
  bool may_reorder = false;    // plan/largest_first.h
  base::TimePoint hold_until;  // nothing starts before: the disk is full
  std::uint64_t usable = std::numeric_limits<std::uint64_t>::max();  // plan::Usable
};

struct ScheduleOutput {
  std::vector<std::size_t> start;  // entries, in the order to start them
  // Entries that could start, but for their credentials: these are to be looked up now.
  std::vector<std::size_t> to_look_up;
  // Entries that could start, but for the room that others may still need.
  std::vector<std::size_t> short_of_disk_space;
  // When something that is due, and held back by time alone, may start; max() if nothing is.
  base::TimePoint next_turn_at = base::TimePoint::max();
};

// Until a node is settled, pulls at a time may be this many times the limit if some of them are idle. A limit
// of one pull stays one.
constexpr int kWithIdle = 4;

// A registry that took every place when it alone had work leaves others one place more, beyond the limit,
// once its pulls have run for this time. A limit of one pull stays one.
constexpr std::chrono::seconds kHoggedFor{10};

// Where the agent fetches content, as many pulls again may be with the runtime, which unpacks what has come:
// their places are free for the next downloads. A limit of one pull stays one.
//
// No registry gets the last place while another one has something that could use it: a registry that hangs
// does not stop the others. Where it alone has work, it gets all; what comes later waits for kHoggedFor.
ScheduleOutput Schedule(const ScheduleInput& input, const Limits& limits, base::TimePoint now);

}  // namespace prefetch::plan
