// Problems: all mistakes of one document, collected, so that its author repairs it in one go.
// Columns: positions in characters instead of bytes.
// Limits and CheckText: the check of a text before any parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/node.h"

namespace prefetch::doc {

// One owner, one thread. Messages never quote a value of the document: it may be a password.
class Problems {
 public:
  // `source` is how messages name the document: "images.yaml".
  explicit Problems(std::string source) : source_(std::move(source)) {}

  // `path` is the way to the value: "images[3].image"; empty for the document itself. The same problem counts
  // once: a value that several others share (a template's defaults) is read for each of them.
  void Add(Position at, std::string_view path, std::string_view message);

  // Adds those of another reading of the same document.
  void Append(const Problems& others);

  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }
  // Enough was collected; further ones are only counted.
  bool Full() const;
  const std::string& source() const { return source_; }

  // In the order of the text, one line each: "images.yaml:12:5: images[3].image: must be a string". The last
  // line counts those that were one too many to keep.
  std::vector<std::string> Lines() const;
  // Success, or InvalidArgument with all the lines.
  base::Status ToStatus() const;

 private:
  struct Problem {
    Position at;
    std::string text;

    friend bool operator==(const Problem&, const Problem&) = default;
  };
  std::string source_;
  std::vector<Problem> problems_;
  std::size_t count_ = 0;
};

// Returns the number of characters (Unicode code points) of a text in UTF-8.
std::size_t CharactersIn(std::string_view text);

// Converts positions that parsers count in bytes to characters, as editors count them. Serves one text, which
// must outlive it. Not thread-safe. If positions ascend, as most do, it reads each byte once.
class Columns {
 public:
  explicit Columns(std::string_view text);

  // `bytes` has its column in bytes; line and column are counted from 1. A place that is no place stays one.
  Position InCharacters(Position bytes);

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  // of each line; empty: all characters are bytes
  Position last_;                    // the last answer …
  std::size_t last_bytes_ = 0;       // … and the column that it was made of
};

// Limits on the size of an untrusted document.
struct Limits {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 16;       // sequences and mappings inside each other
  std::size_t nodes = 200'000;  // after aliases are expanded: an alias bomb ends here
};

// The share of its Limits that a document, or a stream of them, has taken.
struct LimitUsage {
  std::size_t nodes = 0;
  std::size_t copied_bytes = 0;  // of anchors and aliases
};

// The limit of a text with objects of a cluster, for all commands: some 14,000 pods.
constexpr std::size_t kMostSavedBytes = 256U << 20;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the message for a text of more than `bytes` bytes.
std::string TooLong(std::size_t bytes);

// Each text passes this check before any parser. Returns `text` without its byte order mark; nullopt, with a
// problem added, if it is longer than `max_bytes`, is not UTF-8, or has control characters (a binary file) or
// a CR that no LF follows. Pure.
std::optional<std::string_view> CheckText(std::string_view text, std::size_t max_bytes, Problems& problems);

}  // namespace prefetch::doc
