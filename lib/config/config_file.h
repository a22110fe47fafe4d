// The fields of the configuration file that have neither a flag nor a variable: the table of `limits`, and
// the bounds of the others. The reader of the file and its reference derive from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "config/settings.h"
#include "doc/problems.h"
#include "plan/limits.h"

namespace prefetch::config {

// An `AgentConfiguration` file (prefetchd.dev/v1alpha1), YAML or JSON. Mistakes go to `problems`; nullopt if
// it is no YAML at all. Pure.
std::optional<RawConfig> ReadConfigFile(std::string_view bytes, doc::Problems& problems);

struct LimitField {
  using Member = std::variant<int plan::Limits::*, std::uint64_t plan::Limits::*,
                              std::optional<int> plan::Limits::*, std::chrono::seconds plan::Limits::*>;
  const char* name;
  Member member;
  std::int64_t least, most;  // of a time: seconds
  const char* help;
  const char* fallback = "";  // words for the default; empty: plan::Limits has it
};
std::span<const LimitField> LimitFields();

constexpr std::size_t kMostAuditPatterns = 100;
constexpr std::size_t kMostPreflightPatterns = 100;

}  // namespace prefetch::config
