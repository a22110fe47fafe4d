// YamlStream: the events of one YAML text, read by libyaml. Internal to doc/.
#pragma once

#include <yaml.h>

#include <string>
#include <string_view>

#include "doc/node.h"

namespace prefetch::doc {

// libyaml scans at most 1,024 characters ahead of the event that it hands out, so a reader that stops at an
// event has paid for the text up to there, and meets no mistake in bytes that are 1,536 behind. Not
// thread-safe.
class YamlStream {
 public:
  // `text` is UTF-8 without a byte order mark, outlives the stream, and stands at `begin` of its file.
  explicit YamlStream(std::string_view text, Position begin = {1, 1});
  ~YamlStream();
  YamlStream(const YamlStream&) = delete;
  YamlStream& operator=(const YamlStream&) = delete;

  // Returns the next event, which is good until the next call; nullptr after a mistake in the text.
  const yaml_event_t* Next();

  Position PlaceOf(const yaml_mark_t& mark) const;

  // The mistake.
  const std::string& error() const { return error_; }
  Position error_at() const { return error_at_; }

 private:
  static int Feed(void* self, unsigned char* buffer, std::size_t size, std::size_t* fed);
  void TakeError();
  bool HasTabInFront(std::size_t line) const;

  Position InFile(Position at) const;

  std::string_view text_;
  Position begin_;
  std::size_t fed_ = 0;
  yaml_parser_t parser_{};
  yaml_event_t event_{};
  std::string error_;
  Position error_at_;
};

// The text of a tag or an anchor; null: none.
std::string TextOf(const yaml_char_t* text);

}  // namespace prefetch::doc
