#include "fakes/fake_namespaces.h"

#include <algorithm>

#include "base/text.h"
#include "doc/kubernetes_stream.h"
#include "doc/node.h"

namespace prefetch::tests {
namespace {

constexpr std::string_view kRequests = "requests.";

bool AsksFor(const doc::Node& container, const std::string& resource) {
  return ValueAt(container, {"resources", "requests", resource}) != nullptr;
}

}  // namespace

base::Status FakeNamespaces::Load(std::string_view manifests) {
  doc::Problems problems("manifests");
  auto documents = doc::ReadKubernetesDocuments(manifests, problems);
  if (!documents) return problems.ToStatus();
  for (const doc::Node& object : *documents) {
    std::string kind = TextAt(object, {"kind"}), name = TextAt(object, {"metadata", "name"});
    std::string name_space = TextAt(object, {"metadata", "namespace"});
    if (kind == "Namespace") {
      spaces_[name];
      any_ = true;
    } else if (kind == "ServiceAccount") {
      spaces_[name_space].accounts.insert(name);
    } else if (kind == "ResourceQuota") {
      Quota quota{.name = name};
      const doc::Node* hard = ValueAt(object, {"spec", "hard"});
      for (const doc::Member& limit : hard == nullptr ? std::vector<doc::Member>() : hard->members) {
        if (limit.key == "pods") quota.pods = base::ParseUint(limit.value.text);
        if (limit.key.starts_with(kRequests)) quota.requests.insert(limit.key.substr(kRequests.size()));
      }
      spaces_[name_space].quota = std::move(quota);
    }
  }
  return {};
}

std::optional<FakeNamespaces::Refusal> FakeNamespaces::WhatRefuses(const std::string& name_space,
                                                                   const doc::Node& pod,
                                                                   std::size_t pods) const {
  if (!any_) return std::nullopt;
  auto space = spaces_.find(name_space);
  if (space == spaces_.end()) return Refusal{404, "NotFound", "namespaces \"" + name_space + "\" not found"};
  std::string forbidden = "pods \"" + TextAt(pod, {"metadata", "name"}) + "\" is forbidden: ";
  std::string account = TextAt(pod, {"spec", "serviceAccountName"});
  if (!space->second.accounts.contains(account.empty() ? "default" : account)) {
    return Refusal{403, "Forbidden",
                   forbidden + "error looking up service account " + name_space + "/" + account +
                       ": serviceaccount \"" + account + "\" not found"};
  }
  const std::optional<Quota>& quota = space->second.quota;
  if (!quota) return std::nullopt;
  const std::vector<doc::Node>& containers = ItemsAt(pod, {"spec", "containers"});
  for (const std::string& resource : quota->requests) {
    if (std::any_of(containers.begin(), containers.end(),
                    [&](const doc::Node& container) { return !AsksFor(container, resource); })) {
      return Refusal{403, "Forbidden",
                     forbidden + "failed quota: " + quota->name + ": must specify requests." + resource};
    }
  }
  if (!quota->pods || pods < *quota->pods) return std::nullopt;
  return Refusal{403, "Forbidden",
                 forbidden + "exceeded quota: " + quota->name + ", requested: pods=1, used: pods=" +
                     std::to_string(pods) + ", limited: pods=" + std::to_string(*quota->pods)};
}

}  // namespace prefetch::tests
