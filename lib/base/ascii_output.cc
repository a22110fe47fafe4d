#include "base/ascii_output.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace prefetch::base {
namespace {

struct Spelling {
  std::string_view utf8;
  char ascii;
};
constexpr Spelling kSpellings[] = {{"…", '~'}, {"–", '-'}, {"→", '>'}};

bool IsAscii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}

bool Continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The bytes of the character that `lead` begins.
std::size_t LengthOf(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xF0) return 4;
  return byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

char Spelled(std::string_view character) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.utf8 == character) return spelling.ascii;
  }
  return '?';
}

}  // namespace

bool LocaleLacksUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string lower = ToLower(value);
    return lower.find("utf-8") == std::string::npos && lower.find("utf8") == std::string::npos;
  }
  return false;
}

AsciiOutput::AsciiOutput(std::ostream& stream) : stream_(stream), below_(stream.rdbuf(this)) {}

AsciiOutput::~AsciiOutput() {
  if (!started_.empty()) Put('?');
  const std::ios_base::iostate state = stream_.rdstate();
  stream_.rdbuf(below_);  // which forgets a failure
  stream_.setstate(state);
}

AsciiOutput::int_type AsciiOutput::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char next = traits_type::to_char_type(byte);
  bool written = true;
  if (!started_.empty() && !Continues(next)) {
    started_.clear();
    written = Put('?');
  }
  if (IsAscii(next)) return written && Put(next) ? byte : traits_type::eof();
  started_ += next;
  if (started_.size() >= LengthOf(started_.front())) {
    written = Put(Spelled(started_)) && written;
    started_.clear();
  }
  return written ? byte : traits_type::eof();
}

int AsciiOutput::sync() {
  return below_->pubsync();
}

std::optional<AsciiOutput> AsciiWhereNeeded(std::ostream& stream, int fd) {
  if (::isatty(fd) == 0 || !LocaleLacksUtf8()) return std::nullopt;
  return std::optional<AsciiOutput>(std::in_place, stream);
}

}  // namespace prefetch::base
