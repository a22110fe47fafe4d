// RegistryPace: how often one registry is asked by this node, and when it is left alone (registry rules R27
// and R29). Pure; the loop keeps one for each registry.
//
// There are two rules. The budget allows a rate of requests a second, and a few more at once. The circuit
// leaves a registry alone for a while if it did not answer several times in a row, or answered 429;
// then one probe goes out, and only its answer lets others follow. While a registry is held, an entry that is
// due gets its answer without a request.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/token_bucket.h"
#include "image/registry_answer.h"
#include "plan/credential_lookup.h"

namespace prefetch::plan {

struct RegistryPace {
  base::TokenBucket budget{image::kRegistryRequests};  // of requests
  int running = 0;
  std::uint64_t requests = 0;  // since the start

  int failures = 0;  // no answer or 5xx, in a row, over all entries; a 429 does not count
  int holds = 0;     // in a row, without an answer between
  base::TimePoint held_until;
  bool probing = false;  // was held: one at a time until it answers
  std::optional<base::TimePoint> away_since;
  std::optional<base::WallTime> away_since_wall;
  std::optional<image::RegistryAnswer> trouble;  // the newest, while there is any
  // Its limit of pulls by its newest answer; none: no limit, or none reported.
  std::optional<image::PullAllowance> allowance;
  base::TimePoint allowance_at;
};

// A check of the registry starts.
RegistryPace AfterStart(RegistryPace past, base::TimePoint now);
// `random` is uniform in [0, 1).
RegistryPace AfterCheck(RegistryPace past, const image::RegistryAnswer& answer, base::TimePoint now,
                        base::WallTime wall, double random);
// A pull was told to come later: checks do the same.
RegistryPace AfterPullThrottled(RegistryPace past, base::TimePoint until);

// So few pulls are left that absent images get them all; present ones wait (R28). A reported number counts
// for the limit's window, or for six hours if the registry names none.
bool UpdatesWait(const RegistryPace& pace, base::TimePoint now);

// Returns true if this may be forgotten once no entry is of that registry: no request runs, its budget is
// full, and it has not been held for an hour.
bool CanDiscard(const RegistryPace& pace, base::TimePoint now);

// Returns the answer for an entry while its registry is held.
image::RegistryAnswer AnswerWhileHeld(const RegistryPace& pace);

struct CheckCandidate {
  std::size_t entry = 0;
  std::string registry;
  base::TimePoint due;
  bool urgent = false;
  CredentialLookup lookup;
};

struct ChecksToStart {
  std::vector<std::size_t> start;
  std::vector<std::size_t> needs_credentials;  // could start, but for their credentials
  std::vector<std::size_t> skipped;            // due, and their registry is held
  base::TimePoint next_turn_at = base::TimePoint::max();
};

// `checks`: the entries that are due, and of each registry that waits for a probe at least one other. Those
// whose time has not come are only used as probes.
ChecksToStart ScheduleChecks(std::vector<CheckCandidate> checks,
                             const std::map<std::string, RegistryPace>& paces, base::TimePoint now);

}  // namespace prefetch::plan
