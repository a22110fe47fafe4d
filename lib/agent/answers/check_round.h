// The questions of one preflight, and the facts that plan::DecideCheck asks for: from the newest Snapshot,
// from the runtime, kubelet's files and registries as they are at this moment.
#pragma once

#include "agent/answers/live_registry.h"
#include "agent/answers/live_runtime.h"
#include "agent/answers/requester.h"
#include "base/call.h"
#include "base/clock.h"
#include "plan/check.h"
#include "status/check_document.h"

namespace prefetch::agent {

// Where facts come from.
struct CheckSources {
  LiveRuntime& runtime;
  credentials::Keyring& keyring;
  const base::Clock& clock;
  const RegistryResolver& resolver;  // empty: this agent asks no registry
  SharedAnswers& shared_answers;     // of pods' questions
};

// Not thread-safe. Its arguments must outlive it.
class CheckRound {
 public:
  // Whether it asks registries, or ends where one would be asked.
  enum class Reach { kRegistries, kNode };

  // `ask_until`: real time, as a Call's deadline.
  CheckRound(const CheckSources& sources, const plan::Snapshot& snapshot, const Requester& requester,
             base::TimePoint ask_until, Reach reach = Reach::kRegistries)
      : reach_(reach),
        sources_(sources),
        snapshot_(snapshot),
        requester_(requester),
        registries_(sources.resolver, sources.keyring, sources.clock, ask_until,
                    requester.kind == Requester::Kind::kPod ? &sources.shared_answers : nullptr,
                    requester.name_space) {}

  struct Outcome {
    plan::CheckFacts facts;
    plan::CheckStep step;  // a verdict; kPull, with `pull` only; or kRegistry, with Reach::kNode only
  };
  // `pull`: a pull may be the answer, where the client has the right to one.
  Outcome Decide(const base::Call& call, const status::CheckQuestion& question, bool pull);

  // When the runtime was asked, which is done with the first question that needs it.
  base::TimePoint observed_at() const { return observed_at_; }

 private:
  plan::CheckRuntime AskRuntime(const base::Call& call, const image::Reference& reference,
                                const plan::ImageState* listed);
  bool HasOwnCredentials(const status::CheckQuestion& question, const image::Reference* reference);

  const Reach reach_;
  const CheckSources sources_;
  const plan::Snapshot& snapshot_;
  const Requester requester_;
  LiveRegistry registries_;
  LiveRuntime::Listing here_;
  base::TimePoint observed_at_;
};

}  // namespace prefetch::agent
