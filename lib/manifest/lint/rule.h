// Rule: a rule of `prefetchctl lint`, one row each: stable ids, severities and words.
// deploy/docs/reference/lint.md shows them.
// Finding: one violation of a rule at one place.
// Selection: the rules that are checked.
// Ignores: the comments of one file that switch rules off.
#pragma once

#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/node.h"
#include "manifest/image_use.h"

namespace prefetch::manifest::lint {

enum class Severity { kNote, kWarning, kError };
std::string_view SeverityName(Severity severity);  // "note", "warning", "error"

// In the order of their ids.
enum class RuleId {
  kBadIgnore,
  kIdleIgnore,
  kNotListed,
  kListedOnly,
  kNeverUnlisted,
  kOtherPlatform,
  kNotReadyAs,
  kStepAction,
  kNotRead,
  kUnresolvedImage,
  kImplicitAlways,
  kExplicitAlways,
  kNeverMovingTag,
  kWeakerCheck,
  kTwoNames,
  kPullSecrets,
  kShortName,
  kInvalidReference,
};

struct Rule {
  RuleId rule;
  std::string_view id;    // "PF101"; never given to another rule
  std::string_view name;  // "image-not-listed"
  Severity severity;
  std::string_view summary;  // one sentence
  std::string_view help;     // consequence and remedy
};

// Returns all rules; the index is the RuleId.
std::span<const Rule> Rules();
const Rule& RuleOf(RuleId rule);
// Returns the rule of that id, in any case; nullptr if there is none.
const Rule* FindRule(std::string_view id);

// A place in a file.
struct Place {
  std::string file;  // as it was named: "deploy/app.yaml", "stdin"
  doc::Position at;

  friend bool operator==(const Place&, const Place&) = default;
};

// One violation of a rule at one place. A value.
struct Finding {
  RuleId rule = RuleId::kNotListed;
  Place place;          // of the very key
  doc::Position block;  // where the container, volume or entry begins that the key belongs to
  std::string message;  // one sentence without its full stop; names image and container
  // The other end, of a finding with two.
  std::optional<Place> other;
  std::string other_message;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// A finding at the key of a use's image.
Finding AtImage(RuleId rule, const ImageUse& use, std::string message);
// At the key of its policy; where none is written, at the image's, where it would stand.
Finding AtPolicy(RuleId rule, const ImageUse& use, std::string message);

// `quay.io/acme/app:v1 (container "app")`.
std::string UseTitle(const ImageUse& use);

// The rules that are checked; all by default. A value.
class Selection {
 public:
  Selection() { rules_.set(); }
  // Ids, or beginnings of them ("PF2"), with commas between them or one by one: those of `select` (all, if it
  // is empty) without those of `ignore`. InvalidArgument for one that is the beginning of no rule's id.
  static base::Result<Selection> Make(const std::vector<std::string>& select,
                                      const std::vector<std::string>& ignore);

  bool Has(RuleId rule) const { return rules_.test(static_cast<std::size_t>(rule)); }

 private:
  static constexpr std::size_t kRules = static_cast<std::size_t>(RuleId::kInvalidReference) + 1;
  static base::Result<std::bitset<kRules>> Parse(const std::vector<std::string>& words, const char* flag);

  std::bitset<kRules> rules_;
};

// The comments of one file that switch rules off where they stand.
//
//   image: quay.io/acme/app          # prefetchctl: ignore=PF201 the mirror is on this node
//
//   # prefetchctl: ignore=PF101,PF303 pulled by hand
//   - name: tool
//     image: tool:v1
//
// A comment at the end of a line applies to that line. A comment on its own line applies to the next line
// that is neither blank nor a comment. On the first line of a container, volume or list entry it applies to
// all of it.
//
// One owner, one thread: it remembers which of its comments have matched.
class Ignores {
 public:
  // `file` is how findings name it. JSON has no comments: nothing is found in it.
  static Ignores Read(const std::string& file, std::string_view text);

  bool empty() const { return comments_.empty() && invalid_.empty(); }
  const std::string& file() const { return file_; }
  // Returns whether a comment applies to this finding, and records that the comment has matched.
  bool Covers(const Finding& finding);

  // PF001: directives that cannot be parsed.
  const std::vector<Finding>& Invalid() const { return invalid_; }
  // PF002: the ids of checked rules that found nothing to ignore. Call it after the last Covers().
  std::vector<Finding> Idle(const Selection& selection) const;

 private:
  struct Comment {
    RuleId rule = RuleId::kBadIgnore;
    doc::Position at;
    std::uint32_t line = 0;  // that it applies to
    bool used = false;
  };

  void ReadComment(std::string_view words, doc::Position at, std::uint32_t line);
  void AddInvalid(doc::Position at, std::string message);

  std::string file_;
  std::vector<Comment> comments_;
  std::vector<Finding> invalid_;
};

}  // namespace prefetch::manifest::lint
