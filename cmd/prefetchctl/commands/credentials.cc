// The options and examples of `prefetchctl credentials`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands/command.h"
#include "ctl/credentials.h"

namespace prefetch::ctl {
namespace {

// Adds the flag of one of prefetchd's settings. Errors of the configuration name this flag as the source.
template <typename T>
CLI::Option* Option(CLI::App& command, config::RawConfig& flags, std::string_view name,
                    const std::string& help) {
  const std::string flag = config::FlagOf(config::SettingNamed(name));
  auto set = [&flags, name, flag](const T& value) {
    flags.given[name] = config::SourcedValue<T>{value, flag};
  };
  return command.add_option_function<T>(flag, set, help);
}

}  // namespace

void CredentialOptions(CLI::App& command, config::RawConfig& flags) {
  Option<std::string>(command, flags, "image-credential-provider-config",
                      "Same as kubelet's flag: a file or a directory");
  Option<std::string>(command, flags, "image-credential-provider-bin-dir",
                      "Same as kubelet's flag: the directory of the plugins");
  Option<std::vector<std::string>>(command, flags, "docker-config",
                                   "A docker config file; default: kubelet's search paths (repeatable)")
      ->type_size(1)
      ->allow_extra_args(false);
  Option<std::string>(command, flags, "kubelet-version",
                      "Version of the kubelet whose rules apply, 1.31 or later");
  Option<std::string>(command, flags, "config",
                      "A file of kind AgentConfiguration: pullSecrets, providerEnvironment");
}

constexpr const char* kCredentialsHelp = R"(
Prints the credentials that this node's kubelet would try for an image, in order and without secrets. A pull
tries the next one only after a refusal.

On a node with an agent, the agent looks them up, with its own settings. With any of the settings below, and
without an agent, the command does, and runs credential provider plugins.

On a node with CRI-O (/etc/crio) it also prints what CRI-O sends to each place that registries.conf names: these
credentials, or a login of its own global_auth_file.

Exit code:
  0  every image has a credential; with --check: the configuration is valid
  1  at least one image has none, and is pulled anonymously
  2  bad input; with --check: the configuration is invalid, and all errors are printed
  4  the agent could not be asked

Examples:
  prefetchctl credentials quay.io/acme/app:v1
  prefetchctl credentials -o json 1234.dkr.ecr.eu-west-1.amazonaws.com/app:v1 \
      --image-credential-provider-config /etc/kubernetes/credential-providers.yaml \
      --image-credential-provider-bin-dir /usr/libexec/kubernetes/plugins
  prefetchctl credentials --config agent.yaml --source team.yaml quay.io/acme/app:v1
  prefetchctl credentials --check --image-credential-provider-config providers.yaml)";

Command CredentialsCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<CredentialsOptions>();
  config::RawConfig& flags = options->flags;
  command.add_option("IMAGE", options->images, "Images to find credentials for");
  AgentOption(command, context);
  CredentialOptions(command, flags);
  RepeatableOption(
      command, "--source", options->sources,
      "Look up as for entries of this list source; pull secrets may be limited to some (repeatable)");
  command.add_flag("--check", options->check, "Only validate the configuration, and run no plugin");
  TextOrJsonOption(command, options->json);
  command.footer(kCredentialsHelp);
  return [&context, options]() -> int {
    if (options->check) return CheckCredentials(*options, config::ProcessEnv, std::cout, std::cerr);
    // The agent knows the settings of its node. Any setting on the command line asks for an answer that the
    // agent cannot give.
    if (options->flags.given.empty() && options->sources.empty()) {
      auto agent = context.Client();
      if (!agent) return Fail(agent.error(), std::cerr);
      auto exit_code =
          FetchAgentCredentials(context.call, *agent, *options, config::ProcessEnv, std::cout, std::cerr);
      // Without an answer, no agent runs here. The command then looks up the credentials itself, unless the
      // user named an agent.
      if (exit_code) return *exit_code;
      if (!context.agent.empty()) return kUnreachable;
    }
    return FindCredentials(context.call, *options, config::ProcessEnv, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
