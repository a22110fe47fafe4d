// MakeImageService: the ImageService that a real container runtime is, over its unix socket.
#pragma once

#include <memory>

#include "cri/endpoint.h"
#include "cri/image_service.h"

namespace prefetch::cri {

// Returns the ImageService of the runtime at this socket. It connects by itself, when first called and again
// whenever the runtime came back; this function does not block. Two connections: pulls have one of their own.
// Each call has a limit beside its Call's deadline: 10 s for Connect's parts and ImageStatus, 30 s for
// ListImages and ImageFsInfo. PullImage has none: a runtime can hang for ever, and callers see whether the
// pull moves.
//
// Failures, besides those of the registry and the disk:
//  - kRuntimeDown, at once, if the socket is absent, refuses or is forbidden, or if the connection is cut; at
//    the deadline without an answer. The caller asks again when it likes: a runtime that is back is noticed
//    by the first call after it listens;
//  - kTimeout: connected, and the call did not end in time;
//  - kRuntimeUnsupported: it answers, and does not speak runtime.v1;
//  - kRuntimeError: it broke its contract (a pull that went well without an image_ref).
// The password of a PullRequest is wiped from the message that carried it; gRPC's own send buffers are not
// ours to wipe.
std::unique_ptr<ImageService> MakeImageService(const Endpoint& endpoint);

}  // namespace prefetch::cri
