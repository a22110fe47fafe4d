#include "credentials/plugin.h"

#include "base/subprocess.h"
#include "credentials/scrub.h"
#include "doc/duration.h"

namespace prefetch::credentials {
namespace {

constexpr std::size_t kLongestResponse = 1 << 20;
constexpr std::size_t kKeptErrors = 4096;

base::Command CommandOf(const Provider& provider, const PluginSurroundings& surroundings) {
  base::Command command;
  const std::string& directory = surroundings.bin_dir;
  command.argv = {directory + (directory.ends_with('/') ? "" : "/") + provider.name};
  command.argv.insert(command.argv.end(), provider.args.begin(), provider.args.end());
  std::map<std::string, std::string> environment = surroundings.environment;
  for (const auto& [name, value] : provider.env) environment[name] = value;
  for (const auto& [name, value] : environment) command.environment.push_back(name + "=" + value);
  command.directory = surroundings.working_directory;
  command.max_output = kLongestResponse;
  command.max_errors = kKeptErrors;
  return command;
}

// ": its message", without secrets.
std::string Said(const base::ProcessResult& result) {
  std::vector<std::string> secrets = SecretsIn(result.output.Reveal());
  std::string text = ScrubPluginErrors(result.errors, secrets);
  for (std::string& secret : secrets) base::WipeString(secret);
  return text.empty() ? "" : ": " + text;
}

base::Error Failure(const base::ProcessResult& result, const PluginSurroundings& surroundings) {
  switch (result.end) {
    case base::ProcessEnd::kExited:
      return base::Unavailable("exited " + std::to_string(result.code) + Said(result));
    case base::ProcessEnd::kSignalled:
      return base::Unavailable("was killed by signal " + std::to_string(result.code) + Said(result));
    case base::ProcessEnd::kTimedOut:
      return base::DeadlineExceeded(
          (result.took < surroundings.timeout
               ? "did not answer in the time that was left"
               : "did not answer within " + doc::FormatDuration(surroundings.timeout)) +
          Said(result));
    case base::ProcessEnd::kCancelled:
      return base::Cancelled("a stop was requested");
    case base::ProcessEnd::kOutputLimit:
      return base::ResourceExhausted("wrote more than 1 MiB" + Said(result));
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
  base::Result<base::ProcessResult> result = base::RunProcess(
      call.Within(surroundings.timeout), CommandOf(provider, surroundings), request.Reveal());
  if (!result) return std::move(result).error();
  if (result->end != base::ProcessEnd::kExited || result->code != 0) return Failure(*result, surroundings);
  auto response = DecodeResponse(result->output.Reveal(), provider.api_version, surroundings.kubelet_version);
  if (response && provider.token_attributes && EchoesToken(*response, *provider.token_attributes, identity)) {
    return base::InvalidArgument(
        "the response gives the service account's token back as a password, which only cacheType Token "
        "allows");
  }
  return response;
}

}  // namespace prefetch::credentials
