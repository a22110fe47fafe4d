// MakeConfig: validates the raw settings, and makes the agent's configuration or all mistakes of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "config/agent_config.h"
#include "config/raw_config.h"
#include "doc/problems.h"

namespace prefetch::config {

// The mistakes of a configuration; each begins with the source of the value.
class Mistakes {
 public:
  void Add(const std::string& by, std::string_view message) {
    lines_.push_back(by + ": " + std::string(message));
  }
  void AddAll(const doc::Problems& problems) {
    for (std::string& line : problems.Lines()) lines_.push_back(std::move(line));
  }
  bool empty() const { return lines_.empty(); }
  base::Error ToError() const { return base::InvalidArgument(base::Join(lines_, "\n")); }

 private:
  std::vector<std::string> lines_;
};

// Invalid settings have their defaults there.
AgentConfig MakeConfig(const RawConfig& raw, Mistakes& mistakes);

}  // namespace prefetch::config
