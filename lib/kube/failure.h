// Tells what kind of Failure an HTTP exchange with the API server (or kubelet) ended in. Pure. Internal to
// kube/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/client.h"
#include "kube/answer.h"

namespace prefetch::kube {

// nullopt for a 2xx. `attempt` names the request: "get nodes \"n1\"". The server's own words are taken
// from its Status object, or are left out if it sent none. They are redacted; `secrets` are what was sent.
std::optional<Failure> FailureOf(const http::Response& response, std::string_view attempt,
                                 const std::vector<const base::Secret*>& secrets, base::WallTime now);

// The same for an exchange that did not come to an answer.
Failure FailureOf(const base::Error& error, std::string_view attempt);

// Is `body` a Status object, which an API server sends with each refusal of its own?
bool IsStatus(const std::string& body);

// A complete answer that is not of the requested kind.
Failure Malformed(std::string_view attempt, std::string_view why);

}  // namespace prefetch::kube
