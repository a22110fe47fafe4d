#include "doc/problems.h"

#include <algorithm>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"

namespace prefetch::doc {
namespace {

// Maximum number of problems that are kept. A list with thousands of mistakes must not make a status of
// megabytes.
constexpr std::size_t kMostProblems = 100;

bool IsPlain(char c) {
  return c >= ' ' && c < 0x7f;
}

}  // namespace

void Problems::Add(Position at, std::string_view path, std::string_view message) {
  std::string text = path.empty() ? "" : std::string(path) + ": ";
  text.append(message);
  // The path contains keys of the document, which may have line breaks. Most are plain, and there may be a
  // million, so this check comes first.
  if (!std::all_of(text.begin(), text.end(), IsPlain)) text = base::InOneLine(text);
  Problem problem{at, std::move(text)};
  // Several readers of one node report the same mistake.
  if (std::find(problems_.begin(), problems_.end(), problem) != problems_.end()) return;
  count_++;
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(problem));
}

void Problems::Append(const Problems& others) {
  for (const Problem& problem : others.problems_) Add(problem.at, "", problem.text);
}

bool Problems::Full() const {
  return problems_.size() == kMostProblems;
}

std::vector<std::string> Problems::Lines() const {
  std::vector<Problem> sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Problem& a, const Problem& b) { return a.at < b.at; });
  std::vector<std::string> lines;
  // The name of a file may hold any byte; messages show what a terminal may get.
  const std::string source = base::InOneLine(source_);
  for (const Problem& problem : sorted) {
    std::string where = source;
    if (problem.at.line > 0) {
      where += ":" + std::to_string(problem.at.line) + ":" + std::to_string(problem.at.column);
    }
    lines.push_back(where + ": " + problem.text);
  }
  if (count_ > problems_.size()) {
    lines.push_back(source + ": and " + std::to_string(count_ - problems_.size()) + " more");
  }
  return lines;
}

base::Status Problems::ToStatus() const {
  if (empty()) return {};
  return base::InvalidArgument(base::Join(Lines(), "\n"));
}

}  // namespace prefetch::doc
