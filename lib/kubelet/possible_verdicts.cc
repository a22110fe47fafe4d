#include "kubelet/possible_verdicts.h"

#include <algorithm>

#include "base/text.h"

namespace prefetch::kubelet {
namespace {

// The file is decoded once for each version, since versions differ in what they can read (K15). A file that
// this process may not read is no absent file: kubelet may read it.
RecordReading ReadRecord(const VerdictQuestion& question, image::KubeletVersion version) {
  switch (question.record.state) {
    case FileContent::State::kAbsent:
      return {Reading::kAbsent, {}};
    case FileContent::State::kPresent:
      return DecodeRecord(question.record.content, question.image_id, version);
    case FileContent::State::kUnreadable:
      return {Reading::kUnreadable, {}};
  }
  return {Reading::kUnreadable, {}};
}

Reading ReadIntent(const VerdictQuestion& question, image::KubeletVersion version) {
  switch (question.intent.state) {
    case FileContent::State::kAbsent:
      return Reading::kAbsent;
    case FileContent::State::kPresent:
      return DecodeIntent(question.intent.content, question.image, version);
    case FileContent::State::kUnreadable:
      return Reading::kUnreadable;
  }
  return Reading::kUnreadable;
}

// Returns the settings whose declaration would make the verdict firm. `possible` is in the order of versions.
std::string WhatToDeclare(const std::vector<KubeletSettings>& possible) {
  std::vector<std::string> open;
  if (possible.front().version != possible.back().version) {
    open.emplace_back("its version (--kubelet-version)");
  }
  bool configuration_open =  // two of one version
      std::adjacent_find(possible.begin(), possible.end(), [](const auto& a, const auto& b) {
        return a.version == b.version;
      }) != possible.end();
  if (configuration_open) open.emplace_back("its configuration (--kubelet-config)");
  return base::Join(open, " and ");
}

Verdict Unknown(const std::vector<KubeletSettings>& possible) {
  return {VerdictResult::kUnknown, VerdictReason::kFactsUnknown, "facts",
          "It depends on unknown settings of kubelet; declare " + WhatToDeclare(possible) + "."};
}

// Returns the kubelet whose words are shown: the newest one whose rules are known, or the newest if none is.
std::size_t DecisiveKubelet(const std::vector<KubeletSettings>& possible) {
  std::size_t newest = possible.size() - 1;
  while (newest > 0 && image::IsNewerThanKnown(possible[newest].version)) newest--;
  return image::IsNewerThanKnown(possible[newest].version) ? possible.size() - 1 : newest;
}

// Returns the verdict that all possible kubelets share, in the words of one of them. Only results are
// compared: they may have different reasons for the same result.
Verdict Agreed(const std::vector<Verdicts>& all, image::PullPolicy policy,
               const std::vector<KubeletSettings>& possible) {
  const Verdict& decisive = all[DecisiveKubelet(possible)].For(policy);
  bool agree = std::all_of(all.begin(), all.end(),
                           [&](const Verdicts& each) { return each.For(policy).result == decisive.result; });
  return agree ? decisive : Unknown(possible);
}

}  // namespace

Verdicts VerdictsFor(const VerdictQuestion& question, const std::vector<KubeletSettings>& possible) {
  std::vector<Verdicts> all;
  VerdictFacts facts{.image = question.image, .image_id = question.image_id};
  facts.in_unknown_folder = question.in_unknown_folder;
  std::optional<image::KubeletVersion> decoded_for;
  for (const KubeletSettings& settings : possible) {
    // `possible` is in the order of versions, so each file is decoded once a version and not for each
    // setting.
    if (decoded_for != settings.version) {
      facts.record = ReadRecord(question, settings.version);
      facts.intent = ReadIntent(question, settings.version);
      decoded_for = settings.version;
    }
    all.push_back(DecideVerdicts(facts, question.pod, settings));
  }
  using image::PullPolicy;
  return {Agreed(all, PullPolicy::kNever, possible), Agreed(all, PullPolicy::kIfNotPresent, possible),
          Agreed(all, PullPolicy::kAlways, possible)};
}

}  // namespace prefetch::kubelet
