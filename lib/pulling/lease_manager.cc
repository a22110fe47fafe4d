#include "pulling/lease_manager.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/token_bucket.h"

namespace prefetch::pulling {
namespace {

using std::chrono::seconds;

// Time limit for each call to the runtime.
constexpr seconds kLeaseCallTimeout{30};
// A lease that is asked for has at least half its life left, so a quarter is left when this is over.
constexpr base::Duration kRenewEvery = base::Duration(kLeaseLifetime) / 4;
// Maximum time between two tries after failures; the lease itself lasts an hour.
constexpr seconds kLongestRetryPause{60};
// How long a lease that is due waits for others while pulls run.
constexpr seconds kDeleteBatchDelay{5};

}  // namespace

LeasesUpdated UpdateLeases(const base::Call& call, cri::ContentService& content, const LeaseChanges& work) {
  LeasesUpdated done;
  auto failed = [&done](const char* call_name, const std::string& lease, const cri::CallError& error) {
    done.failed = true;
    done.unsupported = done.unsupported || error.error_class == image::ErrorClass::kRuntimeUnsupported;
    base::Debug("lease not tended, tried again",
                {{"call", call_name}, {"lease", lease}, {"error", error.message}});
  };
  for (const std::string& lease : work.drop) {
    // Only the last deletion waits for containerd's collector: one run is enough for all.
    const bool now = work.for_disk_space && &lease == &work.drop.back();
    auto dropped = content.DeleteLease(call.Within(kLeaseCallTimeout), lease,
                                       now ? cri::LeaseDeletion::kSync : cri::LeaseDeletion::kAsync);
    if (dropped) {
      done.dropped.push_back(lease);
      // A lease that was gone already made containerd collect nothing.
      done.bytes_gone = now && *dropped;
    } else {
      failed("delete", lease, dropped.error());
    }
  }
  for (const std::string& lease : work.renew) {
    auto renewed = content.EnsureLease(call.Within(kLeaseCallTimeout), lease, kLeaseLifetime);
    if (renewed) {
      done.renewed.push_back(lease);
    } else {
      failed("renew", lease, renewed.error());
    }
  }
  if (work.list) {
    auto found = content.ListLeases(call.Within(kLeaseCallTimeout));
    if (!found) {
      failed("list", "", found.error());
      return done;
    }
    for (const std::string& lease : *found) {
      if (!work.owners.contains(lease)) continue;
      // If its progress cannot be read, the lease keeps its content until its pull goes on, or until it
      // expires.
      auto kept = content.Progress(call.Within(kLeaseCallTimeout), lease);
      if (kept && kept->bytes_done > 0) done.kept.emplace(lease, *kept);
    }
    done.found = *std::move(found);
  }
  return done;
}

void LeaseManager::MarkUnsupported() {
  supported_ = false;
  // A runtime without leases has none of ours to delete.
  leases_.clear();
}

void LeaseManager::Reconnected() {
  supported_ = true;
  // A restarted daemon still has its leases, but another daemon may be behind the socket now.
  listed_ = false;
  retry_at_ = base::TimePoint();
}

void LeaseManager::Begin(const std::string& lease, const std::string& name, base::TimePoint now) {
  if (!lease.empty()) leases_[lease] = {.name = name, .renew_at = now + kRenewEvery};
}

void LeaseManager::ReleaseLease(const std::string& lease, cri::LeaseDeletion bytes, base::TimePoint at) {
  if (lease.empty()) return;
  LeaseRecord& record = leases_[lease];
  record.released = true;
  record.release_after = at;
  // A later call without urgency must not take it back: a pull already waits for this room.
  record.for_disk_space = record.for_disk_space || bytes == cri::LeaseDeletion::kSync;
}

void LeaseManager::Found(const std::string& lease, const std::string& name, base::TimePoint now) {
  // Renewed at once if it is needed: nobody knows how long its agent has been dead. The facts about a
  // tracked lease are newer.
  leases_.try_emplace(lease, LeaseRecord{.name = name, .renew_at = now});
}

bool LeaseManager::IsBeingReleased(const std::string& lease) const {
  auto record = leases_.find(lease);
  return record != leases_.end() &&
         (record->second.deleting || (record->second.released && record->second.for_disk_space));
}

bool LeaseManager::IsDue(const std::string& lease, const LeaseRecord& record,
                         const std::set<std::string>& running, const UseOf& use_of) {
  return !running.contains(lease) && (record.released || use_of(record.name, lease) == IdleLeaseUse::kNone);
}

std::optional<LeaseChanges> LeaseManager::Next(const std::set<std::string>& running, const UseOf& use_of,
                                               bool may_list, base::TimePoint now) {
  // One job at a time: two of them could delete and renew the same lease in either order.
  if (busy_ || !supported_ || now < retry_at_) return std::nullopt;
  LeaseChanges work{.list = may_list && !listed_};
  // Each deletion makes containerd collect garbage, which stops its writers. So without need, deletions are
  // gathered.
  bool delete_now = running.empty();
  for (auto& [lease, record] : leases_) {
    if (now >= record.release_after && IsDue(lease, record, running, use_of)) {
      if (!record.due_since) record.due_since = now;
      work.drop.push_back(lease);
      work.for_disk_space = work.for_disk_space || record.for_disk_space;
      delete_now = delete_now || record.for_disk_space || now - *record.due_since >= kDeleteBatchDelay;
      continue;
    }
    record.due_since.reset();
    if (now >= record.renew_at) {
      if (running.contains(lease) || use_of(record.name, lease) == IdleLeaseUse::kHoldsBytes) {
        work.renew.push_back(lease);
      }
    }
  }
  // due_since is kept: it counts the waiting time.
  if (!delete_now) work.drop.clear();
  for (const std::string& lease : work.drop) leases_[lease].deleting = true;
  if (work.drop.empty() && work.renew.empty() && !work.list) return std::nullopt;
  busy_ = true;
  return work;
}

void LeaseManager::Handle(const LeasesUpdated& result, base::TimePoint now) {
  busy_ = false;
  for (const std::string& lease : result.dropped) {
    auto record = leases_.find(lease);
    // A pull that began under it in the meantime has replaced the record, so it must stay.
    if (record != leases_.end() && record->second.deleting) leases_.erase(record);
  }
  for (const std::string& lease : result.renewed) {
    if (auto record = leases_.find(lease); record != leases_.end())
      record->second.renew_at = now + kRenewEvery;
  }
  // Those whose deletion failed are due again.
  for (auto& [lease, record] : leases_) record.deleting = false;
  listed_ = listed_ || result.found.has_value();
  failures_ = result.failed ? failures_ + 1 : 0;
  if (result.failed)
    retry_at_ = now + base::ExponentialBackoff(seconds(1), failures_ - 1, kLongestRetryPause);
  if (result.unsupported) MarkUnsupported();
}

base::TimePoint LeaseManager::NextTurn(base::TimePoint now) const {
  base::TimePoint next = base::TimePoint::max();
  for (const auto& [lease, record] : leases_) {
    if (record.release_after > now) next = std::min(next, record.release_after);
    // A time in the past means that a deletion failed. Handle's waiting time repeats it, so it must not wake
    // the loop now.
    if (record.due_since && *record.due_since + kDeleteBatchDelay > now)
      next = std::min(next, *record.due_since + kDeleteBatchDelay);
  }
  return next;
}

std::vector<std::string> LeaseManager::LeasesToReleaseAtExit(const std::set<std::string>& running,
                                                             const UseOf& use_of) const {
  std::vector<std::string> due;
  if (!supported_) return due;
  for (const auto& [lease, record] : leases_) {
    if (IsDue(lease, record, running, use_of)) due.push_back(lease);
  }
  return due;
}

}  // namespace prefetch::pulling
