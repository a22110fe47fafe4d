// Status and Result<T>: all code of ours reports failures by them. None of it throws, except Workers when no
// thread can be created.
//
// The code decides the reaction to a failure (retry or not); the message explains it to a person and
// grows outward by Wrap(). No code parses the message of an Error. "Not there" is an std::optional, not an
// error.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/enum_name.h"

namespace prefetch::base {

// A closed list: what a caller can do about a failure.
enum class Code {
  kInvalidArgument,    // the input is wrong; the same input fails again
  kNotFound,           // the requested thing does not exist
  kPermissionDenied,   // it exists, perhaps, but not for us
  kUnavailable,        // the other side cannot be reached; try later
  kDeadlineExceeded,   // our own time limit passed
  kCancelled,          // our own stop was requested
  kResourceExhausted,  // a limit was hit: ours, a quota, a disk, a registry's (429, 503)
  kInternal,           // anything else
};

// The name of a code, as it appears in logs: "NotFound".

// The part at fault for a failure, named by the layer that saw it. Set only if a reaction depends on it.
enum class Fault {
  kUnspecified,
  kStore,     // the runtime's content store, or this node
  kNetwork,   // between us and the registry
  kRegistry,  // it answered, and not as it should
  kImage,     // this image alone
};

class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  Fault fault() const { return fault_; }
  const std::string& message() const { return message_; }

  // "context: message", same code and fault.
  Error Wrap(std::string_view context) &&;
  Error CausedBy(Fault fault) && {
    fault_ = fault;
    return std::move(*this);
  }

  friend bool operator==(const Error&, const Error&) = default;

 private:
  Code code_;
  Fault fault_ = Fault::kUnspecified;
  std::string message_;
};

inline Error InvalidArgument(std::string m) {
  return {Code::kInvalidArgument, std::move(m)};
}
inline Error NotFound(std::string m) {
  return {Code::kNotFound, std::move(m)};
}
inline Error PermissionDenied(std::string m) {
  return {Code::kPermissionDenied, std::move(m)};
}
inline Error Unavailable(std::string m) {
  return {Code::kUnavailable, std::move(m)};
}
inline Error DeadlineExceeded(std::string m) {
  return {Code::kDeadlineExceeded, std::move(m)};
}
inline Error Cancelled(std::string m) {
  return {Code::kCancelled, std::move(m)};
}
inline Error ResourceExhausted(std::string m) {
  return {Code::kResourceExhausted, std::move(m)};
}
inline Error Internal(std::string m) {
  return {Code::kInternal, std::move(m)};
}

// errno as an Error: "open /x: No such file or directory".
Error FromErrno(int error_number, std::string_view what);

// Success or an Error, with no value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT: `return InvalidArgument(...)` reads best

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return Checked(); }
  Error&& error() && { return std::move(const_cast<Error&>(Checked())); }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  const Error& Checked() const {
    if (!error_) std::abort();  // asking a success for its error is a bug of ours
    return *error_;
  }
  std::optional<Error> error_;
};

// A T or an error, which is an Error, or another folder's richer E. Using the value of a failed Result, or
// the error of a good one, aborts: that is a bug, never a condition.
template <typename T, typename E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT
  Result(E error) : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return Value(); }
  const T& value() const& { return const_cast<Result*>(this)->Value(); }
  T&& value() && { return std::move(Value()); }
  T& operator*() & { return Value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(Value()); }
  T* operator->() { return &Value(); }
  const T* operator->() const { return &value(); }

  const E& error() const& { return const_cast<Result*>(this)->Checked(); }
  E&& error() && { return std::move(Checked()); }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  T& Value() {
    if (!ok()) std::abort();
    return std::get<0>(v_);
  }
  E& Checked() {
    if (ok()) std::abort();
    return std::get<1>(v_);
  }
  std::variant<T, E> v_;
};

}  // namespace prefetch::base
