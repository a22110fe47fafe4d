#include "kube/answer.h"

#include <algorithm>
#include <array>

#include "base/enum_name.h"
#include "base/redactor.h"
#include "base/token_bucket.h"
#include "doc/json.h"
#include "doc/node.h"
#include "kube/decode.h"

namespace prefetch::kube {

namespace {

// When a failed call is made again (NextTry).
enum class Again {
  kWithNewCredential,  // at once, and then after a back-off
  kAtOnce,             // likewise
  kLater,              // after a back-off
  kWhenRepaired,
  kNever,
};

struct KindRow {
  ApiError kind;
  base::Code code;  // leads to the same reaction as the kind: Unavailable is tried again
  Again again;
  int status = 0;  // the status of HTTP with this meaning; 0: none, or several
};
constexpr std::array kKinds = std::to_array<KindRow>({
    {ApiError::kUnauthorized, base::Code::kPermissionDenied, Again::kWithNewCredential, 401},
    {ApiError::kForbidden, base::Code::kPermissionDenied, Again::kWhenRepaired, 403},
    {ApiError::kNotFound, base::Code::kNotFound, Again::kLater, 404},
    {ApiError::kConflict, base::Code::kUnavailable, Again::kAtOnce, 409},
    {ApiError::kGone, base::Code::kUnavailable, Again::kAtOnce, 410},
    {ApiError::kTooManyRequests, base::Code::kUnavailable, Again::kLater, 429},
    {ApiError::kServerError, base::Code::kUnavailable, Again::kLater},
    {ApiError::kUnreachable, base::Code::kUnavailable, Again::kLater},
    {ApiError::kTlsError, base::Code::kUnavailable, Again::kWithNewCredential},
    {ApiError::kTimeout, base::Code::kDeadlineExceeded, Again::kLater},
    {ApiError::kMalformed, base::Code::kInternal, Again::kWhenRepaired},
    {ApiError::kInvalid, base::Code::kInvalidArgument, Again::kNever},
    {ApiError::kNoCredential, base::Code::kPermissionDenied, Again::kLater},
    {ApiError::kCancelled, base::Code::kCancelled, Again::kNever},
});
static_assert(kKinds.size() == base::EnumNames<ApiError>::kCount, "each kind has a row");

const KindRow& RowOf(ApiError kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& row) { return row.kind == kind; });
}

}  // namespace

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

base::Error ToError(const Failure& failure) {
  return {RowOf(failure.kind).code, failure.message};
}

namespace {

constexpr std::size_t kLongestMessage = 500;
constexpr std::size_t kLongestStatus = 64 * 1024;  // a Status object is not longer; else it is not looked at

ApiError KindOf(int status) {
  for (const KindRow& row : kKinds) {
    if (status != 0 && row.status == status) return row.kind;
  }
  // Other statuses below 400 are redirects, which an API server never sends to an API call.
  if (status >= 500) return ApiError::kServerError;
  return status >= 400 ? ApiError::kInvalid : ApiError::kMalformed;
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
  switch (RowOf(failure.kind).again) {
    case Again::kWithNewCredential:
      // The first 401 is most likely a rotated token, whose successor is on the disk already.
      if (failures <= 1 && !failure.from_pod) return {Step::kReadCredentialAgain, milliseconds(0)};
      return {Step::kSendAgain, BackOff(failures, spread)};
    case Again::kAtOnce:
      // Another writer was faster. With the new version, the same change most likely succeeds at once.
      if (failures <= 1 && !failure.retry_after) return {Step::kSendAgain, milliseconds(0)};
      return {Step::kSendAgain, BackOffOrRetryAfter(failure, failures, spread)};
    case Again::kLater:
      return {Step::kSendAgain, BackOffOrRetryAfter(failure, failures, spread)};
    case Again::kWhenRepaired:
      // An administrator must change something, and nothing reports when it is done.
      return {Step::kSendAgain, kSlow / 2 + Scale(kSlow / 2, spread)};
    case Again::kNever:
      return {Step::kGiveUp, milliseconds(0)};
  }
  return {};
}

}  // namespace prefetch::kube
