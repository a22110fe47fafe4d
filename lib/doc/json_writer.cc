#include "doc/json_writer.h"

#include "base/log.h"

namespace prefetch::doc {

// A comma stands before every value except the first one after a bracket or a key.
void JsonWriter::Separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

void JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  first_ = true;
}

void JsonWriter::Close(char bracket) {
  text_ += bracket;
  first_ = false;
}

void JsonWriter::Key(std::string_view name) {
  String(name);
  text_ += ':';
  first_ = true;
}

void JsonWriter::String(std::string_view text) {
  Separate();
  text_ += '"';
  base::AppendJsonEscaped(text_, text);
  text_ += '"';
}

void JsonWriter::Number(std::uint64_t value) {
  Separate();
  text_ += std::to_string(value);
}

void JsonWriter::Integer(std::int64_t value) {
  Separate();
  text_ += std::to_string(value);
}

void JsonWriter::Bool(bool value) {
  Separate();
  text_ += value ? "true" : "false";
}

void JsonWriter::Null() {
  Separate();
  text_ += "null";
}

void JsonWriter::Strings(const std::vector<std::string>& items) {
  BeginArray();
  for (const std::string& item : items) String(item);
  EndArray();
}

void JsonWriter::MemberOrNull(std::string_view name, std::string_view text) {
  Key(name);
  text.empty() ? Null() : String(text);
}

void JsonWriter::MemberOrNull(std::string_view name, const std::optional<base::WallTime>& time) {
  Key(name);
  time ? String(base::Rfc3339(*time)) : Null();
}

}  // namespace prefetch::doc
