#include "agent/answers/registry_moment.h"

#include <algorithm>
#include <utility>

namespace prefetch::agent {
namespace {

constexpr std::chrono::seconds kServesFor{5};
constexpr std::size_t kMostSlots = 1000;
constexpr std::chrono::milliseconds kLook{200};  // at whether the asker is still there

base::TimePoint RealNow() {
  return std::chrono::steady_clock::now();
}

}  // namespace

image::RegistryAnswer RegistryMoment::Get(const base::Call& call, const std::string& key,
                                          const std::function<image::RegistryAnswer()>& ask,
                                          const std::function<image::RegistryAnswer()>& late) {
  {
    base::Lock lock(mutex_);
    while (true) {
      Slot& slot = slots_[key];
      if (!slot.asking) {
        if (RealNow() < slot.until) return slot.answer;
        slot.asking = true;
        break;
      }
      if (call.Stopped() || RealNow() >= call.deadline) return late();
      changed_.wait_until(mutex_, std::min<base::TimePoint>(call.deadline, RealNow() + kLook));
    }
    if (slots_.size() > kMostSlots) {
      std::erase_if(slots_,
                    [&](const auto& one) { return !one.second.asking && one.second.until <= RealNow(); });
    }
  }
  image::RegistryAnswer answer = ask();
  base::Lock lock(mutex_);
  Slot& slot = slots_[key];
  slot = {.asking = false, .until = RealNow() + kServesFor, .answer = answer};
  changed_.notify_all();
  return answer;
}

}  // namespace prefetch::agent
