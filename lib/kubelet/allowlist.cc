#include "kubelet/allowlist.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"
#include "kubelet/trimmed_image.h"

namespace prefetch::kubelet {

namespace {

// The first version that compares patterns with names without tag and digest (K13).
constexpr image::KubeletVersion kComparesTrimmed{1, 36};

bool IsPrefixPattern(std::string_view pattern) {
  return pattern.ends_with("/*");
}

std::string WhyNotExact(const std::string& pattern, image::KubeletVersion version) {
  auto reference = image::Reference::Parse(pattern);
  if (!reference) return reference.error().message();
  if (WrittenRepository(*reference) != pattern) return "must have no tag and no digest";
  // Versions before 1.36 accept a repository in its full form only (K12).
  if (version < kComparesTrimmed && reference->Repository() != pattern) {
    return "must be written in full for kubelet " + version.ToString() + ": " + reference->Repository();
  }
  return "";
}

// The reason for which kubelet rejects a pattern; empty if it does not.
std::string WhyRefused(const std::string& pattern, image::KubeletVersion version) {
  if (pattern.empty()) return "must not be empty";
  if (base::TrimSpace(pattern) != pattern) return "must not begin or end with white space";
  std::string_view body = pattern;
  if (IsPrefixPattern(pattern)) body.remove_suffix(1);
  if (body.find('*') != std::string_view::npos) return "a * is allowed only as the last part, after a /";
  if (!IsPrefixPattern(pattern)) return WhyNotExact(pattern, version);
  return body == "/" ? "must have a name before the /*" : "";
}

}  // namespace

base::Result<Allowlist> Allowlist::Parse(const std::vector<std::string>& patterns,
                                         image::KubeletVersion version) {
  Allowlist list;
  list.version_ = version;
  std::vector<std::string> refused;
  for (const std::string& pattern : patterns) {
    std::string why = WhyRefused(pattern, version);
    // All wrong patterns are reported at once, so that the operator corrects them in one step.
    if (!why.empty()) {
      refused.push_back("allowlist pattern \"" + base::Truncate(base::ToUtf8(pattern), 200) + "\": " + why);
    } else if (IsPrefixPattern(pattern)) {
      list.prefixes_.push_back(pattern.substr(0, pattern.size() - 1));
    } else {
      list.exact_.push_back(pattern);
    }
  }
  if (!refused.empty()) return base::InvalidArgument(base::Join(refused, "\n"));
  return list;
}

bool Allowlist::Matches(const image::Reference& image) const {
  // The pod's own spelling is compared in both cases: `docker.io/library/*` does not match `ubuntu` (K13).
  std::string compared = version_ >= kComparesTrimmed ? WrittenRepository(image) : image.written();
  return std::find(exact_.begin(), exact_.end(), compared) != exact_.end() ||
         std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return compared.starts_with(prefix); });
}

namespace {

using image::KubeletVersion;
using image::Reference;

constexpr KubeletVersion kHasAllowlist{1, 33};
constexpr KubeletVersion kGateOnByDefault{1, 35};

// The export asks the same code that judges pods, so that each proposed pattern has the promised effect.
bool Exempts(const std::string& pattern, const Reference& image, KubeletVersion version) {
  auto list = Allowlist::Parse({pattern}, version);
  return list && list->Matches(image);
}

// "reg.io/team/*" for "reg.io/team/app:v1"; empty if the name has no folder.
std::string FolderPattern(const std::string& repository) {
  std::size_t slash = repository.rfind('/');
  return slash == std::string::npos ? "" : repository.substr(0, slash + 1) + "*";
}

// Returns the narrowest pattern that exempts the name; empty if there is none. A folder pattern exempts
// images that the list does not name, so it comes second.
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
