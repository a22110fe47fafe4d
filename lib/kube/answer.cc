#include "kube/answer.h"

namespace prefetch::kube {

// Returns true if the same request would fail again. A 401 is no refusal: credentials rotate, and the next
// one may be accepted.
bool IsRefusal(ApiError error) {
  return error == ApiError::kForbidden || error == ApiError::kNotFound || error == ApiError::kInvalid ||
         error == ApiError::kMalformed;
}

std::string_view ApiErrorName(ApiError error) {
  switch (error) {
    case ApiError::kUnauthorized:
      return "Unauthorized";
    case ApiError::kForbidden:
      return "Forbidden";
    case ApiError::kNotFound:
      return "NotFound";
    case ApiError::kConflict:
      return "Conflict";
    case ApiError::kGone:
      return "Gone";
    case ApiError::kTooManyRequests:
      return "TooManyRequests";
    case ApiError::kServerError:
      return "ServerError";
    case ApiError::kUnreachable:
      return "Unreachable";
    case ApiError::kTlsError:
      return "TLSError";
    case ApiError::kTimeout:
      return "Timeout";
    case ApiError::kMalformed:
      return "Malformed";
    case ApiError::kInvalid:
      return "Invalid";
    case ApiError::kNoCredential:
      return "NoCredential";
    case ApiError::kCancelled:
      return "Cancelled";
  }
  return "Unknown";
}

namespace {

// The codes have to lead to the same reaction as the kinds: Unavailable is tried again.
base::Code CodeOf(ApiError error) {
  switch (error) {
    case ApiError::kUnauthorized:
    case ApiError::kForbidden:
    case ApiError::kNoCredential:
      return base::Code::kPermissionDenied;
    case ApiError::kNotFound:
      return base::Code::kNotFound;
    case ApiError::kConflict:
    case ApiError::kGone:
    case ApiError::kTooManyRequests:
    case ApiError::kServerError:
    case ApiError::kUnreachable:
    case ApiError::kTlsError:
      return base::Code::kUnavailable;
    case ApiError::kTimeout:
      return base::Code::kDeadlineExceeded;
    case ApiError::kInvalid:
      return base::Code::kInvalidArgument;
    case ApiError::kCancelled:
      return base::Code::kCancelled;
    case ApiError::kMalformed:
      return base::Code::kInternal;
  }
  return base::Code::kInternal;
}

}  // namespace

base::Error ToError(const Failure& failure) {
  return {CodeOf(failure.kind), failure.message};
}

}  // namespace prefetch::kube
