// LabelledPage: labels at the left, paragraphs at the right, as `prefetchctl explain` prints.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "screen/text_layout.h"

namespace prefetch::screen {

inline constexpr std::size_t kPageIndent = 2;

class LabelledPage {
 public:
  explicit LabelledPage(std::size_t width) : room_(std::max(width, kLeastWidth) - kTextColumn) {}

  // One more paragraph under the label of the last Section().
  void Add(std::string_view text) {
    for (const std::string& line : Wrap(text, room_)) {
      text_ += PadRight(label_, kTextColumn) + line + "\n";
      label_.clear();
    }
  }
  // The same, with a mark that the further lines are aligned behind.
  void AddMarked(const std::string& mark, std::string_view text) {
    std::size_t indent = DisplayWidth(mark) + 1;
    std::string before = mark + " ";
    for (const std::string& line : Wrap(text, room_ - indent)) {
      text_ += PadRight(label_, kTextColumn) + before + line + "\n";
      label_.clear();
      before.assign(indent, ' ');
    }
  }
  void Section(const std::string& label, std::string_view text = "", std::size_t indent = kPageIndent) {
    label_ = std::string(indent, ' ') + label;
    Add(text);
  }
  // A line that leads to the next sections.
  void Lead(std::string_view text) { text_ += std::string(kPageIndent, ' ') + std::string(text) + "\n"; }
  void Title(std::string_view text) { text_ += base::ReplaceAll(text, "\n", " ") + "\n\n"; }

  std::string Take() { return std::move(text_); }

 private:
  static constexpr std::size_t kTextColumn = 18;  // behind the longest label, "    IfNotPresent"
  std::size_t room_;
  std::string label_;
  std::string text_;
};

}  // namespace prefetch::screen
