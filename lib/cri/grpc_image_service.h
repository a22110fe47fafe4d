// GrpcImageService: the ImageService that a real container runtime is, over its unix socket.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cri/endpoint.h"
#include "cri/image_service.h"

namespace prefetch::cri {

// Connects by itself, when first called and again whenever the runtime came back; the constructor does not
// block. Two connections: pulls have one of their own. Each call has a limit beside its Call's deadline:
// 10 s for Connect's parts and ImageStatus, 30 s for ListImages and ImageFsInfo. PullImage has none: a
// runtime can hang for ever, and callers see whether the pull moves.
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
class GrpcImageService final : public ImageService {
 public:
  explicit GrpcImageService(const Endpoint& endpoint);
  GrpcImageService(const GrpcImageService&) = delete;
  GrpcImageService& operator=(const GrpcImageService&) = delete;
  ~GrpcImageService() override;

  CallResult<RuntimeInfo> Connect(const base::Call& call) override;
  std::uint64_t Generation() override;
  CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override;
  CallResult<std::optional<ImageDetails>> ImageStatus(const base::Call& call,
                                                      const std::string& name) override;
  CallResult<std::vector<std::optional<ImageDetails>>> ImageStatuses(
      const base::Call& call, const std::vector<std::string>& names) override;
  CallResult<std::string> PullImage(const base::Call& call, const PullRequest& request) override;
  CallResult<std::vector<ImageFilesystem>> ImageFsInfo(const base::Call& call) override;

 private:
  struct Channels;
  std::unique_ptr<Channels> channels_;
};

}  // namespace prefetch::cri
