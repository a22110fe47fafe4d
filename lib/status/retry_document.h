// RetryRequest and RetryResult: the question and the answer of POST /v1/retry.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/enum_text.h"
#include "doc/node.h"

namespace prefetch::status {

// The maximum number of images that one request names.
constexpr std::size_t kMostRetries = 1000;

struct RetryRequest {
  std::vector<std::string> images;  // as people write them; empty: every image that waits for its next try
};

enum class RetryState {
  kRequested,   // the agent tries it at once
  kNotWaiting,  // nothing that a request ends holds it: it is here, is being pulled, or is due
  kNotListed,   // it is on no list of the node
};

struct RetriedImage {
  std::string image;
  doc::EnumText<RetryState> state;

  friend bool operator==(const RetriedImage&, const RetriedImage&) = default;
};

struct RetryResult {
  std::string node;
  std::vector<RetriedImage> images;
};

// An empty text names no image. InvalidArgument: all mistakes, one a line.
base::Result<RetryRequest> ParseRetryRequest(std::string_view json);
doc::Node ToNode(const RetryRequest& request);
std::string RetryResultJson(const RetryResult& result);
// Leaves out images in a state that this program does not know: the agent may be newer.
base::Result<RetryResult> ParseRetryResult(std::string_view json);

}  // namespace prefetch::status
