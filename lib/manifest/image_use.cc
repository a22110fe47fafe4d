#include "manifest/image_use.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace prefetch::manifest {

std::string PodTitle(const Pod& pod) {
  std::string title = pod.kind;
  if (pod.name.empty()) return title;
  title += ' ';
  if (!pod.object_namespace.empty()) title += pod.object_namespace + "/";
  return title += pod.name;
}

std::string_view UseKindName(UseKind kind) {
  switch (kind) {
    case UseKind::kContainer:
      return "container";
    case UseKind::kInitContainer:
      return "init";
    case UseKind::kEphemeralContainer:
      return "ephemeral";
    case UseKind::kImageVolume:
      return "volume";
    case UseKind::kField:
      return "field";
  }
  return "";
}

std::string UnreadTitle(const UnreadObject& object) {
  return PodTitle(*object.pod) + " " + object.why;
}

std::string ReferenceTitle(const StepReference& reference) {
  const std::string step = reference.step.empty() ? "a step" : "step \"" + reference.step + "\"";
  const std::string action = reference.action.empty() ? "a StepAction that a resolver finds"
                                                      : "the StepAction \"" + reference.action + "\"";
  return step + " of " + PodTitle(*reference.pod) + " takes its image from " + action;
}

namespace {

constexpr std::string_view kWords[] = {"check",    "checker", "precheck", "preflight", "prepull",
                                       "prefetch", "warmup",  "verify",   "verifier"};

bool IsCheckName(std::string_view name) {
  std::string words = base::ToLower(name);
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '_' || c == '.'; }, '-');
  for (std::string_view part : base::Split(words, '-')) {
    for (std::string_view word : kWords) {
      // The ending also finds "imagecheck".
      if (part == word || part.ends_with("check")) return true;
    }
  }
  return false;
}

}  // namespace

bool IsCheckContainer(const ImageUse& use) {
  if (use.kind == UseKind::kImageVolume || use.kind == UseKind::kField) return false;
  if (IsCheckName(use.name)) return true;
  return use.pod && IsCheckName(use.pod->name);
}

}  // namespace prefetch::manifest
