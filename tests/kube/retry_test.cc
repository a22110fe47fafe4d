#include "kube/answer.h"

#include <gtest/gtest.h>

namespace prefetch::kube::retry_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct RetryCase {
  std::string name;
  ApiError kind;
  std::optional<seconds> retry_after;
  unsigned failures;
  double spread;
  Retry expect;
};
TEST(NextTry, APodsRefusalLeavesTheServersCredential) {
  EXPECT_EQ(NextTry({.kind = ApiError::kUnauthorized, .from_pod = true}, 1, 0.5),
            (Retry{Step::kSendAgain, milliseconds(500)}));
}

constexpr std::nullopt_t kNone = std::nullopt;
constexpr milliseconds kNow{0};

TEST(RetryTest, FollowsTheRule) {
  const RetryCase rows[] = {
      {"UnauthorizedFirst", ApiError::kUnauthorized, kNone, 1, 0.5, {Step::kReadCredentialAgain, kNow}},
      {"UnauthorizedThen", ApiError::kUnauthorized, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
      {"TlsFirst", ApiError::kTlsError, kNone, 1, 0.5, {Step::kReadCredentialAgain, kNow}},
      {"TlsThen", ApiError::kTlsError, kNone, 3, 0.5, {Step::kSendAgain, seconds(2)}},
      {"ForbiddenIsSlow", ApiError::kForbidden, kNone, 1, 0, {Step::kSendAgain, milliseconds(150'000)}},
      {"ForbiddenStaysSlow", ApiError::kForbidden, kNone, 9, 1, {Step::kSendAgain, seconds(300)}},
      {"MalformedIsSlow", ApiError::kMalformed, kNone, 1, 0, {Step::kSendAgain, milliseconds(150'000)}},
      {"NotFound", ApiError::kNotFound, kNone, 3, 0.5, {Step::kSendAgain, seconds(2)}},
      {"ConflictFirst", ApiError::kConflict, kNone, 1, 0.9, {Step::kReadObjectAgain, kNow}},
      {"ConflictThen", ApiError::kConflict, kNone, 3, 0.5, {Step::kReadObjectAgain, seconds(2)}},
      {"GoneFirst", ApiError::kGone, kNone, 1, 0.9, {Step::kRestartList, kNow}},
      {"GoneThen", ApiError::kGone, kNone, 2, 0.5, {Step::kRestartList, seconds(1)}},
      {"TooMany", ApiError::kTooManyRequests, kNone, 1, 0.5, {Step::kSendAgain, milliseconds(500)}},
      {"TooManyUntil", ApiError::kTooManyRequests, seconds(30), 1, 0, {Step::kSendAgain, seconds(30)}},
      {"TooManySpread", ApiError::kTooManyRequests, seconds(30), 1, 1, {Step::kSendAgain, seconds(35)}},
      {"TooManyAtOnceIsNotAtOnce",
       ApiError::kTooManyRequests,
       seconds(0),
       5,
       0.5,
       {Step::kSendAgain, seconds(8)}},
      {"TooManyForEver", ApiError::kTooManyRequests, seconds(86400), 1, 0, {Step::kSendAgain, seconds(600)}},
      {"ServerErrorFirst", ApiError::kServerError, kNone, 1, 1, {Step::kSendAgain, seconds(1)}},
      {"ServerErrorFourth", ApiError::kServerError, kNone, 4, 1, {Step::kSendAgain, seconds(8)}},
      {"ServerErrorAtLast", ApiError::kServerError, kNone, 4'000'000'000, 1, {Step::kSendAgain, seconds(60)}},
      {"ServerErrorUntil", ApiError::kServerError, seconds(10), 1, 0, {Step::kSendAgain, seconds(10)}},
      {"UnreachableIsJittered", ApiError::kUnreachable, kNone, 7, 0.25, {Step::kSendAgain, seconds(15)}},
      {"Timeout", ApiError::kTimeout, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
      {"NoCredential", ApiError::kNoCredential, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
      {"Invalid", ApiError::kInvalid, kNone, 1, 0.5, {Step::kGiveUp, kNow}},
      {"Cancelled", ApiError::kCancelled, kNone, 1, 0.5, {Step::kGiveUp, kNow}},
  };
  for (const RetryCase& row : rows) {
    SCOPED_TRACE(row.name);
    Retry got = NextTry({.kind = row.kind, .retry_after = row.retry_after}, row.failures, row.spread);
    EXPECT_EQ(got.step, row.expect.step);
    EXPECT_EQ(got.after, row.expect.after);
  }
}

}  // namespace
}  // namespace prefetch::kube::retry_test
