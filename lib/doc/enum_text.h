// EnumText: an enumerator in a document, by its name. The writer of a document may be of another version than
// its reader, so a name that this program does not know is kept as it is. Comparisons take enumerators, not
// texts: a misspelt name does not compile.
//
// The parameters are the last enumerator and the function that names them:
//   using PhaseText = EnumText<Phase::kFailing, base::EnumName<Phase>>;
//
// A value; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doc/field.h"

namespace prefetch::doc {

template <auto kLast, auto kName>
class EnumText {
 public:
  using Enum = decltype(kLast);

  EnumText() = default;  // empty: the document does not say
  // Implicit, so that members are set by enumerators; and by names, which a document may have any of.
  EnumText(Enum value) : text_(kName(value)) {}           // NOLINT
  EnumText(std::string name) : text_(std::move(name)) {}  // NOLINT
  EnumText(const char* name) : text_(name) {}             // NOLINT

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Returns the value; nullopt if the text is empty, or a name that this program does not know.
  std::optional<Enum> value() const {
    for (int i = 0; i <= static_cast<int>(kLast); i++) {
      if (text_ == kName(static_cast<Enum>(i))) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }

  // The names of all enumerators, for the schema.
  static std::vector<std::string> Names() { return WordsOf(kLast, kName); }

  friend bool operator==(const EnumText& a, Enum b) { return a.text_ == kName(b); }
  friend bool operator==(const EnumText&, const EnumText&) = default;
  friend bool operator==(const EnumText&, const char*) = delete;
  friend bool operator==(const EnumText&, std::string_view) = delete;
  friend bool operator==(const EnumText&, const std::string&) = delete;

 private:
  std::string text_;
};

}  // namespace prefetch::doc
