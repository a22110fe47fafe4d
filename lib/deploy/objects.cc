#include "deploy/objects.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "deploy/config_map.h"
#include "doc/edit.h"
#include "doc/path.h"

namespace prefetch::deploy {
namespace {

constexpr std::string_view kClusterWide[] = {"ClusterRole",
                                             "ClusterRoleBinding",
                                             "ClusterRules",
                                             "Namespace",
                                             "PriorityClass",
                                             "SecurityContextConstraints",
                                             "ValidatingAdmissionPolicy",
                                             "ValidatingAdmissionPolicyBinding"};

// Objects come after those that they use; a quota comes before the objects that it limits.
constexpr std::string_view kOrder[] = {"Namespace",
                                       "PriorityClass",
                                       "ServiceAccount",
                                       "SecurityContextConstraints",
                                       "ClusterRole",
                                       "Role",
                                       "ValidatingAdmissionPolicy",
                                       "ValidatingAdmissionPolicyBinding",
                                       "ClusterRoleBinding",
                                       "RoleBinding",
                                       "ResourceQuota",
                                       "ConfigMap",
                                       "Service",
                                       "NetworkPolicy",
                                       "DaemonSet"};

const std::vector<std::string>& PodSpec() {
  static const std::vector<std::string> kPath = {"spec", "template", "spec"};
  return kPath;
}

// Returns the path of a field in a DaemonSet's pod.
std::vector<std::string> InPod(std::vector<std::string> rest) {
  std::vector<std::string> path = PodSpec();
  path.insert(path.end(), rest.begin(), rest.end());
  return path;
}

// References that kustomize knows without `configurations`, of the kinds that this tree has.
std::vector<Reference> UsualReferences() {
  return {{"ConfigMap", "DaemonSet", InPod({"volumes", "configMap", "name"})},
          {"ConfigMap", "DaemonSet", InPod({"volumes", "projected", "sources", "configMap", "name"})},
          {"ConfigMap", "DaemonSet", InPod({"containers", "envFrom", "configMapRef", "name"})},
          {"PriorityClass", "DaemonSet", InPod({"priorityClassName"})},
          {"ServiceAccount", "DaemonSet", InPod({"serviceAccountName"})},
          {"ClusterRole", "ClusterRoleBinding", {"roleRef", "name"}},
          {"ClusterRole", "RoleBinding", {"roleRef", "name"}},
          {"Role", "RoleBinding", {"roleRef", "name"}}};
}

void SetName(Object& object, const std::string& name) {
  Put(Sub(object.body, "metadata"), "name", doc::Node::String(name));
}

void SetLabel(doc::Node& mapping, const std::pair<std::string, std::string>& label) {
  Put(mapping, label.first, doc::Node::String(label.second));
}

// Finds the object to which others refer by `name`, so that its final name can replace it.
const Object* Referred(const Objects& objects, const std::string& kind, const std::string& name) {
  for (const Object& object : objects.all) {
    if (object.Kind() == kind && object.first_name == name) return &object;
  }
  return nullptr;
}

// Updates the subjects of a binding. They name service accounts by name and namespace, and both may have
// changed.
void MendSubjects(const Objects& objects, Object& binding) {
  doc::Node* subjects = Find(binding.body, "subjects");
  if (subjects == nullptr) return;
  for (doc::Node& subject : subjects->items) {
    for (const Object& account : objects.all) {
      bool same = account.Kind() == "ServiceAccount" && account.first_name == TextAt(subject, {"name"}) &&
                  account.name_space == TextAt(subject, {"namespace"});
      if (!same) continue;
      Put(subject, "name", doc::Node::String(account.Name()));
      Put(subject, "namespace", doc::Node::String(TextAt(account.body, {"metadata", "namespace"})));
      break;
    }
  }
}

}  // namespace

std::string Object::Kind() const {
  return TextAt(body, {"kind"});
}

std::string Object::Name() const {
  return TextAt(body, {"metadata", "name"});
}

bool Matches(const Target& target, const Object& object) {
  bool labelled = target.label_key.empty() ||
                  TextAt(object.body, {"metadata", "labels", target.label_key}) == target.label_value;
  // Patches name objects as the files have them, so the first name counts.
  return labelled && (target.kind.empty() || target.kind == object.Kind()) &&
         (target.name.empty() || target.name == object.first_name);
}

bool IsClusterWide(const std::string& kind) {
  return std::find(std::begin(kClusterWide), std::end(kClusterWide), kind) != std::end(kClusterWide);
}

void SetNamespace(Objects& objects, const std::string& name_space) {
  for (Object& object : objects.all) {
    doc::Node& meta = Sub(object.body, "metadata");
    // Namespace is the kind whose own name is the namespace.
    if (object.Kind() == "Namespace") Put(meta, "name", doc::Node::String(name_space));
    if (!IsClusterWide(object.Kind())) Put(meta, "namespace", doc::Node::String(name_space));
    for (const Reference& field : objects.namespaces) {
      if (field.in != object.Kind()) continue;
      ForEachAt(object.body, field.path, 0, [&](doc::Node& value) { value.text = name_space; });
    }
  }
}

void AddNameSuffix(Objects& objects, const std::string& suffix) {
  for (Object& object : objects.all) {
    // A namespace gets no suffix; its name comes from SetNamespace.
    if (object.Kind() != "Namespace") SetName(object, object.Name() + suffix);
  }
}

void AddLabels(Objects& objects, const std::vector<std::pair<std::string, std::string>>& labels) {
  for (Object& object : objects.all) {
    std::string kind = object.Kind();
    doc::Node& body = object.body;
    for (const auto& label : labels) {
      SetLabel(Sub(Sub(body, "metadata"), "labels"), label);
      // Selectors need the labels as well. Otherwise two installations in one namespace would select each
      // other's pods.
      if (kind == "Service") SetLabel(Sub(Sub(body, "spec"), "selector"), label);
      if (kind == "NetworkPolicy") {
        SetLabel(Sub(Sub(Sub(body, "spec"), "podSelector"), "matchLabels"), label);
      }
      if (kind == "DaemonSet") {
        doc::Node& spec = Sub(body, "spec");
        SetLabel(Sub(Sub(spec, "selector"), "matchLabels"), label);
        SetLabel(Sub(Sub(Sub(spec, "template"), "metadata"), "labels"), label);
      }
    }
  }
}

void FinishNames(Objects& objects) {
  for (Object& object : objects.all) {
    // Hashes come first: the references below take the final names. A hash does not depend on other names.
    if (object.hashed) SetName(object, object.Name() + "-" + ConfigMapHash(object.body));
  }
  std::vector<Reference> references = UsualReferences();
  references.insert(references.end(), objects.references.begin(), objects.references.end());
  for (Object& object : objects.all) {
    for (const Reference& reference : references) {
      // Without `in`, the reference may stand in objects of any kind.
      if (!reference.in.empty() && reference.in != object.Kind()) continue;
      ForEachAt(object.body, reference.path, 0, [&](doc::Node& name) {
        if (const Object* other = Referred(objects, reference.kind, name.text)) name.text = other->Name();
      });
    }
    MendSubjects(objects, object);
  }
}

void SortForCreation(Objects& objects) {
  auto rank = [](const Object& object) {
    return std::find(std::begin(kOrder), std::end(kOrder), object.Kind()) - std::begin(kOrder);
  };
  std::stable_sort(objects.all.begin(), objects.all.end(),
                   [&](const Object& a, const Object& b) { return rank(a) < rank(b); });
}

Object* FindObject(Objects& objects, std::string_view kind, std::string_view first_name) {
  for (Object& object : objects.all) {
    if (object.Kind() == kind && object.first_name == first_name) return &object;
  }
  return nullptr;
}

}  // namespace prefetch::deploy
