#include "doc/block_edit.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>

#include "base/text.h"
#include "doc/write.h"

namespace prefetch::doc {
namespace {

using Lines = std::vector<std::string_view>;

// Replaces `removed` lines from `line` on, counted from 0, by `added`.
struct LineEdit {
  std::size_t line = 0;
  std::size_t removed = 0;
  std::vector<std::string> added;
  bool of_new_key = false;  // which is the first of `added`
};

std::size_t IndentOf(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool IsBlank(std::string_view line) {
  return IndentOf(line) == line.size();
}

// Returns the first line of the comments right above `line`. They describe what begins there, so new lines go
// before them.
std::size_t AboveComments(std::size_t line, const Lines& lines) {
  const std::size_t indent = IndentOf(lines[line]);
  while (line > 0 && IndentOf(lines[line - 1]) == indent && lines[line - 1].substr(indent).starts_with("#"))
    line--;
  return line;
}

// Returns the column of an item's dash: "- name: x". nullopt: the dash is not on the line on which the
// content begins (or the sequence is in flow style), so lines cannot be inserted.
std::optional<std::size_t> DashOf(const Node& item, const Lines& lines) {
  if (item.at.line == 0 || item.at.line > lines.size()) return std::nullopt;
  const std::string_view before = lines[item.at.line - 1].substr(0, item.at.column - 1);
  const std::size_t dash = IndentOf(before);
  if (dash >= before.size() || before[dash] != '-') return std::nullopt;
  return IsBlank(before.substr(dash + 1)) ? std::optional<std::size_t>(dash) : std::nullopt;
}

// Returns the item as lines of a block sequence with its dash at `indent`.
std::vector<std::string> Rendered(const Node& item, std::size_t indent) {
  std::vector<std::string> lines;
  const std::string text = WriteYaml(Node::Sequence({item}));
  for (std::string_view line : base::Split(text, '\n')) {
    if (!line.empty()) lines.push_back(std::string(indent, ' ') + std::string(line));
  }
  return lines;
}

// Returns the number of lines of an item: all that are indented more than its dash. Blank lines at the end do
// not count, since they separate it from the next part.
std::size_t LengthOf(std::size_t first, std::size_t dash, const Lines& lines) {
  std::size_t end = first + 1;
  for (std::size_t at = end; at < lines.size(); at++) {
    if (IsBlank(lines[at])) continue;
    if (IndentOf(lines[at]) <= dash) break;
    end = at + 1;
  }
  return end - first;
}

// An item of the same name is replaced. A new one goes to the front, above the comments of the first.
std::optional<LineEdit> EditSequence(const Node& sequence, const Node& item, const Lines& lines) {
  for (const Node& one : sequence.items) {
    if (TextAt(one, {"name"}) != TextAt(item, {"name"})) continue;
    auto dash = DashOf(one, lines);
    if (!dash) return std::nullopt;
    const std::size_t line = one.at.line - 1;
    return LineEdit{line, LengthOf(line, *dash, lines), Rendered(item, *dash)};
  }
  auto dash = DashOf(sequence.items.front(), lines);
  if (!dash) return std::nullopt;
  return LineEdit{AboveComments(sequence.items.front().at.line - 1, lines), 0, Rendered(item, *dash)};
}

// Fills an empty `key:` on its own line. Its comment stays.
std::optional<LineEdit> EditEmptyKey(const Member& there, const NamedItem& put, const Lines& lines) {
  if (there.at.line == 0 || there.at.line > lines.size() || !there.value.members.empty()) return std::nullopt;
  const std::string_view line = lines[there.at.line - 1];
  const std::size_t indent = there.at.column - 1;
  if (IndentOf(line) != indent || !line.substr(indent).starts_with(put.key + ":")) return std::nullopt;
  std::string_view rest = line.substr(indent + put.key.size() + 1);
  const std::string_view comment = rest.substr(std::min(rest.find('#'), rest.size()));
  rest = base::TrimSpace(rest.substr(0, rest.size() - comment.size()));
  if (!rest.empty() && rest != "[]" && rest != "null" && rest != "~") return std::nullopt;
  LineEdit edit{there.at.line - 1, 1, Rendered(put.item, indent), true};
  edit.added.insert(edit.added.begin(), std::string(indent, ' ') + put.key + ":" +
                                            (comment.empty() ? "" : "  ") + std::string(comment));
  return edit;
}

// Returns nullopt if the text is written in a way that lines cannot change, such as flow style.
std::optional<LineEdit> EditFor(const NamedItem& put, const Lines& lines) {
  if (const Member* there = put.mapping->FindMember(put.key)) {
    return there->value.items.empty() ? EditEmptyKey(*there, put, lines)
                                      : EditSequence(there->value, put.item, lines);
  }
  const Member* next = put.mapping->FindMember(put.before);
  if (next == nullptr || next->at.line == 0 || next->at.line > lines.size()) return std::nullopt;
  const std::size_t indent = next->at.column - 1;
  if (IndentOf(lines[next->at.line - 1]) != indent) return std::nullopt;
  // The indentation of dashes follows the neighbouring list, since both styles are common.
  auto dash = next->value.items.empty() ? indent : DashOf(next->value.items.front(), lines);
  if (!dash) return std::nullopt;
  LineEdit edit{AboveComments(next->at.line - 1, lines), 0, Rendered(put.item, *dash), true};
  edit.added.insert(edit.added.begin(), std::string(indent, ' ') + put.key + ":");
  return edit;
}

}  // namespace

std::optional<std::string> PutIntoText(std::string_view text, const std::vector<NamedItem>& items) {
  if (text.find('\r') != std::string_view::npos) {
    // The text has Windows line breaks. With a mixture of both, the edited text would differ in lines that
    // nobody changed.
    const std::string plain = base::ReplaceAll(text, "\r\n", "\n");
    if (base::ReplaceAll(plain, "\n", "\r\n") != text) return std::nullopt;
    auto edited = PutIntoText(plain, items);
    return edited ? std::optional(base::ReplaceAll(*edited, "\n", "\r\n")) : std::nullopt;
  }
  const Lines lines = base::Split(text, '\n');
  std::deque<LineEdit> edits;
  std::map<std::pair<const Node*, std::string>, LineEdit*> inserted;
  for (const NamedItem& put : items) {
    auto edit = EditFor(put, lines);
    if (!edit) return std::nullopt;
    LineEdit*& same = inserted[{put.mapping, put.key}];
    const bool inserts = edit->removed == 0 || edit->of_new_key;
    if (inserts && same != nullptr) {
      // The newest item comes first, as PutNamed does it in the tree.
      const std::ptrdiff_t key = same->of_new_key ? 1 : 0;
      same->added.insert(same->added.begin() + key, edit->added.begin() + key, edit->added.end());
      continue;
    }
    edits.push_back(*std::move(edit));
    if (inserts) same = &edits.back();
  }
  std::stable_sort(edits.begin(), edits.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
  std::vector<std::string> out;
  std::size_t at = 0;
  for (LineEdit& edit : edits) {
    if (edit.line < at) return std::nullopt;  // Two edits of the same lines.
    for (; at < edit.line; at++) out.emplace_back(lines[at]);
    for (std::string& line : edit.added) out.push_back(std::move(line));
    at += edit.removed;
  }
  for (; at < lines.size(); at++) out.emplace_back(lines[at]);
  return base::Join(out, "\n");
}

void PutNamed(Node& mapping, std::string_view key, Node item, std::string_view before) {
  Node* sequence = Find(mapping, key);
  if (sequence == nullptr) {
    auto next = std::find_if(mapping.members.begin(), mapping.members.end(),
                             [&](const Member& member) { return member.key == before; });
    mapping.members.insert(next, {std::string(key), {}, Node::Sequence({std::move(item)})});
    return;
  }
  if (sequence->kind != Node::Kind::kSequence) *sequence = Node::Sequence({});
  for (Node& one : sequence->items) {
    if (TextAt(one, {"name"}) != TextAt(item, {"name"})) continue;
    one = std::move(item);
    return;
  }
  sequence->items.insert(sequence->items.begin(), std::move(item));
}

}  // namespace prefetch::doc
