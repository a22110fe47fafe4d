#include "base/ascii_output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "base/scrub.h"
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

bool IsContinuationByte(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// Returns the length of the character that `lead` begins, in bytes.
std::size_t LengthOf(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xF0) return 4;
  return byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
}

bool BeginsSequence(char byte) {
  return byte == kOwnEscape || byte == '\r';
}

// Returns the text without the carriage return that the programs' own screens put before a sequence.
std::string_view WithoutReturn(std::string_view text) {
  return text.starts_with('\r') ? text.substr(1) : text;
}

// Returns true if more bytes may complete a sequence. The bound keeps a stranger's escape from being held
// back for long.
bool IsPartOfSequence(std::string_view text) {
  const std::string_view rest = WithoutReturn(text);
  if (rest.size() < 2) return rest.empty() || rest[0] == kOwnEscape;
  return rest.size() < 8 && rest[0] == kOwnEscape && rest[1] == '[' &&
         std::all_of(rest.begin() + 2, rest.end(), IsDigit);
}

// Returns true for colours, and for the sequences by which screens are drawn anew. No other sequence may
// pass: it could change the terminal's title, say.
bool IsOwnSequence(std::string_view text) {
  const std::string_view rest = WithoutReturn(text);
  return rest.size() > 2 && rest[0] == kOwnEscape && rest[1] == '[' &&
         std::string_view("mAHJK").find(rest.back()) != std::string_view::npos;
}

char AsciiFor(std::string_view character) {
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

TextOutput::TextOutput(std::ostream& stream, bool ascii)
    : ascii_(ascii), stream_(stream), target_(stream.rdbuf(this)) {}

TextOutput::~TextOutput() {
  // The output has ended within a character or a sequence.
  if (!pending_.empty()) Put(IsAscii(pending_.front()) ? " " : "?");
  const std::ios_base::iostate state = stream_.rdstate();
  // The exit code depends on the stream's state (StdoutDelivered), so a failed write must stay visible.
  stream_.rdbuf(target_);  // which forgets a failure
  stream_.setstate(state);
}

bool TextOutput::Put(std::string_view bytes) {
  return target_->sputn(bytes.data(), static_cast<std::streamsize>(bytes.size())) ==
         static_cast<std::streamsize>(bytes.size());
}

bool TextOutput::Print() {
  const std::string text = std::exchange(pending_, {});
  if (BeginsSequence(text.front())) {
    if (IsOwnSequence(text)) return Put(ReplaceAll(text, std::string_view(&kOwnEscape, 1), "\x1b"));
    bool written = Put(text.front() == '\r' ? " " : "?");
    for (char byte : std::string_view(text).substr(1)) {
      // The rest of a rejected sequence is ordinary text, and passes the same filter once more.
      written =
          !traits_type::eq_int_type(overflow(traits_type::to_int_type(byte)), traits_type::eof()) && written;
    }
    return written;
  }
  if (text != "\t" && ControlAt(text) > 0) return Put(" ");
  if (!IsUtf8(text)) return Put("?");
  if (ascii_ && !IsAscii(text.front())) return Put(std::string(1, AsciiFor(text)));
  return Put(text);
}

TextOutput::int_type TextOutput::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char next = traits_type::to_char_type(byte);
  bool written = true;
  const bool in_sequence = !pending_.empty() && BeginsSequence(pending_.front());
  // The character before has ended too early, so it is not UTF-8. The new byte begins its own.
  if (!pending_.empty() && !in_sequence && !IsContinuationByte(next)) {
    pending_.clear();
    written = Put("?");
  }
  pending_ += next;
  const bool whole = BeginsSequence(pending_.front()) ? !IsPartOfSequence(pending_)
                                                      : pending_.size() >= LengthOf(pending_.front());
  if (whole) written = Print() && written;
  return written ? byte : traits_type::eof();
}

std::streamsize TextOutput::xsputn(const char* bytes, std::streamsize count) {
  const std::string_view text(bytes, static_cast<std::size_t>(count));
  // Most output is plain ASCII, which needs no look at each byte by itself.
  const bool plain = pending_.empty() && std::all_of(text.begin(), text.end(), [](char c) {
                       return c == '\n' || (c >= 0x20 && c < 0x7f);
                     });
  return plain ? target_->sputn(bytes, count) : std::streambuf::xsputn(bytes, count);
}

int TextOutput::sync() {
  return target_->pubsync();
}

bool NeedsAscii(int fd) {
  return ::isatty(fd) != 0 && LocaleLacksUtf8();
}

void OccupyStandardFiles() {
  // open(2) returns the lowest free number.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool StdoutReaderIsGone() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  // For a pipe without a reader, poll(2) reports POLLERR.
  return ::poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0;
}

Status StdoutDelivered() {
  std::cout.flush();
  if (std::cout.good() || StdoutReaderIsGone()) return {};
  return Unavailable("standard output cannot be written to: is the disk full?");
}

}  // namespace prefetch::base
