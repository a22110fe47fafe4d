// FetchChoice: who fetches the content of an image: the agent, or the runtime within its pull. Pure.
//
// The runtime's own download is the rule. The agent's is quicker where connections are slow or far and the
// runtime lets only a few through (containerd 2.1 and later: three downloads for all images). It costs CPU,
// so near registries stay with the runtime (tests/bench/README.md has the figures).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace prefetch::plan {

enum class FetchBy {
  kAgent,
  kRuntime,
};

enum class FetchReason {
  kSetting,      // --fetch=runtime
  kRuntime,      // not containerd 2.1 or later
  kSnapshotter,  // not overlayfs: others fetch by themselves, or lazily
  kHosts,        // only the runtime can follow this registry's settings
  kTrouble,      // the agent's way to this registry failed a short time ago
  kNear,         // it answers so quickly that the runtime's downloads are not the limit
  kFar,          // all is as it should be, or nothing is known of its distance yet
};
std::string_view FetchReasonName(FetchReason reason);

// A registry that answers within this is near.
constexpr std::chrono::milliseconds kNearRegistry{5};
// A registry with a shorter round trip than this is near, too, if it answers within kNearAndBusy: it shares a
// machine or a site with this node, and either may be busy. One that takes longer may have its content
// elsewhere.
constexpr std::chrono::milliseconds kNearRoundTrip{1};
constexpr std::chrono::milliseconds kNearAndBusy{25};
// The time for which the runtime has a registry to itself after a failure of ours, or once it was near.
constexpr std::chrono::minutes kFetchOffPeriod{10};

// A pull waits for as long as this if the registry sends Retry-After. Longer waits cost an attempt.
constexpr std::chrono::seconds kMaxRetryAfter{30};

// Facts that were learnt about one registry. A value.
struct FetchHealth {
  base::TimePoint failed_until;
  base::TimePoint near_until;
  base::TimePoint denied_until;   // a question about a size was denied
  base::TimePoint limited_until;  // it sent Retry-After: the runtime is not to ask it before, either
};

struct FetchFacts {
  bool automatic = false;  // --fetch=auto
  std::string runtime, version;
  std::string snapshotter;  // empty: not known
  bool followed = false;    // the registry's hosts are known without an obstacle
  FetchHealth health;
};

struct FetchChoice {
  FetchBy by = FetchBy::kRuntime;
  FetchReason reason = FetchReason::kSetting;

  friend bool operator==(const FetchChoice&, const FetchChoice&) = default;
};

FetchChoice ChooseFetch(const FetchFacts& facts, base::TimePoint now);

// The same without what costs a question to the runtime or a look at files: false decides.
bool MayFetch(bool automatic, std::string_view runtime, std::string_view version);

// May a near registry be asked for the size of an image, before its pull? That is one more request; from
// near, it costs nobody anything. Not after it has denied one: pulls find out which credentials it refuses.
bool MayAskSize(const FetchHealth& health, base::TimePoint now);

FetchHealth AfterFetchFailed(FetchHealth health, base::TimePoint now);
// `retry_after`: nullopt if it asked for none.
FetchHealth AfterLimited(FetchHealth health, std::optional<base::Duration> retry_after, base::TimePoint now);
FetchHealth AfterSizeDenied(FetchHealth health, base::TimePoint now);
// Its manifest came within `answer_time`. `round_trip`: the network's part of that, where it is known.
FetchHealth AfterManifest(FetchHealth health, base::Duration answer_time,
                          std::optional<base::Duration> round_trip, base::TimePoint now);

}  // namespace prefetch::plan
