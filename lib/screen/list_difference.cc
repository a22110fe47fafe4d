#include "screen/list_difference.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/write.h"
#include "image/reference.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {

namespace {

// Maximum width of the column of names.
constexpr std::size_t kWidestImage = 80;

std::string NormalizedOr(const std::string& name) {
  auto reference = image::Reference::Parse(name);
  return reference ? reference->Normalized() : name;
}

std::string Names(const std::set<std::string>& names) {
  return base::Join({names.begin(), names.end()}, ", ");
}

std::string ReadyAsNames(const std::set<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) words.push_back(text.empty() ? "none" : text);
  return base::Join(words, "; ");
}

// Adds differences in how pods write the image, and in their credentials.
void AddPods(const plan::DesiredImage& desired, const status::StatusImage& has,
             std::vector<std::string>& parts) {
  const PodKeys pods_here = PodKeysOf(desired), pods_there = PodKeysOf(has);
  if (ReadyAsTexts(pods_here) != ReadyAsTexts(pods_there)) {
    parts.push_back("readyAs: " + ReadyAsNames(ReadyAsTexts(pods_here)) + " here, " +
                    ReadyAsNames(ReadyAsTexts(pods_there)) + " on the node");
  }
  const std::set<std::string> here = SpellingsOf(pods_here), there = SpellingsOf(pods_there);
  const bool several = here.size() > 1 || there.size() > 1;
  // Where kubelet does not look at spellings, another one makes no difference.
  if (here != there && (several || SpellingMatters(has))) {
    parts.push_back("written " + Names(here) + " here, " + Names(there) + " on the node");
  }
}

std::string DemandDifferences(const plan::DesiredImage& desired, const status::StatusImage& has) {
  std::vector<std::string> parts;
  if (desired.required != has.required) {
    parts.emplace_back(desired.required ? "required here, optional on the node"
                                        : "optional here, required on the node");
  }
  const auto add = [&](const char* field, auto here, const auto& there) {
    if (there.empty() || there == here) return;
    parts.push_back(field + (": " + std::string(base::EnumName(here))) + " here, " + there.text() +
                    " on the node");
  };
  add("readyFor", desired.ready_for, has.ready_for);
  add("refresh", desired.refresh, has.refresh);
  if (IsForOtherNodes(desired, has)) parts.emplace_back("for other nodes here than on the node");
  // Unknown is not equal: the difference is reported as hidden.
  if (has.ready_as_hidden) {
    parts.emplace_back("readyAs on the node is hidden from callers without a token");
  } else {
    AddPods(desired, has, parts);
  }
  // An entry for other nodes is rightly absent.
  if (has.applies && !has.present) {
    parts.push_back("not on the node" + (has.message.empty() ? "" : ": " + has.message));
  }
  return base::Join(parts, "; ");
}

}  // namespace

std::vector<ListDifference> DiffWithNode(const plan::ImageList& list, const status::StatusDocument& node) {
  // The normalised name is the key, so that two lists in different orders can be compared.
  std::map<std::string, ListDifference> sorted;
  std::map<std::string, const status::StatusImage*> there;
  for (const status::StatusImage& image : node.images) there.emplace(NormalizedOr(image.image), &image);
  for (const plan::DesiredImage& desired : list.images) {
    const std::string& name = desired.reference.Normalized();
    auto has = there.find(name);
    if (has == there.end()) {
      sorted[name] = {'-', desired.reference.written(), "not on the list of node " + node.node};
      continue;
    }
    std::string says = DemandDifferences(desired, *has->second);
    if (!says.empty()) sorted[name] = {'~', desired.reference.written(), std::move(says)};
    // The remaining images are only on the node's list.
    there.erase(has);
  }
  for (const auto& [name, image] : there) {
    std::string from = image->from.empty() ? "" : " (" + base::Join(image->from, ", ") + ")";
    sorted[name] = {'+', image->image, "only on the list of node " + node.node + from};
  }
  std::vector<ListDifference> differences;
  for (auto& [name, difference] : sorted) differences.push_back(std::move(difference));
  return differences;
}

std::string ListDifferencesText(const std::vector<ListDifference>& differences) {
  if (differences.empty()) return "no difference\n";
  std::size_t width = 0;
  for (const ListDifference& one : differences) {
    std::size_t own = DisplayWidth(base::InOneLine(one.image));
    // One very long name must not push the column of reasons off the screen.
    if (own <= kWidestImage) width = std::max(width, own);
  }
  std::string text;
  for (const ListDifference& one : differences) {
    text += std::string(1, one.mark) + " " +
            PadRight(base::InOneLine(one.image), one.message.empty() ? 0 : width);
    text += (one.message.empty() ? "" : "  " + base::InOneLine(one.message)) + "\n";
  }
  std::vector<std::string> counts;
  auto count = [&](char mark, const char* word) {
    auto n = std::ranges::count(differences, mark, &ListDifference::mark);
    if (n > 0) counts.push_back(std::to_string(n) + word);
  };
  count('+', " added");
  count('-', " removed");
  count('~', " changed");
  return text + base::Join(counts, ", ") + "\n";
}

std::string ListDifferencesJson(const std::vector<ListDifference>& differences) {
  return status::JsonDocument("ListDiff", [&](doc::JsonWriter& json) {
    json.MemberBool("same", differences.empty());
    json.Objects("differences", differences, [&](const ListDifference& one) {
      json.Member("change", one.mark == '+' ? "added" : one.mark == '-' ? "removed" : "changed");
      json.Member("image", base::InOneLine(one.image));
      json.Member("message", base::InOneLine(one.message));
    });
  });
}

std::vector<std::string> AliasNotes(const plan::ImageList& list, const status::StatusDocument& document) {
  std::set<std::string> listed;
  for (const plan::DesiredImage& desired : list.images) listed.insert(desired.reference.Normalized());
  std::map<std::string, const status::StatusImage*> here;
  for (const status::StatusImage& image : document.images) here.emplace(NormalizedOr(image.image), &image);
  std::vector<std::string> notes;
  for (const plan::DesiredImage& desired : list.images) {
    auto found = here.find(desired.reference.Normalized());
    if (found == here.end()) continue;
    for (const std::string& alias : status::OtherNames(found->second->image, found->second->aliases)) {
      // The list has this name as well.
      if (listed.count(NormalizedOr(alias)) != 0) continue;
      notes.push_back(base::Join(desired.from, ", ") + " " + desired.reference.written() +
                      " is also here as " + alias + ": kubelet judges both by one record; list it too");
    }
  }
  return notes;
}

}  // namespace prefetch::screen
