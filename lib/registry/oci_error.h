// The body of a registry's refusal: {"errors":[{"code","message","detail"}]} (OCI distribution-spec, "Error
// Codes"). Pure; the text is untrusted, and may be anything.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::registry {

struct OciError {
  std::string code;     // "MANIFEST_UNKNOWN", in upper case; empty: the body is no such document
  std::string message;  // as written; show it through base::ForeignText only

  friend bool operator==(const OciError&, const OciError&) = default;
};

// The first error of the list; {} if there is none.
OciError ParseOciError(std::string_view body);

// The maximum size of a registry's words in a message (R43).
inline constexpr std::size_t kLongestWords = 200;

}  // namespace prefetch::registry
