#include "commands/help_format.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "base/text.h"

namespace prefetch::ctl {
namespace {

constexpr std::size_t kColumn = 34;
constexpr std::size_t kLongestLabel = 60;

// Which options go together is said by their groups and footers.
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

}  // namespace

// "{text,json}" of IsMember, "value in {text->0,json->1} OR {0,1}" of a transformer: the words of the first
// braces.
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
  if (!values.empty() && values.size() <= kLongestLabel) return values;
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::shared_ptr<CLI::FormatterBase> HelpFormat() {
  return std::make_shared<Format>();
}

}  // namespace prefetch::ctl
