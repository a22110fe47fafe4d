#include "fakes/rbac.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "doc/kubernetes_stream.h"
#include "doc/node.h"
#include "doc/write.h"

namespace prefetch::tests {
namespace {

bool Has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::vector<std::string> WordsOf(const doc::Node& object, const char* key) {
  std::vector<std::string> words;
  for (const doc::Node& item : ItemsAt(object, {key})) words.push_back(item.text);
  return words;
}

// "*", "nodes", "nodes/status", "*/status".
bool CoversResource(const std::vector<std::string>& resources, const std::string& wanted) {
  std::size_t slash = wanted.find('/');
  return Has(resources, "*") || Has(resources, wanted) ||
         (slash != std::string::npos && Has(resources, "*" + wanted.substr(slash)));
}

constexpr std::array<std::string_view, 7> kForbiddenResources = {"nodes/proxy",
                                                                 "secrets",
                                                                 "pods/exec",
                                                                 "pods/attach",
                                                                 "pods/portforward",
                                                                 "pods/ephemeralcontainers",
                                                                 "certificatesigningrequests/approval"};
constexpr std::array<std::string_view, 3> kForbiddenVerbs = {"escalate", "bind", "impersonate"};

// A rule for several resources becomes two: one without the verb, for this one.
bool TakeAway(std::vector<doc::Node>& rules, const std::string& verb, const std::string& resource) {
  bool found = false;
  std::vector<doc::Node> left;
  for (doc::Node& rule : rules) {
    if (!Has(WordsOf(rule, "resources"), resource) || !Has(WordsOf(rule, "verbs"), verb)) {
      left.push_back(std::move(rule));
      continue;
    }
    found = true;
    auto without = [&rule](const char* key, const std::string& word) {
      std::vector<doc::Node> words = rule.Find(key)->items;
      std::erase_if(words, [&](const doc::Node& one) { return one.text == word; });
      return words;
    };
    auto keep = [&](const char* key, std::vector<doc::Node> words) {
      if (words.empty()) return;
      left.push_back(rule);
      Put(left.back(), key, doc::Node::Sequence(std::move(words)));
    };
    keep("resources", without("resources", resource));
    doc::Node alone = rule;
    Put(alone, "resources", doc::Node::Sequence({doc::Node::String(resource)}));
    rule = std::move(alone);
    keep("verbs", without("verbs", verb));
  }
  rules = std::move(left);
  return found;
}

}  // namespace

base::Status Rbac::Load(std::string_view manifests) {
  doc::Problems problems("manifests");
  auto documents = doc::ReadKubernetesDocuments(manifests, problems);
  if (!documents) return problems.ToStatus();
  for (const doc::Node& document : *documents) {
    if (base::Status loaded = LoadObject(document); !loaded) return loaded;
  }
  return problems.ToStatus();
}

base::Status Rbac::LoadObject(const doc::Node& object) {
  std::string kind = TextAt(object, {"kind"}), name = TextAt(object, {"metadata", "name"});
  if (const doc::Node* items = object.Find("items"); kind == "List" && items != nullptr) {
    for (const doc::Node& item : items->items) {
      if (base::Status loaded = LoadObject(item); !loaded) return loaded;
    }
    return {};
  }
  bool role = kind == "ClusterRole" || kind == "Role";
  bool binding = kind == "ClusterRoleBinding" || kind == "RoleBinding";
  if (!role && !binding) return {};
  if (TextAt(object, {"apiVersion"}) != "rbac.authorization.k8s.io/v1" || name.empty()) {
    return base::InvalidArgument(kind + " \"" + name + "\" has no name, or another apiVersion than v1");
  }
  return role ? LoadRole(object, kind, name) : LoadBinding(object, kind, name);
}

base::Status Rbac::LoadRole(const doc::Node& object, const std::string& kind, const std::string& name) {
  Role role{.kind = kind, .name_space = TextAt(object, {"metadata", "namespace"}), .name = name};
  if (kind == "Role" && role.name_space.empty())
    return base::InvalidArgument("Role " + name + ": no namespace");
  const doc::Node* rules = object.Find("rules");
  for (const doc::Node& item : rules == nullptr ? std::vector<doc::Node>() : rules->items) {
    Rule rule{WordsOf(item, "verbs"), WordsOf(item, "apiGroups"), WordsOf(item, "resources"),
              WordsOf(item, "resourceNames")};
    bool urls = !WordsOf(item, "nonResourceURLs").empty();
    if (rule.verbs.empty() || (!urls && (rule.resources.empty() || rule.groups.empty()))) {
      return base::InvalidArgument(kind + " " + name + ": a rule lacks verbs, apiGroups or resources");
    }
    if (!urls) role.rules.push_back(std::move(rule));
  }
  roles_.push_back(std::move(role));
  return {};
}

base::Status Rbac::LoadBinding(const doc::Node& object, const std::string& kind, const std::string& name) {
  const doc::Node* reference = object.Find("roleRef");
  if (reference == nullptr) return base::InvalidArgument(kind + " " + name + ": no roleRef");
  Binding binding{.role_kind = TextAt(*reference, {"kind"}), .role_name = TextAt(*reference, {"name"})};
  if (kind == "RoleBinding") {
    binding.name_space = TextAt(object, {"metadata", "namespace"});
    if (binding.name_space.empty()) return base::InvalidArgument("RoleBinding " + name + ": no namespace");
  } else if (binding.role_kind != "ClusterRole") {
    return base::InvalidArgument(kind + " " + name + ": must name a ClusterRole");
  }
  const doc::Node* subjects = object.Find("subjects");
  for (const doc::Node& item : subjects == nullptr ? std::vector<doc::Node>() : subjects->items) {
    binding.subjects.push_back({TextAt(item, {"kind"}), TextAt(item, {"name"}), TextAt(item, {"namespace"})});
  }
  bindings_.push_back(std::move(binding));
  return {};
}

bool Rbac::Covers(const Rule& rule, const Attempt& attempt) {
  if (!Has(rule.verbs, "*") && !Has(rule.verbs, attempt.verb)) return false;
  if (!Has(rule.groups, "*") && !Has(rule.groups, attempt.group)) return false;
  if (!CoversResource(rule.resources, attempt.resource)) return false;
  return rule.names.empty() || (!attempt.name.empty() && Has(rule.names, attempt.name));
}

bool Rbac::Names(const Subject& subject, const Attempt& attempt) {
  if (subject.kind == "Group") return Has(attempt.groups, subject.name);
  if (subject.kind == "User") return subject.name == attempt.user;
  return subject.kind == "ServiceAccount" &&
         attempt.user == "system:serviceaccount:" + subject.name_space + ":" + subject.name;
}

bool Rbac::Allows(const Attempt& attempt) const {
  for (const Binding& binding : bindings_) {
    if (!binding.name_space.empty() && binding.name_space != attempt.name_space) continue;
    if (std::none_of(binding.subjects.begin(), binding.subjects.end(),
                     [&](const Subject& subject) { return Names(subject, attempt); })) {
      continue;
    }
    for (const Role& role : roles_) {
      if (role.kind != binding.role_kind || role.name != binding.role_name) continue;
      if (role.kind == "Role" && role.name_space != binding.name_space) continue;
      if (std::any_of(role.rules.begin(), role.rules.end(),
                      [&](const Rule& rule) { return Covers(rule, attempt); })) {
        return true;
      }
    }
  }
  return false;
}

std::string ClusterRights(const std::string& subject, const std::string& rules) {
  const std::string api = "apiVersion: rbac.authorization.k8s.io/v1\n";
  return api + "kind: ClusterRole\nmetadata: {name: rights}\nrules: " + rules + "\n---\n" + api +
         "kind: ClusterRoleBinding\nmetadata: {name: rights}\n"
         "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rights}\n"
         "subjects: [" +
         subject + "]\n";
}

std::string WithoutRight(std::string_view manifests, const std::string& verb, const std::string& resource) {
  doc::Problems problems("manifests");
  auto documents = doc::ReadKubernetesDocuments(manifests, problems);
  bool found = false;
  std::string text;
  for (doc::Node& document : documents ? *documents : std::vector<doc::Node>()) {
    if (document.Find("rules") != nullptr)
      found = TakeAway(Sub(document, "rules").items, verb, resource) || found;
    text += "---\n" + doc::WriteYaml(document);
  }
  EXPECT_TRUE(found) << "nothing grants " << verb << " " << resource;
  return text;
}

std::vector<std::string> Rbac::ForbiddenGrants() const {
  std::vector<std::string> found;
  for (const Role& role : roles_) {
    for (const Rule& rule : role.rules) {
      auto say = [&](const std::string& what) { found.push_back(role.kind + " " + role.name + ": " + what); };
      for (const std::string& verb : rule.verbs) {
        if (verb == "*") say("verb \"*\"");
        if (std::find(kForbiddenVerbs.begin(), kForbiddenVerbs.end(), verb) != kForbiddenVerbs.end()) {
          say("verb \"" + verb + "\"");
        }
      }
      if (Has(rule.groups, "*")) say("apiGroup \"*\"");
      for (const std::string& resource : rule.resources) {
        bool forbidden = std::find(kForbiddenResources.begin(), kForbiddenResources.end(), resource) !=
                         kForbiddenResources.end();
        if (forbidden || resource.find('*') != std::string::npos) say("resource \"" + resource + "\"");
      }
    }
  }
  return found;
}

}  // namespace prefetch::tests
