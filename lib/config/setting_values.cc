#include "config/setting_values.h"

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

bool IsOn(const std::optional<SourcedValue<bool>>& given) {
  return given && given->value;
}

std::string AbsolutePath(const SourcedText& given, Mistakes& mistakes) {
  if (!given) return "";
  if (!given->value.starts_with('/')) mistakes.Add(given->by, "must be an absolute path");
  return given->value;
}

std::string RuntimeEndpoint(const SourcedText& given, Mistakes& mistakes) {
  if (!given) return "";
  auto path = base::ParseUnixSocket(given->value);
  if (!path) {
    mistakes.Add(given->by, path.error().message());
    return "";
  }
  return "unix://" + *path;
}

// Command lines and environments are visible to other processes, so a proxy's password is accepted from the
// file only.
std::string ProxyUrl(const SourcedText& given, Mistakes& mistakes) {
  if (!given) return "";
  bool url = given->value.starts_with("http://") || given->value.starts_with("https://");
  if (!url) mistakes.Add(given->by, "must be a URL such as http://proxy.acme.io:3128");
  bool open = given->by.starts_with("--") || given->by.starts_with("PREFETCHD_");
  if (url && open && given->value.find('@') != std::string::npos) {
    mistakes.Add(given->by, "must not hold a password: put such a proxy into the configuration file");
  }
  return given->value;
}

std::string SocketPath(const SourcedText& given, Mistakes& mistakes) {
  if (!given) return kDefaultLocal;
  std::string path = AbsolutePath(given, mistakes);
  // The limit of unix(7) (C8).
  if (path.size() > base::kLongestSocketPath)
    mistakes.Add(given->by, "the path of a socket has at most 107 bytes");
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

ListenAddress ListenAt(const SourcedText& given, Mistakes& mistakes) {
  if (auto address = ParseHostPort(given ? given->value : kDefaultListen)) return *address;
  mistakes.Add(given ? given->by : "--listen", "must be host:port, such as 127.0.0.1:9477 or [::1]:9477");
  return {};
}

base::LogLevel LogLevelOf(const SourcedText& given, Mistakes& mistakes) {
  if (!given || given->value == "info") return base::LogLevel::kInfo;
  if (given->value == "debug") return base::LogLevel::kDebug;
  if (given->value == "warning") return base::LogLevel::kWarning;
  if (given->value == "error") return base::LogLevel::kError;
  mistakes.Add(given->by, "must be debug, info, warning or error");
  return base::LogLevel::kInfo;
}

std::optional<base::LogFormat> LogFormatOf(const SourcedText& given, Mistakes& mistakes) {
  if (!given || given->value == "auto") return std::nullopt;
  if (given->value == "json") return base::LogFormat::kJson;
  if (given->value == "plain") return base::LogFormat::kPlain;
  mistakes.Add(given->by, "must be auto, json or plain");
  return std::nullopt;
}

}  // namespace prefetch::config
