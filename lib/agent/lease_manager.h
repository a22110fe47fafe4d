// LeaseManager: tracks the leases that this agent has in containerd, and decides which of them to renew or
// delete. It reads no clock and makes no call; UpdateLeases carries out its requests.
//
// It tracks a lease from the start of the first pull under it, or from the listing that found it among those
// of an earlier agent. It forgets the lease when the runtime confirms the deletion.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "cri/content_service.h"

namespace prefetch::agent {

// Leases expire this long after their agent dies. A living agent renews them.
constexpr std::chrono::hours kLeaseLifetime{1};

// The reason why an entry still needs a lease while no pull runs under it.
enum class IdleLeaseUse {
  kNone,        // it needs nothing more
  kDeferred,    // it will be pulled again; no byte of it was seen
  kHoldsBytes,  // it will be pulled again, with the bytes that the lease keeps
};

struct LeaseChanges {
  std::vector<std::string> drop;
  bool for_disk_space = false;  // bytes of `drop` are in the way: they go before UpdateLeases returns
  std::vector<std::string> renew;
  bool list = false;
  // The names whose leases may be found: the runtime is asked for the content of these.
  std::map<std::string, image::Reference> owners;
};

// Result of UpdateLeases.
struct LeasesUpdated {
  std::vector<std::string> dropped;  // they are gone
  bool bytes_gone = false;           // and with them what they kept: LeaseChanges::for_disk_space
  std::vector<std::string> renewed;
  std::optional<std::vector<std::string>> found;  // all of ours, where that was asked for
  std::map<std::string, cri::PullProgress>
      kept;  // what those of LeaseChanges::owners keep, where it is known
  bool unsupported = false;
  bool failed = false;  // something of it has to be tried again
};

LeasesUpdated UpdateLeases(const base::Call& call, cri::ContentService& content, const LeaseChanges& work);

class LeaseManager {
 public:
  // By the entry's name (empty: unknown) and the lease's.
  using UseOf = std::function<IdleLeaseUse(const std::string& name, const std::string& lease)>;

  bool supported() const { return supported_; }  // until the runtime says that it has none
  void MarkUnsupported();
  // The daemon behind the connection may be another one.
  void Reconnected();
  // Leases whose entries are gone are to be searched for.
  void ListAgain() { listed_ = false; }

  // A pull of entry `name` starts under it.
  void Begin(const std::string& lease, const std::string& name, base::TimePoint now);
  // Its bytes are of no use any more: it goes once no pull runs under it, and not before `at`. kSync:
  // others need their room.
  void ReleaseLease(const std::string& lease, cri::LeaseDeletion bytes = cri::LeaseDeletion::kAsync,
                    base::TimePoint at = base::TimePoint());
  // It was found in the runtime.
  void Found(const std::string& lease, const std::string& name, base::TimePoint now);
  // Returns true if the lease is being deleted, or will be to make room. A pull that began under it now would
  // lose it, or take that room.
  bool IsBeingReleased(const std::string& lease) const;

  // The next call to the runtime; its answer goes to Handle. `running`: leases under which pulls run, or
  // still end. While any runs, leases that protect nothing any more wait for each other: each deletion makes
  // containerd collect garbage, and that stops its writers.
  std::optional<LeaseChanges> Next(const std::set<std::string>& running, const UseOf& use_of, bool may_list,
                                   base::TimePoint now);
  void Handle(const LeasesUpdated& result, base::TimePoint now);
  // Returns the time at which a lease that is held back becomes due.
  base::TimePoint NextTurn(base::TimePoint now) const;
  // Returns the leases to delete before the process ends.
  std::vector<std::string> LeasesToReleaseAtExit(const std::set<std::string>& running,
                                                 const UseOf& use_of) const;

 private:
  struct LeaseRecord {
    std::string name;
    base::TimePoint renew_at;
    bool released = false;
    bool for_disk_space = false;
    base::TimePoint release_after;
    std::optional<base::TimePoint> due_since;  // for Next
    bool deleting = false;
  };
  static bool IsDue(const std::string& lease, const LeaseRecord& record, const std::set<std::string>& running,
                    const UseOf& use_of);

  std::map<std::string, LeaseRecord> leases_;
  bool supported_ = true;
  bool listed_ = false;
  bool busy_ = false;
  int failures_ = 0;
  base::TimePoint retry_at_;
};

}  // namespace prefetch::agent
