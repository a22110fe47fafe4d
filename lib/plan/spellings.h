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

struct SpelledVerdicts {
  std::string image;     // as pods write it
  VerdictsPtr verdicts;  // never null
  base::Shared<image::PodCoordinates> ready_as{};

  friend bool operator==(const SpelledVerdicts&, const SpelledVerdicts&) = default;
};
// Null: there is one pod.
using SpellingsPtr = std::shared_ptr<const std::vector<SpelledVerdicts>>;

// All of an entry, the first one first.
std::vector<PodProfile> PodsOf(const DesiredImage& want);
bool SamePod(const PodProfile& a, const PodProfile& b);
bool SamePods(const DesiredImage& a, const DesiredImage& b);
// How these write it, each text once.
std::vector<image::Reference> SpellingsOf(const DesiredImage& want);
bool IsSpelled(const DesiredImage& want, const std::string& written);

// An entry's verdicts: the worst for each policy, and the verdicts behind it.
struct EntryVerdicts {
  VerdictsPtr worst;
  SpellingsPtr each;
};
// `each` must not be empty. Returns `before` unchanged if nothing differs, so that Snapshots share the old
// objects.
EntryVerdicts WorstOf(std::vector<SpelledVerdicts> each, EntryVerdicts before = {});

}  // namespace prefetch::plan
