// The sections of `prefetchctl explain` that take more than a line to make. Internal to screen/. Pure.
#pragma once

#include "screen/explain_text.h"
#include "screen/labelled_page.h"

namespace prefetch::screen {

// Do its sources list the image for different pods?
bool DifferInReadyAs(const status::StatusImage& image);

// kubelet itself, its record of the image, and its intent to pull it.
void AddKubelet(const status::ImageDocument& document, LabelledPage& page);

// kubelet's verdict for each pull policy, and the cause.
void AddVerdicts(const status::ImageDocument& document, LabelledPage& page);

// The registry's answers, and the servers that the agent asks.
void AddRegistry(const status::ImageDocument& document, LabelledPage& page);

// The credentials that a pull would try, in their order.
void AddCredentials(const status::ImageDocument& document, LabelledPage& page);

}  // namespace prefetch::screen
