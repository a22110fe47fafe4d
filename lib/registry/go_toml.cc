#include "registry/go_toml.h"

#include <utility>

#include "base/text.h"

namespace prefetch::registry {

base::Result<const toml::node*> GoMember(const toml::table& table, std::string_view key) {
  const toml::node* found = nullptr;
  for (const auto& [name, value] : table) {
    // Go matches keys in any case. With two spellings, it depends on the library which one counts.
    if (!base::EqualsIgnoreCase(name.str(), key)) continue;
    if (found != nullptr)
      return TomlError(value, std::string(key) + " is there twice, in different spellings");
    found = &value;
  }
  return found;
}

const toml::node& GoMemberOrTable(const toml::table& table, std::string_view key) {
  auto node = GoMember(table, key);
  return node && *node != nullptr ? **node : table;
}

base::Result<std::string> GoText(const toml::table& table, std::string_view key) {
  auto node = GoMember(table, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return std::string();
  const auto* text = (*node)->as_string();
  if (text == nullptr) return TomlError(**node, std::string(key) + " is no string");
  if (text->get().size() > kLongestGoText) return TomlError(**node, std::string(key) + " is too long");
  return TextOf(*text);
}

base::Status GoBool(const toml::table& table, std::string_view key, bool& value) {
  auto node = GoMember(table, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return {};
  if (!(*node)->is_boolean()) return TomlError(**node, std::string(key) + " is neither true nor false");
  value = (*node)->as_boolean()->get();
  return {};
}

base::Result<std::optional<std::vector<std::string>>> GoTexts(const toml::table& table, std::string_view key,
                                                              std::size_t most) {
  auto node = GoMember(table, key);
  if (!node) return std::move(node).error();
  if (*node == nullptr) return std::optional<std::vector<std::string>>();
  const toml::array* array = (*node)->as_array();
  if (array == nullptr) return TomlError(**node, std::string(key) + " is no list");
  if (array->size() > most) return TomlError(**node, std::string(key) + " is too long a list");
  std::vector<std::string> texts;
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    if (text == nullptr || text->get().size() > kLongestGoText) {
      return TomlError(item, std::string(key) + " holds something that is no short string");
    }
    texts.push_back(TextOf(*text));
  }
  return std::optional(std::move(texts));
}

}  // namespace prefetch::registry
