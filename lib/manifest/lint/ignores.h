// Ignores: the comments of one file that switch rules off where they stand.
//
//   image: quay.io/acme/app          # prefetchctl: ignore=PF201 the mirror is on this node
//
//   # prefetchctl: ignore=PF101,PF303 pulled by hand
//   - name: tool
//     image: tool:v1
//
// One behind a key is about that line; one that has its line to itself is about the next line that is
// neither blank nor a comment. On the first line of a container, volume or list entry it is about all of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "manifest/lint/finding.h"
#include "manifest/lint/selection.h"

namespace prefetch::manifest::lint {

// One owner, one thread: it remembers which of its comments were of use.
class Ignores {
 public:
  // `file` is how findings name it. JSON has no comments: nothing is found in it.
  static Ignores Read(const std::string& file, std::string_view text);

  bool empty() const { return comments_.empty() && bad_.empty(); }
  const std::string& file() const { return file_; }
  // Is a comment about this finding? That comment was then of use.
  bool Covers(const Finding& finding);

  // PF001: directives that cannot be parsed.
  const std::vector<Finding>& Bad() const { return bad_; }
  // PF002: which ids of rules that were looked at found nothing to ignore. After the last Covers().
  std::vector<Finding> Idle(const Selection& selection) const;

 private:
  struct Comment {
    RuleId rule = RuleId::kBadIgnore;
    doc::Position at;
    std::uint32_t line = 0;  // which it is about
    bool used = false;
  };

  void ReadComment(std::string_view words, doc::Position at, std::uint32_t line);
  void Refuse(doc::Position at, std::string message);

  std::string file_;
  std::vector<Comment> comments_;
  std::vector<Finding> bad_;
};

}  // namespace prefetch::manifest::lint
