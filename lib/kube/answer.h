// Answer: the API server's answer to one call: the requested value, or a Failure of a known kind.
// FailureOf: the failure of an HTTP exchange; internal to kube/.
// NextTry: the retry rule for each kind of failure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/client.h"

namespace prefetch::kube {

// The kinds of failure, which decide the next step (NextTry below). The list is closed.
enum class ApiError {
  kUnauthorized,     // 401: the credential is not, or no longer, valid
  kForbidden,        // 403: the role lacks a right, or admission refused
  kNotFound,         // 404
  kConflict,         // 409: another client changed the object, or it exists already (Failure::reason tells)
  kGone,             // 410: the continue token or resource version is too old
  kTooManyRequests,  // 429
  kServerError,      // 5xx
  kUnreachable,      // no connection, or it broke before the answer was complete
  kTlsError,         // the server's certificate is not one to trust, or ours is unusable
  kTimeout,          // the call's deadline passed
  kMalformed,        // the answer is not what an API server says: no JSON, too long, a redirect
  kInvalid,          // the request itself: 400, 422 and every other 4xx; or it was not sent at all
  kNoCredential,     // our own credential could not be had: a file, an exec plugin
  kCancelled,        // our own stop was requested
};

// Returns the name of a kind, such as "Forbidden", for logs, metrics and conditions.
std::string_view ApiErrorName(ApiError error);
// Returns true if the server rejected the request, and rejects it again until an operator changes something:
// waiting does not help.
bool IsRefusal(ApiError error);

struct Failure {
  ApiError kind = ApiError::kMalformed;
  int status = 0;      // of HTTP; 0: there was no answer
  std::string reason;  // of the server's Status: "AlreadyExists", "Expired"; may be empty
  // One sentence with the request ("patch nodes/status \"n1\": …") and the server's words, bounded and
  // without secrets.
  std::string message;
  std::optional<std::chrono::seconds> retry_after;  // as the server wishes; at most a day
  bool from_pod = false;  // of a 401: the pod behind pods/proxy rejected the credential that was meant for it

  friend bool operator==(const Failure&, const Failure&) = default;
};

// Converts a failure for callers that return base::Status.
base::Error ToError(const Failure& failure);

// The value of a call that returns nothing but its success.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

// A T or a Failure.
template <typename T>
class [[nodiscard]] Answer : public base::Result<T, Failure> {
 public:
  using base::Result<T, Failure>::Result;

  const Failure& failure() const& { return this->error(); }
  Failure&& failure() && { return std::move(*this).error(); }
};

// The functions below return the Failure of an HTTP exchange with the API server, or with kubelet. Pure.
// Internal to kube/.

// Returns nullopt for a 2xx. `attempt` names the request: "get nodes \"n1\"". The message of the server's
// Status object, if there is one, becomes part of the failure, without secrets: neither the process's own nor
// those in `secrets`, which this request has sent.
std::optional<Failure> FailureOf(const http::Response& response, std::string_view attempt,
                                 const std::vector<const base::Secret*>& secrets, base::WallTime now);

// Returns the failure of an exchange that ended without an answer.
Failure FailureOf(const base::Error& error, std::string_view attempt);

// Returns true if `body` is a Status object. An API server sends one with each of its own refusals.
bool IsStatus(const std::string& body);

// Returns the failure for a complete answer that is not of the requested kind.
Failure Malformed(std::string_view attempt, std::string_view why);

// The retry rule for each kind of failed call to the API server. Pure.

enum class Step {
  kReadCredentialAgain,  // read token and certificates again, at once; Exchange does this one by itself
  // The same call: after Conflict, a change of the object as it is now; after Gone, from the first page.
  kSendAgain,
  kGiveUp,  // the same call fails again: only other input helps
};

struct Retry {
  Step step = Step::kGiveUp;
  std::chrono::milliseconds after{0};  // how long to wait before that step

  friend bool operator==(const Retry&, const Retry&) = default;
};

// `failures`: the number of failures in a row, including this one (1 for the first). `spread`: a random
// number from [0, 1), which spreads the retries of many nodes over the waiting time.
//
// clang-format off
//   | kind                                       | first                        | then                      |
//   | Unauthorized, TlsError                     | credential again, at once    | back-off                  |
//   | Unauthorized of a pod behind the server    | back-off: the credential for the server was good         |
//   | Conflict, Gone                             | at once                      | back-off                  |
//   | TooManyRequests, ServerError, Unreachable, | back-off, never earlier than the server's Retry-After    |
//   |   Timeout, NotFound, NoCredential          |                              |                           |
//   | Forbidden, Malformed                       | 2.5 to 5 min: a person must repair something             |
//   | Invalid, Cancelled                         | never                        |                           |
// clang-format on
//
// The back-off doubles from 1 s to 60 s, with full jitter. A Retry-After counts up to 10 min.
Retry NextTry(const Failure& failure, unsigned failures, double spread);

}  // namespace prefetch::kube
