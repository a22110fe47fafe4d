// CheckHost: one question to one server, with one identity after the other, including the challenges,
// tokens and retries that it takes (R5 to R7, R14 to R25).
#pragma once

#include <vector>

#include "base/call.h"
#include "image/registry_answer.h"
#include "image/registry_question.h"
#include "registry/host.h"
#include "registry/session.h"

namespace prefetch::registry {

// `chain` has all hosts of the registry, `host` among them. Returns kSame, kMoved, or the reason for neither,
// with the server that answered and the number of requests. Blocks until then. Any thread may call.
image::RegistryAnswer CheckHost(ClientState& state, const base::Call& call,
                                const std::vector<ChainedHost>& chain, const ChainedHost& host,
                                const image::RegistryQuestion& question);

}  // namespace prefetch::registry
