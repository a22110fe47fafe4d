// Rbac: who may do what, by the roles and bindings of real manifests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "doc/node.h"

namespace prefetch::tests {

// One thing that somebody wants to do.
struct Attempt {
  std::string user;
  std::vector<std::string> groups;
  std::string verb;
  std::string group;       // "" is the core group
  std::string resource;    // "nodes", with its subresource: "nodes/status"
  std::string name_space;  // "": of the cluster
  std::string name;        // "": the collection
};

// One owner; not for several threads.
class Rbac {
 public:
  // Takes the ClusterRoles, Roles, ClusterRoleBindings and RoleBindings of a stream of YAML documents; others
  // are passed over. InvalidArgument: it is no YAML, or a role or binding that the API server would refuse.
  base::Status Load(std::string_view manifests);

  // As the API server's authorizer: rules only add. `create` has no resource name to be compared with.
  bool Allows(const Attempt& attempt) const;

  // Returns the forbidden grants of roles: a wildcard, nodes/proxy, secrets, pods/exec and its likes, and the
  // rights to give oneself more (escalate, bind, impersonate). One sentence each: "ClusterRole agent: …".
  std::vector<std::string> ForbiddenGrants() const;

 private:
  struct Rule {
    std::vector<std::string> verbs, groups, resources, names;
  };
  struct Role {
    std::string kind, name_space, name;  // no namespace: ClusterRole
    std::vector<Rule> rules;
  };
  struct Subject {
    std::string kind, name, name_space;
  };
  struct Binding {
    std::string name_space;  // "": ClusterRoleBinding
    std::string role_kind, role_name;
    std::vector<Subject> subjects;
  };

  base::Status LoadObject(const doc::Node& object);
  base::Status LoadRole(const doc::Node& object, const std::string& kind, const std::string& name);
  base::Status LoadBinding(const doc::Node& object, const std::string& kind, const std::string& name);
  static bool Covers(const Rule& rule, const Attempt& attempt);
  static bool Names(const Subject& subject, const Attempt& attempt);

  std::vector<Role> roles_;
  std::vector<Binding> bindings_;
};

// Manifests of a ClusterRole with `rules`, and of its binding to `subject`. Both are YAML:
// "[{apiGroups: [\"\"], resources: [nodes], verbs: [get]}]", "{kind: User, name: ann}".
std::string ClusterRights(const std::string& subject, const std::string& rules);

// The same manifests without one right, in whatever roles it is; what is left of their objects stays as it
// was. A test fails if nothing grants it.
std::string WithoutRight(std::string_view manifests, const std::string& verb, const std::string& resource);

}  // namespace prefetch::tests
