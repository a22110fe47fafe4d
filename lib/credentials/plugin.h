// RunPlugin: one execution of a credential plugin (A8).
// EncodeRequest, DecodeResponse: kubelet's protocol with plugins (A9, A10).
// PluginIdentity: the service account that a plugin is asked for (A24, A26, A27).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/result.h"
#include "base/secret.h"
#include "credentials/match.h"
#include "credentials/provider_config.h"
#include "image/kubelet_version.h"

namespace prefetch::credentials {

// The images for which an answer holds.
enum class CacheKeyType { kImage, kRegistry, kGlobal };

struct PluginResponse {
  CacheKeyType cache_key_type = CacheKeyType::kImage;
  std::optional<std::chrono::nanoseconds> cache_duration;  // none: the provider's default
  std::vector<KeyedAuth> auth;                             // empty: no credentials, which is an answer
};

// Decodes a plugin's answer. InvalidArgument has a sentence that quotes nothing of the text, since it may
// hold passwords.
base::Result<PluginResponse> DecodeResponse(std::string_view text, std::string_view api_version,
                                            image::KubeletVersion version);

// The service account that a plugin with tokenAttributes is asked for (A24, A26, A27). kubelet asks for a
// pod's account. A node agent has no pod, so it asks for the one account that its configuration names, and
// for none if a plugin can do without.
struct ServiceAccountName {
  std::string name_space, name;

  std::string ToString() const { return name_space + "/" + name; }
  friend bool operator==(const ServiceAccountName&, const ServiceAccountName&) = default;
};

// The account as the API server has it, and its token for one audience.
struct ServiceAccountGrant {
  std::string uid;
  std::map<std::string, std::string> annotations;
  base::Secret token;
};

// Asks for one, or gives one that still holds. Any thread; blocks until `call` ends it. An Error: none now,
// with a sentence that names the missing part.
using GrantSource =
    std::function<base::Result<ServiceAccountGrant>(const base::Call& call, const std::string& audience)>;

// A value. Without a token: the plugin is asked as one that knows no accounts.
struct PluginIdentity {
  base::Secret token;
  std::map<std::string, std::string> annotations;  // those that the provider names, as far as they are there
  // The cache key of answers: account, annotations and, if the provider's cacheType is Token, the token's
  // hash. Empty: no account.
  std::string cache_key;
};

// The CredentialProviderRequest of v1alpha1, v1beta1 or v1 (A9, A10) for `image`, a repository: compact JSON
// and a line break. Token and annotations are only in v1, and only for a provider with tokenAttributes. A
// secret, since it may carry a token.
base::Secret EncodeRequest(std::string_view api_version, std::string_view image,
                           const PluginIdentity& identity = {});

// Returns the identity for which the plugin is asked. Returns NotFound if the account lacks an annotation
// that the provider requires: the provider then has nothing for it.
base::Result<PluginIdentity> IdentityFor(const TokenAttributes& attributes, const ServiceAccountName& account,
                                         const ServiceAccountGrant& grant);

// A plugin may return the token itself as a password only with `cacheType: Token`. With any other type, its
// answer would outlive the token.
bool EchoesToken(const PluginResponse& response, const TokenAttributes& attributes,
                 const PluginIdentity& identity);

constexpr std::chrono::seconds kPluginTimeout{60};  // as kubelet

// Settings that all plugins of a node share.
struct PluginContext {
  std::string bin_dir;
  std::map<std::string, std::string> environment;  // instead of kubelet's own; a provider's env goes over it
  std::string working_directory = "/";             // kubelet's
  image::KubeletVersion kubelet_version;
  std::chrono::milliseconds timeout = kPluginTimeout;
};

// Asks the plugin for `image`, a repository, and for `identity` if it has a token. Thread-safe. Blocks until
// the plugin has answered, for `timeout` at most, and then kills its whole process group; kubelet kills only
// the process itself. An Error means that this provider has no credentials now; its message has the plugin's
// stderr without secrets.
base::Result<PluginResponse> RunPlugin(const base::Call& call, const Provider& provider,
                                       const PluginContext& context, const std::string& image,
                                       const PluginIdentity& identity = {});

// Runs plugins: RunPlugin, or a model of it.
using PluginRunner = std::function<base::Result<PluginResponse>(
    const base::Call& call, const Provider& provider, const PluginContext& context, const std::string& image,
    const PluginIdentity& identity)>;

}  // namespace prefetch::credentials
