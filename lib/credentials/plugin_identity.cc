#include "credentials/plugin_identity.h"

#include <algorithm>

#include "base/sha256.h"

namespace prefetch::credentials {
namespace {

// Appends length and bytes, as kubelet joins them: no two lists of texts give the same key.
void AppendWithLength(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

std::string CacheKey(const TokenAttributes& attributes, const ServiceAccountName& account,
                     const std::string& uid, const PluginIdentity& identity) {
  std::string key;
  for (const std::string* text : {&account.name_space, &account.name, &uid}) AppendWithLength(key, *text);
  for (const auto& [name, value] : identity.annotations) {
    AppendWithLength(key, name);
    AppendWithLength(key, value);
  }
  // A27. The hash stands for the token, so that no secret is in the key.
  if (attributes.cache_type == TokenCacheType::kToken) {
    AppendWithLength(key, "token");
    AppendWithLength(key, "sha256:" + base::Sha256Hex(identity.token.Reveal()));
  }
  return key;
}

}  // namespace

base::Result<PluginIdentity> IdentityFor(const TokenAttributes& attributes, const ServiceAccountName& account,
                                         const ServiceAccountGrant& grant) {
  PluginIdentity identity;
  for (const std::string& key : attributes.required_annotation_keys) {
    auto found = grant.annotations.find(key);
    if (found == grant.annotations.end()) {
      return base::NotFound("service account " + account.ToString() + " has no annotation " + key +
                            ", which the provider requires");
    }
    identity.annotations.insert(*found);
  }
  for (const std::string& key : attributes.optional_annotation_keys) {
    auto found = grant.annotations.find(key);
    if (found != grant.annotations.end()) identity.annotations.insert(*found);
  }
  identity.token = grant.token;
  identity.cache_key = CacheKey(attributes, account, grant.uid, identity);
  return identity;
}

bool EchoesToken(const PluginResponse& response, const TokenAttributes& attributes,
                 const PluginIdentity& identity) {
  // A26: with cacheType Token, the answer expires with the token, so it may contain it.
  if (attributes.cache_type == TokenCacheType::kToken || identity.token.empty()) return false;
  return std::any_of(response.auth.begin(), response.auth.end(), [&](const KeyedAuth& keyed) {
    return keyed.auth.password.Reveal() == identity.token.Reveal();
  });
}

}  // namespace prefetch::credentials
