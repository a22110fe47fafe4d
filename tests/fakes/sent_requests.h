// SentRequests: what was written to a fake API server, as files for tests/admission, where Kubernetes' own
// library judges it.
#pragma once

#include <optional>
#include <string>

#include "doc/node.h"

namespace prefetch::tests {

// A write that was answered well. `before`: the object that it was about, if it was there.
struct SentRequest {
  std::string user, verb, resource, subresource, name_space, content_type, body;
  std::string answer;  // the object as the server has it now
  std::optional<doc::Node> before;
};

// One thread. Without PREFETCH_TEST_SENT, a folder, it notes nothing.
class SentRequests {
 public:
  SentRequests();

  // Writes one file, "PROCESS-NUMBER.json", up to a number for each verb and resource of this process.
  void Note(const SentRequest& request);

 private:
  const std::string folder_;
};

}  // namespace prefetch::tests
