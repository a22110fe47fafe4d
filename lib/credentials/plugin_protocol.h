// kubelet's protocol with credential plugins: CredentialProviderRequest and CredentialProviderResponse in
// v1alpha1, v1beta1 and v1 (A9, A10). Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "credentials/key_index.h"
#include "image/kubelet_version.h"

namespace prefetch::credentials {

struct PluginRequest {
  std::string api_version;  // "credentialprovider.kubelet.k8s.io/v1"
  std::string image;        // the repository: "docker.io/library/nginx"
  // Only in v1, and only for a provider with tokenAttributes.
  base::Secret service_account_token;
  std::map<std::string, std::string> service_account_annotations;
};

// Compact JSON and a line break. A secret, since it may carry a token.
base::Secret EncodeRequest(const PluginRequest& request);

// For which images an answer holds.
enum class CacheKeyType { kImage, kRegistry, kGlobal };

struct PluginResponse {
  CacheKeyType cache_key_type = CacheKeyType::kImage;
  std::optional<std::chrono::nanoseconds> cache_duration;  // none: the provider's default
  std::vector<KeyedAuth> auth;                             // empty: no credentials, which is an answer
};

// InvalidArgument with a sentence that quotes nothing of the text, since it may hold passwords.
base::Result<PluginResponse> DecodeResponse(std::string_view text, std::string_view api_version,
                                            image::KubeletVersion version);

}  // namespace prefetch::credentials
