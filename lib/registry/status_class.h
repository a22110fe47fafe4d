// Classifies failed manifest requests: by their HTTP status after authentication (R22), and broken exchanges
// (R24). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client.h"
#include "image/registry_answer.h"

namespace prefetch::registry {

// The facts of an unsuccessful answer.
struct Refusal {
  int status = 0;
  std::string oci_code;             // of the body; empty: none, as with every HEAD
  std::string_view body;            // as it came, cut
  bool html = false;                // its Content-Type
  bool credential = false;          // was one sent (a password, or a token got with one)?
  bool insufficient_scope = false;  // the challenge says that this identity may not
};

struct StatusClass {
  image::RegistryAnswerKind kind = image::RegistryAnswerKind::kServerError;
  image::RegistryDetail detail = image::RegistryDetail::kNone;

  friend bool operator==(const StatusClass&, const StatusClass&) = default;
};

// Classifies any status except 200, redirects that can be followed, and those that a GET can clarify (405,
// 501).
StatusClass ClassOf(const Refusal& refusal);

// `error` is http::Client's, which holds no secret. kNone is no fault, and must not be asked for.
image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error);

}  // namespace prefetch::registry
