// Sentences of pages and of messages, and how long they are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::docs {

constexpr std::size_t kMostWordsOfASentence = 30;

std::string WithoutCode(const std::string& text);

std::size_t Words(std::string_view text);

// Sentences of Markdown: of paragraphs, items of lists and, when `cells`, the cells of tables. A link is its
// text, a piece of code one word.
std::vector<std::string> Sentences(const std::string& text, bool cells);

// Those with more than kMostWordsOfASentence words.
std::vector<std::string> LongSentences(const std::string& text);

}  // namespace prefetch::docs
