// CredentialProviderConfig: kubelet's configuration of credential plugins
// (A1 to A5, A7).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "credentials/match.h"
#include "doc/problems.h"
#include "doc/reader.h"
#include "image/kubelet_version.h"

namespace prefetch::credentials {

// The first releases with a rule of kubelet for finding credentials (A2, A3, A12, A18, A19).
inline constexpr image::KubeletVersion kFirstStrict{1, 32};  // unknown and duplicate fields are errors
inline constexpr image::KubeletVersion kFirstWithTokenAttributes{1, 33};  // the field exists
// Node docker config and plugins are keyrings of their own, one after the other; before, they were one, in
// which plugins stand in the order of their names.
inline constexpr image::KubeletVersion kFirstWithSeparateKeyrings{1, 33};
inline constexpr image::KubeletVersion kFirstWithConfigDirectories{1, 34};  // it may be a directory
// The feature gate for tokenAttributes is on by default.
inline constexpr image::KubeletVersion kFirstWithTokenGateOn{1, 34};
// The cache key of a Global answer.
inline std::string_view GlobalCacheKey(image::KubeletVersion version) {
  return version >= image::KubeletVersion{1, 34} ? "<global>" : "global";
}

// tokenAttributes: how a provider asks for a service account's token (A5, A24).

enum class TokenCacheType { kServiceAccount, kToken };

struct TokenAttributes {
  std::string service_account_token_audience;
  TokenCacheType cache_type = TokenCacheType::kServiceAccount;
  bool require_service_account = false;
  std::vector<std::string> required_annotation_keys;
  std::vector<std::string> optional_annotation_keys;

  friend bool operator==(const TokenAttributes&, const TokenAttributes&) = default;
};

// Reads and checks the object; mistakes go to the reader's Problems. Pure.
TokenAttributes DecodeTokenAttributes(const doc::Reader& reader);

// "example.com/name", "name": Kubernetes' qualified name, in any case of letters (A6).
bool IsQualifiedName(std::string_view text);

// One plugin, validated.
struct Provider {
  std::string name;  // the executable's file name
  std::vector<Pattern> match_images;
  std::chrono::nanoseconds default_cache_duration{0};
  std::string api_version;  // of requests and responses: "credentialprovider.kubelet.k8s.io/v1"
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::optional<TokenAttributes> token_attributes;

  friend bool operator==(const Provider&, const Provider&) = default;
};

// A configuration as kubelet of some version would take it.
struct ProviderConfig {
  std::vector<Provider> providers;  // in the order of the files; empty if there are problems
  // All mistakes, one line each with file, place and path. kubelet would not start with one.
  std::vector<std::string> problems;
  std::string hash;  // as kubelet's metric has it: "sha256:…" over all files; empty if they cannot be read
};

// The providers of one file. Mistakes go to `problems`. Pure.
std::vector<Provider> DecodeProviderConfig(std::string_view text, image::KubeletVersion version,
                                           doc::Problems& problems);

// Reads `path`, a file or, from 1.34 on, a directory. With a `bin_dir` the plugins must be there too, as
// kubelet asks; without one (nullopt) they are not looked for. Blocks as a disk does.
ProviderConfig LoadProviderConfig(const std::string& path, const std::optional<std::string>& bin_dir,
                                  image::KubeletVersion version);

// The files that make up the configuration, in order. NotFound and the like.
base::Result<std::vector<std::string>> ProviderConfigFiles(const std::string& path,
                                                           image::KubeletVersion version);

}  // namespace prefetch::credentials
