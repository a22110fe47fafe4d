#include "manifest/pod_template.h"

#include "base/text.h"

namespace prefetch::manifest {
namespace {

using Steps = std::vector<std::string_view>;

struct BuiltIn {
  std::string_view kind;
  std::string_view group;
  std::string_view path;  // "": the object itself
};

// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/; extensions is where apps came
// from. Objects of the same kind in other groups are other objects: volcano's Job, OpenKruise's StatefulSet.
constexpr BuiltIn kBuiltIn[] = {
    {"Pod", "", ""},
    {"PodTemplate", "", "template"},
    {"ReplicationController", "", "spec.template"},
    {"Deployment", "apps", "spec.template"},
    {"Deployment", "extensions", "spec.template"},
    {"StatefulSet", "apps", "spec.template"},
    {"DaemonSet", "apps", "spec.template"},
    {"DaemonSet", "extensions", "spec.template"},
    {"ReplicaSet", "apps", "spec.template"},
    {"ReplicaSet", "extensions", "spec.template"},
    {"Job", "batch", "spec.template"},
    {"CronJob", "batch", "spec.jobTemplate.spec.template"},
    {"DeploymentConfig", "apps.openshift.io", "spec.template"},
};

Steps StepsOf(std::string_view path) {
  return path.empty() ? Steps() : base::Split(path, '.');
}

// In an object of a known type every step is a mapping, and what is something else is a mistake.
void WalkBuiltIn(const doc::Reader& at, const Steps& steps, std::vector<FoundTemplate>& found) {
  doc::Reader value = at;
  for (std::string_view step : steps) {
    std::optional<doc::Reader> next = doc::ObjectReader(value).Find(step);
    if (!next) return;
    value = *next;
  }
  found.push_back({value, false});
}

void WalkCustom(const doc::Reader& at, const Steps& steps, std::size_t done,
                std::vector<FoundTemplate>& found) {
  if (at.node().kind == doc::Node::Kind::kSequence) {
    for (const doc::Reader& item : at.Items()) WalkCustom(item, steps, done, found);
  } else if (at.node().kind != doc::Node::Kind::kMapping) {
    return;
  } else if (done == steps.size()) {
    found.push_back({at, true});
  } else if (steps[done] == "*") {
    for (const auto& member : at.Members()) WalkCustom(member.second, steps, done + 1, found);
  } else if (std::optional<doc::Reader> next = doc::ObjectReader(at).Find(steps[done])) {
    WalkCustom(*next, steps, done + 1, found);
  }
}

}  // namespace

ObjectType TypeOf(std::string_view api_version, std::string_view kind) {
  std::size_t slash = api_version.find('/');
  std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  return {std::string(group), std::string(kind)};
}

std::string TypeName(const ObjectType& type) {
  return type.group.empty() ? type.kind : type.kind + "." + type.group;
}

std::optional<std::vector<FoundTemplate>> FindTemplates(const doc::Reader& object, const ObjectType& type,
                                                        const std::vector<std::string>& custom_paths) {
  std::vector<FoundTemplate> found;
  for (const BuiltIn& row : kBuiltIn) {
    if (row.kind != type.kind || row.group != type.group) continue;
    WalkBuiltIn(object, StepsOf(row.path), found);
    return found;
  }
  for (const std::string& path : custom_paths) WalkCustom(object, StepsOf(path), 0, found);
  if (found.empty()) return std::nullopt;
  return found;
}

}  // namespace prefetch::manifest
