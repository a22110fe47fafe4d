// The answer of /readyz to a question with conditions. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image/pull_policy.h"
#include "plan/snapshot.h"

namespace prefetch::plan {

struct ReadyQuestion {
  // For pods of this policy, instead of each entry's readyFor.
  std::optional<image::PullPolicy> policy;
  // Only if the list in force has this hash ("sha256:…").
  std::string hash;
  // Only the entries of this source.
  std::string source;
};

struct ReadyAnswer {
  bool ready = false;
  std::string message;  // one sentence
  // The same for strangers: without texts from runtimes, registries and files.
  std::string public_message;
  std::vector<const ImageState*>
      entries;  // those that the question is about; they live as long as the Snapshot
};

ReadyAnswer AskReady(const Snapshot& snapshot, const ReadyQuestion& query);

}  // namespace prefetch::plan
