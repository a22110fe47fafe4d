#include "kube/retry.h"

#include <algorithm>

namespace prefetch::kube {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstBackOff{1'000};
constexpr milliseconds kLongestBackOff{60'000};
constexpr milliseconds kSlow{300'000};
constexpr milliseconds kLongestPause{600'000};
// A server in trouble gives every node the same Retry-After. They come back spread over this much more.
constexpr milliseconds kRetryAfterSpread{5'000};

milliseconds Scale(milliseconds span, double by) {
  return milliseconds(static_cast<milliseconds::rep>(static_cast<double>(span.count()) * by));
}

milliseconds BackOff(unsigned failures, double spread) {
  // The bound keeps the shift defined; the limit is reached after six doublings.
  unsigned doublings = std::min(failures - std::min(failures, 1U), 10U);
  return Scale(std::min(kFirstBackOff * (1U << doublings), kLongestBackOff), spread);
}

milliseconds Later(const Failure& failure, unsigned failures, double spread) {
  // The longer one counts: a server's wish never shortens the back-off.
  milliseconds wait = BackOff(failures, spread);
  if (!failure.retry_after) return wait;
  // A wrong Retry-After of a day must not silence an agent for that long.
  milliseconds server_pause = std::min<milliseconds>(*failure.retry_after, kLongestPause);
  return std::max(wait, server_pause + Scale(kRetryAfterSpread, spread));
}

// Returns no wait the first time, and the back-off from then on.
milliseconds FirstAtOnce(const Failure& failure, unsigned failures, double spread) {
  return failures <= 1 && !failure.retry_after ? milliseconds(0) : Later(failure, failures, spread);
}

}  // namespace

Retry NextTry(const Failure& failure, unsigned failures, double spread) {
  switch (failure.kind) {
    case ApiError::kUnauthorized:
    case ApiError::kTlsError:
      // The first 401 is most likely a rotated token, whose successor is on the disk already.
      if (failures <= 1 && !failure.of_pod) return {Step::kReadCredentialAgain, milliseconds(0)};
      return {Step::kSendAgain, BackOff(failures, spread)};
    case ApiError::kConflict:
      // Another writer was faster. With the new version, the same change most likely succeeds at once.
      return {Step::kReadObjectAgain, FirstAtOnce(failure, failures, spread)};
    case ApiError::kGone:
      return {Step::kListAnew, FirstAtOnce(failure, failures, spread)};
    case ApiError::kTooManyRequests:
    case ApiError::kServerError:
    case ApiError::kUnreachable:
    case ApiError::kTimeout:
    case ApiError::kNotFound:
    case ApiError::kNoCredential:
      return {Step::kSendAgain, Later(failure, failures, spread)};
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
