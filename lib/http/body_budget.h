// BodyBudget: a bound on the memory of bodies under way, of all clients together: answers that clients have
// not read yet, and long requests. Several servers of one process can share a budget.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"

namespace prefetch::http {

// A body that many answers can share.
using SharedBody = std::shared_ptr<const std::string>;

struct BodyLimits {
  std::size_t bytes = std::size_t{28} << 20;
  // The part of these that clients over TCP can take. The rest is for the unix socket, which only root may
  // open.
  std::size_t network = std::size_t{18} << 20;
};

// Any thread may call. Make it by make_shared: holders keep it alive.
class BodyBudget : public std::enable_shared_from_this<BodyBudget> {
 public:
  explicit BodyBudget(BodyLimits limits = {}) : limits_(limits) {}

  // Gives its bytes back when the last copy goes.
  using Held = std::shared_ptr<const void>;

  // For as long as an answer with this body is being sent. A body counts once, however many send it. nullptr:
  // there is no room for it now. One that is alone always has room, or a long list could never be shown.
  Held Hold(const SharedBody& body, bool local) PREFETCH_EXCLUDES(mutex_);
  // The same for other memory: a request's body, the kernel's buffer of a connection.
  Held HoldBytes(std::size_t bytes, bool local) PREFETCH_EXCLUDES(mutex_);
  // Three quarters of the neighbours' share are taken: slow readers are disconnected.
  bool Crowded() const PREFETCH_EXCLUDES(mutex_);
  std::size_t used() const PREFETCH_EXCLUDES(mutex_);

 private:
  std::size_t LimitFor(bool local) const { return local ? limits_.bytes : limits_.network; }
  Held Giver(std::function<void()> give_back);
  void LetGo(const SharedBody& body) PREFETCH_EXCLUDES(mutex_);

  const BodyLimits limits_;
  mutable base::Mutex mutex_;
  std::size_t used_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::map<const std::string*, std::size_t> senders_ PREFETCH_GUARDED_BY(mutex_);  // of each body
};

}  // namespace prefetch::http
