// MakeHttpApi: Api over http::Client.
#pragma once

#include <memory>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "http/client.h"
#include "kube/answer.h"
#include "kube/api.h"
#include "kube/identity.h"

namespace prefetch::kube {

// Returns an Api that sends the credential to the Cluster's server only, and follows no redirects. It is
// thread-safe. The arguments must outlive it. `client` brings the proxy, if the cluster has one
// (Cluster::proxy).
std::unique_ptr<Api> MakeHttpApi(http::Client& client, Identity& identity, const base::Clock& clock);

// One request to the API server, or to a kubelet, with its credential. Internal to kube/.
struct ApiRequest {
  std::string attempt;  // for messages: "get nodes \"n1\""
  http::Request http;   // without the credential for the server, which Exchange adds
  const base::Secret* secret =
      nullptr;  // that its body holds; a caller's, which the process does not remember
};

// Returns the 2xx answer, or the failure. MakeHttpApi's Api and KubeletApi share its limits (bytes, and 30
// s). After a refused credential or an untrusted certificate, it sends the request once more, at once, if
// `identity` then has another credential or other authorities. The refused request has had no effect.
//
// `ca_pem` replaces the authorities of `identity`, unless it is empty.
Answer<http::Response> Exchange(const base::Call& call, http::Client& client, Identity& identity,
                                const base::Clock& clock, const ApiRequest& api_request,
                                const std::string& ca_pem = "");

}  // namespace prefetch::kube
