// Names of enumerators as texts, from the compiler's spelling: Code::kNotFound is "NotFound". An enum whose
// names are shown needs no table of them; renaming an enumerator then changes the text. The header of such an
// enum includes this one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace prefetch::base {

// Returns the name without its k. A number without an enumerator has none: the compilers spell it
// "(prefetch::base::Code)9".
template <auto kValue>
constexpr std::string_view EnumeratorName() {
  constexpr std::string_view kBegin = "kValue = ";
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find(kBegin) + kBegin.size());
  text = text.substr(0, text.find_first_of(";]"));
  if (text.starts_with('(')) return {};
  return text.substr(text.rfind("::k") + 3);
}

// The names of an enum whose values count from 0.
template <typename E>
class EnumNames {
 public:
  static constexpr std::size_t kCount = [] {
    return []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return (std::size_t{0} + ... + (EnumeratorName<static_cast<E>(kIndex)>().empty() ? 0 : 1));
    }
    (std::make_index_sequence<128>());
  }();
  static constexpr std::array<std::string_view, kCount> kNames =
      []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::array{EnumeratorName<static_cast<E>(kIndex)>()...};
  }
  (std::make_index_sequence<kCount>());
  static_assert(kCount > 0 && kCount < 128 && !kNames.back().empty(), "the values are not 0 to 126 in a row");
};

template <typename E>
constexpr std::string_view EnumName(E value) {
  const auto index = static_cast<std::size_t>(value);
  if (index >= EnumNames<E>::kCount) std::abort();
  return EnumNames<E>::kNames[index];
}

// Returns the word of `value` among those of all values, in their order, for words that are not the names.
// Another number of words does not compile.
template <typename E, std::size_t kCount>
constexpr const char* EnumWord(E value, const char* const (&words)[kCount]) {
  static_assert(kCount == EnumNames<E>::kCount, "each value has one word");
  const auto index = static_cast<std::size_t>(value);
  if (index >= kCount) std::abort();
  return words[index];
}

// Returns all names, in the order of the values.
template <typename E>
std::vector<std::string> NamesOf() {
  return {EnumNames<E>::kNames.begin(), EnumNames<E>::kNames.end()};
}

// `equal`: another comparison of names, such as EqualsIgnoreCase.
template <typename E, typename Equal = std::equal_to<std::string_view>>
constexpr std::optional<E> EnumNamed(std::string_view name, Equal equal = {}) {
  for (std::size_t i = 0; i < EnumNames<E>::kCount; i++) {
    if (equal(EnumNames<E>::kNames[i], name)) return static_cast<E>(i);
  }
  return std::nullopt;
}

// Returns true if `value` is one of these: a question of two sides, whose list need not grow with the enum.
template <typename E>
constexpr bool IsOneOf(E value, std::initializer_list<std::type_identity_t<E>> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace prefetch::base
