// History: the tries for one entry with their results, and the rules for the time between tries.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/token_bucket.h"
#include "image/pull_error.h"
#include "plan/disk_budget.h"
#include "plan/observation.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

struct History {
  int attempts = 0;  // pulls started since the image last vanished, or since the start
  int failures = 0;  // in a row, of those; kRuntimeDown, and cancels for the sake of others, are none
  int disk_full_failures = 0;  // those for kDiskFull, included in `failures`; their back-off is their own
  int suspicious_outages = 0;  // in a row, pulls in which the runtime went away, and this image may be why
  std::uint64_t bytes_at_last_outage = 0;  // that the image had when the runtime went away last
  bool second_chance_used = false;         // a suspect's pull was cut while others ran that may be why
  std::optional<Reason> last_failure;
  std::string last_error;          // scrubbed
  bool lacked_credential = false;  // PullFailure::lacks_credential of the newest
  // No pull of this entry before; max(): not before the list changes or a retry is requested.
  base::TimePoint not_before;
  // The agent has pulled the image, or it was usable and judged by kubelet once, with the registry's answer
  // if NeedsFirstAnswer. Or its next try was not worth waiting for, its own pull brought another platform, or
  // the disk had no room for it while no pull ran. This entry no longer holds the node in its busy phase, and
  // `--once` need not wait for it.
  bool settled = false;
  base::TimePoint failed_at;          // the end of the newest pull that failed
  base::TimePoint retry_after_until;  // the end of a Retry-After: a request does not shorten it
  // A request to pull it at once that neither the end of a pull nor another client's image has answered yet.
  std::optional<base::WallTime> retry_requested_at;
  base::TimePoint windows_waived_until;  // by that request

  // The newest success.
  std::string pulled_id;  // the image id it brought; empty: none
  base::TimePoint pulled_at;
  PullOrigin origin;

  DiskHistory disk;  // its size, and its known need for room

  // When the image was found gone within kEvictionMemory; the newest last. The times move along with pauses,
  // so that these do not count as age.
  std::vector<base::TimePoint> vanished;

  // Times for the status.
  std::optional<base::WallTime> started_at, finished_at;
};

struct PullFailure {
  Reason reason = Reason::kRuntimeError;
  std::string error;
  // The registry's Retry-After, if known.
  std::optional<base::Duration> retry_after = {};
  // The next try may have another credential, and go on where this one ended: a credential plugin gave no
  // answer, or the credential expired while the agent downloaded.
  bool keeps_bytes = false;
  // The registry denied access to a request without a credential, since a credential plugin has failed. That
  // is retried like an outage.
  bool lacks_credential = false;
};

// Returns true if pulls that failed for this reason are retried slowly, hourly or never: too late for
// `--once` and `wait` to wait for the next try.
bool IsRetriedLate(Reason reason);

// Returns true if the newest tries have failed and the next one is not worth waiting for: IsRetriedLate,
// or six failures in a row. The retries go on all the same.
bool IsNotWorthWaitingFor(const History& past);

// `random` is uniform in [0, 1).
History AfterFailure(History past, const PullFailure& failure, base::TimePoint now, double random);

// A pull under which the runtime went away.
struct InterruptedRun {
  base::Duration took{};
  std::uint64_t bytes = 0;     // of the image, with those that earlier pulls have brought; 0: not known
  bool beside_others = false;  // images ran at the time that are no suspects
};
// Records that the runtime went away during this pull, perhaps because of it. The first time, and any time
// after a minute of progress, counts as a restart of the runtime. Otherwise the image becomes a suspect, and
// no other suspect is pulled beside it. A suspect that was pulled beside other images gets one more try,
// since one of them may be the cause.
History AfterRuntimeOutage(History past, const PullFailure& failure, const InterruptedRun& run,
                           base::TimePoint now, double random);

// Returns true if the runtime has gone away several times in a row under pulls of this image. Such images are
// tried one at a time.
bool IsCrashSuspect(const History& past);

struct PullSuccess {
  Local local;  // the image on the node now
  PullOrigin origin{};
};
History AfterSuccess(History past, const PullSuccess& success, base::TimePoint now);

// The node's credential files have changed: what failed for its credential is worth another try now.
History AfterNewCredentials(History past, base::TimePoint now);

// A result that is younger than this answers a request of a preflight.
constexpr std::chrono::seconds kRecentFailure{5};

// A request to pull the image now skips the back-off once. It shortens no rate limit: here no Retry-After,
// and in RegistryHealth not the hold after a 429 without one. The failures still count for the next pause.
// Unchanged if no back-off holds the image.
History AfterRetryRequested(History past, base::TimePoint now, base::WallTime wall);

// The update whose pull failed is obsolete: the tag points elsewhere, or the present image is right.
History AfterUpdateObsolete(History past, base::TimePoint now);

// The image was there and is not any more. Removed by kubelet's garbage collection again and again, it is
// pulled more and more slowly: a pull-evict loop is of no use.
History AfterVanished(History past, base::TimePoint now);

// Returns true if the image has vanished so often that its pulls slow down.
bool IsEvictedRepeatedly(const History& past);

// ---- Backoff helpers: doubling and jitter. The caller passes the random number, so that each rule stays a
// pure function.

using base::ExponentialBackoff;

inline base::Duration Scaled(base::Duration duration, double factor) {
  return std::chrono::duration_cast<base::Duration>(std::chrono::duration<double>(duration) * factor);
}

// Up to a quarter more, so that the nodes of a cluster do not come back together. `random`: 0 to 1.
inline base::Duration Spread(base::Duration wait, double random) {
  return Scaled(wait, 1 + random / 4);
}

}  // namespace prefetch::plan
