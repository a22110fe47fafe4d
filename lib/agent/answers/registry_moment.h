// RegistryMoment: what registries have just said, shared by questions that come together: two hundred pods of
// one job that start at once are one question to the registry.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "image/registry_answer.h"

namespace prefetch::agent {

// Any thread may call, several at once.
class RegistryMoment {
 public:
  // `key` says what is asked, and with whose credentials. `ask` is called without a lock, by one thread for a
  // key at a time; the others wait for its answer until `call` ends, and then get `late`. An answer serves
  // for five seconds.
  image::RegistryAnswer Get(const base::Call& call, const std::string& key,
                            const std::function<image::RegistryAnswer()>& ask,
                            const std::function<image::RegistryAnswer()>& late) PREFETCH_EXCLUDES(mutex_);

 private:
  struct Slot {
    bool asking = false;
    base::TimePoint until;  // real time
    image::RegistryAnswer answer;
  };

  base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, Slot> slots_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::agent
