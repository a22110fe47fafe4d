// CredentialLookups: looks up the credentials for an entry's next pull or check before that gets a slot, and
// keeps them until then. CredentialLookupPool: its threads.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/workers.h"
#include "credentials/keyring.h"
#include "plan/credential_lookup.h"
#include "plan/desired.h"

namespace prefetch::pulling {

// Threads that look up credentials. Pulls and checks have their own threads. One plugin that hangs, or one
// registry, must not take all of them.
//
// A thread of its own answers lookups without plugins, so no plugin delays these. kPluginsAtOnce threads
// serve the rest. A plugin that hangs for one registry delays the images of this registry; one that hangs for
// all delays its own images. Images for which the same plugins run are a group; a lookup runs all of these,
// one after the other, so it counts for each:
//
// - The first lookup of a group always runs, on a thread that is made for it if need be.
// - Lookups for which one plugin runs take three quarters of the threads at most.
// - The first lookup of a registry runs if its plugins may run more; another one of it only while half of the
//   threads are free for its plugins.

constexpr int kPluginsAtOnce = 8;
constexpr int kMaxLookupsPerPlugin = 6;
constexpr int kMaxLookupsPerRegistry = 4;
// With the first ones of groups that come when all threads are taken: a bound on memory, above all of the
// plugins.
constexpr int kLookupThreads = 16;

struct LookupJob {
  base::Call call;  // `call.stop` ends it; it reports all the same
  credentials::LookupQuestion question;
  // Called once with the result, on one of the pool's threads.
  std::function<void(credentials::Lookup)> done;
};

// A resource. Any thread may call. `keyring` outlives it. The destructor drops jobs that have not started,
// and waits for the rest: ask it to stop first.
class CredentialLookupPool {
 public:
  explicit CredentialLookupPool(credentials::Keyring& keyring);
  CredentialLookupPool(const CredentialLookupPool&) = delete;
  CredentialLookupPool& operator=(const CredentialLookupPool&) = delete;

  // Starts a lookup. If it needs a plugin, it may wait for a thread.
  void Start(LookupJob job) PREFETCH_EXCLUDES(mutex_);
  // Ends those that wait for others and have been stopped. They report.
  void DropStopped() PREFETCH_EXCLUDES(mutex_);
  // Returns the number of lookups that wait for others to end.
  int queued() const PREFETCH_EXCLUDES(mutex_);

 private:
  using Group = std::vector<std::string>;  // names of plugins
  // A lookup that needs plugins.
  struct PluginLookup {
    Group group;
    LookupJob job;
    bool has_own_thread = false;  // it runs, on a thread that was made for it
  };
  using PluginLookups = std::list<PluginLookup>;

  void Begin(PluginLookup lookup) PREFETCH_EXCLUDES(mutex_);
  bool MayRun(const PluginLookup& lookup) const PREFETCH_REQUIRES(mutex_);
  bool MayShare(const PluginLookup& lookup) const PREFETCH_REQUIRES(mutex_);
  void Run(PluginLookups::iterator lookup) PREFETCH_REQUIRES(mutex_);
  void Ended(PluginLookups::iterator lookup) PREFETCH_EXCLUDES(mutex_);
  void StartWaiting() PREFETCH_REQUIRES(mutex_);

  credentials::Keyring& keyring_;
  mutable base::Mutex mutex_;
  PluginLookups waiting_ PREFETCH_GUARDED_BY(mutex_);
  PluginLookups running_ PREFETCH_GUARDED_BY(mutex_);
  // Last: their threads use what stands above. The first hands on to the second, so it ends before.
  base::Workers plugins_;
  base::Workers files_;
};

using LookupPtr = std::shared_ptr<const credentials::Lookup>;

// Maximum time for which a result waits for a slot. kubelet lets its own wait for the whole queue of pulls
// (kubernetes: pkg/kubelet/images/image_manager.go).
constexpr std::chrono::minutes kLookupLifetime{5};

// A lookup has ended.
struct LookupFinished {
  std::string name;  // the entry's normalised name
  std::uint64_t id = 0;
  LookupPtr lookup;
};

// No lock: one thread alone uses it, the loop's.
class CredentialLookups {
 public:
  // `on_finished` is called on the pool's threads.
  CredentialLookups(credentials::Keyring& keyring, std::function<void(LookupFinished)> on_finished);

  // Returns kDone if there is a result for this entry that is younger than kLookupLifetime.
  plan::CredentialLookup StateOf(const plan::DesiredImage& desired, base::TimePoint now) const;
  // Begins a lookup if StateOf is kNeeded. Returns true if it did.
  bool StartIfNeeded(const plan::DesiredImage& desired, base::TimePoint now);
  // Stores the result. Returns true if an entry still waits for it.
  bool Handle(const LookupFinished& event, base::TimePoint now);
  // Returns the result, which stays for its pull. StateOf must be kDone.
  LookupPtr Peek(const plan::DesiredImage& desired) const;
  // Moves the result to its user. StateOf must be kDone.
  LookupPtr Take(const plan::DesiredImage& desired);

  // Drops all results and running lookups. Ends plugins that run for these alone.
  void DropAll() { RetainOnly({}); }
  void RetainOnly(const std::function<bool(const std::string& name)>& wanted);

  // Lookups whose event has not been absorbed yet; and those of them that are on a thread.
  int under_way() const {
    thread_.Check();
    return under_way_;
  }
  int on_threads() const { return under_way() - pool_.queued(); }

  // The loop ends, or has not begun: another thread may go on.
  void Release() const { thread_.Release(); }

 private:
  struct PendingLookup {
    std::uint64_t id = 0;
    credentials::LookupQuestion question;
    base::TimePoint since;  // begun, or found
    LookupPtr found;
    std::stop_source stop;
  };

  base::ThreadChecker thread_;
  std::map<std::string, PendingLookup> pending_ PREFETCH_GUARDED_BY(thread_);
  std::uint64_t next_id_ PREFETCH_GUARDED_BY(thread_) = 1;
  int under_way_ PREFETCH_GUARDED_BY(thread_) = 0;
  const std::function<void(LookupFinished)> on_finished_;
  CredentialLookupPool pool_;  // last: its threads use what stands above
};

}  // namespace prefetch::pulling
