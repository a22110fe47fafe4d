// The agent's configuration file, and the file of its plugins' environment.

#include "config/agent_config.h"
#include "config/config_file.h"
#include "fuzz/target.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  doc::Problems of_file("agent.yaml");
  if (const auto raw = config::ReadConfigFile(text, of_file)) {
    const auto valid = config::Validate(*raw);
    if (!valid && valid.error().message().empty()) __builtin_trap();
  } else if (of_file.empty()) {
    __builtin_trap();
  }
  // Its values are secrets: no mistake quotes one, nor its rest after a line that ends within quotes.
  if (text.find("hunter2") != std::string_view::npos) return;
  doc::Problems of_environment("plugins.env");
  (void)config::ParseEnvironmentFile(
      "A=hunter2\nB='hunter2'\n" + std::string(text) + "\nC='hunter2\nhunter2='\n", of_environment);
  if (of_environment.empty()) __builtin_trap();
  for (const std::string& line : of_environment.Lines()) {
    if (line.find("hunter2") != std::string::npos) __builtin_trap();
  }
}
