// Where the agent's configuration comes from: flags, environment, and the files that they name.
#include <filesystem>
#include <optional>

#include "base/fs.h"
#include "config/agent_config.h"
#include "config/judge.h"
#include "config/raw_config.h"
#include "config/settings.h"

namespace prefetch::config {
namespace {

constexpr std::size_t kMostFileBytes = 1 << 20;

std::optional<RawConfig> ReadNamedFile(const SourcedValue<std::string>& file, Mistakes& mistakes) {
  base::Result<std::string> bytes = base::ReadFile(file.value, kMostFileBytes);
  if (!bytes) {
    mistakes.Add(file.by, bytes.error().message());
    return std::nullopt;
  }
  doc::Problems problems(std::filesystem::path(file.value).filename().string());
  std::optional<RawConfig> raw = ReadConfigFile(*bytes, problems);
  base::WipeString(*bytes);  // it may hold secrets of plugins
  mistakes.AddAll(problems);
  return raw;
}

PluginEnvironment ReadEnvironmentFile(const SourcedValue<std::string>& file, Mistakes& mistakes) {
  base::Result<std::string> bytes = base::ReadFile(file.value, kMostFileBytes);
  if (!bytes) {
    mistakes.Add(file.by, bytes.error().message());
    return {};
  }
  doc::Problems problems(std::filesystem::path(file.value).filename().string());
  PluginEnvironment environment = ParseEnvironmentFile(*bytes, problems);
  base::WipeString(*bytes);
  mistakes.AddAll(problems);
  return environment;
}

// All that is said anywhere; nullopt if the file cannot be read: absent settings are then not mistakes.
std::optional<RawConfig> Gather(const RawConfig& flags, const GetEnv& get_env, Mistakes& mistakes) {
  doc::Problems in_environment("environment");
  RawConfig raw = Overlay(ReadEnvironment(get_env, in_environment), flags);
  mistakes.AddAll(in_environment);
  if (raw.config_file) {
    std::optional<RawConfig> file = ReadNamedFile(*raw.config_file, mistakes);
    if (!file) return std::nullopt;
    raw = Overlay(*file, raw);
  }
  if (raw.provider_environment_file) {
    raw.provider_environment = ReadEnvironmentFile(*raw.provider_environment_file, mistakes);
  }
  return raw;
}

}  // namespace

base::Result<AgentConfig> Validate(const RawConfig& raw) {
  Mistakes mistakes;
  AgentConfig config = Judge(raw, mistakes);
  if (!mistakes.empty()) return mistakes.ToError();
  return config;
}

base::Result<AgentConfig> LoadAgentConfig(const RawConfig& flags, const GetEnv& get_env) {
  Mistakes mistakes;
  std::optional<RawConfig> raw = Gather(flags, get_env, mistakes);
  if (!raw) return mistakes.ToError();
  AgentConfig config = Judge(*raw, mistakes);
  if (!mistakes.empty()) return mistakes.ToError();
  return config;
}

base::Result<RawConfig> LoadRawConfig(const RawConfig& flags, const GetEnv& get_env) {
  Mistakes mistakes;
  std::optional<RawConfig> raw = Gather(flags, get_env, mistakes);
  if (!mistakes.empty()) return mistakes.ToError();
  return *std::move(raw);
}

}  // namespace prefetch::config
