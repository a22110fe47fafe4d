#include "pulling/image_facts.h"

#include <utility>

#include "base/enum_name.h"

namespace prefetch::pulling {
namespace {

// Returns the digests of this repository among repo_digests. If the reference names one of them, it comes
// first.
std::vector<std::string> DigestsFor(const image::LocalImage& image, const image::Reference& reference) {
  std::string prefix = reference.Repository() + "@";
  std::vector<std::string> found;
  for (const std::string& name : image.repo_digests) {
    if (!name.starts_with(prefix)) continue;
    std::string digest = name.substr(prefix.size());
    found.insert(digest == reference.digest() ? found.begin() : found.end(), std::move(digest));
  }
  return found;
}

}  // namespace

plan::Local ToLocal(const image::LocalImage& image, const image::Reference& reference,
                    const std::vector<std::string>& names) {
  plan::Local local;
  local.id = image.id;
  if (std::vector<std::string> digests = DigestsFor(image, reference); !digests.empty()) {
    local.digest = std::move(digests.front());
    local.other_digests.assign(digests.begin() + 1, digests.end());
  }
  local.size_bytes = image.size_bytes;
  local.pinned = image.pinned;
  const std::string& own_tag = reference.Normalized();
  std::string own_digest = reference.Repository() + "@" + local.digest;
  for (const std::string& name : names) {
    if (name != own_tag && name != own_digest) local.aliases.push_back(name);
  }
  return local;
}

void AddDetails(const image::Platform& node, const std::optional<image::Platform>& platform, bool artifact,
                plan::Local& local) {
  local.artifact = artifact;
  if (!platform) return;
  local.platform = platform->ToString();
  local.runs_here = image::CanRun(node, *platform);
}

bool IsForeign(const image::Platform& node, const cri::ImageDetails& details) {
  return details.platform && !details.platform->architecture.empty() &&
         details.platform->architecture != node.architecture;
}

// Returns whether a container starts from the image. An error means that the runtime could not tell, while
// false is about this image.
cri::CallResult<bool> IsStartable(const base::Call& call, cri::ContentService& content, const std::string& id,
                                  const std::string& chain_id, bool only_unpacked) {
  auto starts = only_unpacked && !chain_id.empty() ? content.IsUnpacked(call, chain_id)
                                                   : content.IsRunnable(call, id, chain_id);
  if (starts) return starts;
  using enum image::ErrorClass;
  const image::ErrorClass error = starts.error().error_class;
  if (base::IsOneOf(error, {kRuntimeDown, kCancelled, kTimeout})) return starts;
  // Other runtimes list no image that does not start. All else is about this image alone, such as content
  // that went meanwhile.
  return error == kRuntimeUnsupported;
}

}  // namespace prefetch::pulling
