// ImageService: what we ask of the container runtime, in plain structs. No gRPC here.
// MakeImageService: the ImageService that a real container runtime is, over its unix socket.
//
// Two implementations, one contract suite (tests/contract): GrpcImageService, and FakeImageService in
// tests/fakes, which keeps state and can be told to fail.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/result.h"
#include "cri/endpoint.h"
#include "image/local_image.h"
#include "image/platform.h"
#include "image/pull_error.h"
#include "image/reference.h"
#include "image/registry_access.h"
#include "image/registry_question.h"

namespace prefetch::cri {

// The maximum size of a runtime's words, before a "…" (C18).
inline constexpr std::size_t kMaxQuotedBytes = 1021;

struct CallError {
  image::ErrorClass error_class = image::ErrorClass::kUnknown;
  // The runtime's words, redacted (C18): no secret, query string, userinfo or control character; at most 1024
  // bytes.
  std::string message;

  friend bool operator==(const CallError&, const CallError&) = default;
};

template <typename T>
using CallResult = base::Result<T, CallError>;

// Facts that ImageStatus(verbose) adds.
struct ImageDetails {
  image::LocalImage image;
  std::optional<image::Platform> platform;  // what its configuration claims
  std::string chain_id;                     // containerd: key of the top snapshot; else empty
  bool artifact = false;                    // an OCI artifact that is no image (C31)
};

struct ImageFilesystem {
  std::string mountpoint;
};

struct PullRequest {
  std::string image;                      // the spec image, literally
  std::optional<image::AuthConfig> auth;  // none: anonymous (the field stays unset)
  // containerd only: the lease of ours under which the runtime is to keep fetched content. Empty: none.
  std::string lease;
  // CRI-O only: the parent cgroup of the sandbox that the image is pulled for; kOwnPullCgroup for pulls of
  // the agent. Empty: none.
  std::string sandbox_cgroup = {};
};

// The value of `sandbox_cgroup` for the agent's own pulls: CRI-O shares a pull only among calls with the same
// cgroup (C32). With `separate_pull_cgroup`, CRI-O takes its base name as the slice of the pull; this one is
// CRI-O's default.
inline constexpr const char* kOwnPullCgroup = "prefetchd/system.slice";

// Every call may block until its Call says otherwise; any thread may call, many at once. Owned by main.
// Each call waits for a connection that is being made (C10); a runtime that is away is kRuntimeDown at the
// deadline, or at once where the reason is certain (no socket file, permission denied).
class ImageService {
 public:
  virtual ~ImageService() = default;

  // Asks Version and Status, and ImageFsInfo as a probe that runtime.v1 is served. Called on connect and
  // whenever Generation has changed.
  virtual CallResult<image::RuntimeInfo> Connect(const base::Call& call) = 0;
  // Returns another number than before once something has shown that the runtime may be another process than
  // the one that Connect has asked. Never blocks.
  virtual std::uint64_t Generation() = 0;
  // Returns all images that the runtime has.
  virtual CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) = 0;
  // Returns the image; nullopt if the runtime does not have it under that name (C3). `name` is fully
  // qualified (C5) or an id.
  virtual CallResult<std::optional<ImageDetails>> ImageStatus(const base::Call& call,
                                                              const std::string& name) = 0;
  // ImageStatus of each of `names`, by index; many at a time, where the runtime is far enough away to make
  // that worth it. The first failure is the answer of all.
  virtual CallResult<std::vector<std::optional<ImageDetails>>> ImageStatuses(
      const base::Call& call, const std::vector<std::string>& names) = 0;
  // Returns image_ref, which may only be used as an opaque string (C4).
  virtual CallResult<std::string> PullImage(const base::Call& call, const PullRequest& request) = 0;
  virtual CallResult<std::vector<ImageFilesystem>> ImageFsInfo(const base::Call& call) = 0;
};

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
