// Hostile texts for readers of YAML and JSON, made from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace prefetch::tests {

struct HostileText {
  std::string name;
  std::string text;
  bool nests = false;  // nothing but nesting: a reader stops at once
};

// `unit` again and again, in `size` bytes at most.
inline std::string Repeat(std::string_view unit, std::size_t size) {
  std::string text;
  text.reserve(size);
  while (text.size() + unit.size() <= size) text += unit;
  return text;
}

inline const std::vector<std::string_view>& NestingUnits() {
  static const std::vector<std::string_view> kUnits = {
      "[",  "{",    "[{",   "[[\n", "{a: ",     "{a: [",   "- ",       "? ",         "- ? ", "[a, ",
      "[?", "{? {", "[!a ", "&a [", "[\"a\": ", "{\"a\":", "[{\"a\":", "[\n\n# x\n", "[[[ ", "- - ? "};
  return kUnits;
}

inline const std::vector<std::string_view>& Units() {
  static const std::vector<std::string_view> kUnits = {"a: ",
                                                       "&a ",
                                                       "'",
                                                       "\"\\",
                                                       "{a: b, ",
                                                       "!a ",
                                                       "|\n",
                                                       "#",
                                                       "\n ",
                                                       "a\n",
                                                       "*a ",
                                                       "%a\n",
                                                       "%TAG !a! b\n",
                                                       "--- ",
                                                       "---\n",
                                                       "a: b\n",
                                                       "- a: b\n",
                                                       "- - a\n",
                                                       ": ",
                                                       ",",
                                                       "a b ",
                                                       "a",
                                                       "\t",
                                                       "\n",
                                                       " ",
                                                       "[],",
                                                       "[a],",
                                                       "- a\n",
                                                       "- \n",
                                                       "{},",
                                                       "? a\n",
                                                       "...\n",
                                                       "- &a x\n",
                                                       "- *a\n",
                                                       "- !!str a\n",
                                                       "- !<a> a\n",
                                                       "<<: ",
                                                       "<<: {a: 1}\n",
                                                       "\"a\": 1,\n",
                                                       "- [a, b, c]\n",
                                                       "- {a: 1}\n",
                                                       "- \"\\x41\"\n",
                                                       "- >\n  a\n",
                                                       "0,",
                                                       "[0],",
                                                       "{\"a\":0},",
                                                       "a: &b\n",
                                                       "\xEF\xBB\xBF",
                                                       "\r\n"};
  return kUnits;
}

// Calls `use` with each unit by itself; if `all`, also after each opening that makes most of it.
inline void ForEachHostileText(std::size_t size, bool all,
                               const std::function<void(const HostileText&)>& use) {
  auto repeat = [&](std::string_view opening, std::string_view unit, bool nests) {
    std::string text(opening);
    text += Repeat(unit, size - opening.size());
    use({std::string(opening) + std::string(unit), std::move(text), nests});
  };
  const std::vector<std::string_view> openings = {"", "[", "- &a [x, y]\n", "{\"a\":[", "a: |\n "};
  std::size_t turn = 0;
  for (std::string_view unit : NestingUnits()) {
    if (all || turn % 2 == 0) repeat("", unit, true);
    if (all || turn % 2 == 1) repeat("images: ", unit, true);
    turn++;
  }
  for (std::string_view unit : Units()) {
    for (std::size_t i = 0; i < openings.size(); i++) {
      if (all || i == turn % 3) repeat(openings[i], unit, false);
    }
    turn++;
  }
  std::string keys, anchors = "- &a0 [x]\n";
  for (std::size_t i = 0; keys.size() + 20 < size; i++) keys += std::to_string(i) + ": \n";
  use({"keys", std::move(keys), false});
  for (std::size_t i = 1; anchors.size() + 60 < size; i++) {
    const std::string before = "*a" + std::to_string(i - 1);
    anchors += "- &a" + std::to_string(i) + " [" + before + ", " + before + "]\n";
  }
  use({"anchors", std::move(anchors), false});
  use({"long prefixes of tags",
       "%TAG !a! " + std::string(size / 4, 'p') + "\n---\n" + Repeat("- !a!b c\n", size / 2), false});
  use({"JSON's values", "[" + Repeat("0,", size - 3) + "0]", false});
}

// A soup of units and single characters.
inline HostileText SoupOf(std::uint32_t seed, std::size_t size) {
  std::mt19937 random(seed);
  auto below = [&](std::size_t most) { return random() % most; };
  HostileText soup{"soup " + std::to_string(seed), "", false};
  if (below(4) == 0) soup.text = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages: ";
  while (soup.text.size() < size) {
    const auto& units = below(3) == 0 ? NestingUnits() : Units();
    const std::size_t times = below(3) == 0 ? 1 + below(1 + size / 16) : 1;
    const std::string_view unit = units[below(units.size())];
    soup.text += Repeat(unit, std::min(times * unit.size(), size));
    if (below(4) == 0) soup.text += "[]{},:-?&*!|>'\"%@`# \n\t"[below(23)];
    if (below(8) == 0) soup.text += "\n" + std::string(below(6), ' ');
    if (below(64) == 0) soup.text += static_cast<char>(below(256));
  }
  return soup;
}

}  // namespace prefetch::tests
