#include "agent/answers/shared_answers.h"

#include <algorithm>
#include <utility>

namespace prefetch::agent {
namespace {

// Long enough for the pods of one job that start together.
constexpr std::chrono::seconds kServesFor{5};
constexpr std::size_t kMostSlots = 1000;
constexpr std::chrono::milliseconds kLook{200};  // at whether the asker is still there

base::TimePoint RealNow() {
  return std::chrono::steady_clock::now();
}

}  // namespace

// Marks a key as being asked, until the end of its scope, whatever happens in it.
class SharedAnswers::Turn {
 public:
  Turn(SharedAnswers& moment, const std::string& registry, const std::string& key)
      : moment_(moment), registry_(registry), key_(key) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    {
      base::Lock lock(moment_.mutex_);
      if (auto asking = moment_.asking_.find(registry_); --asking->second == 0) moment_.asking_.erase(asking);
      moment_.slots_[key_].asking = false;
    }
    moment_.changed_.notify_all();
  }
  void Keep(const image::RegistryAnswer& answer) {
    base::Lock lock(moment_.mutex_);
    Slot& slot = moment_.slots_[key_];
    slot.until = RealNow() + kServesFor;
    slot.answer = answer;
  }

 private:
  SharedAnswers& moment_;
  const std::string& registry_;
  const std::string& key_;
};

image::RegistryAnswer SharedAnswers::Get(const base::Call& call, const std::string& registry,
                                         const std::string& key, const std::function<Said()>& ask,
                                         const std::function<image::RegistryAnswer()>& late) {
  const base::TimePoint until = std::min<base::TimePoint>(call.deadline, RealNow() + kPatience);
  {
    base::Lock lock(mutex_);
    // Any pod may name any image, so the memory is bounded. Slots with a waiting client stay.
    if (slots_.size() > kMostSlots) {
      std::erase_if(slots_,
                    [](const auto& one) { return !one.second.asking && one.second.until <= RealNow(); });
    }
    while (true) {
      Slot& slot = slots_[key];
      if (!slot.asking && RealNow() < slot.until) return slot.answer;
      // A registry that hangs takes this many threads and no more.
      if (!slot.asking && asking_[registry] < kMostAsking) {
        slot.asking = true;
        asking_[registry]++;
        break;
      }
      if (call.Stopped() || RealNow() >= until) return late();
      changed_.wait_until(mutex_, std::min<base::TimePoint>(until, RealNow() + kLook));
    }
  }
  Turn turn(*this, registry, key);
  Said said = ask();
  // Other waiting clients find no answer then, and the next of them asks for itself.
  if (said.of_registry) turn.Keep(said.answer);
  return std::move(said.answer);
}

}  // namespace prefetch::agent
