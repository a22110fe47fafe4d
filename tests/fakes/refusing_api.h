// RefusingApi: an API server that lets nobody do anything. A test's own has what the test is about instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/api.h"

namespace prefetch::tests {

class RefusingApi : public kube::Api {
 public:
  kube::Answer<kube::ServerVersion> GetServerVersion(const base::Call&) override { return No(); }
  kube::Answer<kube::Node> GetNode(const base::Call&, const std::string&) override { return No(); }
  kube::Answer<kube::Done> SetNodeLabel(const base::Call&, const std::string&, const std::string&,
                                        const std::optional<std::string>&) override {
    return No();
  }
  kube::Answer<kube::Node> SetNodeTaints(const base::Call&, const std::string&, const std::string&,
                                         const std::vector<kube::Taint>&) override {
    return No();
  }
  kube::Answer<kube::Done> SetNodeCondition(const base::Call&, const std::string&,
                                            const kube::NodeCondition&) override {
    return No();
  }
  kube::Answer<kube::NodeEvent> CreateEvent(const base::Call&, const kube::NodeEvent&) override {
    return No();
  }
  kube::Answer<kube::Done> UpdateEvent(const base::Call&, const kube::NodeEvent&) override { return No(); }
  kube::Answer<kube::Page<kube::Node>> ListNodes(const base::Call&, const kube::ListOptions&) override {
    return No();
  }
  kube::Answer<kube::Done> RemoveNodeCondition(const base::Call&, const std::string&,
                                               const std::string&) override {
    return No();
  }
  kube::Answer<kube::ServiceAccount> GetServiceAccount(const base::Call&, const std::string&,
                                                       const std::string&) override {
    return No();
  }
  kube::Answer<std::string> GetTokenKeys(const base::Call&) override { return No(); }
  kube::Answer<base::TokenReview> ReviewToken(const base::Call&, const base::Secret&,
                                              const std::string&) override {
    return No();
  }
  kube::Answer<kube::ServiceAccountToken> CreateToken(const base::Call&, const std::string&,
                                                      const std::string&, const std::string&,
                                                      std::int64_t) override {
    return No();
  }
  kube::Answer<kube::Page<kube::PodEvent>> ListPodEvents(const base::Call&, const std::string&,
                                                         const std::string&,
                                                         const kube::ListOptions&) override {
    return No();
  }
  kube::Answer<kube::Page<kube::Pod>> ListPods(const base::Call&, const std::string&,
                                               const kube::ListOptions&) override {
    return No();
  }
  kube::Answer<kube::Pod> GetPod(const base::Call&, const std::string&, const std::string&) override {
    return No();
  }
  kube::Answer<kube::Pod> CreatePod(const base::Call&, const std::string&, const doc::Node&,
                                    kube::DryRun) override {
    return No();
  }
  kube::Answer<kube::Done> DeletePod(const base::Call&, const std::string&, const std::string&,
                                     const std::string&) override {
    return No();
  }
  kube::Answer<kube::Page<doc::Node>> ListObjects(const base::Call&, const kube::Resource&,
                                                  const std::string&, const kube::ListOptions&) override {
    return No();
  }
  kube::Answer<kube::Done> SetConfigMapText(const base::Call&, const std::string&, const std::string&,
                                            const std::string&, const std::string&) override {
    return No();
  }
  kube::Answer<std::string> PodProxy(const base::Call&, const kube::PodRequest&) override { return No(); }

 private:
  static kube::Failure No() { return {.kind = kube::ApiError::kForbidden, .message = "not let in"}; }
};

}  // namespace prefetch::tests
