// Classify: what a failed call means, from the runtime's words (C13 to C17).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "image/pull_error.h"

namespace prefetch::cri {

// gRPC's status codes, as numbers on the wire: the ones that mean something here.
enum class RpcCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

// Pure. `code` and `message` are the status of a call that neither we nor our deadline ended (the caller
// knows that from its own state, never from the status). `names` are the spellings of the image that was
// asked for: they are taken out of the text first, since a missing image may well be called "x/denied:v1".
//
// The code is the last thing looked at: runtimes send HTTP refusals, DNS failures and a full disk alike as
// UNKNOWN.
image::ErrorClass Classify(RpcCode code, std::string_view message, const std::vector<std::string>& names);

}  // namespace prefetch::cri
