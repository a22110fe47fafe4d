#include "kube/server_url.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "http/absolute_url.h"
#include "http/url.h"

namespace prefetch::kube {
namespace {

constexpr std::string_view kNoUrl = "must be an http or https URL";

// Returns the scheme in small letters; empty if the text has none with a host behind it.
std::string SchemeOf(std::string_view text) {
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return "";
  const std::string scheme = base::ToLower(text.substr(0, end));
  const bool begins = !scheme.empty() && scheme.front() >= 'a' && scheme.front() <= 'z';
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789+-.";
  return begins && scheme.find_first_not_of(kCharacters) == std::string::npos ? scheme : "";
}

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:@!$&'()*+,;=";

// Whether a path goes out as it is written: client-go decodes percent encoding, and encodes again.
bool IsPlainPath(std::string_view path) {
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return c == '/' || kPlain.find(c) != std::string_view::npos; });
}

bool IsPlainUser(std::string_view user) {
  const bool plain = std::all_of(user.begin(), user.end(),
                                 [](char c) { return c == '%' || kPlain.find(c) != std::string_view::npos; });
  return plain && http::PercentDecode(user);
}

bool HasControls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace

base::Result<std::string> ReadServerUrl(std::string_view text) {
  if (HasControls(text)) return base::InvalidArgument(std::string(kNoUrl));
  // client-go drops it, or makes it a part of the path, where it goes on.
  if (text.find('#') != std::string_view::npos)
    return base::InvalidArgument("must be a URL without a fragment");
  text = text.substr(0, text.find('?'));
  const std::string scheme = SchemeOf(text);
  auto url = http::ParseAbsoluteUrl(scheme.empty() ? "http://" + std::string(text) : std::string(text));
  if (!url) {
    const std::string_view host = text.substr(scheme.empty() ? 0 : scheme.size() + 3);
    const bool user = host.substr(0, host.find('/')).find('@') != std::string_view::npos;
    return base::InvalidArgument(user ? "must be a URL without user"
                                      : std::string(kNoUrl) + ": " + url.error().message());
  }
  if (scheme.empty() && url->target != "/") return base::InvalidArgument(std::string(kNoUrl));
  if (!IsPlainPath(url->target)) {
    return base::InvalidArgument("must be a URL whose path needs no percent encoding");
  }
  std::string path = std::filesystem::path(url->target).lexically_normal().string();
  // Paths of requests begin with "/", and some servers do not accept "//".
  while (path.ends_with('/')) path.pop_back();
  return url->Origin() + path;
}

base::Status CheckProxyUrl(std::string_view text) {
  const std::string scheme = SchemeOf(text);
  if (scheme != "http" && scheme != "https" && scheme != "socks5") {
    return base::InvalidArgument("must be an http, https or socks5 URL");
  }
  text = text.substr(0, text.find('?'));
  std::string_view host = text.substr(scheme.size() + 3);
  const std::size_t end = std::min(host.find('/'), host.size());
  if (!IsPlainPath(host.substr(end))) return base::InvalidArgument("must be a URL of a host alone");
  host = host.substr(0, end);
  if (const std::size_t at = host.rfind('@'); at != std::string_view::npos) {
    if (!IsPlainUser(host.substr(0, at))) {
      return base::InvalidArgument("must be a URL whose user and password are percent-encoded");
    }
    host.remove_prefix(at + 1);
  }
  auto url = http::ParseAbsoluteUrl("http://" + std::string(host));
  if (!url) return base::InvalidArgument("must be a URL of a host: " + url.error().message());
  return {};
}

// User and password are encoded anew, the scheme gets small letters, and the rest stays as it is written.
std::string ProxyForPlugins(std::string_view text) {
  const std::string scheme = SchemeOf(text);
  std::string_view rest = text.substr(std::min(scheme.size() + 3, text.size()));
  const std::size_t at = rest.substr(0, rest.find_first_of("/?")).rfind('@');
  if (scheme.empty() || at == std::string_view::npos) return scheme + std::string(text.substr(scheme.size()));
  auto encode = [](std::string_view part) {
    return http::PercentEncode(http::PercentDecode(part).value_or(""), "$&+,;=");
  };
  const std::string_view user = rest.substr(0, at);
  const std::size_t colon = user.find(':');
  std::string encoded = encode(user.substr(0, colon));
  if (colon != std::string_view::npos) encoded += ":" + encode(user.substr(colon + 1));
  return scheme + "://" + encoded + std::string(rest.substr(at));
}

}  // namespace prefetch::kube
