// RegistryChecks: the registry checks of the loop (not preflights, which plan/check.h decides): due times,
// pace, and the effects of answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/entries.h"
#include "agent/loop.h"
#include "agent/metrics.h"
#include "base/clock.h"
#include "base/workers.h"
#include "plan/history.h"
#include "plan/registry_pace.h"
#include "plan/snapshot.h"
#include "pulling/credential_lookups.h"
#include "pulling/query_registry.h"

namespace prefetch::agent {

struct RegistryCheckOptions {
  pulling::RegistryResolver resolver;  // empty: no registry is asked
  image::Platform node;
  bool once = false;  // --once: all is asked at the start, and each pull taken that can be had
  // A registry has limited this node's requests: pulls must wait as well (registry rule R27). `wait`: as the
  // registry stated it; zero if it did not.
  std::function<void(const std::string& registry, base::Duration wait)> hold_pulls;
};

// No lock: the loop's thread alone uses it, which Loop::Check checks. Arguments of the constructor outlive
// it.
class RegistryChecks {
 public:
  RegistryChecks(RegistryCheckOptions options, const base::Clock& clock, Loop& loop, Entries& entries,
                 pulling::CredentialLookups& lookups, pulling::RejectedCredentials& refusals,
                 Metrics& metrics)
      : options_(std::move(options)),
        clock_(clock),
        loop_(loop),
        entries_(entries),
        lookups_(lookups),
        refusals_(refusals),
        metrics_(metrics) {}

  // Returns true if the agent checks this entry with its registry.
  bool AppliesTo(const Entry& entry) const;
  // Returns true if the registry has answered, or NeedsFirstAnswer is false; with --once, as far as a pull
  // may follow.
  bool HasAnswersToSettle(const Entry& entry) const;
  // Returns true if the registry's last pulls are reserved for absent images.
  bool UpdatesWait(const std::string& registry) const;

  // After a new list: plans questions about its changes.
  void OnDesiredChanged();
  // Call it once a turn. Returns true if a question starts.
  bool Start(bool runtime_up, const image::RuntimeInfo& runtime);
  // The next turn without an event.
  base::TimePoint NextTurn() const { return next_turn_; }

  // A pull of the agent has brought an image in place of `before`.
  void Pulled(Entry& entry, const std::optional<plan::Local>& before);
  // A pull that should have replaced the present image has failed; that image stays in use.
  void UpdateFailed(Entry& entry, const plan::PullFailure& failure);
  // The registry has told a pull to wait.
  void OnPullThrottled(const std::string& registry, base::TimePoint until);

  // A request to try now: a registry whose newest answer was none, or a no, is asked again as soon as it may
  // be. True if it is.
  bool RetryRequested(Entry& entry);

  // Forgets registries that no entry uses any more, unless they are still held.
  void Forget(const std::set<std::string>& in_use);

  // Returns the state of each registry that entries have checked, by name.
  std::vector<plan::RegistryStatus> Statuses() const;

 private:
  plan::AnswerTime AnswerTimeNow() const;
  bool AwaitsProbe(const std::string& registry) const;
  void StartCheck(Entry& entry, const image::RuntimeInfo& runtime);
  void Apply(const std::string& name, const std::string& registry, const image::RegistryAnswer& answer);
  // `before`: the entry's, before the answer.
  void LogAnswer(const Entry& entry, const image::RegistryAnswer& answer,
                 const plan::Freshness& before) const;
  void ApplyPace(const std::string& registry, const image::RegistryAnswer& answer);

  const RegistryCheckOptions options_;
  const base::Clock& clock_;
  Loop& loop_;
  Entries& entries_;
  pulling::CredentialLookups& lookups_;
  pulling::RejectedCredentials& refusals_;
  Metrics& metrics_;
  std::map<std::string, plan::RegistryPace> paces_;  // of those that were asked
  base::TimePoint next_turn_ = base::TimePoint::max();
  // Last: its threads use all members above. Null until a registry is asked.
  std::unique_ptr<base::Workers> workers_;
};

}  // namespace prefetch::agent
