#include "config/raw_config.h"

#include <algorithm>

#include "base/text.h"
#include "doc/text_check.h"

namespace prefetch::config {
namespace {

constexpr std::size_t kLongestFile = 64 * 1024;

bool IsName(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// False if a quote is not closed.
bool Unquote(std::string_view& value) {
  if (value.empty() || (value.front() != '"' && value.front() != '\'')) return true;
  if (value.size() < 2 || value.back() != value.front()) return false;
  value = value.substr(1, value.size() - 2);
  return true;
}

}  // namespace

PluginEnvironment ParseEnvironmentFile(std::string_view bytes, doc::Problems& problems) {
  PluginEnvironment environment;
  std::optional<std::string_view> text = doc::CheckText(bytes, kLongestFile, problems);
  std::uint32_t number = 0;
  for (std::string_view line : base::Split(text.value_or(""), '\n')) {
    number++;
    line = base::TrimSpace(line);
    if (line.empty() || line.starts_with('#') || line.starts_with(';')) continue;
    std::size_t equals = std::min(line.find('='), line.size());
    std::string_view name = base::TrimSpace(line.substr(0, equals));
    if (equals == line.size() || !IsName(name)) {
      problems.Add({number, 1}, "", "must be NAME=value");
      continue;
    }
    std::string_view value = base::TrimSpace(line.substr(equals + 1));
    if (!Unquote(value)) {
      // The rest of this secret may follow, so no message may take a word of it for a name.
      problems.Add({number, 1}, name, "has a quote that is not closed in its line; what follows is not read");
      break;
    }
    std::erase_if(environment, [&](const auto& other) { return other.first == name; });
    environment.emplace_back(name, base::Secret(std::string(value)));
  }
  return environment;
}

}  // namespace prefetch::config
