// Classify: the class of a failed call, from the runtime's message (C13 to C17).
// ParsedFailure: the parts of a runtime's message about a failed pull (C30).
#pragma once

#include <optional>
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
// The code counts last: runtimes send HTTP refusals, DNS failures and a full disk alike as UNKNOWN.
image::ErrorClass Classify(RpcCode code, std::string_view message, const std::vector<std::string>& names);

// The library that wrote the message: containerd's resolver, or containers/image, which CRI-O and podman pull
// with.
enum class ErrorSource { kUnknown, kContainerd, kContainersImage };

// The step of the pull that failed.
enum class Step {
  kUnknown,
  kPing,      // GET /v2/
  kToken,     // the registry's token service
  kManifest,  // manifest or index: the request
  kDocument,  // the content of a manifest or index
  kBlob,
  kUnpack,
};

// The parts of a runtime's message about a failed pull (C30).
struct ParsedFailure {
  ErrorSource source = ErrorSource::kUnknown;
  Step step = Step::kUnknown;
  int status = 0;           // of HTTP; 0 if the text has none
  bool unanswered = false;  // a request got no answer: what follows it is Go's words or a proxy's
  std::string_view code;    // of OCI, in the runtimes' spelling: "manifest unknown"; empty if there is none
  // The runtime's own words, and its quotation of the server.
  std::string_view own;
  std::string_view quoted;
};

// `text` in lower case and without names. The views are of `text`, or of static storage.
ParsedFailure ParseFailure(std::string_view text);

// The table (runtime, step, status or code) -> class (C30). Returns nullopt for a failure that has neither a
// status nor a code nor words that its step gives a meaning.
std::optional<image::ErrorClass> ClassOfFailure(const ParsedFailure& parsed);

}  // namespace prefetch::cri
