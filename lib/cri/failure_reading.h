// FailureReading: what a runtime's words on a failed pull are made of (C30).
#pragma once

#include <optional>
#include <string_view>

#include "image/pull_error.h"

namespace prefetch::cri {

// Whose library speaks: containerd's resolver, or containers/image, which CRI-O and podman pull with.
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

struct FailureReading {
  ErrorSource source = ErrorSource::kUnknown;
  Step step = Step::kUnknown;
  int status = 0;         // of HTTP; 0 if the text has none
  std::string_view code;  // of OCI, in the runtimes' spelling: "manifest unknown"; empty if there is none
  // The runtime's own words, and its quotation of the server.
  std::string_view own;
  std::string_view quoted;
};

// `text` in lower case and without names. The views are of `text`, or of static storage.
FailureReading ReadFailure(std::string_view text);

// The table (runtime, step, status or code) -> class (C30).
// No answer for a failure that has neither a status nor a code nor words that its step gives a meaning.
std::optional<image::ErrorClass> ClassOfFailure(const FailureReading& reading);

}  // namespace prefetch::cri
