// The functions Must and MustFail take the value, or the error, out of a result.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace prefetch::tests {

template <typename Outcome>
std::string WhyNot(const Outcome& outcome) {
  if constexpr (requires { outcome.error().message(); }) {
    return outcome.error().message();
  } else if constexpr (requires { outcome.error().message; }) {
    return outcome.error().message;
  } else if constexpr (requires { outcome.failure().message; }) {
    return outcome.failure().message;
  } else {
    return "there is none";
  }
}

// Returns the outcome, a Result or an optional, if it has a value. Otherwise the test fails and ends, as by
// ASSERT_TRUE. Only on a thread of gtest's.
template <typename Outcome>
Outcome Must(Outcome outcome, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (outcome) return outcome;
  [&] { GTEST_FAIL_AT(file, line) << WhyNot(outcome); }();
  throw testing::AssertionException({testing::TestPartResult::kFatalFailure, file, line, ""});
}

// Returns the error of an outcome that must have failed. Else the test fails and ends likewise.
template <typename Outcome>
auto MustFail(const Outcome& outcome, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (outcome) {
    [&] { GTEST_FAIL_AT(file, line) << "it went well"; }();
    throw testing::AssertionException({testing::TestPartResult::kFatalFailure, file, line, ""});
  }
  if constexpr (requires { outcome.failure(); }) {
    return outcome.failure();
  } else {
    return outcome.error();
  }
}

}  // namespace prefetch::tests
