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

// nullptr: it is not there. Each error is InvalidArgument, with the line and never a value.
base::Result<const toml::node*> GoMember(const toml::table& table, std::string_view key);
// Where a key is written; else where its table is.
const toml::node& GoMemberOrTable(const toml::table& table, std::string_view key);

// Empty: it is not there, or is empty.
base::Result<std::string> GoText(const toml::table& table, std::string_view key);
// `value` stays if it is not there.
base::Status GoBool(const toml::table& table, std::string_view key, bool& value);
// nullopt: it is not there, which is not the same as an empty list.
base::Result<std::optional<std::vector<std::string>>> GoTexts(const toml::table& table, std::string_view key,
                                                              std::size_t most);

}  // namespace prefetch::registry
