// VerdictsFor: verdicts where not all about kubelet is known: firm if every possible kubelet would say the
// same. Pure.
#pragma once

#include <string>
#include <vector>

#include "kubelet/settings.h"
#include "kubelet/verdict.h"

namespace prefetch::kubelet {

// One file of kubelet's as it was found, before anybody decodes it: versions decode differently.
struct FileContent {
  enum class State { kAbsent, kPresent, kUnreadable };
  State state = State::kAbsent;
  std::string content;  // if kPresent
};

struct VerdictQuestion {
  std::string image;               // the pod's literal text
  std::string image_id;            // empty: the runtime does not have it
  FileContent record;              // named by image_id
  FileContent intent;              // named by image
  bool in_unknown_folder = false;  // IsInUnknownDirectory
  PodIdentity pod;
};

// `possible` is not empty (see PossibleSettings). Where its members disagree the result is kUnknown with
// kFactsUnknown, and the message says what to declare.
Verdicts VerdictsFor(const VerdictQuestion& question, const std::vector<KubeletSettings>& possible);

}  // namespace prefetch::kubelet
