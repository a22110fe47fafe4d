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

void GoReader::Reject(const toml::node& at, std::string_view what) {
  if (status_) status_ = TomlError(at, what);
}

const toml::node* GoReader::Member(const toml::table& table, std::string_view key) {
  auto node = GoMember(table, key);
  if (node) return *node;
  if (status_) status_ = std::move(node).error();
  return nullptr;
}

const toml::table* GoReader::Table(const toml::table& table, std::string_view key) {
  const toml::node* node = Member(table, key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) Reject(*node, std::string(key) + " is no table");
  return node->as_table();
}

std::string GoReader::Text(const toml::table& table, std::string_view key) {
  const toml::node* node = Member(table, key);
  if (node == nullptr) return "";
  const auto* text = node->as_string();
  if (text != nullptr && text->get().size() <= kLongestGoText) return TextOf(*text);
  Reject(*node, std::string(key) + (text == nullptr ? " is no string" : " is too long"));
  return "";
}

void GoReader::Bool(const toml::table& table, std::string_view key, bool& value) {
  const toml::node* node = Member(table, key);
  if (node == nullptr) return;
  if (!node->is_boolean()) return Reject(*node, std::string(key) + " is neither true nor false");
  value = node->as_boolean()->get();
}

std::optional<std::vector<std::string>> GoReader::Texts(const toml::table& table, std::string_view key,
                                                        std::size_t most) {
  const toml::node* node = Member(table, key);
  if (node == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->size() > most) {
    Reject(*node, std::string(key) + (array == nullptr ? " is no list" : " is too long a list"));
    return texts;
  }
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    if (text == nullptr || text->get().size() > kLongestGoText) {
      Reject(item, std::string(key) + " holds something that is no short string");
    } else {
      texts.push_back(TextOf(*text));
    }
  }
  return texts;
}

}  // namespace prefetch::registry
