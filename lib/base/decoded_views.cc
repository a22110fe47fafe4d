#include "base/decoded_views.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"

namespace prefetch::base {
namespace {

constexpr int kMostLayers = 4;  // of escapes: JSON in JSON in a URL

int Base64Digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+' || c == '-') return 62;
  if (c == '/' || c == '_') return 63;
  return -1;
}

// Returns the byte that `digits` hex digits at `at` stand for; -1 if they stand for none.
int HexAt(std::string_view text, std::size_t at, std::size_t digits) {
  int value = 0;
  if (at + digits > text.size()) return -1;
  for (std::size_t i = at; i < at + digits; i++) {
    if (HexDigit(text[i]) < 0) return -1;
    value = value * 16 + HexDigit(text[i]);
  }
  return value;
}

constexpr std::array<std::pair<std::string_view, char>, 5> kHtml = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
constexpr std::size_t kLongestHtml = 8;  // "1114111;"

// The bytes that `length` bytes of the text stand for: none if the escape is left out.
struct Unit {
  std::string bytes;
  std::size_t length;
};

std::string Utf8(unsigned point) {
  std::string bytes;
  AppendUtf8(bytes, point);
  return bytes;
}

// "&#43;" and "&#x2B;".
std::optional<Unit> NumericEntity(std::string_view rest) {
  if (!rest.starts_with("&#")) return std::nullopt;
  const bool hex = rest.size() > 2 && (rest[2] == 'x' || rest[2] == 'X');
  const std::size_t begin = std::min(rest.find_first_not_of('0', hex ? 3 : 2), rest.size());
  const std::size_t length = rest.substr(begin, kLongestHtml).find(';');
  if (length == std::string_view::npos) return std::nullopt;
  const std::size_t end = begin + length;
  const std::string_view digits = rest.substr(begin, length);
  unsigned point = 0;
  for (char c : digits) {
    if (HexDigit(c) < 0 || (!hex && HexDigit(c) > 9)) return std::nullopt;
    point = point * (hex ? 16 : 10) + static_cast<unsigned>(HexDigit(c));
  }
  if (end == (hex ? 3U : 2U) || point > 0x10ffff) return std::nullopt;
  return Unit{Utf8(point), end + 1};
}

// "\u00e4", and the pair of them that stands for a character beyond 16 bits.
Unit JsonEscape(std::string_view rest) {
  const auto unit = static_cast<unsigned>(HexAt(rest, 2, 4));
  if (unit >= 0xd800 && unit < 0xdc00 && rest.substr(6).starts_with("\\u") && HexAt(rest, 8, 4) >= 0xdc00) {
    return {Utf8(0x10000 + ((unit - 0xd800) << 10U) + (static_cast<unsigned>(HexAt(rest, 8, 4)) - 0xdc00)),
            12};
  }
  return {Utf8(unit), 6};
}

// Returns whether the text is nothing but the beginning of an escape, which a limit has cut.
bool IsCutEscape(std::string_view rest) {
  const auto cut = [&](std::string_view begin, std::size_t digits) {
    return rest.starts_with(begin) && rest.size() < begin.size() + digits &&
           std::all_of(rest.begin() + static_cast<std::ptrdiff_t>(begin.size()), rest.end(),
                       [](char c) { return HexDigit(c) >= 0; });
  };
  return cut("%", 2) || cut("\\u", 4) || cut("\\x", 2) || cut("&#", 4) || cut("&#x", 4) ||
         std::any_of(kHtml.begin(), kHtml.end(), [&](const auto& one) {
           return rest.size() < one.first.size() && one.first.starts_with(rest);
         });
}

// Returns the next character, with one layer of escapes undone. Backslashes, line ends and other control
// characters are left out, since escapes differ in them most.
Unit NextUnit(std::string_view rest) {
  const char c = rest.front();
  if (rest.size() < 8 && IsCutEscape(rest)) return {"", rest.size()};
  if (static_cast<unsigned char>(c) < 0x20) return {"", 1};
  if (c == '%' && HexAt(rest, 1, 2) >= 0) return {{static_cast<char>(HexAt(rest, 1, 2))}, 3};
  if (c == '&') {
    for (const auto& [name, value] : kHtml) {
      if (rest.starts_with(name)) return {{value}, name.size()};
    }
    if (auto entity = NumericEntity(rest)) return *std::move(entity);
  }
  if (c == '\\' && rest.size() < 2) return {"", 1};
  if (c != '\\') return {{c}, 1};
  if (rest[1] == 'u' && HexAt(rest, 2, 4) >= 0) return JsonEscape(rest);
  if (rest[1] == 'x' && HexAt(rest, 2, 2) >= 0) return {{static_cast<char>(HexAt(rest, 2, 2))}, 4};
  const bool control = std::string_view("nrtbf").find(rest[1]) != std::string_view::npos;
  return {"", control ? 2U : 1U};
}

}  // namespace

bool IsEncoded(char c) {
  return Base64Digit(c) >= 0 || c == '=';
}

View AsItIs(std::string_view text) {
  View view;
  for (std::size_t i = 0; i < text.size(); i++) {
    view.Add(text[i], static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i + 1));
  }
  return view;
}

View WithoutEscapes(const View& of) {
  View last;
  for (int layer = 0; layer < kMostLayers; layer++) {
    const View& now = layer == 0 ? of : last;
    View next;
    next.text.reserve(now.text.size());
    for (std::size_t i = 0; i < now.text.size();) {
      const Unit unit = NextUnit(std::string_view(now.text).substr(i));
      // Each byte remembers the range of the original text, so that a find in a decoded view can be redacted
      // in the original.
      for (char byte : unit.bytes) next.Add(byte, now.from[i].first, now.from[i + unit.length - 1].second);
      i += unit.length;
    }
    // A layer that changes nothing has undone nothing, so no further layer can.
    const bool same = next.text == now.text;
    last = std::move(next);
    if (same) break;
  }
  return last;
}

// Text and secrets are folded alike. A difference that is lost here can only redact too much.
char Folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if (c == '+' || c == ' ') return '-';
  return c == '_' ? '/' : c;
}

namespace {

// Calls use(begin, end) for each run of at least `shortest` digits. A zero byte stands for all else.
template <typename IsDigit, typename Use>
void ForEachWord(const View& of, View& out, std::size_t shortest, IsDigit is_digit, Use use) {
  for (std::size_t i = 0; i < of.text.size();) {
    std::size_t end = i;
    while (end < of.text.size() && is_digit(of.text[end])) end++;
    if (end - i >= shortest) {
      use(i, end);
    } else if (out.text.empty() || out.text.back() != '\0') {
      out.Add('\0', of.from[i].first, of.from[i].first);
    }
    i = std::max(end, i + 1);
  }
}

}  // namespace

View DecodedHex(const View& of, std::size_t phase, std::size_t shortest) {
  View out;
  ForEachWord(
      of, out, shortest, [](char c) { return HexDigit(c) >= 0; },
      [&](std::size_t begin, std::size_t end) {
        // A secret may begin at either digit of a run, so the caller decodes with both phases.
        for (std::size_t i = begin + phase; i + 1 < end; i += 2) {
          out.Add(static_cast<char>(HexDigit(of.text[i]) * 16 + HexDigit(of.text[i + 1])), of.from[i].first,
                  of.from[i + 1].second);
        }
      });
  return out;
}

View DecodedBase64(const View& of, std::size_t phase, std::size_t shortest) {
  View out;
  ForEachWord(
      of, out, shortest, [](char c) { return Base64Digit(c) >= 0; },
      [&](std::size_t begin, std::size_t end) {
        unsigned bits = 0;
        int count = 0;
        // Base64 packs three bytes in four digits. A secret inside of a longer word may begin at any of the
        // four.
        for (std::size_t i = std::min(begin + phase, end); i < end; i++) {
          bits = (bits << 6U) | static_cast<unsigned>(Base64Digit(of.text[i]));
          count += 6;
          if (count < 8) continue;
          count -= 8;
          out.Add(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU), of.from[i - 1].first,
                  of.from[i].second);
        }
      });
  return out;
}

std::vector<View> Decoded(const View& of, std::size_t shortest) {
  std::vector<View> views;
  for (std::size_t phase = 0; phase < 4; phase++) views.push_back(DecodedBase64(of, phase, shortest));
  for (std::size_t phase = 0; phase < 2; phase++) views.push_back(DecodedHex(of, phase, shortest));
  return views;
}

}  // namespace prefetch::base
