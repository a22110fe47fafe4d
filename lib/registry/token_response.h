// Parses a token service's answer (R17). Pure; the text is untrusted.
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace prefetch::registry {

struct Token {
  base::Secret text;  // printable ASCII without blanks: fits a header
  // From now, as the service says it, or 60 s. `issued_at` is not looked at: clocks differ, and a token that
  // is refused before its time is replaced once anyway.
  std::chrono::seconds lifetime{60};
};

// How a token was asked for (R16). containerd reads no `token` in an answer to POST.
enum class TokenRequestForm { kGet, kPost };

// For how long a token is used: until 30 s before its end, or for half of its life if that is longer.
std::chrono::seconds UsableFor(std::chrono::seconds lifetime);

// InvalidArgument: no JSON object, no `access_token` in it, and no `token` for kGet, or one that cannot stand
// in a header. ResourceExhausted: it is beyond our own limits, which are 1,000 levels, 100,000 values, 1 MiB,
// and 64 KiB for a token; or has a number beyond those of Go. The runtimes may read it.
base::Result<Token> ParseTokenResponse(std::string_view body, TokenRequestForm form = TokenRequestForm::kGet);

}  // namespace prefetch::registry
