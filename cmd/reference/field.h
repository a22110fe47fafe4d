// Tables of fields as Markdown, and work on these tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/field.h"
#include "image/reference.h"

namespace prefetch::reference {

using doc::Field;
using doc::Fields;
using doc::Form;
using doc::FormatFields;
using doc::WordsOf;

// `fields` below another path: "verdicts" and "Never" give "verdicts.Never".
Fields WithPrefix(const std::string& path, Fields fields);
void Append(Fields& fields, Fields more);

// A text in a cell of a Markdown table, which a bar or a line break would end.
std::string CellText(const std::string& text);

// Is the text of `fallback` a value of this form? Else it is words: "the usual sockets".
bool IsValue(const Field& field);

// A Markdown table: path, type, default (of input), meaning. `without` is taken off the beginning of each
// path.
enum class TableFor { kInput, kOutput };
std::string TableOf(const Fields& fields, TableFor use, std::string_view without = "");
// "duration", "`Keep` or `NotReady`", "list of texts".
std::string TypeOf(const Field& field);

// Parts of the tables of fields. Internal to reference/.

// Fields of the configuration file without a flag and a variable.
Fields CredentialFields();
Fields LimitsFields();
Fields PreflightFields();

// The words of imagePullPolicy.
inline std::vector<std::string> PolicyWords() {
  return WordsOf(image::PullPolicy::kAlways, image::PullPolicyName);
}

}  // namespace prefetch::reference
