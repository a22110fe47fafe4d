// The retry rule for each kind of failed call to the API server. Pure.
#pragma once

#include <chrono>

#include "kube/answer.h"

namespace prefetch::kube {

enum class Step {
  kReadCredentialAgain,  // read token and certificates again, at once; HttpApi does this one by itself
  kReadObjectAgain,      // get the object anew, change it anew, send again
  kListAnew,             // begin the list from its first page
  kSendAgain,            // the same call
  kGiveUp,               // the same call fails again: only other input helps
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
//   | Conflict, Gone                             | object, list again, at once  | the same, after back-off  |
//   | TooManyRequests, ServerError, Unreachable, | back-off, never earlier than the server's Retry-After    |
//   |   Timeout, NotFound, NoCredential          |                              |                           |
//   | Forbidden, Malformed                       | 2.5 to 5 min: a person must repair something             |
//   | Invalid, Cancelled                         | never                        |                           |
// clang-format on
//
// The back-off doubles from 1 s to 60 s, with full jitter. A Retry-After counts up to 10 min.
Retry NextTry(const Failure& failure, unsigned failures, double spread);

}  // namespace prefetch::kube
