// WWW-Authenticate, and what follows from it: scopes, the judgement of a realm, the token request.

#include "fuzz/target.h"
#include "registry/challenge.h"
#include "registry/login.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  auto chosen = registry::ChooseChallenge({text});
  if (!chosen || !*chosen) return;
  auto contact = http::ParseAbsoluteUrl("https://reg.example/v2");
  auto realm = registry::ValidateRealm((*chosen)->Get("realm"), *contact, {});
  if (!realm) return;
  if (realm->url.scheme != "https") std::abort();
  auto scopes = registry::PullScopes((*chosen)->Get("scope"), "a/b");
  if (scopes.size() > 16) std::abort();
  std::string url = registry::TokenUrl(realm->url, (*chosen)->Get("service"), scopes);
  auto again = http::ParseAbsoluteUrl(url);
  if (again && again->Origin() != realm->url.Origin()) std::abort();
}
