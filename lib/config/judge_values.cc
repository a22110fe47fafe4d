#include "config/judge_values.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/label_syntax.h"
#include "base/text.h"
#include "base/unix_socket.h"
#include "config/settings.h"
#include "image/node_labels.h"

namespace prefetch::config {
namespace {

constexpr std::uint64_t kHighestPort = 65535;

}  // namespace

bool IsOn(const std::optional<SourcedValue<bool>>& said) {
  return said && said->value;
}

std::string AbsolutePath(const SaidText& said, Mistakes& mistakes) {
  if (!said) return "";
  if (!said->value.starts_with('/')) mistakes.Add(said->by, "must be an absolute path");
  return said->value;
}

std::string RuntimeEndpoint(const SaidText& said, Mistakes& mistakes) {
  if (!said) return "";
  auto path = base::ParseUnixSocket(said->value);
  if (!path) {
    mistakes.Add(said->by, path.error().message());
    return "";
  }
  return "unix://" + *path;
}

// Command lines and environments are visible to other processes, so a proxy's password is accepted from the
// file only.
std::string ProxyUrl(const SaidText& said, Mistakes& mistakes) {
  if (!said) return "";
  bool url = said->value.starts_with("http://") || said->value.starts_with("https://");
  if (!url) mistakes.Add(said->by, "must be a URL such as http://proxy.acme.io:3128");
  bool open = said->by.starts_with("--") || said->by.starts_with("PREFETCHD_");
  if (url && open && said->value.find('@') != std::string::npos) {
    mistakes.Add(said->by, "must not hold a password: put such a proxy into the configuration file");
  }
  return said->value;
}

std::string SocketPath(const SaidText& said, Mistakes& mistakes) {
  if (!said) return kDefaultLocal;
  std::string path = AbsolutePath(said, mistakes);
  // The limit of unix(7) (C8).
  if (path.size() > base::kLongestSocketPath)
    mistakes.Add(said->by, "the path of a socket has at most 107 bytes");
  return path;
}

std::optional<ListenAddress> ParseHostPort(const std::string& text) {
  // The last colon precedes the port, since an IPv6 address has colons of its own.
  std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  std::optional<std::uint64_t> port;
  if (colon != std::string::npos) port = base::ParseUint(std::string_view(text).substr(colon + 1));
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  // Without brackets, an IPv6 address and its port could not be told apart.
  bool host_ok = bracketed || host.find_first_of(":[]") == std::string::npos;
  if (!port || *port > kHighestPort || !host_ok) return std::nullopt;
  return ListenAddress{host, static_cast<int>(*port)};
}

ListenAddress ListenAt(const SaidText& said, Mistakes& mistakes) {
  if (auto address = ParseHostPort(said ? said->value : kDefaultListen)) return *address;
  mistakes.Add(said ? said->by : "--listen", "must be host:port, such as 127.0.0.1:9477 or [::1]:9477");
  return {};
}

base::LogLevel LogLevelOf(const SaidText& said, Mistakes& mistakes) {
  if (!said || said->value == "info") return base::LogLevel::kInfo;
  if (said->value == "debug") return base::LogLevel::kDebug;
  if (said->value == "warning") return base::LogLevel::kWarning;
  if (said->value == "error") return base::LogLevel::kError;
  mistakes.Add(said->by, "must be debug, info, warning or error");
  return base::LogLevel::kInfo;
}

std::optional<base::LogFormat> LogFormatOf(const SaidText& said, Mistakes& mistakes) {
  if (!said || said->value == "auto") return std::nullopt;
  if (said->value == "json") return base::LogFormat::kJson;
  if (said->value == "plain") return base::LogFormat::kPlain;
  mistakes.Add(said->by, "must be auto, json or plain");
  return std::nullopt;
}

}  // namespace prefetch::config
