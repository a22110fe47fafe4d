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
  Turn(SharedAnswers& moment, const Question& question) : moment_(moment), question_(question) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    {
      base::Lock lock(moment_.mutex_);
      moment_.asking_.remove(&question_);
      moment_.slots_[question_.key].asking = false;
      // Other askers that wait come before the next question of this one.
      moment_.turns_++;
      for (Waiting& waiting : moment_.waiting_) {
        if (waiting.question->asker == question_.asker) waiting.turn = moment_.turns_;
      }
    }
    moment_.changed_.notify_all();
  }
  void Keep(const image::RegistryAnswer& answer) {
    base::Lock lock(moment_.mutex_);
    Slot& slot = moment_.slots_[question_.key];
    slot.until = RealNow() + kServesFor;
    slot.answer = answer;
  }

 private:
  SharedAnswers& moment_;
  const Question& question_;
};

bool SharedAnswers::HasRoom(const Question& question) const {
  int all = 0, own = 0;
  for (const Question* running : asking_) {
    if (running->registry != question.registry) continue;
    all++;
    if (running->asker == question.asker) own++;
  }
  return all < kMostAsking && own < kMostOfAsker;
}

bool SharedAnswers::IsNext(const Waiting& waiting) {
  for (const Waiting& other : waiting_) {
    const Question& question = *other.question;
    const bool first = question.registry == waiting.question->registry && other.turn < waiting.turn;
    // Threads that wait for another one's answer, or for one of their own asker, take no turn.
    if (first && !slots_[question.key].asking && HasRoom(question)) return false;
  }
  return true;
}

std::optional<image::RegistryAnswer> SharedAnswers::AwaitTurn(
    const base::Call& call, const Waiting& own, base::TimePoint until,
    const std::function<image::RegistryAnswer()>& late) {
  while (true) {
    Slot& slot = slots_[own.question->key];
    if (!slot.asking && RealNow() < slot.until) return slot.answer;
    if (!slot.asking && HasRoom(*own.question) && IsNext(own)) {
      slot.asking = true;
      asking_.push_back(own.question);
      return std::nullopt;
    }
    if (call.Stopped() || RealNow() >= until) return late();
    changed_.wait_until(mutex_, std::min<base::TimePoint>(until, RealNow() + kLook));
  }
}

image::RegistryAnswer SharedAnswers::Get(const base::Call& call, const Question& question,
                                         const std::function<Said()>& ask,
                                         const std::function<image::RegistryAnswer()>& late) {
  const base::TimePoint until = std::min<base::TimePoint>(call.deadline, RealNow() + kPatience);
  {
    base::Lock lock(mutex_);
    // Any pod may name any image, so the memory is bounded. Slots with a waiting client stay.
    if (slots_.size() > kMostSlots) {
      std::erase_if(slots_,
                    [](const auto& one) { return !one.second.asking && one.second.until <= RealNow(); });
    }
    const auto own = waiting_.insert(waiting_.end(), {&question, ++turns_});
    std::optional<image::RegistryAnswer> answer = AwaitTurn(call, *own, until, late);
    waiting_.erase(own);
    changed_.notify_all();  // another thread may be next now
    if (answer) return *std::move(answer);
  }
  Turn turn(*this, question);
  Said said = ask();
  // Other waiting clients find no answer then, and the next of them asks for itself.
  if (said.of_registry) turn.Keep(said.answer);
  return std::move(said.answer);
}

}  // namespace prefetch::agent
