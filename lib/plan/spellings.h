// Spellings: one image that its sources write in several ways ("nginx:1.27", "docker.io/library/nginx:1.27"),
// or list for several pods (readyAs), and kubelet's verdict for each of these pods. The runtime has one image
// for all of them; kubelet keeps intents by the pod's literal text, and from 1.36 on its records by that text
// without tag and digest (kubernetes: pkg/kubelet/images/pullmanager). Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "image/reference.h"
#include "kubelet/verdict.h"
#include "plan/desired.h"

namespace prefetch::plan {

using VerdictsPtr = std::shared_ptr<const kubelet::Verdicts>;

struct SpellingVerdicts {
  std::string image;     // as pods write it
  VerdictsPtr verdicts;  // never null
  base::Shared<image::PodCredentialRefs> ready_as{};

  friend bool operator==(const SpellingVerdicts&, const SpellingVerdicts&) = default;
};
// Null: there is one pod.
using SpellingsPtr = std::shared_ptr<const std::vector<SpellingVerdicts>>;

// Returns all pods of an entry, the first one first.
std::vector<PodProfile> PodsOf(const DesiredImage& desired);
bool IsSamePod(const PodProfile& a, const PodProfile& b);
bool HaveSamePods(const DesiredImage& a, const DesiredImage& b);
// Returns how these pods write the image, each text once.
std::vector<image::Reference> SpellingsOf(const DesiredImage& desired);
bool IsSpelled(const DesiredImage& desired, const std::string& written);

// An entry's verdicts: the worst for each policy, and the verdicts behind it.
struct EntryVerdicts {
  VerdictsPtr worst;    // null: not known yet
  SpellingsPtr each{};  // null: the entry has one pod

  friend bool operator==(const EntryVerdicts&, const EntryVerdicts&) = default;
};
// `each` must not be empty. Returns `before` unchanged if nothing differs, so that Snapshots share the old
// objects.
EntryVerdicts WorstOf(std::vector<SpellingVerdicts> each, EntryVerdicts before = {});

}  // namespace prefetch::plan
