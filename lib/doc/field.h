// Field: one member of a document that people write or read. The tables of fields are the source of the JSON
// Schemas and of the reference pages. Facts that the program has elsewhere (defaults, limits, words of an
// enum, settings) are taken from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace prefetch::doc {

enum class Form {
  kObject,     // its members are the fields whose paths begin with "path."
  kObjects,    // a list; the members of an item begin with "path[]."
  kTexts,      // a list of texts
  kMap,        // names and texts
  kTextOrMap,  // either
  kText,
  kWord,  // one of `words`
  kBool,
  kInt,
  kDuration,  // "90s", "1h30m"
  kTime,      // RFC 3339
};

struct Field {
  std::string path;  // "images[].pull.state"
  Form form = Form::kText;
  std::string help;                // sentences, without the default
  bool required = false;           // the document must have it; of the program's documents: always there
  bool nullable = false;           // may be null; in input, every field that is not required may
  bool hidden = false;             // of the program's documents: only known callers see it, and all below it
  std::vector<std::string> words;  // of kWord, and of the items of kTexts; empty: any
  bool more_words = false;         // later versions may know more of them
  std::string fallback;            // the value that counts if the field is missing, or words for it
  std::optional<std::int64_t> least, most;
  std::string pattern;  // of a text, of the items of kTexts and kMap, and of a duration that not every one is
  std::size_t least_items = 0, most_items = 0;  // 0: no limit
};

using Fields = std::vector<Field>;

// Returns a row of such a table; `rest` has the other members.
inline Field Row(std::string path, Form form, std::string help, Field rest = {}) {
  rest.path = std::move(path);
  rest.form = form;
  rest.help = std::move(help);
  return rest;
}

// The members that each document begins with.
inline Fields FormatFields(std::string_view version, std::string_view kind) {
  return {Row("apiVersion", Form::kWord, "Version of the format",
              {.required = true, .words = {std::string(version)}}),
          Row("kind", Form::kWord, "Kind of the document", {.required = true, .words = {std::string(kind)}})};
}

}  // namespace prefetch::doc
