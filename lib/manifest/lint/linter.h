// Linter: checks manifests, file by file, against lists; and then all files together.
// NamesInUse: the names of all files.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "image/reference.h"
#include "manifest/lint/rule.h"
#include "manifest/lint/rules.h"
#include "manifest/read.h"

namespace prefetch::manifest::lint {

// All names of all files, to find those that are one image by two names. Internal to manifest/lint. One
// owner, one thread. Holds each name once, so it grows with names and not with manifests.
class NamesInUse {
 public:
  // Adds a name. The finding is at the name that was added later, so the names of the list (`listed`) come
  // first.
  void Add(const image::Reference& reference, const Place& place, doc::Position block, bool listed = false);

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
  // The finding is at `name`, which came after `first`.
  static Finding AtSecond(const Name& name, const Name& first, std::string message);
  using Groups = std::unordered_map<std::string, std::vector<std::size_t>>;

  void Different(const std::vector<std::size_t>& names, const std::string& what,
                 std::string_view (*part)(const image::Reference&), std::vector<Finding>& findings) const;
  void TagAndDigest(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const;
  void Mirrors(const std::vector<std::size_t>& names, std::vector<Finding>& findings) const;

  std::vector<Name> names_;
  std::unordered_set<std::string> written_;  // the names in names_
  Groups by_repository_, by_digest_, by_last_part_and_tag_;
};

// The limit of findings that a run keeps; it only counts the rest.
constexpr std::size_t kMostFindings = 10'000;

// A file that was not read, or only in part.
struct Unread {
  std::string file;     // empty: none in particular
  std::string mistake;  // a sentence, with its place
};

struct LintResult {
  std::vector<Finding> findings;        // file by file in the order of Add, lists last; by place in a file
  std::array<std::size_t, 3> counts{};  // findings of each Severity, dropped ones included
  std::size_t dropped = 0;              // findings beyond kMostFindings, which are only counted
  std::size_t files = 0, pods = 0, uses = 0;  // that were looked at
  std::vector<Unread> unread;                 // filled in by the reader of the files
  std::vector<UnseenImage> objects;           // of PF107

  // An error or a warning: exit code 1. Notes do not count.
  bool Fails() const { return counts[1] + counts[2] > 0; }
  // Returns true if nothing is wrong, and nothing was left out.
  bool Clean() const { return !Fails() && unread.empty(); }
};

// Not thread-safe. It does no I/O. Its memory grows with the names of images and with findings, not with
// manifests.
class Linter {
 public:
  // `list_ignores` are those of the lists' files.
  Linter(ListedImages listed, std::vector<Ignores> list_ignores, Selection selection);

  // Checks the manifests of one file. Call it once for each file. `ignores` are those of the same file.
  void Add(const Manifests& manifests, Ignores ignores);
  // Returns the result. Call it once, after the last Add.
  LintResult Finish();

 private:
  // The strongest policy that a container which is no check has for an image, over all files.
  struct Strongest {
    image::PullPolicy policy = image::PullPolicy::kNever;
    Place place;
    std::string subject;
  };

  void AddUnreadObject(const UnseenImage& object, Ignores& ignores);
  void Pods(const std::vector<ImageUse>& uses, Findings& findings);
  void Remember(const ImageUse& use, bool weak_in_pod);
  void ListedOnly(Findings& findings) const;
  void WeakerChecks(Findings& findings) const;
  void AddFindings(Findings findings, Ignores* ignores);
  void Store(Finding finding);

  ListedImages listed_;
  Selection selection_;
  NamesInUse names_;
  std::unordered_set<std::string> used_;  // normalised names in manifests
  std::unordered_map<std::string, Strongest> strongest_;
  std::vector<ImageUse> checks_;  // those that may turn out to be weaker than a container of another pod
  std::unordered_map<std::string, Ignores> ignores_;  // by file; only of those that have any
  std::unordered_map<std::string, std::size_t> file_order_;
  std::size_t lists_ = 0;  // the first numbers of file_order_ are the lists', which come last in the result
  LintResult result_;
};

}  // namespace prefetch::manifest::lint
