// What a person can do about an image that pods may not use. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/snapshot.h"

namespace prefetch::report {

// One sentence each, the best first; empty for an image that is ready or on its way.
std::vector<std::string> WhatHelps(const plan::ImageState& image, const plan::RuntimeStatus& runtime);

}  // namespace prefetch::report
