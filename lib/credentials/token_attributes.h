// tokenAttributes: how a provider asks for a service account's token (A5, A24).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doc/reader.h"

namespace prefetch::credentials {

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

}  // namespace prefetch::credentials
