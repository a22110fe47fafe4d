// LeaseManager: tracks the leases that this agent has in containerd, and decides which of them to renew or
// delete. It reads no clock and makes no call; UpdateLeases carries out its requests.
//
// The life of a lease:
//
// - New: a pull starts under it (Begin), or a listing shows that an earlier agent has left it (Found).
// - In use: a pull runs under it. The lease is renewed each quarter of its lifetime.
// - Idle: no pull runs under it, but its entry will be pulled again. If the lease keeps bytes, it is renewed,
//   so that the next pull goes on with them. Without bytes, it may expire.
// - Due: its entry needs it no more, or ReleaseLease has given it up. While pulls run, deletions wait for
//   each other for up to 5 s, unless a pull waits for the space.
// - Being deleted: Next has handed the deletion out. A pull that starts under the lease now gets a new
//   record, which stays when the deletion is confirmed.
// - Gone: the runtime has confirmed the deletion, and Handle forgets the lease. A deletion that failed makes
//   it due again.
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

namespace prefetch::pulling {

// Leases expire this long after their agent dies. A living agent renews them.
constexpr std::chrono::hours kLeaseLifetime{1};

// The reason why an entry still needs a lease while no pull runs under it.
enum class IdleLeaseUse {
  kNone,         // it needs nothing more
  kNoBytesSeen,  // it will be pulled again
  kHoldsBytes,   // it will be pulled again, with the bytes that the lease keeps
};

// One round of calls to the runtime, which UpdateLeases makes.
struct LeaseChanges {
  std::vector<std::string> drop;
  bool for_disk_space = false;  // bytes of `drop` are in the way: they go before UpdateLeases returns
  std::vector<std::string> renew;
  bool list = false;
  // Leases of names that may be found: the runtime is asked for the content of these.
  std::set<std::string> owners;
};

// Result of UpdateLeases.
struct LeasesUpdated {
  std::vector<std::string> dropped;  // they are gone
  bool bytes_gone = false;           // and with them what they kept: LeaseChanges::for_disk_space
  std::vector<std::string> renewed;
  std::optional<std::vector<std::string>> found;  // all of ours, where that was asked for
  // Content of the leases of LeaseChanges::owners, where it is known.
  std::map<std::string, image::PullProgress> kept;
  bool unsupported = false;
  bool failed = false;  // something of it has to be tried again
};

// Deletes, renews and lists leases, in this order. Blocks for 30 s at most for each call to the runtime.
// After a failed call it goes on with the other leases, and sets LeasesUpdated::failed.
LeasesUpdated UpdateLeases(const base::Call& call, cri::ContentService& content, const LeaseChanges& work);

// Not thread-safe; Pulls owns it.

class LeaseManager {
 public:
  // Returns why the entry still needs the lease. `name` is the entry's, and empty if it is unknown.
  using UseOf = std::function<IdleLeaseUse(const std::string& name, const std::string& lease)>;

  // Returns true until the runtime reports that it has no leases.
  bool supported() const { return supported_; }
  // Records that the runtime has no leases, and forgets all of them.
  void MarkUnsupported();
  // Call it after each new connection. The daemon may be another one, so leases count as supported, and are
  // listed again.
  void Reconnected();
  // Lets the next call to the runtime list the leases again, to find those whose entries are gone.
  void ListAgain() { listed_ = false; }

  // Records that a pull of entry `name` starts under the lease. An earlier release of it is void.
  void Begin(const std::string& lease, const std::string& name, base::TimePoint now);
  // Gives the lease up: its bytes are of no use any more. It is deleted once no pull runs under it, and not
  // before `at`. kSync: other pulls need the space.
  void ReleaseLease(const std::string& lease, cri::LeaseDeletion bytes = cri::LeaseDeletion::kAsync,
                    base::TimePoint at = base::TimePoint());
  // Records a lease that a listing found in the runtime.
  void Found(const std::string& lease, const std::string& name, base::TimePoint now);
  // Returns true if the lease is being deleted, or will be to make room. A pull that began under it now would
  // lose it, or take that room.
  bool IsBeingReleased(const std::string& lease) const;

  // Returns the next changes for UpdateLeases, whose result goes to Handle; nullopt if there are none.
  // `running`: leases under which pulls run, or still end. While any runs, deletions are gathered: each makes
  // containerd collect garbage, which stops its writers.
  std::optional<LeaseChanges> Next(const std::set<std::string>& running, const UseOf& use_of, bool may_list,
                                   base::TimePoint now);
  // Applies the result of UpdateLeases. After a failure, Next waits for 1 s, doubling to 1 min.
  void Handle(const LeasesUpdated& result, base::TimePoint now);
  // Returns the time at which the next deletion that waits becomes due; max() if there is none.
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

}  // namespace prefetch::pulling
