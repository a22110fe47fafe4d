#include "credentials/plugin.h"

#include "base/foreign_text.h"
#include "base/subprocess.h"
#include "doc/duration.h"
#include "doc/secret_node.h"

namespace prefetch::credentials {
namespace {

constexpr std::size_t kLongestResponse = 1 << 20;
constexpr std::size_t kKeptErrors = 4096;
constexpr std::size_t kLongestWords = 1024;

base::Command CommandOf(const Provider& provider, const PluginSurroundings& surroundings) {
  base::Command command;
  // No shell and no search in PATH, as with kubelet (A8).
  const std::string& directory = surroundings.bin_dir;
  command.argv = {directory + (directory.ends_with('/') ? "" : "/") + provider.name};
  command.argv.insert(command.argv.end(), provider.args.begin(), provider.args.end());
  std::map<std::string, std::string> environment = surroundings.environment;
  // A8: the provider's variables win over those of the surroundings.
  for (const auto& [name, value] : provider.env) environment[name] = value;
  for (const auto& [name, value] : environment) command.environment.push_back(name + "=" + value);
  command.directory = surroundings.working_directory;
  // A plugin that writes without end is stopped here, and cannot exhaust the agent's memory.
  command.max_output = kLongestResponse;
  command.max_errors = kKeptErrors;
  return command;
}

// Returns the secrets of one run: strings in its stdout, also in an answer that does not decode, and values
// of the provider's own environment.
std::vector<base::Secret> SecretsOf(const base::ProcessResult& result, const Provider& provider) {
  std::vector<base::Secret> secrets = doc::SecretStrings(result.output.Reveal());
  for (const auto& [name, value] : provider.env) {
    if (base::MayBeSecret(name, value)) secrets.emplace_back(value);
  }
  return secrets;
}

// Returns ": " and the plugin's message without secrets (A11); empty if it wrote none.
std::string StderrWords(const base::ProcessResult& result, const Provider& provider,
                        const base::Secret& token) {
  const std::vector<base::Secret> secrets = SecretsOf(result, provider);
  std::vector<const base::Secret*> all = {&token};
  for (const base::Secret& secret : secrets) all.push_back(&secret);
  const std::string text = base::PluginText(result.errors, kLongestWords, all);
  return text.empty() ? "" : ": " + text;
}

// `cut_short`: the caller's deadline was earlier than the plugin's own timeout.
base::Error Failure(const base::ProcessResult& result, const PluginSurroundings& surroundings, bool cut_short,
                    const std::string& stderr_words) {
  switch (result.end) {
    case base::ProcessEnd::kExited:
      return base::Unavailable("exited " + std::to_string(result.code) + stderr_words);
    case base::ProcessEnd::kSignalled:
      return base::Unavailable("was killed by signal " + std::to_string(result.code) + stderr_words);
    case base::ProcessEnd::kTimedOut:
      // A deadline of the caller says nothing about the plugin, so the words differ.
      return base::DeadlineExceeded(
          (cut_short ? "did not answer in the time that was left"
                     : "did not answer within " + doc::FormatDuration(surroundings.timeout)) +
          stderr_words);
    case base::ProcessEnd::kCancelled:
      return base::Cancelled("a stop was requested");
    case base::ProcessEnd::kOutputLimit:
      return base::ResourceExhausted("wrote more than 1 MiB" + stderr_words);
  }
  return base::Internal("ended in an unknown way");
}

}  // namespace

base::Result<PluginResponse> RunPlugin(const base::Call& call, const Provider& provider,
                                       const PluginSurroundings& surroundings, const std::string& image,
                                       const PluginIdentity& identity) {
  base::Secret request = EncodeRequest({.api_version = provider.api_version,
                                        .image = image,
                                        .service_account_token = identity.token,
                                        .service_account_annotations = identity.annotations});
  // The request may carry a token. It goes through stdin, never into arguments or variables, which other
  // processes can read.
  const base::Call limited = call.Within(surroundings.timeout);
  base::Result<base::ProcessResult> result =
      base::RunProcess(limited, CommandOf(provider, surroundings), request.Reveal());
  if (!result) return std::move(result).error();
  if (result->end != base::ProcessEnd::kExited || result->code != 0) {
    return Failure(*result, surroundings, limited.deadline == call.deadline,
                   StderrWords(*result, provider, identity.token));
  }
  auto response = DecodeResponse(result->output.Reveal(), provider.api_version, surroundings.kubelet_version);
  // A26.
  if (response && provider.token_attributes && EchoesToken(*response, *provider.token_attributes, identity)) {
    return base::InvalidArgument(
        "the response gives the service account's token back as a password, which only cacheType Token "
        "allows");
  }
  return response;
}

}  // namespace prefetch::credentials
