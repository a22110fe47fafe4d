// Each text passes this check before any parser: short enough, UTF-8, and text at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "doc/problems.h"

namespace prefetch::doc {

struct Limits {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 16;       // sequences and mappings inside each other
  std::size_t nodes = 200'000;  // after aliases are expanded: an alias bomb ends here
};

// The limit of a text with objects of a cluster, for all commands: some 14,000 pods.
constexpr std::size_t kMostSavedBytes = 256U << 20;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns the message for a text of more than `bytes` bytes.
std::string TooLong(std::size_t bytes);

// `text` without its byte order mark; nullopt, with a problem added, if it is longer than `max_bytes`, is not
// UTF-8, or has control characters (a binary file) or a CR that no LF follows. Pure.
std::optional<std::string_view> CheckText(std::string_view text, std::size_t max_bytes, Problems& problems);

}  // namespace prefetch::doc
