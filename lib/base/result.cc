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

Error FromErrno(int error_number, std::string_view what) {
  // The groups follow what a caller can do: try later, free something, or correct the path.
  Code code = Code::kInternal;
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      code = Code::kNotFound;
      break;
    case EACCES:
    case EPERM:
      code = Code::kPermissionDenied;
      break;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      code = Code::kResourceExhausted;
      break;
    case ETIMEDOUT:
      code = Code::kDeadlineExceeded;
      break;
    case ECONNREFUSED:
    case ECONNRESET:
    case EAGAIN:
    case EINTR:
      code = Code::kUnavailable;
      break;
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG:
    case EISDIR:
      code = Code::kInvalidArgument;
      break;
    default:
      break;
  }
  return Error(code, std::generic_category().message(error_number)).Wrap(what);
}

}  // namespace prefetch::base
