#include "status/words.h"

#include <set>

#include "image/reference.h"

namespace prefetch::status {

std::vector<std::string> OtherNames(const std::string& image, const std::vector<std::string>& aliases) {
  std::set<std::string> tagged;  // repositories
  auto own = image::Reference::Parse(image);
  if (own) tagged.insert(own->Repository());
  for (const std::string& alias : aliases) {
    auto reference = image::Reference::Parse(alias);
    if (reference && !reference->has_digest()) tagged.insert(reference->Repository());
  }
  std::vector<std::string> names;
  for (const std::string& alias : aliases) {
    auto reference = image::Reference::Parse(alias);
    bool said = reference && reference->has_digest() && tagged.count(reference->Repository()) != 0;
    if (!said) names.push_back(alias);
  }
  return names;
}

}  // namespace prefetch::status
