#include "doc/yaml_stream.h"

#include <algorithm>

#include "doc/parser_parts.h"

namespace prefetch::doc {
namespace {

// libyaml compares each %TAG line with all of them, and each tag, too.
constexpr int kMostTagDirectives = 16;

// libyaml gets this many bytes at a time. A bad byte far behind the end of a document then does not matter,
// as with go-yaml.
constexpr std::size_t kMostFed = 512;

}  // namespace

std::string TextOf(const yaml_char_t* text) {
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

YamlStream::YamlStream(std::string_view text, Position begin) : text_(text), begin_(begin) {
  if (yaml_parser_initialize(&parser_) == 0) {
    error_ = "cannot be read: out of memory";
    return;
  }
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  int directives = 0;
  for (std::size_t at = text.find("%TAG"); at != std::string_view::npos; at = text.find("%TAG", at + 1)) {
    // libyaml ends a line at U+0085, U+2028 and U+2029, too; these are their last bytes.
    const bool begins_line =
        at == 0 || std::string_view("\n\r\x85\xA8\xA9").find(text[at - 1]) != std::string_view::npos;
    if (!begins_line || ++directives <= kMostTagDirectives) continue;
    error_ = "has more than " + std::to_string(kMostTagDirectives) + " %TAG directives";
    error_at_ = InFile(PositionAt(text, at));
    return;
  }
  yaml_parser_set_input(&parser_, &YamlStream::Feed, this);
}

int YamlStream::Feed(void* self, unsigned char* buffer, std::size_t size, std::size_t* fed) {
  auto* stream = static_cast<YamlStream*>(self);
  *fed = std::min({size, kMostFed, stream->text_.size() - stream->fed_});
  std::copy_n(stream->text_.data() + stream->fed_, *fed, buffer);
  stream->fed_ += *fed;
  return 1;
}

YamlStream::~YamlStream() {
  yaml_event_delete(&event_);
  yaml_parser_delete(&parser_);
}

Position YamlStream::InFile(Position at) const {
  return {begin_.line + at.line - 1, at.column + (at.line == 1 ? begin_.column - 1 : 0)};
}

// libyaml counts from 0, and columns in characters.
Position YamlStream::PlaceOf(const yaml_mark_t& mark) const {
  return InFile({static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)});
}

const yaml_event_t* YamlStream::Next() {
  yaml_event_delete(&event_);
  if (error_.empty() && yaml_parser_parse(&parser_, &event_) == 0) TakeError();
  return error_.empty() ? &event_ : nullptr;
}

// Returns true if a tab stands before the first other character of the line, but for spaces and "-": YAML
// allows only spaces there, and libyaml has other words for it.
bool YamlStream::HasTabInFront(std::size_t line) const {
  std::size_t begin = 0;
  for (std::size_t i = 1; i < line && begin != std::string_view::npos; i++) {
    begin = text_.find('\n', begin);
    if (begin != std::string_view::npos) begin++;
  }
  if (begin == std::string_view::npos) return false;
  const std::size_t end = text_.find_first_not_of(" -", begin);
  return end != std::string_view::npos && text_[end] == '\t';
}

void YamlStream::TakeError() {
  error_ = parser_.problem != nullptr ? parser_.problem : "cannot be read: out of memory";
  if (parser_.error == YAML_READER_ERROR) {
    error_at_ = InFile(PositionAt(text_, parser_.problem_offset));
    return;
  }
  error_at_ = PlaceOf(parser_.problem_mark);
  if (HasTabInFront(parser_.problem_mark.line + 1)) {
    error_ = "a tab indents this line: use spaces";
    return;
  }
  if (parser_.context == nullptr) return;
  error_ += std::string(" ") + parser_.context;
  const Position begin = PlaceOf(parser_.context_mark);
  if (begin.line != error_at_.line) error_ += " that begins in line " + std::to_string(begin.line);
}

}  // namespace prefetch::doc
