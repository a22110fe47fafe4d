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

// Returns nullopt for a 2xx. `attempt` names the request: "get nodes \"n1\"". The message of the server's
// Status object, if there is one, becomes part of the failure, without secrets: neither the process's own nor
// those in `secrets`, which this request has sent.
std::optional<Failure> FailureOf(const http::Response& response, std::string_view attempt,
                                 const std::vector<const base::Secret*>& secrets, base::WallTime now);

// Returns the failure of an exchange that ended without an answer.
Failure FailureOf(const base::Error& error, std::string_view attempt);

// Returns true if `body` is a Status object. An API server sends one with each of its own refusals.
bool IsStatus(const std::string& body);

// Returns the failure for a complete answer that is not of the requested kind.
Failure Malformed(std::string_view attempt, std::string_view why);

}  // namespace prefetch::kube
