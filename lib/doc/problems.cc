#include "doc/problems.h"

#include <algorithm>
#include <utility>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/parser_parts.h"

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

std::size_t CharactersIn(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      // Bytes 10xxxxxx continue a character of UTF-8.
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Columns::Columns(std::string_view text) : text_(text) {
  bool ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80U; });
  if (ascii) return;
  starts_.push_back(0);
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    starts_.push_back(at + 1);
  }
}

Position Columns::InCharacters(Position bytes) {
  if (bytes.line == 0 || bytes.line > starts_.size() || bytes.column < 2) return bytes;
  // Positions usually ascend within a line. Counting on from the last one keeps a long line from taking
  // quadratic time.
  bool goes_on = last_.line == bytes.line && last_bytes_ <= bytes.column;
  std::size_t counted = goes_on ? last_bytes_ - 1 : 0;
  std::size_t characters = goes_on ? last_.column - 1 : 0;
  std::size_t from = std::min(starts_[bytes.line - 1] + counted, text_.size());
  characters += CharactersIn(text_.substr(from, bytes.column - 1 - counted));
  last_ = {bytes.line, static_cast<std::uint32_t>(characters + 1)};
  last_bytes_ = bytes.column;
  return last_;
}

namespace {

// Returns true for a control character that is neither a tab nor a part of a line break.
bool IsForbiddenControl(std::string_view text, std::size_t i) {
  auto c = static_cast<unsigned char>(text[i]);
  if (c == '\r') return i + 1 == text.size() || text[i + 1] != '\n';
  return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F;
}

// Returns the offset of the first byte that belongs to no character.
std::size_t OffsetOfInvalidUtf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = base::CharacterAt(text, at).bytes;
    if (length == 0) break;
    at += length;
  }
  return at;
}

constexpr std::size_t kNodesOfShortTexts = 1 << 17;

}  // namespace

std::optional<std::string> Utf8OfUtf16(std::string_view text, std::string_view replacement) {
  const bool little = text.starts_with("\xFF\xFE");
  if (!little && !text.starts_with("\xFE\xFF")) return std::nullopt;
  auto unit = [&](std::size_t i) -> std::uint32_t {
    if (i + 1 >= text.size()) return 0;
    const auto first = static_cast<unsigned char>(text[i]);
    const auto second = static_cast<unsigned char>(text[i + 1]);
    return little ? first | second << 8 : second | first << 8;
  };
  std::string out;
  for (std::size_t i = 2; i < text.size(); i += 2) {
    const std::uint32_t c = unit(i), low = unit(i + 2);
    if ((c & 0xFC00) == 0xD800 && (low & 0xFC00) == 0xDC00) {
      base::AppendUtf8(out, 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF));
      i += 2;
    } else if ((c & 0xF800) == 0xD800 || i + 1 == text.size()) {
      out += replacement;
    } else {
      base::AppendUtf8(out, c);
    }
  }
  return out;
}

Position PositionAt(std::string_view text, std::size_t offset) {
  std::string_view before = text.substr(0, offset);
  std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
          static_cast<std::uint32_t>(CharactersIn(before.substr(line_start)) + 1)};
}

// A text has at most one value for every few bytes. So the limit of values grows with the text, and a short
// text cannot claim the memory of a long one.
Limits LimitsFor(std::size_t text_size, const Limits& limits, std::size_t bytes_of_a_node) {
  Limits fitting = limits;
  fitting.nodes = std::min(limits.nodes, std::max(kNodesOfShortTexts, text_size / bytes_of_a_node));
  return fitting;
}

std::string TooLong(std::size_t bytes) {
  return "is longer than " + std::to_string(bytes) + " bytes";
}

// Checks the text before the parser, so that parsers may assume valid characters and bounded size.
std::optional<std::string_view> CheckText(std::string_view text, std::size_t max_bytes, Problems& problems) {
  if (text.size() > max_bytes) {
    problems.Add({}, "", TooLong(max_bytes));
    return std::nullopt;
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t i = 0; i < text.size(); i++) {
    if (!IsForbiddenControl(text, i)) continue;
    problems.Add(PositionAt(text, i), "",
                 text[i] == '\r' ? "a carriage return must be followed by a line feed"
                                 : "is not text: there is a control character here");
    return std::nullopt;
  }
  if (!base::IsUtf8(text)) {
    problems.Add(PositionAt(text, OffsetOfInvalidUtf8(text)), "", "is not text in UTF-8");
    return std::nullopt;
  }
  return text;
}

}  // namespace prefetch::doc
