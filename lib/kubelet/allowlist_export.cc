#include "kubelet/allowlist_export.h"

#include <set>

#include "kubelet/allowlist.h"
#include "kubelet/trimmed_image.h"

namespace prefetch::kubelet {
namespace {

using image::KubeletVersion;
using image::Reference;

constexpr KubeletVersion kHasAllowlist{1, 33};
constexpr KubeletVersion kGateOnByDefault{1, 35};

bool Exempts(const std::string& pattern, const Reference& image, KubeletVersion version) {
  auto list = Allowlist::Parse({pattern}, version);
  return list && list->Matches(image);
}

// "reg.io/team/*" for "reg.io/team/app:v1"; empty if the name has no folder.
std::string FolderPattern(const std::string& repository) {
  std::size_t slash = repository.rfind('/');
  return slash == std::string::npos ? "" : repository.substr(0, slash + 1) + "*";
}

// The narrowest pattern that exempts the name; empty if there is none.
std::string PatternFor(const Reference& image, KubeletVersion version) {
  std::string repository = WrittenRepository(image);
  for (const std::string& pattern : {repository, FolderPattern(repository)}) {
    if (Exempts(pattern, image, version)) return pattern;
  }
  return "";
}

NotExempt WithoutPattern(const Reference& image, KubeletVersion version) {
  std::string in_full = image.Repository() + image.written().substr(WrittenRepository(image).size());
  return {image.written(), "no pattern of kubelet " + version.ToString() + " matches \"" + image.written() +
                               "\"; write \"" + in_full + "\" in the list and in the pods"};
}

}  // namespace

base::Result<AllowlistExport> ExportAllowlist(const std::vector<Reference>& images, KubeletVersion version) {
  if (version < kHasAllowlist) {
    return base::InvalidArgument(
        "kubelet " + version.ToString() +
        " has no allowlist and needs none: it lets every pod use every image that is "
        "on the node; the first that has one is 1.33");
  }
  AllowlistExport out;
  std::set<std::string> patterns;
  for (const Reference& image : images) {
    std::string pattern = PatternFor(image, version);
    if (pattern.empty()) {
      out.not_exempt.push_back(WithoutPattern(image, version));
    } else {
      patterns.insert(std::move(pattern));
    }
  }
  out.patterns.assign(patterns.begin(), patterns.end());
  return out;
}

bool NeedsFeatureGate(KubeletVersion version) {
  return version < kGateOnByDefault;
}

}  // namespace prefetch::kubelet
