#include "manifest/lint/names_in_use.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "image/written_name.h"

namespace prefetch::manifest::lint {
namespace {

// Maximum number of names with the same last part and tag ("app:v1") that are compared pairwise, since the
// effort grows with the square.
constexpr std::size_t kMostCompared = 64;

std::string LastPartAndTag(const image::Reference& reference) {
  const std::string& path = reference.path();
  return path.substr(path.rfind('/') + 1) + ":" + reference.tag();  // npos + 1 is 0
}

bool EndsWithPath(std::string_view name, std::string_view path) {
  return name.ends_with(path) && (name.size() == path.size() || name[name.size() - path.size() - 1] == '/');
}

// A mirror usually keeps the path, perhaps below a prefix. One component ("app") is too common to be a sign.
bool MayMirror(const image::Reference& a, const image::Reference& b) {
  if (a.domain() == b.domain()) return false;
  if (a.path() == b.path()) return a.path().find('/') != std::string::npos;
  const image::Reference& shorter = a.path().size() < b.path().size() ? a : b;
  const image::Reference& longer = a.path().size() < b.path().size() ? b : a;
  return shorter.path().find('/') != std::string::npos && EndsWithPath(longer.path(), shorter.path());
}

}  // namespace

void NamesInUse::Add(const image::Reference& reference, const Place& place, doc::Position block,
                     bool listed) {
  // One finding for each spelling, at its first use.
  if (!written_.insert(reference.written()).second) return;
  known_.insert(reference.Normalized());
  std::size_t index = names_.size();
  names_.push_back({reference, place, block, listed});
  by_repository_[reference.Repository()].push_back(index);
  if (reference.has_digest()) {
    by_digest_[reference.digest()].push_back(index);
  } else {
    by_last_part_and_tag_[LastPartAndTag(reference)].push_back(index);
  }
}

namespace {

struct Pair {
  const Place& second;
  doc::Position block;
  const Place& first;
};

Finding TwoNamesFinding(const Pair& pair, std::string message, const std::string& first_name) {
  return {.rule = RuleId::kTwoNames,
          .place = pair.second,
          .block = pair.block,
          .message = std::move(message),
          .other = pair.first,
          .other_message = first_name + " is named here"};
}

}  // namespace

// Finds one repository in several spellings, such as "nginx" and "docker.io/library/nginx".
void NamesInUse::Spellings(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const {
  const Name& first = names_[names.front()];
  std::unordered_set<std::string_view> reported = {image::WrittenName(first.reference.written())};
  for (std::size_t i : names) {
    const Name& name = names_[i];
    if (!reported.insert(image::WrittenName(name.reference.written())).second || AreListed(first, name))
      continue;
    findings.push_back(TwoNamesFinding(
        {name.place, name.block, first.place},
        "one repository by two names: " + std::string(image::WrittenName(name.reference.written())) +
            " here, " + std::string(image::WrittenName(first.reference.written())) + " in " +
            first.place.file,
        first.reference.written()));
  }
}

// Finds one repository by tag in one place and by digest in another. The two may be different images.
void NamesInUse::TagAndDigest(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const {
  const Name& first = names_[names.front()];
  auto other = std::find_if(names.begin(), names.end(), [&](std::size_t i) {
    return names_[i].reference.has_digest() != first.reference.has_digest() && !AreListed(first, names_[i]);
  });
  if (other == names.end()) return;
  const Name& name = names_[*other];
  bool digest = name.reference.has_digest();
  findings.push_back(TwoNamesFinding({name.place, name.block, first.place},
                                     first.reference.Repository() + " by " + (digest ? "digest" : "tag") +
                                         " here and by " + (digest ? "tag" : "digest") + " in " +
                                         first.place.file + ": " + name.reference.written() + ", " +
                                         first.reference.written(),
                                     first.reference.written()));
}

// Finds one image under the names of several repositories.
void NamesInUse::SameDigest(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const {
  const Name& first = names_[names.front()];
  std::unordered_set<std::string_view> reported = {first.reference.Repository()};
  for (std::size_t i : names) {
    const Name& name = names_[i];
    if (!reported.insert(name.reference.Repository()).second || AreListed(first, name)) continue;
    findings.push_back(TwoNamesFinding({name.place, name.block, first.place},
                                       "the same digest in two repositories: " + name.reference.Repository() +
                                           " here, " + first.reference.Repository() + " in " +
                                           first.place.file,
                                       first.reference.written()));
  }
}

// Finds names that one image may have in two registries. Each name is compared with the earlier ones, and is
// reported once.
void NamesInUse::Mirrors(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const {
  std::size_t most = std::min(names.size(), kMostCompared);
  for (std::size_t i = 1; i < most; i++) {
    const Name& name = names_[names[i]];
    auto first =
        std::find_if(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), [&](std::size_t j) {
          return MayMirror(names_[j].reference, name.reference) && !AreListed(names_[j], name);
        });
    if (first == names.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const Name& other = names_[*first];
    findings.push_back(TwoNamesFinding({name.place, name.block, other.place},
                                       "perhaps one image in two registries: " + name.reference.written() +
                                           " here, " + other.reference.written() + " in " + other.place.file,
                                       other.reference.written()));
  }
}

std::vector<Finding> NamesInUse::TwoNames() const {
  std::vector<Finding> findings;
  for (const auto& group : by_repository_) {
    Spellings(group.second, findings);
    TagAndDigest(group.second, findings);
  }
  for (const auto& group : by_digest_) SameDigest(group.second, findings);
  for (const auto& group : by_last_part_and_tag_) Mirrors(group.second, findings);
  return findings;
}

}  // namespace prefetch::manifest::lint
