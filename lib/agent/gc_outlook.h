// Forecasts the effect of kubelet's image garbage collection on the images of a Snapshot.
#pragma once

#include "plan/snapshot.h"

namespace prefetch::agent {

// Fills in the order in which it takes them and what a person should know. Nothing where its settings are not
// known. Pure.
void AddGcOutlook(plan::Snapshot& snapshot);

}  // namespace prefetch::agent
