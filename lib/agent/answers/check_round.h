// The questions of one preflight, and the facts that plan::DecideCheck asks for: from the newest Snapshot,
// from the runtime, kubelet's files and registries as they are at this moment.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "credentials/keyring.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "image/registry_answer.h"
#include "kubelet/verdict.h"
#include "plan/caller.h"
#include "plan/check.h"
#include "plan/snapshot.h"
#include "pulling/query_registry.h"
#include "status/check_document.h"

namespace prefetch::agent {

// Requester: the client of a preflight, which decides the content and the effects of the answer.

struct Requester {
  enum class Kind {
    kNode,       // root of this node, over the local socket
    kAnonymous,  // anybody who reaches the port
    kPod,        // a pod of this node, by its token
  };

  Kind kind = Kind::kAnonymous;
  plan::CallerRules rules = {};  // of kPod
  std::string name_space;        // of kPod
  bool pull = false;             // it asks for missing images to be pulled

  // Returns the rights in a question about an image that is on the list, or not.
  plan::CheckRights Rights(bool listed) const {
    if (kind == Kind::kAnonymous) return {};
    plan::CheckRights rights = kind == Kind::kNode
                                   ? plan::CheckRights{.unlisted = true, .registry = true, .pull = true}
                                   : plan::RightsOf(rules, listed);
    rights.pull = rights.pull && pull;
    return rights;
  }
};

// Asks the runtime now, where the Snapshot may be seconds too old: a pod that starts now fails without an
// image that was removed a second ago.

// Thread-safe. Its arguments must outlive it.
class LiveRuntime {
 public:
  using Listed = cri::CallResult<image::LocalImageIndex>;
  using Listing = std::shared_ptr<const Listed>;

  LiveRuntime(cri::ImageService& images, cri::ContentService& content, const base::Clock& clock)
      : images_(images), content_(content), clock_(clock) {}

  // Returns the time limit of Ask: a runtime that answers does so in milliseconds, and one that is stopped
  // must not cost the verdict.
  static base::Duration Timeout(const plan::RuntimeStatus& last_seen);

  // Returns an answer of ListImages that began after the question came, or at most `age` before. Questions
  // that come together share one: each waits for another's call for half of `limit`, and then makes its own,
  // which has `limit`. Never null. The newest answer stays in memory.
  Listing Ask(const base::Call& call, base::Duration limit, base::Duration age) PREFETCH_EXCLUDES(mutex_);

  // An entry of the list as `listed` has it. Whether another image than that of the last poll runs here, the
  // runtime is asked for; `search`: also whether an image starts that came without a repo digest since, or
  // that is not unpacked. That may cost it a walk through its content, so not every pod may ask for it. An
  // error means that the runtime did not answer, or went meanwhile: nothing is said about the image then.
  cri::CallResult<plan::ImageState> Entry(const base::Call& call, plan::ImageState entry,
                                          const Listed& listed, bool search) const;
  // An image that is on no list; `search` and errors as for an entry.
  cri::CallResult<plan::ImageState> Unlisted(const base::Call& call, const image::Reference& reference,
                                             const Listed& listed, bool search = true) const;

 private:
  // Returns false if `index` has no such image. Else `state` describes it: of no use, if no container starts
  // from it; `message` if one does.
  cri::CallResult<bool> Find(const base::Call& call, const image::LocalImageIndex& index, bool search,
                             const std::string& message, plan::ImageState& state) const;

  cri::ImageService& images_;
  cri::ContentService& content_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  base::Condition changed_;
  int running_ PREFETCH_GUARDED_BY(mutex_) = 0;  // calls of ListImages
  Listing newest_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint began_ PREFETCH_GUARDED_BY(mutex_);  // the call of `newest_`
};

// Shares recent answers of registries among questions that come together: two hundred pods of one job that
// start at once are one question to the registry. Any thread may call, several at once.
class SharedRegistryAnswers {
 public:
  struct Reply {
    image::RegistryAnswer answer;
    bool is_shareable = true;  // false: it tells how long the client waited, and others ask for themselves
  };

  struct Question {
    std::string client;    // the namespace of the pod
    std::string registry;  // that is asked
    std::string key;       // stands for the question, and its credentials
  };

  // `ask` is called without a lock, by one thread for a key and by kMaxQueries for a registry; the others
  // wait for an answer, or for their turn, for kMaxWait and no longer than `call`, and then get the answer of
  // `on_timeout`. Clients take turns: the next question of one comes after all that waited meanwhile, and
  // none has all places of a registry. An answer serves for five seconds.
  image::RegistryAnswer Get(const base::Call& call, const Question& question,
                            const std::function<Reply()>& ask,
                            const std::function<image::RegistryAnswer()>& on_timeout)
      PREFETCH_EXCLUDES(mutex_);

  // Threads that wait for an answer, or for their turn.
  std::size_t waiting() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return waiting_.size();
  }

  // A registry that hangs leaves threads to other questions, and a client that it keeps waiting leaves a
  // place to other clients.
  static constexpr int kMaxQueries = 2;
  static constexpr int kMaxQueriesPerClient = kMaxQueries - 1;
  static constexpr std::chrono::seconds kMaxWait{4};

 private:
  struct Slot {
    bool in_flight = false;
    base::TimePoint until;  // real time
    image::RegistryAnswer answer;
  };
  // A thread that waits for a question to its registry.
  struct Waiter {
    const Question* question = nullptr;
    std::uint64_t ticket = 0;  // the smallest is next
  };

  void EndQuery(const Question& question) PREFETCH_EXCLUDES(mutex_);
  // Reports whether the registry may be asked now, as far as running questions decide it.
  bool HasCapacity(const Question& question) const PREFETCH_REQUIRES(mutex_);
  // Reports whether no other thread comes first at this registry.
  bool IsNext(const Waiter& waiting) PREFETCH_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, Slot> slots_ PREFETCH_GUARDED_BY(mutex_);
  // Running questions, in no order: a few for each registry.
  std::list<const Question*> in_flight_ PREFETCH_GUARDED_BY(mutex_);
  std::list<Waiter> waiting_ PREFETCH_GUARDED_BY(mutex_);
  std::uint64_t next_ticket_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

// Sources of the facts of a check. All references must outlive it.
struct CheckSources {
  LiveRuntime& runtime;
  credentials::Keyring& keyring;
  const base::Clock& clock;
  const pulling::RegistryResolver& resolver;  // empty: this agent asks no registry
  SharedRegistryAnswers& shared_answers;      // of pods' questions
};

// Not thread-safe. Its arguments must outlive it.
class CheckRound {
 public:
  // kNode: the round ends where it would ask a registry.
  enum class Scope { kRegistries, kNode };

  // `registry_deadline`: real time, as a Call's deadline.
  CheckRound(const CheckSources& sources, const plan::Snapshot& snapshot, const Requester& requester,
             base::TimePoint registry_deadline, Scope scope = Scope::kRegistries)
      : scope_(scope),
        sources_(sources),
        snapshot_(snapshot),
        requester_(requester),
        registry_deadline_(registry_deadline) {}

  struct Outcome {
    plan::CheckFacts facts;
    plan::CheckStep step;  // a decision; kPull, with `pull` only; or kRegistry, with Scope::kNode only
  };
  // `pull`: a pull may be the answer, where the client has the right to one.
  Outcome Decide(const base::Call& call, const status::CheckQuestion& question, bool pull);

  // Asks the image's registry now, with this node's credentials. For a pod, only those count that kubelet
  // would use for any pod of the node; pods that ask at the same time share the answer, and namespaces take
  // turns. A registry that is silent is waited for once in a round, and none longer than the client has time.
  // `known`: some image of the list is of that registry. Only if there is a client.
  image::RegistryAnswer AskRegistry(const base::Call& call, const plan::ImageState& image, bool known);

  // When the runtime was asked, which is done with the first question that needs it.
  base::TimePoint observed_at() const { return observed_at_; }

 private:
  plan::CheckRuntime AskRuntime(const base::Call& call, const image::Reference& reference,
                                const plan::ImageState* listed);
  bool HasOwnCredentials(const status::CheckQuestion& question, const image::Reference* reference);
  image::RegistryAnswer QueryNow(const base::Call& call, const plan::ImageState& image, bool known) const;
  bool IsForPod() const { return requester_.kind == Requester::Kind::kPod; }

  const Scope scope_;
  const CheckSources sources_;
  const plan::Snapshot& snapshot_;
  const Requester requester_;
  const base::TimePoint registry_deadline_;
  std::map<std::string, image::RegistryAnswer> unresponsive_;  // by registry
  LiveRuntime::Listing listing_;
  base::TimePoint observed_at_;
};

// ---- kubelet's files about one image, read now

// Returns true if enough is known of kubelet to judge by its files.
bool HasKubeletFacts(const plan::Snapshot& snapshot);

// kubelet's verdict for exactly this pod. Needs HasKubeletFacts; `image_id` empty: the image is not here.
kubelet::Verdict KubeletVerdict(const plan::Snapshot& snapshot, const std::string& image_id,
                                const status::CheckQuestion& question);

}  // namespace prefetch::agent
