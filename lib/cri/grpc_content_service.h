// MakeContentService: containerd's own content, leases and snapshots services.
#pragma once

#include <memory>

#include "cri/content_service.h"
#include "cri/endpoint.h"

namespace prefetch::cri {

// Returns the ContentService that the container runtime at this unix socket is. It connects by itself, and
// does not block for it here. Each call but OpenBlob ends within 10 s.
std::unique_ptr<ContentService> MakeContentService(const Endpoint& endpoint);

}  // namespace prefetch::cri
