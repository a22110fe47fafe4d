// OnExit: calls a function at the end of a scope.
#pragma once

#include <utility>

namespace prefetch::base {

// The function runs whatever ends the scope, an exception too: no thread may wait for ever for work that has
// failed. It must not throw.
template <typename Function>
class OnExit {
 public:
  explicit OnExit(Function function) : function_(std::move(function)) {}
  ~OnExit() { function_(); }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;

 private:
  const Function function_;
};

}  // namespace prefetch::base
