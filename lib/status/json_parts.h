// Parts of the status document and of the document of one image. Internal to status/.
#pragma once

#include "doc/json_writer.h"
#include "plan/snapshot.h"
#include "status/image_detail.h"

namespace prefetch::status {

// The members of one entry, without the braces.
void WriteImage(doc::JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image,
                base::WallTime time);
// "verdicts" and "verdictsReason" of one image.
void WriteImageVerdicts(doc::JsonWriter& out, const plan::Snapshot& snapshot, const plan::ImageState& image);
// "spellings": only where the sources spell the image in several ways, or list it for several pods: each has
// its own verdicts, and "verdicts" are the worst.
void WriteSpellings(doc::JsonWriter& out, const plan::ImageState& image);
void WriteRuntime(doc::JsonWriter& out, const plan::RuntimeStatus& runtime);
// Without one: a kubelet "none".
void WriteKubelet(doc::JsonWriter& out, const std::optional<plan::KubeletStatus>& kubelet);

// "registry" and "registryReason" of one image; `time` is the snapshot's.
void WriteImageRegistry(doc::JsonWriter& out, const plan::ImageState& image, base::WallTime time);
// "registries": those that are asked, with the budget that each has.
void WriteRegistries(doc::JsonWriter& out, const std::vector<plan::RegistryStatus>& registries,
                     base::WallTime time);

// "registries" of the runtime: how they are asked, with the source of that; null where it is unknown.
void WriteRegistryAccess(doc::JsonWriter& out, const std::optional<image::RegistryAccess>& access);
// "registryHosts" of one image: null where no registry is asked.
void WriteRegistryHosts(doc::JsonWriter& out, const std::optional<RegistryHostsView>& view);

}  // namespace prefetch::status
