#include "kubelet/allowlist.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "kubelet/trimmed_image.h"

namespace prefetch::kubelet {
namespace {

constexpr image::KubeletVersion kComparesTrimmed{1, 36};

bool IsPrefixPattern(std::string_view pattern) {
  return pattern.ends_with("/*");
}

std::string WhyNotExact(const std::string& pattern, image::KubeletVersion version) {
  auto reference = image::Reference::Parse(pattern);
  if (!reference) return reference.error().message();
  if (WrittenRepository(*reference) != pattern) return "must have no tag and no digest";
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
  std::string compared = version_ >= kComparesTrimmed ? WrittenRepository(image) : image.written();
  return std::find(exact_.begin(), exact_.end(), compared) != exact_.end() ||
         std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return compared.starts_with(prefix); });
}

}  // namespace prefetch::kubelet
