// SharedAnswers: what registries have just said, shared by questions that come together: two hundred pods of
// one job that start at once are one question to the registry.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "image/registry_answer.h"

namespace prefetch::agent {

// Any thread may call, several at once.
class SharedAnswers {
 public:
  struct Said {
    image::RegistryAnswer answer;
    bool of_registry = true;  // false: it tells how long the asker waited, and others ask for themselves
  };

  // `key` stands for the question to `registry`, and its credentials. `ask` is called without a lock, by one
  // thread for a key and by kMostAsking for a registry; the others wait for an answer, or for their turn, for
  // kPatience and no longer than `call`, and then get `late`. An answer serves for five seconds.
  image::RegistryAnswer Get(const base::Call& call, const std::string& registry, const std::string& key,
                            const std::function<Said()>& ask,
                            const std::function<image::RegistryAnswer()>& late) PREFETCH_EXCLUDES(mutex_);

  // A registry that hangs leaves threads to other questions.
  static constexpr int kMostAsking = 2;
  static constexpr std::chrono::seconds kPatience{4};

 private:
  struct Slot {
    bool asking = false;
    base::TimePoint until;  // real time
    image::RegistryAnswer answer;
  };
  class Turn;

  base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, Slot> slots_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, int> asking_ PREFETCH_GUARDED_BY(mutex_);  // threads, by registry
};

}  // namespace prefetch::agent
