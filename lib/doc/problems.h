// Problems: all that is wrong with one document, collected, so that a person repairs it in one go.
#pragma once

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

}  // namespace prefetch::doc
