#include "screen/list_difference.h"

#include <map>
#include <set>

#include "base/text.h"
#include "image/reference.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

std::string NormalizedOr(const std::string& name) {
  auto reference = image::Reference::Parse(name);
  return reference ? reference->Normalized() : name;
}

}  // namespace

std::vector<std::string> AliasNotes(const plan::ImageList& list, const StatusDocument& document) {
  std::set<std::string> listed;
  for (const plan::DesiredImage& want : list.images) listed.insert(want.reference.Normalized());
  std::map<std::string, const StatusImage*> here;
  for (const StatusImage& image : document.images) here.emplace(NormalizedOr(image.image), &image);
  std::vector<std::string> notes;
  for (const plan::DesiredImage& want : list.images) {
    auto found = here.find(want.reference.Normalized());
    if (found == here.end()) continue;
    for (const std::string& alias : status::OtherNames(found->second->image, found->second->aliases)) {
      if (listed.count(NormalizedOr(alias)) != 0) continue;
      notes.push_back(base::Join(want.from, ", ") + " " + want.reference.written() + " is also here as " +
                      alias + ": kubelet judges both by one record; list it too");
    }
  }
  return notes;
}

}  // namespace prefetch::screen
