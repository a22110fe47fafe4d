#include "kube/answer.h"

#include <gtest/gtest.h>

#include "kube/decode.h"
#include "rows.h"

namespace prefetch::kube::failure_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const base::WallTime kWall = *ParseRfc3339("2026-08-01T10:00:00Z");

std::string StatusBody(const std::string& message, const std::string& more = "") {
  return R"({"kind":"Status","status":"Failure","message":")" + message + R"(","reason":"SomeReason")" +
         more + "}";
}

struct FailureCase {
  std::string name;
  http::Response response;
  ApiError kind;
  std::string reason;
  std::string message;
  int retry_after = -1;
};
TEST_TABLE(FailureTest, IsToldApart, FailureCase) {
  const base::Secret sent("Bearer s3cr3t");
  auto failure = FailureOf(row.response, "get x", {&sent}, kWall);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, row.kind) << ApiErrorName(failure->kind);
  EXPECT_EQ(failure->status, row.response.status);
  EXPECT_EQ(failure->reason, row.reason);
  EXPECT_EQ(failure->message, "get x: the server answered " + row.message);
  EXPECT_EQ(failure->retry_after ? failure->retry_after->count() : -1, row.retry_after);
}

http::Response Said(int status, std::string body = StatusBody("no"), http::Headers headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = std::move(body)};
}

TEST_ROWS(Http, FailureTest,
          {"TooManyUntilADate", Said(429, "", {{"retry-after", "Sat, 01 Aug 2026 10:00:30 GMT"}}),
           ApiError::kTooManyRequests, "", "429", 30},
          {"RetryInTheBody", Said(500, StatusBody("no", R"(,"details":{"retryAfterSeconds":3})")),
           ApiError::kServerError, "SomeReason", "500: no", 3},
          {"HeaderBeforeBody",
           Said(503, StatusBody("no", R"(,"details":{"retryAfterSeconds":3})"), {{"Retry-After", "9"}}),
           ApiError::kServerError, "SomeReason", "503: no", 9},
          {"BadRetryAfter", Said(429, "", {{"Retry-After", "soon"}}), ApiError::kTooManyRequests, "", "429"},
          {"GatewayWithHtml", Said(502, "<html>bad</html>"), ApiError::kServerError, "", "502"},
          {"BadRequest", Said(400), ApiError::kInvalid, "SomeReason", "400: no"},
          {"Redirect", Said(307, "", {{"Location", "https://elsewhere/"}}), ApiError::kMalformed, "",
           "307, and redirects are not followed"},
          {"OtherObject", Said(403, R"({"kind":"Node","message":"m"})"), ApiError::kForbidden, "", "403"},
          {"TheTokenIsBlanked", Said(403, StatusBody("token s3cr3t is bad")), ApiError::kForbidden,
           "SomeReason", "403: token [redacted] is bad"},
          {"OtherTokensAreBlanked", Said(403, StatusBody("jwt eyJhbGciOi.J9.x-_y, sir")),
           ApiError::kForbidden, "SomeReason", "403: jwt [redacted], sir"},
          {"TheTokenInHexIsBlanked", Said(403, StatusBody("token 733363723374 is bad")), ApiError::kForbidden,
           "SomeReason", "403: token [redacted] is bad"},
          {"ControlCharacters", Said(403, StatusBody("a\\nb\\u0007c")), ApiError::kForbidden, "SomeReason",
           "403: a b c"});

TEST(Failure, A2xxIsNone) {
  EXPECT_FALSE(FailureOf({.status = 200}, "x", {}, kWall));
  EXPECT_FALSE(FailureOf({.status = 201}, "x", {}, kWall));
}

TEST(Failure, AMessageIsBounded) {
  auto failure = FailureOf(Said(403, StatusBody(std::string(40'000, 'x'))), "a", {}, kWall);
  ASSERT_TRUE(failure);
  EXPECT_LT(failure->message.size(), 600U);
  EXPECT_GT(failure->message.size(), 400U);
  // A body that no Status object has is not even looked at.
  auto huge = FailureOf(Said(403, StatusBody(std::string(70'000, 'x'))), "a", {}, kWall);
  EXPECT_EQ(huge->message, "a: the server answered 403");
}

TEST(Failure, OfARequestThatWasNotSent) {
  const Failure failure = FailureOf(base::InvalidArgument("unfit"), "get x");
  EXPECT_EQ(failure.kind, ApiError::kInvalid) << ApiErrorName(failure.kind);
  EXPECT_EQ(failure.status, 0);
  EXPECT_EQ(failure.message, "get x: unfit");
}

TEST(Failure, AsAnErrorOfBase) {
  EXPECT_EQ(ToError({.kind = ApiError::kForbidden, .message = "m"}), base::PermissionDenied("m"));
  EXPECT_EQ(ToError({.kind = ApiError::kTimeout, .message = "m"}), base::DeadlineExceeded("m"));
  EXPECT_EQ(ToError({.kind = ApiError::kServerError, .message = "m"}), base::Unavailable("m"));
  EXPECT_EQ(ApiErrorName(ApiError::kTlsError), "TLSError");
}

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
      {"ConflictFirst", ApiError::kConflict, kNone, 1, 0.9, {Step::kSendAgain, kNow}},
      {"ConflictThen", ApiError::kConflict, kNone, 3, 0.5, {Step::kSendAgain, seconds(2)}},
      {"GoneFirst", ApiError::kGone, kNone, 1, 0.9, {Step::kSendAgain, kNow}},
      {"GoneThen", ApiError::kGone, kNone, 2, 0.5, {Step::kSendAgain, seconds(1)}},
      {"TooMany", ApiError::kTooManyRequests, kNone, 1, 0.5, {Step::kSendAgain, milliseconds(500)}},
      {"TooManyUntil", ApiError::kTooManyRequests, seconds(30), 1, 0, {Step::kSendAgain, seconds(30)}},
      {"TooManySpread", ApiError::kTooManyRequests, seconds(30), 1, 1, {Step::kSendAgain, seconds(35)}},
      {"TooManyAtOnceIsNotAtOnce", ApiError::kTooManyRequests, seconds(0), 5, 0.5,
       Retry{Step::kSendAgain, seconds(8)}},
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
}  // namespace prefetch::kube::failure_test
