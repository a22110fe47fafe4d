// Html: text of a page, with the text of others escaped.
// Below: the sections of the page.
// Internal to screen/report/. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "screen/report/report.h"

namespace prefetch::screen::report {

// Escapes a text for content, and for attributes in quotes. Control characters, those that turn text around,
// and bytes that are not UTF-8 become U+FFFD.
std::string Escaped(std::string_view text);

// "1,000".
std::string FormatNumber(std::uint64_t number);

// "1 node", "1,000 nodes".
std::string FormatCount(std::uint64_t number, const char* one, const char* many);

// Our own markup: a literal, in which each {} is the place of a text. Another number of places does not
// compile.
template <std::size_t kTexts>
struct Literal {
  template <std::size_t N>
  consteval Literal(const char (&literal)[N]) : markup(literal, N - 1) {  // NOLINT: of a literal
    std::size_t places = 0;
    for (std::size_t i = 0; i + 1 < N; i++) places += literal[i] == '{' && literal[i + 1] == '}' ? 1 : 0;
    if (places != kTexts) throw "each text has one place";
  }
  std::string_view markup;
};

// Text of a page, with the text of others escaped. Names, reasons and messages come from images, nodes and
// registries. Write() takes literals as markup, so that such a text can only get into a place of one,
// escaped.
class Html {
 public:
  // Appends our own markup, with each text in its place.
  template <typename... Texts>
  Html& Write(std::type_identity_t<Literal<sizeof...(Texts)>> literal, const Texts&... texts) {
    return Fill(literal.markup, {std::string_view(texts)...});
  }
  // Appends finished markup: that of another Html, or an embedded file.
  Html& Markup(std::string_view markup) {
    text_ += markup;
    return *this;
  }
  std::string Take() && { return std::move(text_); }

 private:
  Html& Fill(std::string_view markup, std::initializer_list<std::string_view> texts) {
    for (std::string_view text : texts) {
      const std::size_t place = markup.find("{}");
      text_.append(markup.substr(0, place)).append(Escaped(text));
      markup.remove_prefix(place + 2);
    }
    return Markup(markup);
  }

  std::string text_;
};

// Data that all sections share.
struct PageData {
  const Report& report;
  HeatMap map;
  std::vector<std::string> letters;  // of the report's states
};

// Writes a state's letter in its colour, and its word.
void WriteState(Html& out, const PageData& parts, std::uint32_t state);
// Writes the letter in its colour, without the word.
void WriteLetter(Html& out, const PageData& parts, std::uint32_t state);

// "failing", as the style has it.
std::string_view ToneName(Tone tone);

// How the page shows a node: its tone, as the style has it, its sign and its word.
struct NodeLook {
  std::string_view tone, sign, word;
};
inline constexpr NodeLook kReadyLook{"ready", "✓", "ready"}, kMovingLook{"moving", "▸", "progressing"},
    kFailingLook{"failing", "✕", "failing"}, kSilentLook{"silent", "?", "not heard"},
    kLeavingLook{"leaving", "–", "dead or leaving"};
const NodeLook& LookOf(const FleetNode& node);

// "ci-1, ci-2 and 37 more": at most `most` names.
std::string SomeNames(const std::vector<std::string>& names, std::size_t most);
std::vector<std::string> NamesOf(const Report& report, const std::vector<std::uint32_t>& nodes);

void WriteCauses(Html& out, const PageData& parts);
void WriteMap(Html& out, const PageData& parts);
void WriteNodes(Html& out, const PageData& parts);
void WriteFreshness(Html& out, const PageData& parts);
void WriteDisk(Html& out, const PageData& parts);
void WritePulls(Html& out, const PageData& parts);

}  // namespace prefetch::screen::report
