#include "kube/failure.h"

#include "base/scrub.h"
#include "base/text.h"
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
      if (status >= 500) return ApiError::kServerError;
      return status >= 400 ? ApiError::kInvalid : ApiError::kMalformed;
  }
}

ApiError KindOf(base::Code code) {
  switch (code) {
    case base::Code::kUnavailable:
    case base::Code::kNotFound:
      return ApiError::kUnreachable;
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

// Service account tokens are JWTs, and every JWT begins like this ("{\"" in base64).
std::string BlankTokens(std::string text) {
  constexpr std::string_view kBegin = "eyJ";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    std::size_t end = text.find_first_of(" \"',;", at);
    text.replace(at, std::min(end, text.size()) - at, base::kRedacted);
  }
  return text;
}

std::string Fit(std::string_view text, const base::Secret& credential) {
  std::string_view secret = credential.Reveal();
  if (secret.starts_with("Bearer ")) secret.remove_prefix(std::string_view("Bearer ").size());
  std::string clean = base::Redact(base::InOneLine(text), {std::string(secret)});
  return base::Truncate(BlankTokens(std::move(clean)), kLongestMessage);
}

// The fields of a Status object; all empty if `body` is none.
struct StatusWords {
  std::string message, reason;
  std::optional<std::chrono::seconds> retry_after;
};

std::optional<doc::Node> ParseStatus(const std::string& body) {
  doc::Problems problems("answer");
  auto status = doc::ParseJson(body, problems, doc::JsonRules::kLenient, {.bytes = kLongestStatus});
  if (!status || TextAt(*status, {"kind"}) != "Status") return std::nullopt;
  return status;
}

StatusWords ReadStatus(const std::string& body, const base::Secret& credential) {
  auto status = ParseStatus(body);
  if (!status) return {};
  StatusWords said{
      Fit(TextAt(*status, {"message"}), credential), Fit(TextAt(*status, {"reason"}), credential), {}};
  const doc::Node* wait = ValueAt(*status, {"details", "retryAfterSeconds"});
  if (wait != nullptr && wait->kind == doc::Node::Kind::kInt) {
    said.retry_after = ParseRetryAfter(wait->text, base::WallTime());
  }
  return said;
}

}  // namespace

std::optional<Failure> FailureOf(const http::Response& response, std::string_view attempt,
                                 const base::Secret& credential, base::WallTime now) {
  if (response.status >= 200 && response.status < 300) return std::nullopt;
  StatusWords said = ReadStatus(response.body, credential);
  Failure failure{.kind = KindOf(response.status), .status = response.status, .reason = said.reason};
  failure.retry_after = said.retry_after;
  if (auto header = response.headers.Get("Retry-After")) {
    if (auto wait = ParseRetryAfter(*header, now)) failure.retry_after = wait;
  }
  failure.message = std::string(attempt) + ": the server answered " + std::to_string(response.status);
  if (!said.message.empty()) failure.message += ": " + said.message;
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
