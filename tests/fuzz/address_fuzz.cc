// host:port and the runtime's endpoint, as flags and configurations spell them. The configuration, its JSON
// Schema, and the parts that use the values agree.
#include <map>
#include <regex>

#include "config/agent_config.h"
#include "config/settings.h"
#include "cri/endpoint.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un

bool Matches(const std::string& text, const char* pattern) {
  static std::map<std::string, std::regex> compiled;
  auto found = compiled.find(pattern);
  if (found == compiled.end()) found = compiled.emplace(pattern, std::regex(pattern)).first;
  return std::regex_search(text, found->second);
}

void JudgeHostPort(const std::string& text) {
  const auto address = config::ParseHostPort(text);
  // A schema's pattern is for texts without line breaks; std::regex recurs for each byte.
  const bool plain = text.size() <= 100 && text.find_first_of("\n\r") == std::string::npos &&
                     text.find("\xe2\x80") == std::string::npos;
  if (plain && Matches(text, config::kHostPort) != address.has_value()) std::abort();
  if (plain && Matches(text, config::kOtherHostPort) !=
                   (address.has_value() && !address->host.empty() && address->port != 0)) {
    std::abort();
  }
  if (!address) return;
  if (address->port < 0 || address->port > 65535) std::abort();
  const auto again = config::ParseHostPort("[" + address->host + "]:" + std::to_string(address->port));
  if (!address->host.empty() && again != address) std::abort();
  if (text.find(address->host) == std::string::npos) std::abort();
}

void JudgeEndpoint(const std::string& text) {
  const auto endpoint = cri::ParseEndpoint(text);
  if (!endpoint) {
    if (endpoint.error().code() != base::Code::kInvalidArgument || endpoint.error().message().empty())
      std::abort();
    return;
  }
  const std::string& path = endpoint->socket_path;
  if (!path.starts_with('/') || path.size() > kLongestSocketPath || path.find('\0') != std::string::npos)
    std::abort();
  if (!text.ends_with(path)) std::abort();
  for (const std::string& other : {endpoint->ToString(), path, "unix:" + path}) {
    const auto again = cri::ParseEndpoint(other);
    if (!again || *again != *endpoint) std::abort();
  }
  // The configuration accepts the same text, and passes it on unchanged.
  config::Mistakes mistakes;
  const config::SourcedText given{endpoint->ToString(), "--runtime-endpoint"};
  const std::string of_config = config::RuntimeEndpoint(&given, mistakes);
  if (of_config != endpoint->ToString() || !mistakes.empty()) std::abort();
}

}  // namespace

FUZZ_TARGET(input) {
  const std::string text(input);
  JudgeHostPort(text);
  JudgeEndpoint(text);
  config::Mistakes mistakes;
  const config::SourcedText given{text, "--runtime-endpoint"};
  const std::string accepted = config::RuntimeEndpoint(&given, mistakes);
  if (mistakes.empty() && !accepted.starts_with("unix:///")) std::abort();
}
