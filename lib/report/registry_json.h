// What registries have said, as members of a status document. Internal to report/.
#pragma once

#include "plan/snapshot.h"
#include "report/image_detail.h"
#include "report/json_writer.h"

namespace prefetch::report {

// "registry" and "registryReason" of one image; `time` is the snapshot's.
void WriteImageRegistry(JsonWriter& out, const plan::ImageState& image, base::WallTime time);
// "registries": those that are asked, with the budget that each has.
void WriteRegistries(JsonWriter& out, const std::vector<plan::RegistryStatus>& registries,
                     base::WallTime time);

// "registries" of the runtime: how they are asked, and who says so; null where that is not known.
void WriteRegistryAccess(JsonWriter& out, const std::optional<image::RegistryAccess>& access);
// "registryHosts" of one image: null where nobody is asked.
void WriteRegistryHosts(JsonWriter& out, const std::optional<RegistryHostsView>& view);

}  // namespace prefetch::report
