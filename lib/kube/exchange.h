// One request to the API server, or to a kubelet, with the credential that goes with it. Internal to kube/.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "http/client.h"
#include "kube/answer.h"
#include "kube/identity.h"

namespace prefetch::kube {

struct Ask {
  std::string attempt;  // for messages: "get nodes \"n1\""
  std::string method = "GET";
  std::string url;
  std::string content_type;  // of `body`
  std::string body;
  const base::Secret* secret = nullptr;  // that `body` holds; a caller's, which the process does not remember
  std::string accept = "application/json";
  std::size_t max_body_bytes = 4 * 1024 * 1024;  // of the answer
  std::optional<http::SecretHeader> header;      // for the pod to which the API server passes the request on
  http::Headers further;                         // likewise
};

// Returns the 2xx answer, or the failure. HttpApi and KubeletApi share its limits (bytes, and 30 s). After a
// refused credential or an untrusted certificate, it sends the request once more, at once, if `identity` then
// has another credential or other authorities. The refused request has had no effect.
//
// `ca_pem` replaces the authorities of `identity`, unless it is empty.
Answer<http::Response> Exchange(const base::Call& call, http::Client& client, Identity& identity,
                                const base::Clock& clock, const Ask& ask, const std::string& ca_pem = "");

}  // namespace prefetch::kube
