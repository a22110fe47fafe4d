// PerformPull: one pull, start to end: lease, the agent's own download if it helps, PullImage (after a
// denial or 404 with the next credential), and verification of the new image.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/platform.h"
#include "plan/history.h"
#include "pulling/fetching.h"
#include "pulling/query_registry.h"

namespace prefetch::pulling {

// The caller gives no more of the question than its reference. The callbacks are called on the worker.
struct PullJob : FetchJob {
  std::shared_ptr<const credentials::Lookup> credentials;
  std::string sandbox_cgroup;  // as in cri::PullRequest
  // The lease cannot be created: the pull goes on without one.
  std::function<void(const cri::CallError&)> on_unprotected = nullptr;
  // All content is here. Blocks until PullImage may begin, or `call` is stopped.
  std::function<void(const base::Call& call)> on_unpack = nullptr;
  std::function<void()> on_returned = nullptr;  // PullImage has succeeded
};

struct PullOutcome {
  // Exactly one of the three, or none: the pull ended on our own request.
  std::optional<plan::PullSuccess> success;
  std::optional<plan::PullFailure> failure;
  // The runtime reported success, and was gone before the new image could be verified (C35), or did not
  // answer in time: its error then (kRuntimeDown, kTimeout).
  std::optional<cri::CallError> verification_error;

  // Bytes of the image that were discarded, since they could not become its blobs any more.
  std::uint64_t discarded = 0;
};

// All that a pull needs. Everything outlives the worker that uses it.
struct PullDependencies {
  cri::ImageService& images;
  cri::ContentService& content;
  RejectedCredentials& refusals;
  const base::Clock& clock;
  image::Platform node;
  Fetcher* fetcher = nullptr;  // null: the runtime fetches everything
};

// The compressed size of the job's image, asked with the credentials of its pull (Fetcher::QuerySize). 0: not
// known. Blocks; runs on a worker. Only with a fetcher.
std::uint64_t QuerySize(const base::Call& call, const PullDependencies& parts, const PullJob& job);

// Blocks until the pull has ended; `call.stop` cancels it. Runs on a worker.
PullOutcome PerformPull(const base::Call& call, const PullDependencies& parts, const PullJob& job);

}  // namespace prefetch::pulling
