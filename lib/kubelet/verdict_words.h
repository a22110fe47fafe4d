// The sentences of verdicts. Pure. Internal to kubelet/.
#pragma once

#include <string>

#include "kubelet/records.h"
#include "kubelet/verdict.h"

namespace prefetch::kubelet {

// The deciding fact, before its consequence under each pull policy.
struct Finding {
  enum class Outcome { kUse, kMustPull, kUnknown };
  Outcome outcome = Outcome::kMustPull;
  VerdictReason reason = VerdictReason::kImageAbsent;
  std::string rule;
  std::string why;   // the first half of the sentence
  std::string help;  // what would change it; may be empty
};

// "the node", "2 secrets and 1 service account", "nobody".
std::string GranteeOf(const CredentialEntry& entry);
// "reg.io/a (the node), reg.io/b (1 secret) and 3 more".
std::string RepositoriesOf(const PulledRecord& record);
// A name out of a file or a flag, fit for a terminal: no control characters, not endless.
std::string Shown(const std::string& name);

// The finding as a verdict for a container of kNever or kIfNotPresent.
Verdict ToVerdict(const Finding& finding, image::PullPolicy policy);

}  // namespace prefetch::kubelet
