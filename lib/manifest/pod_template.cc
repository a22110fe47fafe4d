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

struct OfWorkflow {
  std::string_view kind;
  std::string_view group;
  std::string_view path;
  TemplateShape shape;
  std::string_view defaults{};  // a template whose fields others get that lack them
};

// github.com/tektoncd/pipeline, pkg/apis/pipeline/v1; github.com/argoproj/argo-workflows,
// pkg/apis/workflow/v1alpha1. A reference by name is another object.
constexpr OfWorkflow kOfWorkflows[] = {
    {"Task", "tekton.dev", "spec", TemplateShape::kTekton},
    {"ClusterTask", "tekton.dev", "spec", TemplateShape::kTekton},
    {"StepAction", "tekton.dev", "spec", TemplateShape::kStepAction},
    {"TaskRun", "tekton.dev", "spec.taskSpec", TemplateShape::kTekton},
    {"Pipeline", "tekton.dev", "spec.tasks.taskSpec", TemplateShape::kTekton},
    {"Pipeline", "tekton.dev", "spec.finally.taskSpec", TemplateShape::kTekton},
    {"PipelineRun", "tekton.dev", "spec.pipelineSpec.tasks.taskSpec", TemplateShape::kTekton},
    {"PipelineRun", "tekton.dev", "spec.pipelineSpec.finally.taskSpec", TemplateShape::kTekton},
    {"Workflow", "argoproj.io", "spec.templates", TemplateShape::kArgo, "spec.templateDefaults"},
    {"WorkflowTemplate", "argoproj.io", "spec.templates", TemplateShape::kArgo, "spec.templateDefaults"},
    {"ClusterWorkflowTemplate", "argoproj.io", "spec.templates", TemplateShape::kArgo,
     "spec.templateDefaults"},
    {"CronWorkflow", "argoproj.io", "spec.workflowSpec.templates", TemplateShape::kArgo,
     "spec.workflowSpec.templateDefaults"},
};

// Below a template of Argo: templates within its steps.
constexpr std::string_view kInline[] = {"", ".dag.tasks.inline", ".steps.inline"};

Steps StepsOf(std::string_view path) {
  return path.empty() ? Steps() : base::Split(path, '.');
}

// In an object of a known type every step is a mapping, and anything else is a mistake.
void WalkBuiltIn(const doc::Reader& at, const Steps& steps, std::vector<FoundTemplate>& found) {
  doc::Reader value = at;
  for (std::string_view step : steps) {
    std::optional<doc::Reader> next = doc::ObjectReader(value).Find(step);
    if (!next) return;
    value = *next;
  }
  found.push_back({.value = value});
}

void WalkCustom(const doc::Reader& at, const Steps& steps, std::size_t done,
                std::vector<FoundTemplate>& found) {
  if (at.node().kind == doc::Node::Kind::kSequence) {
    for (const doc::Reader& item : at.Items()) WalkCustom(item, steps, done, found);
  } else if (at.node().kind != doc::Node::Kind::kMapping) {
    return;
  } else if (done == steps.size()) {
    found.push_back({.value = at, .by_custom_path = true});
  } else if (steps[done] == "*") {
    for (const auto& member : at.Members()) WalkCustom(member.second, steps, done + 1, found);
  } else if (std::optional<doc::Reader> next = doc::ObjectReader(at).Find(steps[done])) {
    WalkCustom(*next, steps, done + 1, found);
  }
}

// Others have no containers: Argo's dag and suspend, a reference to another Task.
bool HasContainers(const doc::Node& value, TemplateShape shape) {
  auto is = [&](std::string_view key, doc::Node::Kind kind) {
    const doc::Node* found = value.Find(std::string(key));
    return found != nullptr && found->kind == kind;
  };
  if (shape == TemplateShape::kTekton) return is("steps", doc::Node::Kind::kSequence);
  if (shape == TemplateShape::kStepAction) return value.Find("image") != nullptr;
  return is("container", doc::Node::Kind::kMapping) || is("script", doc::Node::Kind::kMapping) ||
         is("containerSet", doc::Node::Kind::kMapping);
}

std::vector<FoundTemplate> OfWorkflows(const doc::Reader& object, const ObjectType& type) {
  std::vector<FoundTemplate> found;
  for (const OfWorkflow& row : kOfWorkflows) {
    if (row.kind != type.kind || row.group != type.group) continue;
    std::vector<FoundTemplate> there, defaults;
    for (const std::string_view below : kInline) {
      if (!below.empty() && row.shape != TemplateShape::kArgo) continue;
      const std::string path = std::string(row.path) + std::string(below);
      WalkCustom(object, StepsOf(path), 0, there);
    }
    if (!row.defaults.empty()) WalkCustom(object, StepsOf(row.defaults), 0, defaults);
    for (FoundTemplate& one : there) {
      if (!HasContainers(one.value.node(), row.shape)) continue;
      found.push_back({.value = one.value, .shape = row.shape});
      if (!defaults.empty()) found.back().defaults = defaults.front().value;
    }
  }
  return found;
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
  found = OfWorkflows(object, type);
  if (!found.empty()) return found;
  for (const std::string& path : custom_paths) WalkCustom(object, StepsOf(path), 0, found);
  if (found.empty()) return std::nullopt;
  return found;
}

}  // namespace prefetch::manifest
