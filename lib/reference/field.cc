#include "reference/field.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "doc/duration.h"

namespace prefetch::reference {
namespace {

// Maximum number of words in a cell. More would hide the meaning; the reasons, the only longer enum, have
// their own page.
constexpr std::size_t kMostWordsShown = 12;

std::string Code(std::string_view text) {
  return "`" + std::string(text) + "`";
}

// Returns "`a`, `b` or `c`".
std::string AnyOf(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); i++) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += Code(words[i]);
  }
  return text;
}

std::string Cell(const std::string& text) {
  return base::ReplaceAll(text, "|", "\\|");
}

std::string RangeOf(const Field& field) {
  if (field.form != Form::kInt) return "";
  if (field.least && field.most) {
    return " from " + std::to_string(*field.least) + " to " + std::to_string(*field.most);
  }
  return "";
}

}  // namespace

Fields Below(const std::string& path, Fields fields) {
  for (Field& field : fields) field.path = path + field.path;
  return fields;
}

void Append(Fields& fields, Fields more) {
  std::move(more.begin(), more.end(), std::back_inserter(fields));
}

bool IsValue(const Field& field) {
  switch (field.form) {
    case Form::kBool:
      return field.fallback == "true" || field.fallback == "false";
    case Form::kInt:
      return !field.fallback.empty() && field.fallback.find_first_not_of("-0123456789") == std::string::npos;
    case Form::kDuration:
      return doc::ParseDuration(field.fallback).has_value();
    case Form::kWord:
      return std::find(field.words.begin(), field.words.end(), field.fallback) != field.words.end();
    case Form::kText:
      // A text with a blank is a description of the default, not a value.
      return !field.fallback.empty() && field.fallback.find(' ') == std::string::npos;
    case Form::kObject:
    case Form::kObjects:
    case Form::kTexts:
    case Form::kMap:
    case Form::kTextOrMap:
    case Form::kTime:
      return false;
  }
  std::abort();
}

std::string TypeOf(const Field& field) {
  switch (field.form) {
    case Form::kObject:
      return "object";
    case Form::kObjects:
      return "list of objects";
    case Form::kTexts:
      return field.words.empty() ? "list of texts" : "list of " + AnyOf(field.words);
    case Form::kMap:
      return "map of texts";
    case Form::kTextOrMap:
      return "text, or map of texts";
    case Form::kText:
      return "text";
    case Form::kWord:
      return field.words.size() > kMostWordsShown ? "word" : AnyOf(field.words);
    case Form::kBool:
      return "boolean";
    case Form::kInt:
      return "integer" + RangeOf(field);
    case Form::kDuration:
      return "duration";
    case Form::kTime:
      return "time";
  }
  std::abort();
}

std::string TableOf(const Fields& fields, TableFor use, std::string_view without) {
  const bool defaults = use == TableFor::kInput;
  std::string table = defaults ? "| field | type | default | meaning |\n|---|---|---|---|\n"
                               : "| field | type | meaning |\n|---|---|---|\n";
  for (const Field& field : fields) {
    std::string_view path = field.path;
    // The heading above the table already names the object.
    if (path.starts_with(without)) path.remove_prefix(without.size());
    table += "| " + Code(path) + " | " + Cell(TypeOf(field)) + (field.nullable ? ", null" : "") + " | ";
    if (defaults) {
      const std::string fallback = IsValue(field) ? Code(field.fallback) : field.fallback;
      table += Cell(field.required ? "required" : fallback) + " | ";
    }
    table += Cell(field.help) + " |\n";
  }
  return table;
}

}  // namespace prefetch::reference
