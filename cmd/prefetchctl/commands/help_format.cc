#include "commands/help_format.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "screen/text_layout.h"

namespace prefetch::ctl {
namespace {

constexpr std::size_t kColumn = 34;
constexpr std::size_t kLongestLabel = 60;
constexpr std::size_t kMargin = 6;  // Indentation of wrapped rows.

// CLI11's own format also lists which options need or exclude each other. Groups and footers say that in
// words here.
class Format : public CLI::Formatter {
 public:
  Format() { column_width(kColumn); }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string out = " " + get_label(ValueLabel(*option));
    if (!option->get_default_str().empty()) out += " [" + option->get_default_str() + "]";
    if (option->get_required()) out += " " + get_label("REQUIRED");
    return out;
  }
};

std::string WrappedParagraph(const std::vector<std::string_view>& lines, std::size_t width) {
  std::string text;
  for (std::string_view line : lines) text += std::string(line) + "\n";
  // A paragraph that fits keeps its line breaks, which its author chose.
  const bool fits = std::all_of(lines.begin(), lines.end(),
                                [&](std::string_view line) { return screen::DisplayWidth(line) <= width; });
  if (fits) return text;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return base::Join(screen::Wrap(text, width), "\n") + "\n";
}

// Wraps " --flag TEXT description": the flag on its own line, and the description below it.
std::string WrappedRow(std::string_view row, std::size_t width) {
  const std::size_t begin = row.find_first_not_of(' ');
  std::size_t column = row.find("  ", begin);
  if (column == std::string_view::npos && row.size() > kColumn && row[kColumn - 1] == ' ')
    column = kColumn - 1;
  const std::string margin(std::min<std::size_t>(begin, kMargin), ' '), deeper(kMargin, ' ');
  std::string text;
  const auto add = [&](std::string_view words, const std::string& first) {
    for (const std::string& line : screen::Wrap(words, width - kMargin)) {
      text += (text.empty() ? first : deeper) + line + "\n";
    }
  };
  add(row.substr(begin, column == std::string_view::npos ? column : column - begin), margin);
  if (column != std::string_view::npos) add(row.substr(row.find_first_not_of(' ', column)), deeper);
  return text;
}

}  // namespace

// CLI11 has no list of an option's values, only a text: "{text,json}" of IsMember, or "value in
// {text->0,json->1} OR {0,1}" of a transformer. Both have the words in the first braces.
std::vector<std::string> ValuesOf(const CLI::Option& option) {
  std::string type = option.get_type_name();
  std::size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> values;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return values;
  for (std::string_view word : base::Split(std::string_view(type).substr(begin + 1, end - begin - 1), ',')) {
    values.emplace_back(word.substr(0, word.find("->")));
  }
  return values;
}

std::string ValueLabel(const CLI::Option& option) {
  std::string values = base::Join(ValuesOf(option), "|");
  // Longer lists, such as that of platforms, would fill the page. Descriptions contain them.
  if (!values.empty() && values.size() <= kLongestLabel) return values;
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string WrappedHelp(const std::string& help, std::size_t width) {
  std::string text;
  std::vector<std::string_view> paragraph;
  const auto finish = [&] {
    text += WrappedParagraph(paragraph, width);
    paragraph.clear();
  };
  bool examples = false;
  for (std::string_view line : base::Split(std::string_view(help), '\n')) {
    const bool is_text = !line.empty() && line.front() != ' ';
    if (!is_text || line.starts_with("Usage:")) finish();
    // Examples are copied, so their lines are never wrapped. They are the end of every help text.
    examples = examples || line == "Examples:";
    if (is_text && !examples) {
      paragraph.push_back(line);
      if (line.starts_with("Usage:")) finish();
    } else {
      text += examples || screen::DisplayWidth(line) <= width ? std::string(line) + "\n"
                                                              : WrappedRow(line, width);
    }
  }
  finish();
  if (!text.empty()) text.pop_back();  // Split found an empty line after the last newline
  return text;
}

std::shared_ptr<CLI::FormatterBase> HelpFormat() {
  return std::make_shared<Format>();
}

}  // namespace prefetch::ctl
