// The program's own words: help texts, log messages, errors and advice have sentences as short as the pages'.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "sentences.h"

namespace prefetch::docs::words_test {
namespace {

namespace fs = std::filesystem;

// The texts of a source's string literals; adjacent ones are one text.
class Literals {
 public:
  explicit Literals(std::string_view source) : rest_(source) {}

  std::vector<std::string> Read() {
    while (!rest_.empty()) {
      if (rest_.starts_with("//")) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.starts_with("R\"(")) {
        const std::size_t end = rest_.find(")\"");
        Add(std::string(rest_.substr(3, end - 3)));
        rest_.remove_prefix(std::min(end, rest_.size() - 2) + 2);
      } else if (rest_.front() == '"') {
        Add(Quoted('"'));
      } else if (rest_.front() == '\'' && std::isalnum(before_) == 0) {
        Quoted('\'');
        End();
      } else {
        if (std::isspace(static_cast<unsigned char>(rest_.front())) == 0) End();
        before_ = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
      }
    }
    End();
    return std::move(texts_);
  }

 private:
  std::string Quoted(char quote) {
    std::string text;
    std::size_t i = 1;
    for (; i < rest_.size() && rest_[i] != quote; i++) {
      if (rest_[i] == '\\') i++;
      text += rest_[i] == 'n' && rest_[i - 1] == '\\' ? '\n' : rest_[i];
    }
    rest_.remove_prefix(std::min(i + 1, rest_.size()));
    before_ = ' ';
    return text;
  }

  void Add(const std::string& text) {
    text_ += text;
    open_ = true;
  }
  void End() {
    if (open_) texts_.push_back(std::move(text_));
    text_.clear();
    open_ = false;
  }

  std::string_view rest_;
  unsigned char before_ = ' ';
  bool open_ = false;
  std::string text_;
  std::vector<std::string> texts_;
};

// Indented lines of help are lists and examples.
std::string AsMarkdown(const std::string& text) {
  return std::regex_replace(text, std::regex("\n  +"), "\n\n");
}

std::vector<std::string> LongTexts(const std::string& source) {
  std::vector<std::string> found;
  for (const std::string& text : Literals(source).Read()) {
    if (Words(text) <= kMostWordsOfASentence) continue;  // nearly all
    for (std::string& sentence : LongSentences(AsMarkdown(text))) found.push_back(std::move(sentence));
  }
  return found;
}

// Path and text of each source of lib and cmd.
std::vector<std::pair<fs::path, std::string>> Sources() {
  const fs::path root = std::getenv("PREFETCH_SOURCE");
  std::vector<std::pair<fs::path, std::string>> sources;
  for (const char* folder : {"lib", "cmd"}) {
    for (const auto& file : fs::recursive_directory_iterator(root / folder)) {
      if (file.path().extension() != ".cc" && file.path().extension() != ".h") continue;
      auto text = base::ReadFile(file.path(), 1 << 22);
      EXPECT_TRUE(text) << file.path();
      if (text) sources.emplace_back(fs::relative(file.path(), root), *std::move(text));
    }
  }
  return sources;
}

TEST(Messages, HaveNoLongSentence) {
  for (const auto& [path, source] : Sources()) {
    for (const std::string& sentence : LongTexts(source)) ADD_FAILURE() << path << ": " << sentence;
  }
}

// english.md: the actor comes first.
TEST(Comments, DoNotBeginWithAQuestionWord) {
  static const std::regex question("// (What|Who|Whoever) [^\n]*[^?\n]\n");
  for (const auto& [path, source] : Sources()) {
    for (std::sregex_iterator match(source.begin(), source.end(), question), none; match != none; ++match) {
      ADD_FAILURE() << path << ": " << match->str();
    }
  }
}

// Words for persons without a role, and phrases that hide the reporter.
std::vector<std::string> VagueComments(const std::string& source) {
  static const std::regex vague(
      "//[^\n]*\\b([Ww]hoever|[Ss]omebody|[Ss]omeone|[Ss]ays? so|[Tt]ells? it)\\b[^\n]*");
  std::vector<std::string> found;
  for (std::sregex_iterator match(source.begin(), source.end(), vague), none; match != none; ++match)
    found.push_back(match->str());
  return found;
}

TEST(Comments, NamePeopleAndReporters) {
  for (const auto& [path, source] : Sources()) {
    for (const std::string& comment : VagueComments(source)) ADD_FAILURE() << path << ": " << comment;
  }
  EXPECT_EQ(VagueComments("int a;  // it says so\n// Whoever\nint somebody;\n// \"essays so\"\n").size(), 2U);
}

// A text of 31 words, in two literals; a shorter one beside it; and a comment, which is none.
TEST(Messages, ALongOneIsFound) {
  const std::string thirty_one =
      R"(f('"', "one two three four five six seven eight nine ten one two three four five six ")"
      R"(  "seven eight nine ten one two three four five six seven eight nine ten one", "short. one"); // "a b")";
  ASSERT_EQ(LongTexts(thirty_one).size(), 1U);
  EXPECT_EQ(Words(LongTexts(thirty_one)[0]), kMostWordsOfASentence + 1);
  EXPECT_EQ(Literals(R"x(a("b" "c\n\"d\"", 'e', 1'000, R"(f)"))x").Read(),
            (std::vector<std::string>{"bc\n\"d\"", "f"}));
}

TEST(Sentences, AreFound) {
  EXPECT_EQ(Sentences("# T\n\nOne `a. b` [two](x.md). Three?\n- four\n- five\n\n| six. Seven | 8 |\n", true),
            (std::vector<std::string>{"One X two", "Three", "- four ", "- five ", " six", "Seven ", " 8 "}));
  EXPECT_EQ(Sentences("```sh\nno. no\n```\n| a |\n> **Yes.** It.\n", false),
            (std::vector<std::string>{"Yes", "It"}));
}
TEST(Sentences, LongOnesAreFound) {
  std::string words;
  for (std::size_t i = 0; i < kMostWordsOfASentence; i++) words += "word ";
  EXPECT_EQ(LongSentences(words + ".").size(), 0U);
  EXPECT_EQ(LongSentences(words + "more. Short.").size(), 1U);
  EXPECT_EQ(LongSentences("  | cell | " + words + "more |\n").size(), 1U);
}

}  // namespace
}  // namespace prefetch::docs::words_test
