#include "list/draft.h"

#include <string>
#include <utility>

#include "doc/json.h"
#include "doc/reader.h"

namespace prefetch::list {
namespace {

// The document comes from the runtime of a node, whose number of images nothing limits. Therefore the limits
// are larger than those of a list.
constexpr doc::Limits kLimits{.bytes = 32 << 20, .depth = 16, .nodes = 1'000'000};

std::vector<image::Reference> NamesOf(const std::vector<std::string>& texts) {
  std::vector<image::Reference> names;
  for (const std::string& text : texts) {
    // crictl prints "<none>" for an image without repository or tag. No pod can name such an image.
    if (text.find("<none>") != std::string::npos) continue;
    if (auto reference = image::Reference::Parse(text)) names.push_back(*std::move(reference));
  }
  return names;
}

}  // namespace

std::vector<image::Reference> ReadCrictlImages(std::string_view json, doc::Problems& problems) {
  std::vector<image::Reference> images;
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kLimits);
  if (!root) return images;
  doc::ObjectReader document(doc::Reader(*root, problems));
  for (const doc::Reader& item : document.Items("images", doc::Need::kRequired)) {
    doc::ObjectReader image(item);
    std::vector<image::Reference> names = NamesOf(image.Strings("repoTags"));
    // A digest is only used for images without any tag: pods nearly always name images by tag, and both names
    // of one image would list it twice.
    if (names.empty()) names = NamesOf(image.Strings("repoDigests"));
    for (image::Reference& name : names) images.push_back(std::move(name));
  }
  return images;
}

}  // namespace prefetch::list
