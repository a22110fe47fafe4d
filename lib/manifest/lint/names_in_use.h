// NamesInUse: all names of all files, to find those that are one image by two names. Internal to
// manifest/lint.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "image/reference.h"
#include "manifest/lint/finding.h"

namespace prefetch::manifest::lint {

// One owner, one thread. Holds each name once, so it grows with names and not with manifests.
class NamesInUse {
 public:
  // In the order in which the later of two is to be blamed: the list first (`listed`).
  void Add(const image::Reference& reference, const Place& place, doc::Position block, bool listed = false);

  // A name that was written, with any tag or digest.
  bool IsUsed(const image::Reference& reference) const { return known_.contains(reference.Normalized()); }

  // Returns the findings of rule PF301, one for each name that came second. If the list has both names, there
  // is none, since the agent then prefetches both:
  //  - two spellings of a repository ("nginx", "docker.io/library/nginx");
  //  - a repository by tag and by digest;
  //  - a digest in two repositories;
  //  - a tag in two repositories if one may mirror the other: the same path of at least two parts in another
  //    registry, perhaps below a folder there ("quay.io/acme/app", "mirror.io/quay/acme/app").
  std::vector<Finding> TwoNames() const;

 private:
  struct Name {
    image::Reference reference;
    Place place;
    doc::Position block;
    bool listed = false;
  };
  static bool AreListed(const Name& a, const Name& b) { return a.listed && b.listed; }
  using Groups = std::unordered_map<std::string, std::vector<std::size_t>>;

  void Spellings(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const;
  void TagAndDigest(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const;
  void SameDigest(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const;
  void Mirrors(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const;

  std::vector<Name> names_;
  std::unordered_set<std::string> written_;  // the names in names_
  std::unordered_set<std::string> known_;    // the same, normalised
  Groups by_repository_, by_digest_, by_last_part_and_tag_;
};

}  // namespace prefetch::manifest::lint
