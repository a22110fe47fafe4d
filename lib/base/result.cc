#include "base/result.h"

#include <system_error>

namespace prefetch::base {

// The context comes first, so that a message reads from the failed task to its cause.
Error Error::Wrap(std::string_view context) && {
  std::string message(context);
  message += ": ";
  message += message_;
  // Context is for readers only. Code and fault decide about retries, so they stay.
  return Error(code_, std::move(message)).CausedBy(fault_);
}

namespace {

// The groups follow what a caller can do: try later, free something, or correct the path.
Code CodeOf(int error_number) {
  auto is = [&](auto... numbers) { return ((error_number == numbers) || ...); };
  if (is(ENOENT, ENOTDIR)) return Code::kNotFound;
  if (is(EACCES, EPERM)) return Code::kPermissionDenied;
  if (is(ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EFBIG)) return Code::kResourceExhausted;
  if (is(ETIMEDOUT)) return Code::kDeadlineExceeded;
  if (is(ECONNREFUSED, ECONNRESET, EAGAIN, EINTR)) return Code::kUnavailable;
  if (is(EINVAL, ELOOP, ENAMETOOLONG, EISDIR)) return Code::kInvalidArgument;
  return Code::kInternal;
}

}  // namespace

Error FromErrno(int error_number, std::string_view what) {
  return Error(CodeOf(error_number), std::generic_category().message(error_number)).Wrap(what);
}

}  // namespace prefetch::base
