// The templates of Tekton (github.com/tektoncd/pipeline, pkg/apis/pipeline/v1) and Argo
// (github.com/argoproj/argo-workflows, pkg/apis/workflow/v1alpha1). Their controllers replace parameters
// before they make pods, so the values of parameters are followed here.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "manifest/pod_template.h"

namespace prefetch::manifest {

namespace {

using doc::Node;
using doc::Reader;
using SharedVariables = std::shared_ptr<const Variables>;

enum class WorkflowForm { kTask, kStepAction, kPipeline, kArgo };

struct WorkflowKind {
  std::string_view kind, group;
  std::string_view path;  // of the Task, the Pipeline, the spec with `templates`
  WorkflowForm form;
  std::string_view given{};  // of the values that a run has for the parameters
};

constexpr WorkflowKind kWorkflowKinds[] = {
    {"Task", "tekton.dev", "spec", WorkflowForm::kTask},
    {"ClusterTask", "tekton.dev", "spec", WorkflowForm::kTask},
    {"StepAction", "tekton.dev", "spec", WorkflowForm::kStepAction},
    {"TaskRun", "tekton.dev", "spec.taskSpec", WorkflowForm::kTask, "spec.params"},
    {"Pipeline", "tekton.dev", "spec", WorkflowForm::kPipeline},
    {"PipelineRun", "tekton.dev", "spec.pipelineSpec", WorkflowForm::kPipeline, "spec.params"},
    {"Workflow", "argoproj.io", "spec", WorkflowForm::kArgo},
    {"WorkflowTemplate", "argoproj.io", "spec", WorkflowForm::kArgo},
    {"ClusterWorkflowTemplate", "argoproj.io", "spec", WorkflowForm::kArgo},
    {"CronWorkflow", "argoproj.io", "spec.workflowSpec", WorkflowForm::kArgo},
};

// Returns the value of a key; nullopt if it is absent or null.
std::optional<Reader> At(const Reader& value, std::string_view key) {
  if (value.node().kind != Node::Kind::kMapping) return std::nullopt;
  return doc::ObjectReader(value).Find(key);
}

std::optional<Reader> AtSteps(const Reader& value, std::string_view path) {
  std::vector<Reader> found = AtPath(value, path);
  return found.empty() ? std::nullopt : std::optional<Reader>(found.front());
}

std::vector<Reader> ItemsOf(const std::optional<Reader>& value) {
  if (!value || value->node().kind != Node::Kind::kSequence) return {};
  return value->Items();
}

std::optional<std::string> TextOf(const Node& item, const char* key) {
  const Node* value = item.Find(key);
  if (value == nullptr || value->kind == Node::Kind::kNull || !value->items.empty() ||
      !value->members.empty()) {
    return std::nullopt;
  }
  return value->text;
}

// Sets the values of parameters, [{name, KEY: text}], by the first key that each has. A value that contains
// an unknown variable unsets an earlier one, and its uses stay unknown.
void SetParameters(const std::optional<Reader>& list, std::initializer_list<const char*> keys,
                   const std::string& prefix, const Variables& scope, Variables& variables) {
  for (const Reader& item : ItemsOf(list)) {
    const std::string name = TextOf(item.node(), "name").value_or("");
    for (const char* key : keys) {
      const std::optional<std::string> text = TextOf(item.node(), key);
      if (!text) continue;
      Variables::Resolved value = scope.Resolve(*text);
      if (value.unresolved) variables.Unset(prefix + name);
      if (!value.unresolved) variables.Set(prefix + name, std::move(value.text));
      break;
    }
  }
}

bool Is(const Node& value, const char* key, Node::Kind kind) {
  const Node* found = value.Find(key);
  return found != nullptr && found->kind == kind;
}

// The parameters that a run or a Pipeline's task gives. Values of a matrix differ from run to run.
struct Given {
  std::optional<Reader> params{}, matrix{};
};

class WorkflowFinder {
 public:
  // `outer` are variables of an enclosing object, which are replaced everywhere in it.
  WorkflowFinder(const Variables& outer, Workflow& found) : outer_(outer), found_(found) {}

  // `given` are the values of its parameters, in `scope`. Tekton replaces the scope's parameters in a Task,
  // too, before the defaults of the Task count.
  void Task(const Reader& task, const Given& given, const Variables& scope) {
    // Without steps it is a reference to a Task, which is another object.
    if (!Is(task.node(), "steps", Node::Kind::kSequence)) return;
    Add(task, TemplateShape::kTekton, Inner(task, given, scope, scope));
  }

  void StepAction(const Reader& action, const Variables& scope) {
    if (action.node().Find("image") == nullptr) return;
    Add(action, TemplateShape::kStepAction, Inner(action, {}, scope, outer_));
  }

  void Pipeline(const Reader& pipeline, const Given& given, const Variables& scope) {
    const SharedVariables inner = Inner(pipeline, given, scope, outer_);
    // `finally` has tasks that run after all others.
    for (const char* list : {"tasks", "finally"}) {
      for (const Reader& task : ItemsOf(At(pipeline, list))) {
        const Given values{At(task, "params"), At(task, "matrix")};
        if (auto spec = At(task, "taskSpec")) Task(*spec, values, *inner);
        if (auto spec = At(task, "pipelineSpec")) Pipeline(*spec, values, *inner);
      }
    }
  }

  void Argo(const Reader& spec, const Variables& scope) {
    Variables common = scope;
    if (auto arguments = At(spec, "arguments")) {
      SetParameters(At(*arguments, "parameters"), {"value", "default"}, "workflow.parameters.", scope,
                    common);
    }
    for (const char* calls : {"templates.dag.tasks", "templates.steps"}) {
      for (const Reader& call : AtPath(spec, calls)) {
        for (const Reader& parameter : AtPath(call, "arguments.parameters")) {
          const std::string name = TextOf(parameter.node(), "name").value_or("");
          given_[TextOf(call.node(), "template").value_or("")].insert(name);
        }
      }
    }
    const SharedVariables shared = std::make_shared<const Variables>(common);
    const std::optional<Reader> defaults = At(spec, "templateDefaults");
    if (defaults && defaults->node().kind == Node::Kind::kMapping) {
      Add(*defaults, TemplateShape::kArgoDefaults, shared);
    }
    for (const Reader& item : ItemsOf(At(spec, "templates"))) ArgoTemplate(item, defaults, *shared);
    Patch(spec, shared);
    for (const Reader& plugin : AtPath(spec, "executorPlugins.spec.sidecar.container")) {
      Add(plugin, TemplateShape::kImage, shared);
      found_.templates.back().place = &kContainer;
    }
  }

 private:
  static constexpr KnownPlace kContainer{"", "", "", PlaceForm::kImage};

  void Add(const Reader& value, TemplateShape shape, SharedVariables variables) {
    found_.templates.push_back(
        {.value = value, .origin = Origin::kKnownKind, .shape = shape, .variables = std::move(variables)});
  }

  // Returns the variables within a Task or a Pipeline: the given values, or else the inherited ones, or else
  // the defaults. Given values are resolved in the caller's scope, defaults only with the variables of an
  // enclosing object.
  SharedVariables Inner(const Reader& value, const Given& given, const Variables& scope,
                        const Variables& inherited) const {
    Variables inner = outer_;
    // The run gives the value of a parameter without a default, also to the Tasks within.
    for (const Reader& item : ItemsOf(At(value, "params")))
      inner.Unset("params." + TextOf(item.node(), "name").value_or(""));
    SetParameters(At(value, "params"), {"default"}, "params.", outer_, inner);
    inner.SetAll(inherited);
    SetParameters(given.params, {"value"}, "params.", scope, inner);
    for (const char* path : {"params", "include.params"}) {
      if (!given.matrix) break;
      for (const Reader& item : AtPath(*given.matrix, path))
        inner.Unset("params." + TextOf(item.node(), "name").value_or(""));
    }
    return std::make_shared<const Variables>(std::move(inner));
  }

  void Patch(const Reader& holder, const SharedVariables& variables) {
    std::optional<Reader> patch = At(holder, "podSpecPatch");
    if (patch) found_.patches.push_back({.value = *patch, .variables = variables});
  }

  void ArgoTemplate(const Reader& value, const std::optional<Reader>& defaults, const Variables& common) {
    if (value.node().kind != Node::Kind::kMapping) return;
    Variables variables = common;
    if (auto inputs = At(value, "inputs")) {
      SetParameters(At(*inputs, "parameters"), {"value", "default"}, "inputs.parameters.", common, variables);
    }
    const Node& node = value.node();
    if (const auto given = given_.find(TextOf(node, "name").value_or("")); given != given_.end()) {
      for (const std::string& name : given->second) variables.Unset("inputs.parameters." + name);
    }
    const SharedVariables shared = std::make_shared<const Variables>(std::move(variables));
    if (Is(node, "container", Node::Kind::kMapping) || Is(node, "script", Node::Kind::kMapping) ||
        Is(node, "containerSet", Node::Kind::kMapping)) {
      Add(value, TemplateShape::kArgo, shared);
      found_.templates.back().defaults = defaults;
    }
    Patch(value, shared);
    if (auto resource = At(value, "resource")) {
      if (auto manifest = At(*resource, "manifest")) {
        const std::string action = TextOf(resource->node(), "action").value_or("");
        const bool part = action == "patch" || action == "get" || action == "delete";
        (part ? found_.parts : found_.texts).push_back({.value = *manifest, .variables = shared});
      }
    }
    for (const Reader& task : AtPath(value, "dag.tasks.inline")) ArgoTemplate(task, defaults, common);
    for (const Reader& step : AtPath(value, "steps.inline")) ArgoTemplate(step, defaults, common);
  }

  const Variables& outer_;
  Workflow& found_;
  // Names of Argo's templates -> the parameters to which a step or task gives a value. It may differ for each
  // of them, so these are unknown.
  std::map<std::string, std::set<std::string>> given_;
};

// Finds what names another object, or an artifact, with images of its own.
void FindReferences(const Reader& value, std::vector<Reader>& found) {
  static constexpr std::string_view kKeys[] = {"taskRef", "pipelineRef", "templateRef", "workflowTemplateRef",
                                               "manifestFrom"};
  for (const Reader& item : ItemsOf(value)) FindReferences(item, found);
  if (value.node().kind != Node::Kind::kMapping) return;
  for (const auto& [key, member] : value.Members()) {
    const bool reference = std::ranges::find(kKeys, key) != std::end(kKeys);
    // Tasks of other groups are controllers' own, and run no pods.
    const std::string version = doc::TextAt(member.node(), {"apiVersion"});
    const bool own = version.empty() || version.starts_with("tekton.dev/");
    if (reference && own && member.node().kind == Node::Kind::kMapping) found.push_back(member);
    if (!reference) FindReferences(member, found);
  }
}

}  // namespace

// Returns nullopt for kinds that are no workflows. A workflow without a spec is known, and has no parts.
std::optional<Workflow> FindWorkflow(const Reader& object, const ObjectType& type,
                                     const SharedVariables& outer) {
  const auto* row = std::ranges::find_if(kWorkflowKinds, [&](const WorkflowKind& one) {
    return one.kind == type.kind && one.group == type.group;
  });
  if (row == std::end(kWorkflowKinds)) return std::nullopt;
  Workflow found;
  if (auto spec = At(object, "spec")) FindReferences(*spec, found.references);
  const Variables scope = outer ? *outer : Variables();
  const std::optional<Reader> value = AtSteps(object, row->path);
  if (!value) return found;
  Given given;
  if (!row->given.empty()) {
    if (auto spec = At(object, "spec")) given.params = At(*spec, "params");
  }
  WorkflowFinder finder(scope, found);
  switch (row->form) {
    case WorkflowForm::kTask:
      finder.Task(*value, given, scope);
      break;
    case WorkflowForm::kStepAction:
      finder.StepAction(*value, scope);
      break;
    case WorkflowForm::kPipeline:
      finder.Pipeline(*value, given, scope);
      break;
    case WorkflowForm::kArgo:
      finder.Argo(*value, scope);
      break;
  }
  return found;
}

namespace {

struct Delimiters {
  std::string_view begin, end;
};
// A form comes before those that are its beginning.
constexpr Delimiters kForms[] = {{"${{", "}}"}, {"{{", "}}"}, {"${", "}"}, {"$(", ")"}};

// Returns "params.image" for "inputs.params.image" and "params['image']": Tekton accepts all of these.
std::string NameOf(std::string_view inner) {
  static constexpr std::string_view kOld = "inputs.params";
  std::string name(base::TrimSpace(inner));
  if (name.starts_with(kOld)) name.erase(0, kOld.find('.') + 1);
  for (const std::string_view quote : {"'", "\""}) {
    const std::string open = "[" + std::string(quote), close = std::string(quote) + "]";
    name = base::ReplaceAll(base::ReplaceAll(name, open, "."), close, "");
  }
  return name;
}

}  // namespace

Variables::Resolved Variables::Resolve(std::string_view text) const {
  Resolved resolved;
  while (!text.empty()) {
    const auto form =
        std::ranges::find_if(kForms, [&](const Delimiters& one) { return text.starts_with(one.begin); });
    const std::size_t end =
        form == std::end(kForms) ? std::string_view::npos : text.find(form->end, form->begin.size());
    if (end == std::string_view::npos) {
      // A "$" that begins no complete variable is text.
      resolved.text += text.front();
      text.remove_prefix(1);
      continue;
    }
    const std::size_t whole = end + form->end.size();
    const auto value = values_.find(NameOf(text.substr(form->begin.size(), end - form->begin.size())));
    const bool known = value != values_.end() && value->second;
    resolved.unresolved = resolved.unresolved || !known;
    resolved.text += known ? *value->second : std::string(text.substr(0, whole));
    text.remove_prefix(whole);
  }
  return resolved;
}

}  // namespace prefetch::manifest
