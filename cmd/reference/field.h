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
using doc::Row;

void Append(Fields& fields, Fields more);

// A text in a cell of a Markdown table, which a bar or a line break would end.
std::string CellText(const std::string& text);

// Is the text of `fallback` a value of this form? Else it is words: "the usual sockets".
bool IsValue(const Field& field);

// A Markdown table: path, type, default (of input), meaning. `without` is taken off the beginning of each
// path.
enum class TableFor { kInput, kOutput };
std::string TableOf(const Fields& fields, TableFor use, std::string_view without = "");

// Parts of the tables of fields. Internal to reference/.

// Fields of the configuration file without a flag and a variable.
Fields CredentialFields();
Fields LimitsFields();
Fields PreflightFields();

}  // namespace prefetch::reference
