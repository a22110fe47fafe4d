// The body of a registry's refusal: {"errors":[{"code","message","detail"}]} (OCI distribution-spec, "Error
// Codes"). Pure; the text is a stranger's, and may be anything.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"

namespace prefetch::registry {

struct OciError {
  std::string code;     // "MANIFEST_UNKNOWN", in upper case; empty: the body is no such document
  std::string message;  // as written; show it through ShownText only

  friend bool operator==(const OciError&, const OciError&) = default;
};

// The first error of the list; {} if there is none.
OciError ParseOciError(std::string_view body);

// Makes a stranger's text fit for a status and a log: one line, UTF-8, without the given secrets (plain and
// in base64) and the query strings of URLs, at most 200 bytes (R43).
std::string ShownText(std::string_view text, const std::vector<const base::Secret*>& secrets);

}  // namespace prefetch::registry
