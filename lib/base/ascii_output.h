// TextOutput: the filter of all text that the programs print.
// StdoutDelivered: whether the program's output has arrived.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "base/result.h"

namespace prefetch::base {

// Returns true if the environment names a character set other than UTF-8: in LC_ALL, LC_CTYPE or LANG, the
// first that is set and not empty. Most containers set none, and their users' terminals show UTF-8.
bool LocaleLacksUtf8();

// Our screens begin a sequence for colours or redrawing with this byte, and TextOutput prints ESC instead.
// UTF-8 never contains it, so untrusted text never becomes a sequence.
inline constexpr char kOwnEscape = '\xff';
inline constexpr std::string_view kRed = "\xff[31m", kGreen = "\xff[32m", kYellow = "\xff[33m",
                                  kCyan = "\xff[36m", kPlainColour = "\xff[0m";

// While it lives, `stream` prints a blank for each character of base::ControlAt, ESC included: untrusted
// names and messages do not steer the user's terminal. Tabs stay, and sequences that begin with kOwnEscape
// (or a return to the line's start and kOwnEscape). Other bytes that are not UTF-8 become question marks.
// With `ascii`, an ASCII character replaces each of ours ("…", "–", "→"), and a question mark each other one.
// Each takes one column, as before. One owner, one thread.
class TextOutput : private std::streambuf {
 public:
  TextOutput(std::ostream& stream, bool ascii);
  ~TextOutput() override;
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

 private:
  int_type overflow(int_type byte) override;
  int sync() override;
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  bool Put(std::string_view bytes);
  // Prints the character or sequence in pending_.
  bool Print();

  const bool ascii_;
  std::ostream& stream_;
  std::streambuf* target_;
  std::string pending_;  // a character, or a terminal's sequence, that is not whole yet
};

// Returns true if `fd` needs ASCII: a terminal in such a locale does. Files and pipes are UTF-8 everywhere.
bool NeedsAscii(int fd);

// Opens what is closed of standard input, output and error, so that no other file or socket takes its number,
// and with it what is printed. Reading from it and writing to it still fail. Call it before opening anything.
void OccupyStandardFiles();

// Returns true if the reader of standard output has closed it (| head). Never blocks.
bool StdoutReaderIsGone();

// Flushes std::cout, which may block on a full pipe. Returns Unavailable, with a sentence, if something that
// was printed could not be written: the exit code must not report success for an unreadable result. A reader
// that has closed its end is no failure.
Status StdoutDelivered();

}  // namespace prefetch::base
