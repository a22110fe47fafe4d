// CredentialLookups: the credentials that entries are going to use: searched for before a pull or a check
// gets a place, kept until it has one. Its pool reports by events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/credential_lookup_pool.h"
#include "agent/metrics.h"
#include "base/clock.h"
#include "base/one_thread.h"
#include "plan/credential_lookup.h"
#include "plan/desired.h"

namespace prefetch::agent {

using LookupPtr = std::shared_ptr<const credentials::Lookup>;

// How long a result may wait for a place. kubelet lets its own wait for the whole queue of pulls (kubernetes:
// pkg/kubelet/images/image_manager.go).
constexpr std::chrono::minutes kLookupLifetime{5};

// A search has ended.
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

  plan::CredentialLookup StateOf(const plan::DesiredImage& want, base::TimePoint now) const;
  // Begins a search where StateOf is kWanted; true if it did.
  bool Want(const plan::DesiredImage& want, base::TimePoint now);
  // True if an entry still waits for it.
  bool Handle(const LookupFinished& event, base::TimePoint now);
  // The result, which stays for its pull. Only where StateOf is kDone.
  LookupPtr Peek(const plan::DesiredImage& want) const;
  // Moves the result to its user. Only where StateOf is kDone.
  LookupPtr Take(const plan::DesiredImage& want);

  // Drops all results and searches. Ends plugins that run for these alone.
  void DropAll() { RetainOnly({}); }
  void RetainOnly(const std::function<bool(const std::string& name)>& wanted);

  // Searches whose event has not been absorbed yet; and those of them that are on a thread.
  int under_way() const {
    thread_.Check();
    return under_way_;
  }
  int on_threads() const { return under_way() - pool_.held(); }

  // The loop ends, or has not begun: another thread may go on.
  void Release() const { thread_.Release(); }

 private:
  struct Search {
    std::uint64_t id = 0;
    std::vector<std::string> sources;
    bool for_any_pod = false;
    base::TimePoint since;  // begun, or found
    LookupPtr found;
    std::stop_source stop;
  };

  base::OneThread thread_;
  std::map<std::string, Search> searches_ PREFETCH_GUARDED_BY(thread_);
  std::uint64_t next_id_ PREFETCH_GUARDED_BY(thread_) = 1;
  int under_way_ PREFETCH_GUARDED_BY(thread_) = 0;
  const std::function<void(LookupFinished)> on_finished_;
  CredentialLookupPool pool_;  // last: its threads use what stands above
};

}  // namespace prefetch::agent
