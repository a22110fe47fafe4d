#include "sentences.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>
#include <string_view>

#include "base/text.h"

namespace prefetch::docs {
namespace {

// A link is its text, a piece of code one word.
std::string Plain(std::string text) {
  text = std::regex_replace(text, std::regex("`[^`]*`"), "X");
  text = std::regex_replace(text, std::regex(R"(\[([^\]]*)\]\([^)]*\))"), "$1");
  return std::regex_replace(text, std::regex(R"(\*\*)"), "");
}

// Paragraphs, items of lists and, when `cells`, the cells of tables.
std::vector<std::string> Blocks(const std::string& text, bool cells) {
  static const std::regex item(R"(\s*([-*]|\d+\.)\s.*)");
  std::vector<std::string> blocks = {""};
  const std::string prose = WithoutCode(text);
  for (std::string_view raw : base::Split(prose, '\n')) {
    std::string line(raw.starts_with("> ") ? raw.substr(2) : raw);
    if (base::TrimSpace(line).starts_with("|")) {
      for (std::string_view cell : base::Split(line, '|')) {
        if (cells) blocks.emplace_back(cell);
      }
      blocks.emplace_back();
    } else if (base::TrimSpace(line).empty() || line.starts_with("#") || line == ">") {
      blocks.emplace_back();
    } else {
      if (std::regex_match(line, item)) blocks.emplace_back();
      blocks.back() += line + ' ';
    }
  }
  return blocks;
}

}  // namespace

std::string WithoutCode(const std::string& text) {
  std::string kept;
  bool code = false;
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.starts_with("```")) {
      code = !code;
      kept += '\n';
    } else if (!code) {
      kept.append(line).append("\n");
    }
  }
  return kept;
}

std::size_t Words(std::string_view text) {
  std::size_t words = 0;
  std::istringstream in{std::string(text)};
  for (std::string word; in >> word;) {
    words += std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  }
  return words;
}

std::vector<std::string> Sentences(const std::string& text, bool cells) {
  static const std::regex end(R"([.!?][")*]*(\s|$)| · )");
  std::vector<std::string> sentences;
  for (const std::string& block : Blocks(text, cells)) {
    const std::string plain = Plain(block);
    for (std::sregex_token_iterator part(plain.begin(), plain.end(), end, -1), none; part != none; ++part) {
      if (Words(part->str()) > 0) sentences.push_back(*part);
    }
  }
  return sentences;
}

std::vector<std::string> LongSentences(const std::string& text) {
  std::vector<std::string> found = Sentences(text, true);
  std::erase_if(found, [](const std::string& sentence) { return Words(sentence) <= kMostWordsOfASentence; });
  return found;
}

}  // namespace prefetch::docs
