// Step: where an image is on its way, as the models of runtime, plugins and API server show it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "faults/world.h"

namespace prefetch::tests::faults {

enum class Step {
  kCredential,  // a plugin is asked for its password
  kResolve,     // its name
  kDownload,
  kUnpack,
  kVerify,   // it is looked at after its pull
  kPublish,  // it has been called ready a moment ago
  kTouch,    // its touch pod is there
};

constexpr std::array kSteps = {Step::kCredential, Step::kResolve, Step::kDownload, Step::kUnpack,
                               Step::kVerify,     Step::kPublish, Step::kTouch};

std::string_view StepName(Step step);

// The image that goes through it: only one has a plugin to ask.
bool HasStep(const std::string& image, Step step);

// Returns whether `image` is at that step now. False for kTouch in a world without touches.
bool IsAt(World& world, const std::string& image, Step step);

}  // namespace prefetch::tests::faults
