// EnumText: an enumerator in a document, by its name. The writer of a document may be of another version than
// its reader, so a name that this program does not know is kept as it is. Comparisons take enumerators, not
// texts: a misspelt name does not compile.
//
// A value; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/enum_name.h"

namespace prefetch::doc {

template <typename Enum>
class EnumText {
 public:
  EnumText() = default;  // empty: the document does not say
  // Implicit, so that members are set by enumerators; and by names, which a document may have any of.
  EnumText(Enum value) : text_(base::EnumName(value)) {}  // NOLINT
  EnumText(std::string name) : text_(std::move(name)) {}  // NOLINT
  EnumText(const char* name) : text_(name) {}             // NOLINT

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  // Returns the value; nullopt if the text is empty, or a name that this program does not know.
  std::optional<Enum> value() const { return base::EnumNamed<Enum>(text_); }

  friend bool operator==(const EnumText& a, Enum b) { return a.text_ == base::EnumName(b); }
  friend bool operator==(const EnumText&, const EnumText&) = default;
  friend bool operator==(const EnumText&, const char*) = delete;
  friend bool operator==(const EnumText&, std::string_view) = delete;
  friend bool operator==(const EnumText&, const std::string&) = delete;

 private:
  std::string text_;
};

}  // namespace prefetch::doc
