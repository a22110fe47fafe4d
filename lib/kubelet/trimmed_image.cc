#include "kubelet/trimmed_image.h"

namespace prefetch::kubelet {
namespace {

constexpr image::KubeletVersion kKeepsSpelling{1, 36};

void RemoveSuffix(std::string& text, const std::string& suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
}

}  // namespace

std::string WrittenRepository(const image::Reference& image) {
  std::string text = image.written();
  // The digest stands behind the tag, so it goes first. A tag that is only implied is not in the text.
  if (image.has_digest()) RemoveSuffix(text, "@" + image.digest());
  if (!image.tag().empty()) RemoveSuffix(text, ":" + image.tag());
  return text;
}

std::string TrimmedImage(const image::Reference& image, image::KubeletVersion version) {
  return version >= kKeepsSpelling ? WrittenRepository(image) : image.Repository();
}

}  // namespace prefetch::kubelet
