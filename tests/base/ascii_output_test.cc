#include "base/ascii_output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace prefetch::base::ascii_output_test {
namespace {

std::string Printed(const std::string& text, bool to_ascii = true) {
  std::ostringstream out;
  {
    TextOutput ascii(out, to_ascii);
    for (char byte : text) out << byte << std::flush;  // however it is cut
  }
  return out.str();
}

TEST(TextOutput, HasOneColumnForEachCharacter) {
  EXPECT_EQ(Printed("quay.io/…/a:1  –  → do it\n"), "quay.io/~/a:1  -  > do it\n");
  EXPECT_EQ(Printed("ä😀日\n"), "???\n");
  EXPECT_EQ(Printed("\xff[31mred\xff[0m"), "\x1b[31mred\x1b[0m");
}

TEST(TextOutput, BrokenUtf8LosesNothingElse) {
  EXPECT_EQ(Printed("a\xe2\x80z\xff\x80"
                    "b\xe2"),
            "a?z??b?");
}

TEST(TextOutput, NothingSteersTheTerminal) {
  for (bool ascii : {false, true}) {
    for (const char* control : {"\x07", "\r", "\x7f", "\xc2\x9b", "\u061c", "\u200e", "\u200f", "\u2028",
                                "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
      EXPECT_EQ(Printed(std::string("a") + control + "b\n", ascii), "a b\n");
    }
    EXPECT_EQ(Printed("\x1b]0;title\x07", ascii), " ]0;title ");
    EXPECT_EQ(Printed("\x1b[6n \x1b[1;1H \x1b[31mz\r\x1b[2J", ascii), " [6n  [1;1H  [31mz  [2J")
        << "no sequence of a stranger";
    EXPECT_EQ(Printed("\xff[6n \xff\xff[31mz \xff", ascii), "?[6n ?\x1b[31mz ?");
    EXPECT_EQ(Printed("\xff[31mred\xff[0m\xff[2J\xff[3A\tend", ascii),
              "\x1b[31mred\x1b[0m\x1b[2J\x1b[3A\tend");
    EXPECT_EQ(Printed("a\x9b"
                      "31m",
                      ascii),
              "a?31m");
  }
  EXPECT_EQ(Printed("a\r\xff[2A\xff[Jb\r\r\xff[Jc\rd\r\n", false), "a\r\x1b[2A\x1b[Jb \r\x1b[Jc d \n");
  EXPECT_EQ(Printed("é… 日😀", false), "é… 日😀");
}

TEST(TextOutput, TheStreamIsAsBeforeAfterwards) {
  std::ostringstream out;
  { TextOutput ascii(out, true); }
  out << "…";
  EXPECT_EQ(out.str(), "…");
  {
    TextOutput ascii(out, true);
    out.setstate(std::ios_base::badbit);
  }
  EXPECT_FALSE(out.good()) << "a failure is not forgotten";
}

// A locale for the time of a test.
class Locale {
 public:
  Locale(const char* all, const char* ctype, const char* lang) {
    Set("LC_ALL", all);
    Set("LC_CTYPE", ctype);
    Set("LANG", lang);
  }
  ~Locale() {
    for (const auto& [name, value] : before_) value ? Put(name, value->c_str()) : Put(name, nullptr);
  }
  Locale(const Locale&) = delete;
  Locale& operator=(const Locale&) = delete;

 private:
  static void Put(const char* name, const char* value) {
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  void Set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    before_.emplace_back(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    Put(name, value);
  }
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

struct LocaleCase {
  const char *all, *ctype, *lang;
  bool lacks;
};
class LocaleTest : public testing::TestWithParam<LocaleCase> {};
TEST_P(LocaleTest, LacksUtf8) {
  Locale locale(GetParam().all, GetParam().ctype, GetParam().lang);
  EXPECT_EQ(LocaleLacksUtf8(), GetParam().lacks);
}
INSTANTIATE_TEST_SUITE_P(Rows, LocaleTest,
                         testing::Values(LocaleCase{nullptr, nullptr, nullptr, false},
                                         LocaleCase{nullptr, nullptr, "C", true},
                                         LocaleCase{nullptr, nullptr, "de_DE.UTF-8", false},
                                         LocaleCase{nullptr, "C.utf8", "C", false},
                                         LocaleCase{"POSIX", "C.utf8", "C.utf8", true},
                                         LocaleCase{"", "", "en_US.ISO-8859-1", true}));

}  // namespace
}  // namespace prefetch::base::ascii_output_test
