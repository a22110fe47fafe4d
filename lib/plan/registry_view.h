// What is said of one image's registry: RegistryView, with a sentence for a person. Pure.
#pragma once

#include "plan/refresh.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

// `local`: what is here; null: nothing.
RegistryView ViewOf(const DesiredImage& want, const Local* local, const Freshness& past,
                    const RefreshDecision& decision, base::TimePoint now, base::WallTime wall);

}  // namespace prefetch::plan
