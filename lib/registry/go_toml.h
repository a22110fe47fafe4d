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
// error. All errors of these functions are InvalidArgument, with the line and never a value.
base::Result<const toml::node*> GoMember(const toml::table& table, std::string_view key);
// Returns the node of the key, else that of its table: the place of a mistake.
const toml::node& GoMemberOrTable(const toml::table& table, std::string_view key);

// Returns the text; empty if it is missing or empty.
base::Result<std::string> GoText(const toml::table& table, std::string_view key);
// Sets `value`, which stays as it is if the key is missing.
base::Status GoBool(const toml::table& table, std::string_view key, bool& value);
// Returns the texts; nullopt if the key is missing, which is not the same as an empty list. A list of more
// than `most` is an error.
base::Result<std::optional<std::vector<std::string>>> GoTexts(const toml::table& table, std::string_view key,
                                                              std::size_t most);

}  // namespace prefetch::registry
