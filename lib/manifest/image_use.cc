#include "manifest/image_use.h"

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

}  // namespace prefetch::manifest
