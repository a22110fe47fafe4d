// AsciiOutput: for terminals that do not show UTF-8.
#pragma once

#include <optional>
#include <ostream>
#include <streambuf>
#include <string>

namespace prefetch::base {

// The environment names a character set, and it is not UTF-8: LC_ALL, LC_CTYPE or LANG, the first that is set
// and not empty. Most containers set none, and their users' terminals show UTF-8.
bool LocaleLacksUtf8();

// While it lives, `stream` prints ASCII: another character for each of ours ("…", "–", "→"), a question mark
// for the rest. Each takes one column, as before. One owner, one thread.
class AsciiOutput : private std::streambuf {
 public:
  explicit AsciiOutput(std::ostream& stream);
  ~AsciiOutput() override;
  AsciiOutput(const AsciiOutput&) = delete;
  AsciiOutput& operator=(const AsciiOutput&) = delete;

 private:
  int_type overflow(int_type byte) override;
  int sync() override;
  bool Put(char byte) { return below_->sputc(byte) != traits_type::eof(); }

  std::ostream& stream_;
  std::streambuf* below_;
  std::string started_;  // the bytes of a character that is not whole yet
};

// For a terminal in such a locale; nullopt for files and pipes, which are UTF-8 everywhere. `fd` is what
// `stream` prints to.
std::optional<AsciiOutput> AsciiWhereNeeded(std::ostream& stream, int fd);

}  // namespace prefetch::base
