// Shared: an immutable value that copies share.
#pragma once

#include <memory>
#include <utility>

namespace prefetch::base {

// Behaves as the T that it was made from: it converts to it, and two are equal if their values are. A copy
// costs a pointer; a default one holds no memory at all, and stands for T(). So it fits what thousands of
// entries have and few ever set, and what several of our parts keep for as long as it does not change.
//
// The T never changes: Change() gives this one a T of its own, and the copies keep theirs. Safe to read on
// any thread, as a shared_ptr<const T> is.
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(T value) : value_(std::make_shared<const T>(std::move(value))) {}       // NOLINT: a T is welcome
  explicit Shared(std::shared_ptr<const T> value) : value_(std::move(value)) {}  // null: T()

  const T& operator*() const { return value_ ? *value_ : Default(); }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT: it is one

  // `change` is called with a T& that is a copy of what this one holds, and afterwards held.
  template <typename Function>
  void Change(Function change) {
    T changed = **this;
    change(changed);
    *this = std::move(changed);
  }

  friend bool operator==(const Shared& a, const Shared& b) { return a.value_ == b.value_ || *a == *b; }
  friend bool operator==(const Shared& a, const T& b) { return *a == b; }

 private:
  static const T& Default() {
    static const T kDefault{};
    return kDefault;
  }

  std::shared_ptr<const T> value_;
};

}  // namespace prefetch::base
