#include "deploy/objects.h"

#include <algorithm>

#include "base/sha256.h"
#include "doc/go_types.h"

namespace prefetch::deploy {

namespace {

struct KindRow {
  std::string_view kind;
  bool cluster_wide = false;  // its objects have no namespace
};

// Kinds of this tree in the order of creation: objects come after those that they use, and a quota before the
// objects that it limits.
constexpr KindRow kKinds[] = {{"Namespace", true},
                              {"PriorityClass", true},
                              {"ServiceAccount"},
                              {"SecurityContextConstraints", true},
                              {"ClusterRole", true},
                              {"Role"},
                              {"ValidatingAdmissionPolicy", true},
                              {"ValidatingAdmissionPolicyBinding", true},
                              {"ClusterRoleBinding", true},
                              {"RoleBinding"},
                              {"ResourceQuota"},
                              {"ConfigMap"},
                              {"Service"},
                              {"NetworkPolicy"},
                              {"DaemonSet"}};

const KindRow* RowOf(const std::string& kind) {
  return std::ranges::find(kKinds, kind, &KindRow::kind);
}

// Returns whether objects of this kind have no namespace. Knows the kinds that this tree has.
bool IsClusterWide(const std::string& kind) {
  const KindRow* row = RowOf(kind);
  // ClusterRules are those of Google's Prometheus.
  return row == std::end(kKinds) ? kind == "ClusterRules" : row->cluster_wide;
}

// Returns the path of a field in a DaemonSet's pod.
std::vector<std::string> InPod(std::vector<std::string> rest) {
  std::vector<std::string> path = {"spec", "template", "spec"};
  path.insert(path.end(), rest.begin(), rest.end());
  return path;
}

// References that kustomize knows without `configurations`, of the kinds that this tree has.
std::vector<Reference> BuiltInReferences() {
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

// Updates the subjects of a binding. They name service accounts by name and namespace, and both may have
// changed.
void UpdateSubjects(const Objects& objects, Object& binding) {
  doc::Node* subjects = Find(binding.body, "subjects");
  if (subjects == nullptr) return;
  for (doc::Node& subject : subjects->items) {
    for (const Object& account : objects.all) {
      bool same = account.Kind() == "ServiceAccount" && account.original_name == TextAt(subject, {"name"}) &&
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
         (target.name.empty() || target.name == object.original_name);
}

void SetNamespace(Objects& objects, const std::string& name_space) {
  for (Object& object : objects.all) {
    doc::Node& meta = Sub(object.body, "metadata");
    // Namespace is the kind whose own name is the namespace.
    if (object.Kind() == "Namespace") Put(meta, "name", doc::Node::String(name_space));
    if (!IsClusterWide(object.Kind())) Put(meta, "namespace", doc::Node::String(name_space));
    for (const Reference& field : objects.namespaces) {
      if (field.referrer_kind != object.Kind()) continue;
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
  std::vector<Reference> references = BuiltInReferences();
  references.insert(references.end(), objects.references.begin(), objects.references.end());
  for (Object& object : objects.all) {
    for (const Reference& reference : references) {
      // Without `referrer_kind`, the reference may stand in objects of any kind.
      if (!reference.referrer_kind.empty() && reference.referrer_kind != object.Kind()) continue;
      ForEachAt(object.body, reference.path, 0, [&](doc::Node& name) {
        if (const Object* other = FindObject(objects, reference.kind, name.text)) name.text = other->Name();
      });
    }
    UpdateSubjects(objects, object);
  }
}

void SortForCreation(Objects& objects) {
  // Kinds that are not in the table come last.
  std::ranges::stable_sort(objects.all, {}, [](const Object& object) { return RowOf(object.Kind()); });
}

Object* FindObject(Objects& objects, std::string_view kind, std::string_view original_name) {
  for (Object& object : objects.all) {
    if (object.Kind() == kind && object.original_name == original_name) return &object;
  }
  return nullptr;
}

namespace {

constexpr std::size_t kHash = 10;
constexpr std::string_view kHexDigits = "0123456789abcdef";
// kustomize replaces some, to prevent words and digits that look like letters.
constexpr std::string_view kHashDigits = "gh2k456789mbcdtf";

// Writes {"data":…,"kind":"ConfigMap","name":…} as Go's encoding/json does: with sorted keys, and with the
// special characters of HTML escaped. kustomize hashes exactly this text.
std::string GoJson(const doc::Node& config_map) {
  std::vector<std::pair<std::string_view, std::string_view>> data;
  if (const doc::Node* members = config_map.Find("data")) {
    for (const doc::Member& one : members->members) data.emplace_back(one.key, one.value.text);
  }
  std::ranges::sort(data);
  std::string out = "{\"data\":{";
  for (std::size_t i = 0; i < data.size(); i++) {
    if (i > 0) out += ',';
    out += doc::GoString(data[i].first) + ":" + doc::GoString(data[i].second);
  }
  return out + "},\"kind\":\"ConfigMap\",\"name\":\"\"}";
}

}  // namespace

doc::Node MakeConfigMap(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& data) {
  doc::Node object =
      doc::Node::Mapping({{"apiVersion", doc::Node::String("v1")},
                          {"kind", doc::Node::String("ConfigMap")},
                          {"metadata", doc::Node::Mapping({{"name", doc::Node::String(name)}})}});
  for (const auto& [key, text] : data) Put(Sub(object, "data"), key, doc::Node::String(text));
  return object;
}

std::size_t ConfigMapBytes(const doc::Node& config_map) {
  std::size_t bytes = 0;
  if (const doc::Node* data = config_map.Find("data")) {
    for (const doc::Member& one : data->members) bytes += one.key.size() + one.value.text.size();
  }
  return bytes;
}

std::string ConfigMapHash(const doc::Node& config_map) {
  std::string hash = base::Sha256Hex(GoJson(config_map)).substr(0, kHash);
  for (char& c : hash) c = kHashDigits[kHexDigits.find(c)];
  return hash;
}

std::string WithoutHash(const std::string& name) {
  if (name.size() <= kHash + 1 || name[name.size() - kHash - 1] != '-') return name;
  const bool hashed = name.find_first_not_of(kHashDigits, name.size() - kHash) == std::string::npos;
  return hashed ? name.substr(0, name.size() - kHash - 1) : name;
}

}  // namespace prefetch::deploy
