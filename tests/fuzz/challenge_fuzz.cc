// WWW-Authenticate, and what follows from it: scopes, the judgement of a realm, the token request.
#include <cstdint>
#include <cstdlib>

#include "registry/authenticator.h"
#include "registry/challenge.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  auto chosen = registry::ChooseChallenge({{reinterpret_cast<const char*>(data), size}});
  if (!chosen || !*chosen) return 0;
  auto contact = http::ParseAbsoluteUrl("https://reg.example/v2");
  auto realm = registry::ValidateRealm((*chosen)->Get("realm"), *contact, {});
  if (!realm) return 0;
  if (realm->url.scheme != "https") std::abort();
  auto scopes = registry::PullScopes((*chosen)->Get("scope"), "a/b");
  if (scopes.size() > 16) std::abort();
  std::string url = registry::TokenUrl(realm->url, (*chosen)->Get("service"), scopes);
  auto again = http::ParseAbsoluteUrl(url);
  if (again && again->Origin() != realm->url.Origin()) std::abort();
  return 0;
}
