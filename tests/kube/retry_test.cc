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
class RetryTest : public testing::TestWithParam<RetryCase> {};
TEST_P(RetryTest, FollowsTheRule) {
  Retry got = NextTry({.kind = GetParam().kind, .retry_after = GetParam().retry_after}, GetParam().failures,
                      GetParam().spread);
  EXPECT_EQ(got.step, GetParam().expect.step);
  EXPECT_EQ(got.after, GetParam().expect.after);
}

TEST(NextTry, APodsRefusalLeavesTheServersCredential) {
  EXPECT_EQ(NextTry({.kind = ApiError::kUnauthorized, .of_pod = true}, 1, 0.5),
            (Retry{Step::kSendAgain, milliseconds(500)}));
}

constexpr std::nullopt_t kNone = std::nullopt;
constexpr milliseconds kNow{0};

INSTANTIATE_TEST_SUITE_P(
    NextTry, RetryTest,
    testing::Values(
        RetryCase{
            "UnauthorizedFirst", ApiError::kUnauthorized, kNone, 1, 0.5, {Step::kReadCredentialAgain, kNow}},
        RetryCase{"UnauthorizedThen", ApiError::kUnauthorized, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
        RetryCase{"TlsFirst", ApiError::kTlsError, kNone, 1, 0.5, {Step::kReadCredentialAgain, kNow}},
        RetryCase{"TlsThen", ApiError::kTlsError, kNone, 3, 0.5, {Step::kSendAgain, seconds(2)}},
        RetryCase{
            "ForbiddenIsSlow", ApiError::kForbidden, kNone, 1, 0, {Step::kSendAgain, milliseconds(150'000)}},
        RetryCase{"ForbiddenStaysSlow", ApiError::kForbidden, kNone, 9, 1, {Step::kSendAgain, seconds(300)}},
        RetryCase{
            "MalformedIsSlow", ApiError::kMalformed, kNone, 1, 0, {Step::kSendAgain, milliseconds(150'000)}},
        RetryCase{"NotFound", ApiError::kNotFound, kNone, 3, 0.5, {Step::kSendAgain, seconds(2)}},
        RetryCase{"ConflictFirst", ApiError::kConflict, kNone, 1, 0.9, {Step::kReadObjectAgain, kNow}},
        RetryCase{"ConflictThen", ApiError::kConflict, kNone, 3, 0.5, {Step::kReadObjectAgain, seconds(2)}},
        RetryCase{"GoneFirst", ApiError::kGone, kNone, 1, 0.9, {Step::kListAnew, kNow}},
        RetryCase{"GoneThen", ApiError::kGone, kNone, 2, 0.5, {Step::kListAnew, seconds(1)}},
        RetryCase{
            "TooMany", ApiError::kTooManyRequests, kNone, 1, 0.5, {Step::kSendAgain, milliseconds(500)}},
        RetryCase{
            "TooManyUntil", ApiError::kTooManyRequests, seconds(30), 1, 0, {Step::kSendAgain, seconds(30)}},
        RetryCase{
            "TooManySpread", ApiError::kTooManyRequests, seconds(30), 1, 1, {Step::kSendAgain, seconds(35)}},
        RetryCase{"TooManyAtOnceIsNotAtOnce",
                  ApiError::kTooManyRequests,
                  seconds(0),
                  5,
                  0.5,
                  {Step::kSendAgain, seconds(8)}},
        RetryCase{"TooManyForEver",
                  ApiError::kTooManyRequests,
                  seconds(86400),
                  1,
                  0,
                  {Step::kSendAgain, seconds(600)}},
        RetryCase{"ServerErrorFirst", ApiError::kServerError, kNone, 1, 1, {Step::kSendAgain, seconds(1)}},
        RetryCase{"ServerErrorFourth", ApiError::kServerError, kNone, 4, 1, {Step::kSendAgain, seconds(8)}},
        RetryCase{"ServerErrorAtLast",
                  ApiError::kServerError,
                  kNone,
                  4'000'000'000,
                  1,
                  {Step::kSendAgain, seconds(60)}},
        RetryCase{
            "ServerErrorUntil", ApiError::kServerError, seconds(10), 1, 0, {Step::kSendAgain, seconds(10)}},
        RetryCase{
            "UnreachableIsJittered", ApiError::kUnreachable, kNone, 7, 0.25, {Step::kSendAgain, seconds(15)}},
        RetryCase{"Timeout", ApiError::kTimeout, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
        RetryCase{"NoCredential", ApiError::kNoCredential, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
        RetryCase{"Invalid", ApiError::kInvalid, kNone, 1, 0.5, {Step::kGiveUp, kNow}},
        RetryCase{"Cancelled", ApiError::kCancelled, kNone, 1, 0.5, {Step::kGiveUp, kNow}}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::kube::retry_test
