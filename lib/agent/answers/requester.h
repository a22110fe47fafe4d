// Requester: the client of a preflight, which decides the content and the effects of the answer.
#pragma once

#include <string>

#include "plan/caller.h"

namespace prefetch::agent {

struct Requester {
  enum class Kind {
    kNode,       // root of this node, over the local socket
    kAnonymous,  // anybody who reaches the port
    kPod,        // a pod of this node, by its token
  };

  Kind kind = Kind::kAnonymous;
  plan::CallerRules rules = {};  // of kPod
  std::string name_space = "";   // of kPod
  bool pull = false;             // it asks for missing images to be pulled

  // Returns the rights in a question about an image that is on the list, or not.
  plan::CheckRights Rights(bool listed) const {
    if (kind == Kind::kAnonymous) return {};
    plan::CheckRights rights = kind == Kind::kNode
                                   ? plan::CheckRights{.unlisted = true, .registry = true, .pull = true}
                                   : plan::RightsOf(rules, listed);
    rights.pull = rights.pull && pull;
    return rights;
  }
};

}  // namespace prefetch::agent
