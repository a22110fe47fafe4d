#include "flags.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <variant>
#include <vector>

#include "config/settings.h"

namespace prefetch {
namespace {

constexpr const char* kFooter = R"(
Examples:
  prefetchd --list images.yaml --kubelet-version 1.36.2
      Keep the images of images.yaml on this node, and report what its kubelet would do with pods that use
      them. Answer on 127.0.0.1:9477 and on the local socket.
  prefetchd --kubelet=none --list images.yaml
      The same on a host with a container runtime and without kubelet.
  prefetchd --kubelet=none --list images.yaml --once --timeout 10m
      Pull, print the result and exit: 0 all ready, 1 not all ready (or the result could not be printed), 2 bad
      usage or input, 3 timed out, 4 the runtime could not be reached.
  prefetchd --unpin --once
      Before agents are removed for good: take the pins of all of them (pin: true) off this node's images.
  prefetchd --config agent.yaml --list /etc/prefetchd/lists --log-level debug
  prefetchd prefetchctl list check images.yaml
      Start prefetchctl of the PATH, so that `docker run IMAGE prefetchctl …` works.

Each flag is also a field of the configuration file (camelCase) and an environment variable (PREFETCHD_ and the
flag in capitals). Flags win. deploy/docs/reference/configuration.md lists further fields of the file. See also: prefetchctl --help)";

constexpr int kBadUsage = 2;

// Each Bind gives CLI11 one flag whose value goes to one member, with the flag as its source.
CLI::Option* Bind(CLI::App& app, const std::string& flag, const std::string& help,
                  std::optional<config::SourcedValue<std::string>>& field) {
  auto set = [&field, flag](const std::string& value) { field = {value, flag}; };
  return app.add_option_function<std::string>(flag, set, help)->take_last();
}

CLI::Option* Bind(CLI::App& app, const std::string& flag, const std::string& help,
                  std::optional<config::SourcedValue<bool>>& field) {
  auto set = [&field, flag] { field = {true, flag}; };
  return app.add_flag_callback(flag, set, help);
}

CLI::Option* Bind(CLI::App& app, const std::string& flag, const std::string& help,
                  std::optional<config::SourcedValue<std::vector<std::string>>>& field) {
  auto set = [&field, flag](const std::vector<std::string>& values) { field = {values, flag}; };
  return app.add_option_function<std::vector<std::string>>(flag, set, help)
      ->type_size(1)
      // Allows the flag to be repeated, with one value each time.
      ->expected(1, 1000)
      ->allow_extra_args(false);
}

// Warns of flags that have become fields of the file. They work for one more release.
void WarnOfOldFlags(const CLI::App& app) {
  for (const config::Setting& setting : config::Settings()) {
    if (setting.place != config::SettingPlace::kFileFirst || app.count(config::FlagOf(setting)) == 0)
      continue;
    std::cerr << "prefetchd: " << config::FlagOf(setting) << " is deprecated: set "
              << config::FieldOf(setting) << " in the file of --config, or " << config::VariableOf(setting)
              << "\n";
  }
}

}  // namespace

Flags ParseFlags(int argc, char** argv) {
  CLI::App app(
      "prefetchd keeps a declared list of images on this node, and reports ready only if pods can start "
      "with them.");
  app.set_version_flag("--version", "prefetchd " PREFETCH_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(42);
  Flags flags;
  config::RawConfig& raw = flags.config;
  for (const config::Setting& setting : config::Settings()) {
    CLI::Option* option = std::visit(
        [&](auto member) { return Bind(app, config::FlagOf(setting), config::HelpOf(setting), raw.*member); },
        setting.member);
    const bool shown = setting.place != config::SettingPlace::kFileFirst;
    option->group(shown ? config::GroupTitle(setting.group) : "");
  }
  try {
    app.parse(argc, argv);
    WarnOfOldFlags(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      flags.exit = app.exit(error);
    } else {
      std::cerr << "prefetchd: " << error.what() << " (see prefetchd --help)\n";
      flags.exit = kBadUsage;
    }
  }
  return flags;
}

}  // namespace prefetch
