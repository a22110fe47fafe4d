#include "kube/failure.h"

#include "base/foreign_text.h"
#include "doc/json.h"
#include "doc/path.h"
#include "kube/times.h"

namespace prefetch::kube {
namespace {

constexpr std::size_t kLongestMessage = 500;
constexpr std::size_t kLongestStatus = 64 * 1024;  // a Status object is not longer; else it is not looked at

ApiError KindOf(int status) {
  switch (status) {
    case 401:
      return ApiError::kUnauthorized;
    case 403:
      return ApiError::kForbidden;
    case 404:
      return ApiError::kNotFound;
    case 409:
      return ApiError::kConflict;
    case 410:
      return ApiError::kGone;
    case 429:
      return ApiError::kTooManyRequests;
    default:
      // Other statuses below 400 are redirects, which an API server never sends to an API call.
      if (status >= 500) return ApiError::kServerError;
      return status >= 400 ? ApiError::kInvalid : ApiError::kMalformed;
  }
}

ApiError KindOf(base::Code code) {
  switch (code) {
    case base::Code::kUnavailable:
    case base::Code::kNotFound:
      return ApiError::kUnreachable;
    // http/ gives this code only for certificates that came with the request (curl_error.cc).
    case base::Code::kPermissionDenied:
      return ApiError::kTlsError;
    case base::Code::kDeadlineExceeded:
      return ApiError::kTimeout;
    case base::Code::kCancelled:
      return ApiError::kCancelled;
    case base::Code::kInvalidArgument:
      return ApiError::kInvalid;
    case base::Code::kResourceExhausted:
    case base::Code::kInternal:
      return ApiError::kMalformed;
  }
  return ApiError::kMalformed;
}

// The fields of a Status object; all empty if `body` is none.
struct StatusWords {
  std::string message, reason;
  std::optional<std::chrono::seconds> retry_after;
};

std::optional<doc::Node> ParseStatus(const std::string& body) {
  doc::Problems problems("answer");
  auto status = doc::ParseJson(body, problems, doc::JsonRules::kLenient, {.bytes = kLongestStatus});
  // A web page of a proxy is no Status. Its text would only hide what failed.
  if (!status || TextAt(*status, {"kind"}) != "Status") return std::nullopt;
  return status;
}

StatusWords ReadStatus(const std::string& body, const std::vector<const base::Secret*>& secrets) {
  auto status = ParseStatus(body);
  if (!status) return {};
  // Admission webhooks write these texts, too.
  StatusWords words{base::ForeignText(TextAt(*status, {"message"}), kLongestMessage, secrets),
                    base::ForeignText(TextAt(*status, {"reason"}), kLongestMessage, secrets),
                    {}};
  const doc::Node* wait = ValueAt(*status, {"details", "retryAfterSeconds"});
  if (wait != nullptr && wait->kind == doc::Node::Kind::kInt) {
    words.retry_after = ParseRetryAfter(wait->text, base::WallTime());
  }
  return words;
}

}  // namespace

std::optional<Failure> FailureOf(const http::Response& response, std::string_view attempt,
                                 const std::vector<const base::Secret*>& secrets, base::WallTime now) {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  StatusWords words = ReadStatus(response.body, secrets);
  Failure failure{.kind = KindOf(response.status), .status = response.status, .reason = words.reason};
  failure.retry_after = words.retry_after;
  // The header wins. A proxy in front of the API server sends it without a Status.
  if (auto header = response.headers.Get("Retry-After")) {
    if (auto wait = ParseRetryAfter(*header, now)) failure.retry_after = wait;
  }
  failure.message = std::string(attempt) + ": the server answered " + std::to_string(response.status);
  if (!words.message.empty()) failure.message += ": " + words.message;
  if (failure.kind == ApiError::kMalformed) failure.message += ", and redirects are not followed";
  return failure;
}

Failure FailureOf(const base::Error& error, std::string_view attempt) {
  return {.kind = KindOf(error.code()),
          .status = 0,
          .reason = {},
          .message = std::string(attempt) + ": " + error.message(),
          .retry_after = {}};
}

bool IsStatus(const std::string& body) {
  return ParseStatus(body).has_value();
}

Failure Malformed(std::string_view attempt, std::string_view why) {
  return {.kind = ApiError::kMalformed,
          .status = 0,
          .reason = {},
          .message = std::string(attempt) + ": " + std::string(why),
          .retry_after = {}};
}

}  // namespace prefetch::kube
