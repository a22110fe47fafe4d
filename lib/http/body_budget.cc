#include "http/body_budget.h"

#include <utility>

namespace prefetch::http {

BodyBudget::Held BodyBudget::Giver(std::function<void()> give_back) {
  return Held(this, [give_back = std::move(give_back)](const void*) { give_back(); });
}

// Many connections may send the same body, such as one status document. It counts once.
BodyBudget::Held BodyBudget::Hold(const SharedBody& body, bool local) {
  {
    base::Lock lock(mutex_);
    auto known = senders_.find(body.get());
    if (known == senders_.end()) {
      // A body that is alone always has room. Otherwise a list longer than the limit could never be shown.
      if (used_ + body->size() > LimitFor(local) && !senders_.empty()) return nullptr;
      known = senders_.emplace(body.get(), 0).first;
      used_ += body->size();
    }
    known->second++;
  }
  // The body is held as well, so that its address, which is the key, cannot be used by another one meanwhile.
  return Giver([self = shared_from_this(), body] { self->LetGo(body); });
}

void BodyBudget::LetGo(const SharedBody& body) {
  base::Lock lock(mutex_);
  auto known = senders_.find(body.get());
  if (--known->second > 0) return;
  senders_.erase(known);
  used_ -= body->size();
}

BodyBudget::Held BodyBudget::HoldBytes(std::size_t bytes, bool local) {
  {
    base::Lock lock(mutex_);
    if (used_ + bytes > LimitFor(local)) return nullptr;
    used_ += bytes;
  }
  return Giver([self = shared_from_this(), bytes] {
    base::Lock lock(self->mutex_);
    self->used_ -= bytes;
  });
}

bool BodyBudget::Crowded() const {
  base::Lock lock(mutex_);
  return used_ > limits_.network / 4 * 3;
}

std::size_t BodyBudget::used() const {
  base::Lock lock(mutex_);
  return used_;
}

}  // namespace prefetch::http
