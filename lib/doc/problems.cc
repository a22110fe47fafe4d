#include "doc/problems.h"

#include <algorithm>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::doc {
namespace {

// A list of thousands that is wrong everywhere must not become a status of megabytes.
constexpr std::size_t kMostProblems = 100;

bool IsPlain(char c) {
  return c >= ' ' && c < 0x7f;
}

}  // namespace

void Problems::Add(Position at, std::string_view path, std::string_view message) {
  std::string text = path.empty() ? "" : std::string(path) + ": ";
  text.append(message);
  // A key of the document is part of the path. Most are plain, and of the others there may be a million.
  if (!std::all_of(text.begin(), text.end(), IsPlain)) text = base::InOneLine(text);
  Problem problem{at, std::move(text)};
  if (std::find(problems_.begin(), problems_.end(), problem) != problems_.end()) return;
  count_++;
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(problem));
}

bool Problems::Full() const {
  return problems_.size() == kMostProblems;
}

std::vector<std::string> Problems::Lines() const {
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.at < b.at; });
  std::vector<std::string> lines;
  for (const Problem& problem : sorted) {
    std::string where = source_;
    if (problem.at.line > 0) {
      where += ":" + std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column);
    }
    lines.push_back(where + ": " + problem.text);
  }
  if (count_ > problems_.size()) {
    lines.push_back(source_ + ": and " + std::to_string(count_ - problems_.size()) + " more");
  }
  return lines;
}

base::Status Problems::ToStatus() const {
  if (empty()) return {};
  return base::InvalidArgument(base::Join(Lines(), "\n"));
}

}  // namespace prefetch::doc
