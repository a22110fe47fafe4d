// The table (runtime, step, status or code) -> class (C30).
#pragma once

#include <optional>

#include "cri/failure_reading.h"
#include "image/pull_error.h"

namespace prefetch::cri {

// No answer for a failure that has neither a status nor a code nor words that its step gives a meaning.
std::optional<image::ErrorClass> ClassOfFailure(const FailureReading& reading);

}  // namespace prefetch::cri
