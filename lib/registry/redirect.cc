#include "registry/redirect.h"

#include <utility>

#include "registry/go_url.h"

namespace prefetch::registry {
namespace {

constexpr std::size_t kMaxRedirects = 9;  // As many as containerd follows (R40).

}  // namespace

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

base::Result<http::AbsoluteUrl> FollowRedirect(const std::vector<http::AbsoluteUrl>& passed,
                                               std::string_view location) {
  if (passed.size() > kMaxRedirects) return base::InvalidArgument("it redirects too often");
  auto next = http::ResolveLocation(passed.back(), location);
  if (!next) {
    base::Error error = std::move(next).error().Wrap("it redirects to an unusable URL");
    const auto go = ParseGoUrl(location);
    const bool theirs =
        go && !location.empty() && (go->scheme.empty() || go->scheme == "http" || go->scheme == "https");
    return theirs ? base::PermissionDenied(error.message()) : std::move(error);
  }
  // A redirect must not remove the protection that the operator configured (R40).
  if (passed.back().scheme == "https" && next->scheme == "http") {
    return base::PermissionDenied("it redirects from https to plain http");
  }
  return next;
}

bool SameServer(const http::AbsoluteUrl& a, const http::AbsoluteUrl& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

}  // namespace prefetch::registry
