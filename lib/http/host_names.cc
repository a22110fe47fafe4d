#include "http/host_names.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "http/addresses.h"

namespace prefetch::http {
namespace {

// Nobody can register names below .localhost, .local and .internal (RFC 6761, RFC 6762, ICANN's resolution on
// .internal). The others are no public suffixes: only a cluster's own servers know "prefetchd.prefetchd.svc",
// and "prefetchd.prefetchd" in the usual namespace.
constexpr std::string_view kPrivateSuffixes[] = {".localhost", ".svc", ".local", ".internal", ".prefetchd"};

// Returns the name without port and brackets; empty if it is malformed.
std::string NameOf(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!port.empty() && (port.front() != ':' || (port.size() > 1 && !base::ParseUint(port.substr(1)))))
    return "";
  // A dot at the end only makes the name absolute.
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == ':';
  };
  std::string name = base::ToLower(host);
  return std::all_of(name.begin(), name.end(), fits) ? name : "";
}

}  // namespace

bool IsHostOfOurs(std::string_view host, const std::vector<std::string_view>& own) {
  if (host.empty()) return true;
  const std::string name = NameOf(host);
  if (name.empty()) return false;
  // A page under an address was served by that address, so it is not a stranger's page.
  if (IsAddress(name)) return true;
  if (name.find(':') != std::string::npos) return false;
  // No public registry gives out a name without a dot.
  if (name.find('.') == std::string::npos) return true;
  const auto is_name = [&](std::string_view each) { return base::EqualsIgnoreCase(each, name); };
  const auto ends_name = [&](std::string_view each) { return name.ends_with(each); };
  return std::any_of(own.begin(), own.end(), is_name) ||
         std::any_of(std::begin(kPrivateSuffixes), std::end(kPrivateSuffixes), ends_name);
}

bool MayBeOfAPage(const ServerRequest& request, const std::vector<std::string_view>& own) {
  bool ours = true;
  for (const auto& [name, value] : request.headers.fields()) {
    // Every Host header has to fit: a request may have several.
    if (base::EqualsIgnoreCase(name, "Host")) ours = ours && IsHostOfOurs(value, own);
  }
  // A page cannot set a header that begins with "Sec-".
  if (ours || request.headers.Has(kNoPageHeader)) return false;
  return request.headers.Get("Accept-Encoding").value_or("") != "gzip";
}

}  // namespace prefetch::http
