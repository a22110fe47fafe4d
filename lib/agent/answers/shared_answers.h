// SharedAnswers: what registries have just said, shared by questions that come together: two hundred pods of
// one job that start at once are one question to the registry.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "image/registry_answer.h"

namespace prefetch::agent {

// Any thread may call, several at once.
class SharedAnswers {
 public:
  struct Reply {
    image::RegistryAnswer answer;
    bool of_registry = true;  // false: it tells how long the client waited, and others ask for themselves
  };

  struct Question {
    std::string client;    // the namespace of the pod
    std::string registry;  // that is asked
    std::string key;       // stands for the question, and its credentials
  };

  // `ask` is called without a lock, by one thread for a key and by kMaxAsking for a registry; the others
  // wait for an answer, or for their turn, for kMaxWait and no longer than `call`, and then get `late`.
  // Clients take turns: the next question of one comes after all that waited meanwhile, and none has all
  // places of a registry. An answer serves for five seconds.
  image::RegistryAnswer Get(const base::Call& call, const Question& question,
                            const std::function<Reply()>& ask,
                            const std::function<image::RegistryAnswer()>& late) PREFETCH_EXCLUDES(mutex_);

  // Threads that wait for an answer, or for their turn.
  std::size_t waiting() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return waiting_.size();
  }

  // A registry that hangs leaves threads to other questions, and a client that it keeps waiting leaves a
  // place to other clients.
  static constexpr int kMaxAsking = 2;
  static constexpr int kMaxAskingPerClient = kMaxAsking - 1;
  static constexpr std::chrono::seconds kMaxWait{4};

 private:
  struct Slot {
    bool asking = false;
    base::TimePoint until;  // real time
    image::RegistryAnswer answer;
  };
  // A thread that waits for a question to its registry.
  struct Waiting {
    const Question* question = nullptr;
    std::uint64_t place_number = 0;  // the smallest is next
  };
  class Asking;

  // The answer, or `late`'s. nullopt: the thread asks now.
  std::optional<image::RegistryAnswer> AwaitTurn(const base::Call& call, const Waiting& own,
                                                 base::TimePoint until,
                                                 const std::function<image::RegistryAnswer()>& late)
      PREFETCH_REQUIRES(mutex_);
  // Reports whether the registry may be asked now, as far as running questions decide it.
  bool HasRoom(const Question& question) const PREFETCH_REQUIRES(mutex_);
  // Reports whether no other thread comes first at this registry.
  bool IsNext(const Waiting& waiting) PREFETCH_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, Slot> slots_ PREFETCH_GUARDED_BY(mutex_);
  // Running questions, in no order: a few for each registry.
  std::list<const Question*> asking_ PREFETCH_GUARDED_BY(mutex_);
  std::list<Waiting> waiting_ PREFETCH_GUARDED_BY(mutex_);
  std::uint64_t next_place_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

}  // namespace prefetch::agent
