// Asks registries now, for the questions of one preflight.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "agent/answers/shared_answers.h"
#include "agent/query_registry.h"
#include "base/call.h"
#include "base/clock.h"
#include "credentials/keyring.h"
#include "image/registry_answer.h"
#include "plan/snapshot.h"

namespace prefetch::agent {

// One thread's. A registry that is silent is waited for once, and no registry longer than the client has
// time. Everything that it refers to outlives it.
class LiveRegistry {
 public:
  // `until`: real time, as a Call's deadline. `for_pods`: the answer is for a pod, so only credentials count
  // that kubelet would use for any pod of the node; pods that ask at the same time share it, and namespaces
  // take turns.
  LiveRegistry(const RegistryResolver& resolver, credentials::Keyring& keyring, const base::Clock& clock,
               base::TimePoint until, SharedAnswers* for_pods = nullptr, std::string pod_namespace = "")
      : resolver_(resolver),
        keyring_(keyring),
        clock_(clock),
        until_(until),
        for_pods_(for_pods),
        pod_namespace_(std::move(pod_namespace)) {}

  // With this node's credentials. Only if there is a client. `known`: some image of the list is of that
  // registry.
  image::RegistryAnswer Ask(const base::Call& call, const plan::RuntimeStatus& runtime,
                            const plan::ImageState& image, bool known);

 private:
  image::RegistryAnswer AskAnew(const base::Call& call, const plan::RuntimeStatus& runtime,
                                const plan::ImageState& image, bool known) const;

  const RegistryResolver& resolver_;
  credentials::Keyring& keyring_;
  const base::Clock& clock_;
  const base::TimePoint until_;
  SharedAnswers* const for_pods_;
  const std::string pod_namespace_;
  std::map<std::string, image::RegistryAnswer> silent_;  // by registry
};

}  // namespace prefetch::agent
