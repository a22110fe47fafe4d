// Tables of fields as Markdown, and work on these tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doc/field.h"

namespace prefetch::reference {

using doc::Field;
using doc::Fields;
using doc::Form;
using doc::FormatFields;
using doc::WordsOf;

// `fields` below another path: "verdicts" and "Never" give "verdicts.Never".
Fields Below(const std::string& path, Fields fields);
void Append(Fields& fields, Fields more);

// Is the text of `fallback` a value of this form? Else it is words: "the usual sockets".
bool IsValue(const Field& field);

// A Markdown table: path, type, default (of input), meaning. `without` is taken off the beginning of each
// path.
enum class TableFor { kInput, kOutput };
std::string TableOf(const Fields& fields, TableFor use, std::string_view without = "");
// "duration", "`Keep` or `NotReady`", "list of texts".
std::string TypeOf(const Field& field);

}  // namespace prefetch::reference
