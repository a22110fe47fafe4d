// FakeNamespaces: what a pod's namespace has to say of it before it is created: whether it is there, whether
// it has the pod's service account, whether its quota has room.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "doc/node.h"

namespace prefetch::tests {

// One owner; not for several threads.
class FakeNamespaces {
 public:
  // Takes the Namespaces, ServiceAccounts and ResourceQuotas of a stream of YAML documents; others are passed
  // over. Before the first Namespace nothing is refused.
  base::Status Load(std::string_view manifests);
  // Removes the namespace with all that it has.
  void Remove(const std::string& name_space) { spaces_.erase(name_space); }

  struct Refusal {
    int status = 403;
    std::string reason, message;
  };
  // `pods`: how many there are in it.
  std::optional<Refusal> WhatRefuses(const std::string& name_space, const doc::Node& pod,
                                     std::size_t pods) const;

 private:
  struct Quota {
    std::string name;
    std::optional<std::size_t> pods;
    std::set<std::string> requests;  // resources that each container has to ask for: "cpu"
  };
  struct Space {
    std::set<std::string> accounts;
    std::optional<Quota> quota;
  };
  std::map<std::string, Space> spaces_;
  bool any_ = false;
};

}  // namespace prefetch::tests
