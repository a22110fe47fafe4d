// The ends of pulls: the facts in each about its image, its registry and the runtime.
#include <algorithm>
#include <utility>

#include "agent/pulls.h"
#include "base/log.h"

namespace prefetch::agent {
namespace {

// No pull starts for this long after ENOSPC.
constexpr std::chrono::minutes kDiskFullHold{5};

// The runtime goes on for a moment with a pull whose call was cancelled. A lease that is deleted at once
// would leave what the pull still writes to the next run of the garbage collector.
constexpr std::chrono::seconds kPullEnds{1};

// These reasons count against the whole registry: the next image from there would most probably meet the
// same. All others are about one image or this node.
bool IsRegistryFailure(plan::Reason reason) {
  switch (reason) {
    case plan::Reason::kRateLimited:
    case plan::Reason::kUnreachable:
    case plan::Reason::kDnsFailure:
    case plan::Reason::kTlsError:
    case plan::Reason::kServerError:
    case plan::Reason::kTimeout:
      return true;
    default:  // a new reason says nothing about a registry unless it is added above
      return false;
  }
}

// Returns how a run is counted. A pull that the agent ended itself counts as cancelled, unless its time was
// up or it had stalled.
PullEnd EndOf(const ActivePull& run, const PullOutcome& outcome, base::TimePoint now) {
  PullEnd end{.result = PullResult::kCancelled, .took = now - run.run.started_at};
  if (outcome.success && outcome.success->unpacked) {
    end.result = PullResult::kSucceeded;
    end.image_bytes = outcome.local ? outcome.local->size_bytes : 0;
    return end;
  }
  // The runtime said that the pull went well. That nobody could look at the image afterwards makes it no
  // failure.
  if (outcome.unseen) {
    end.result = PullResult::kSucceeded;
    return end;
  }
  if (outcome.success) {
    end.result = PullResult::kFailed;
    end.reason = plan::Reason::kNotUnpacked;
    return end;
  }
  switch (run.ending) {
    case Ending::kNot:
      if (outcome.failure) {
        end.result = PullResult::kFailed;
        end.reason = outcome.failure->reason;
      }
      break;
    case Ending::kTimeUp:
      end.result = PullResult::kFailed;
      end.reason = plan::Reason::kTimeout;
      break;
    case Ending::kNoDiskSpace:
    case Ending::kWaits:
      end.reason = plan::Reason::kDiskPressure;
      break;
    case Ending::kReplaced:
      end.reason = plan::Reason::kStalled;
      break;
    case Ending::kStalled:
      end.result = PullResult::kFailed;
      end.reason = plan::Reason::kStalled;
      break;
    case Ending::kNotWanted:
      break;
  }
  return end;
}

}  // namespace

void Pulls::Handle(PullDone event) {
  loop_.Check();
  loop_.Changed();
  std::optional<ActivePull> run = entries_.TakeRun(event.name, event.run);
  // Counted even if the list has dropped the entry: the pull did happen.
  if (run) metrics_.PullEnded(EndOf(*run, event.outcome, loop_.now()));
  Entry* entry = entries_.Find(event.name);
  if (!run || entry == nullptr) return;  // the lease has no entry any more, so LeaseManager deletes it
  entry->past.finished_at = loop_.Wall();
  if (event.outcome.success) {
    // The next pull starts in this turn. The bound of later ones is another matter: this one's neighbours
    // have written meanwhile, and the next poll counts what all of them have taken.
    if (event.disk.known) {
      SetDisk(event.disk);
      trust_space_of_polls_after_ = runtime_.polls();
    }
    Succeeded(*entry, *run, std::move(event.outcome));
    return;
  }
  // A pull that ended before the runtime showed it has changed nothing of what its lease keeps.
  if (entry->runs.empty() && !run->lease.empty() && run->run.movement.seen)
    entry->past.disk.kept =
        run->run.movement.bytes_done - std::min(run->run.movement.bytes_done, event.outcome.discarded);
  if (event.outcome.unseen) {
    // The first poll of the runtime that is back shows whether the image is here; nothing starts before.
    base::Info("pull ended well, and the runtime has gone", {{"image", entry->want->reference.written()}});
    runtime_.Failed(*event.outcome.unseen, entries_.Pulls());
    runtime_.PollNow();
    return;
  }
  switch (run->ending) {
    case Ending::kNot:
      if (event.outcome.failure) Failed(*entry, *run, *event.outcome.failure);
      break;
    case Ending::kTimeUp:
      Failed(*entry, *run,
             {.reason = plan::Reason::kTimeout, .error = "the pull did not end within its time"});
      break;
    case Ending::kStalled:
      Failed(*entry, *run,
             {.reason = plan::Reason::kStalled,
              .error = "no byte came for a long time, and other images wait for its room on the disk"});
      break;
    case Ending::kNoDiskSpace:
      DiscardBytes(*entry, cri::LeaseBytes::kReleaseNow, kPullEnds);
      break;
    // The agent ended these pulls for reasons that are not theirs. Nothing is counted as a failure, and
    // leases keep what is still needed.
    case Ending::kWaits:
    case Ending::kReplaced:
    case Ending::kNotWanted:
      break;
  }
}

void Pulls::Succeeded(Entry& entry, const ActivePull& run, PullOutcome outcome) {
  // The factor of disk usage is updated before AfterSuccess, which clears what the history knows about room.
  const plan::PullSuccess& success = *outcome.success;
  entry.past.disk = plan::AfterSize(entry.past.disk, run.run.movement.bytes_total);
  taken_ = plan::AfterEndedWell(taken_, entry.past.disk);
  entry.past = plan::AfterSuccess(std::move(entry.past), success, loop_.now());
  entry.seen.known = true;
  entry.seen.local = std::move(outcome.local);
  // A poll that began before the pull ended may report the image as absent. Believed, it would start the pull
  // again.
  entry.trust_polls_after = runtime_.polls();
  if (kubelet_ != nullptr) kubelet_->ImageChanged(entry);
  runtime_.PollInFull();
  if (!run.lease.empty()) leases_.ReleaseLease(run.lease);
  // A success ends the registry's probing phase.
  RegistryServed(entry.want->reference.domain());
  plan::Distance& distance = distances_[entry.want->reference.domain()];
  distance = plan::AfterPull(distance, loop_.now() - run.run.started_at);
  // Another pull of the same name has nothing left to do.
  for (ActivePull& other : entry.runs) {
    other.ending = Ending::kReplaced;
    other.stop.request_stop();
  }
  base::LogFields fields = {{"image", entry.want->reference.written()},
                            {"imageRef", success.id},
                            {"pulledWith", plan::PulledWithName(success.with)},
                            {"took", loop_.now() - run.run.started_at}};
  if (success.unpacked) {
    base::Info("image pulled", fields);
    checks_.Pulled(entry, run.before);
  } else {
    base::Warn("image pulled, but it is not unpacked", fields);
    Failed(entry, run,
           {.reason = plan::Reason::kNotUnpacked,
            .error = "the runtime says that it pulled the image, but it has not unpacked it"});
  }
}

// A registry that serves a pull is in order. A pull that began beside one that met the limit, and was served
// before it, does not end the hold.
void Pulls::RegistryServed(const std::string& registry) {
  auto health = registries_.find(registry);
  if (health != registries_.end() && loop_.now() >= health->second.limited_until) registries_.erase(health);
}

// Updates the health of the registry after a failed pull. Only failures that the next image would meet as
// well count.
void Pulls::RegistryAnswered(const Entry& entry, const plan::PullFailure& failure) {
  const plan::Reason reason = failure.reason;
  const std::string& registry = entry.want->reference.domain();
  if (!IsRegistryFailure(reason)) {
    // A denial is an answer: the registry is reachable. Failures of the disk or of the runtime tell nothing
    // about it.
    if (reason == plan::Reason::kAccessDenied || reason == plan::Reason::kNotFound) RegistryServed(registry);
    return;
  }
  plan::RegistryHealth& health = registries_[registry];
  registry_failures_[registry] = reason;
  health = plan::AfterRegistryFailure(health, reason == plan::Reason::kRateLimited,
                                      failure.retry_after.value_or(base::Duration(0)), loop_.now(),
                                      loop_.Random());
  // The limit counts requests from this node, the runtime's and a pod's too (R27).
  if (reason == plan::Reason::kRateLimited) checks_.HeldByPull(registry, health.not_before);
}

// Returns true if this pull may be why the runtime went away. If a suspect ran, the others are cleared,
// unless both kinds ran; at the second try at the latest, the suspect is taken for the cause.
bool Pulls::MayHaveEndedRuntime(const Entry& entry, const ActivePull& run) {
  // One end of the runtime breaks many pulls, whose events come one after the other. The first of them fixes
  // who ran at that moment; the ids tell which events belong to it.
  if (run.id >= collapse_.runs_before) {
    collapse_ = {.runs_before = next_run_};
    bool had_second_chance = false;
    for (const Entry& one : entries_.all()) {
      if (one.runs.empty() && &one != &entry) continue;
      const bool suspect = plan::IsSuspicious(one.past);
      (suspect ? collapse_.suspect_ran : collapse_.others_ran) = true;
      had_second_chance = had_second_chance || (suspect && one.past.had_second_chance);
    }
    // The suspect has already had its second try beside others, so now it alone is blamed.
    if (had_second_chance) collapse_.others_ran = false;
  }
  return !collapse_.suspect_ran || collapse_.others_ran || plan::IsSuspicious(entry.past);
}

// The disk rule comes first, because it may take the failure over. The image's history comes next: it decides
// the reason that the registry's health and the log use.
void Pulls::Failed(Entry& entry, const ActivePull& run, const plan::PullFailure& given) {
  // If the disk rule's own filesystem is full, the pull is repeated by that rule. Only a full disk elsewhere
  // is a failure.
  if (given.reason == plan::Reason::kDiskFull && FilledDisk(entry, given.error)) return;
  plan::PullFailure failure = given;
  const bool runtime_down = given.reason == plan::Reason::kRuntimeDown;
  if (runtime_down && MayHaveEndedRuntime(entry, run)) {
    const plan::InterruptedRun cut{.took = loop_.now() - run.run.started_at,
                                   .bytes = run.run.movement.bytes_done,
                                   .beside_others = collapse_.suspect_ran && collapse_.others_ran};
    entry.past = plan::AfterRuntimeEnd(std::move(entry.past), given, cut, loop_.now(), loop_.Random());
    failure = {.reason = *entry.past.last_failure, .error = entry.past.last_error};
  } else {
    entry.past = plan::AfterFailure(std::move(entry.past), given, loop_.now(), loop_.Random());
  }
  checks_.UpdateFailed(entry, failure);
  RegistryAnswered(entry, failure);
  base::LogFields fields = {{"image", entry.want->reference.written()},
                            {"reason", plan::ReasonName(failure.reason)},
                            {"error", failure.error},
                            {"failures", entry.past.failures},
                            {"took", loop_.now() - run.run.started_at}};
  if (entry.past.not_before == base::TimePoint::max()) {
    fields.emplace_back("retry", "not before the list changes");
  } else {
    fields.emplace_back("retryIn", std::max<base::Duration>(entry.past.not_before - loop_.now(), {}));
  }
  base::Warn("pull failed", fields);
  if (runtime_down) {
    // Treats the runtime as down at once: nothing starts before it has told what it has.
    runtime_.Failed({image::ErrorClass::kRuntimeDown, given.error}, entries_.Pulls());
    runtime_.PollNow();
  }
  if (failure.reason == plan::Reason::kDiskFull) {
    // Other pulls would meet the same full disk, so none starts for a while, and bytes that are kept for
    // later tries are given up.
    hold_until_ = loop_.now() + kDiskFullHold;
    DropKeptBytes();
    // A plugin that failed may be why the registry denied access, and the next try may go on where this one
    // ended.
  } else if (plan::SettlesAtOnce(failure.reason) && entry.past.settled && !failure.plugin_failed) {
    DiscardBytes(entry, cri::LeaseBytes::kReleaseLater);
  }
}

}  // namespace prefetch::agent
