#include "kube/answer.h"

#include <algorithm>

#include "base/enum_name.h"
#include "base/redactor.h"
#include "base/token_bucket.h"
#include "doc/json.h"
#include "doc/node.h"
#include "kube/decode.h"

namespace prefetch::kube {

// Returns true if the same request would fail again. A 401 is no refusal: credentials rotate, and the next
// one may be accepted.
bool IsRefusal(ApiError error) {
  return error == ApiError::kForbidden || error == ApiError::kNotFound || error == ApiError::kInvalid ||
         error == ApiError::kMalformed;
}

std::string_view ApiErrorName(ApiError error) {
  if (error == ApiError::kTlsError) return "TLSError";
  return base::EnumName(error);
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
    // http/ gives this code only for certificates that came with the request (curl_client.cc).
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
  StatusWords words{base::SanitizedText(TextAt(*status, {"message"}), kLongestMessage, secrets),
                    base::SanitizedText(TextAt(*status, {"reason"}), kLongestMessage, secrets),
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
  return {.kind = KindOf(error.code()), .message = std::string(attempt) + ": " + error.message()};
}

bool IsStatus(const std::string& body) {
  return ParseStatus(body).has_value();
}

Failure Malformed(std::string_view attempt, std::string_view why) {
  return {.kind = ApiError::kMalformed, .message = std::string(attempt) + ": " + std::string(why)};
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstBackOff{1'000};
constexpr milliseconds kLongestBackOff{60'000};
constexpr milliseconds kSlow{300'000};
constexpr milliseconds kLongestPause{600'000};
// A server in trouble gives every node the same Retry-After. They come back spread over this much more.
constexpr milliseconds kRetryAfterSpread{5'000};

milliseconds Scale(base::Duration span, double by) {
  return std::chrono::duration_cast<milliseconds>(span * by);
}

milliseconds BackOff(unsigned failures, double spread) {
  const int doublings = static_cast<int>(std::min(failures, 100U)) - 1;
  return Scale(base::ExponentialBackoff(kFirstBackOff, doublings, kLongestBackOff), spread);
}

milliseconds BackOffOrRetryAfter(const Failure& failure, unsigned failures, double spread) {
  // The longer one counts: a server's wish never shortens the back-off.
  milliseconds wait = BackOff(failures, spread);
  if (!failure.retry_after) return wait;
  // A wrong Retry-After of a day must not silence an agent for that long.
  milliseconds server_pause = std::min<milliseconds>(*failure.retry_after, kLongestPause);
  return std::max(wait, server_pause + Scale(kRetryAfterSpread, spread));
}

}  // namespace

Retry NextTry(const Failure& failure, unsigned failures, double spread) {
  switch (failure.kind) {
    case ApiError::kUnauthorized:
    case ApiError::kTlsError:
      // The first 401 is most likely a rotated token, whose successor is on the disk already.
      if (failures <= 1 && !failure.from_pod) return {Step::kReadCredentialAgain, milliseconds(0)};
      return {Step::kSendAgain, BackOff(failures, spread)};
    case ApiError::kConflict:
    case ApiError::kGone:
      // Another writer was faster. With the new version, the same change most likely succeeds at once.
      if (failures <= 1 && !failure.retry_after) return {Step::kSendAgain, milliseconds(0)};
      return {Step::kSendAgain, BackOffOrRetryAfter(failure, failures, spread)};
    case ApiError::kTooManyRequests:
    case ApiError::kServerError:
    case ApiError::kUnreachable:
    case ApiError::kTimeout:
    case ApiError::kNotFound:
    case ApiError::kNoCredential:
      return {Step::kSendAgain, BackOffOrRetryAfter(failure, failures, spread)};
    case ApiError::kForbidden:
    case ApiError::kMalformed:
      // An administrator must change something, and nothing reports when it is done.
      return {Step::kSendAgain, kSlow / 2 + Scale(kSlow / 2, spread)};
    case ApiError::kInvalid:
    case ApiError::kCancelled:
      return {Step::kGiveUp, milliseconds(0)};
  }
  return {};
}

}  // namespace prefetch::kube
