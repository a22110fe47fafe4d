// Keys of a TOML table as a program in Go takes them (BurntSushi/toml, by which containers/image reads its
// files): in whatever case they are written, and of the right type or not at all. As toml_rim.h, for .cc
// files alone. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "registry/toml_rim.h"

namespace prefetch::registry {

inline constexpr std::size_t kLongestGoText = 1024;  // ours

// Returns the member whose key is `key` in any case, as in Go; nullptr if there is none. Two of them are an
// error: InvalidArgument, with the line and never a value.
base::Result<const toml::node*> GoMember(const toml::table& table, std::string_view key);
// Returns the node of the key, else that of its table: the place of a mistake.
const toml::node& GoMemberOrTable(const toml::table& table, std::string_view key);

// Reads the members of one file's tables, and keeps the first mistake of the file. A member that is wrong
// reads as an absent one, so that callers ask for the status once, at the end. A value.
class GoReader {
 public:
  // Returns success, or InvalidArgument with the line and never a value.
  const base::Status& status() const { return status_; }
  // Notes a mistake. Only the first one counts.
  void Reject(const toml::node& at, std::string_view what);

  // Returns nullptr if there is no such member.
  const toml::node* Member(const toml::table& table, std::string_view key);
  const toml::table* Table(const toml::table& table, std::string_view key);
  std::string Text(const toml::table& table, std::string_view key);
  // Sets `value`, which stays as it is if the key is missing.
  void Bool(const toml::table& table, std::string_view key, bool& value);
  // Returns nullopt if the key is missing, which is not the same as an empty list. A list of more than `most`
  // is a mistake.
  std::optional<std::vector<std::string>> Texts(const toml::table& table, std::string_view key,
                                                std::size_t most);

 private:
  base::Status status_;
};

}  // namespace prefetch::registry
