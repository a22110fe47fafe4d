#include "agent/answers/shared_answers.h"

#include <algorithm>
#include <utility>

namespace prefetch::agent {
namespace {

// Long enough for the pods of one job that start together.
constexpr std::chrono::seconds kServesFor{5};
constexpr std::size_t kMostSlots = 1000;
constexpr std::chrono::milliseconds kClientCheckInterval{200};  // at whether the client is still there

base::TimePoint RealNow() {
  return std::chrono::steady_clock::now();
}

}  // namespace

// Marks a key as being asked, until the end of its scope, whatever happens in it.
class SharedAnswers::Asking {
 public:
  Asking(SharedAnswers& shared, const Question& question) : shared_(shared), question_(question) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    {
      base::Lock lock(shared_.mutex_);
      shared_.asking_.remove(&question_);
      shared_.slots_[question_.key].asking = false;
      // Other clients that wait come before the next question of this one.
      shared_.next_place_++;
      for (Waiting& waiting : shared_.waiting_) {
        if (waiting.question->client == question_.client) waiting.place_number = shared_.next_place_;
      }
    }
    shared_.changed_.notify_all();
  }
  void Store(const image::RegistryAnswer& answer) {
    base::Lock lock(shared_.mutex_);
    Slot& slot = shared_.slots_[question_.key];
    slot.until = RealNow() + kServesFor;
    slot.answer = answer;
  }

 private:
  SharedAnswers& shared_;
  const Question& question_;
};

bool SharedAnswers::HasRoom(const Question& question) const {
  int all = 0, own = 0;
  for (const Question* running : asking_) {
    if (running->registry != question.registry) continue;
    all++;
    if (running->client == question.client) own++;
  }
  return all < kMaxAsking && own < kMaxAskingPerClient;
}

bool SharedAnswers::IsNext(const Waiting& waiting) {
  for (const Waiting& other : waiting_) {
    const Question& question = *other.question;
    const bool first =
        question.registry == waiting.question->registry && other.place_number < waiting.place_number;
    // Threads that wait for another one's answer, or for one of their own client, take no turn.
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
    changed_.wait_until(mutex_, std::min<base::TimePoint>(until, RealNow() + kClientCheckInterval));
  }
}

image::RegistryAnswer SharedAnswers::Get(const base::Call& call, const Question& question,
                                         const std::function<Reply()>& ask,
                                         const std::function<image::RegistryAnswer()>& late) {
  const base::TimePoint until = std::min<base::TimePoint>(call.deadline, RealNow() + kMaxWait);
  {
    base::Lock lock(mutex_);
    // Any pod may name any image, so the memory is bounded. Slots with a waiting client stay.
    if (slots_.size() > kMostSlots) {
      std::erase_if(slots_,
                    [](const auto& one) { return !one.second.asking && one.second.until <= RealNow(); });
    }
    const auto own = waiting_.insert(waiting_.end(), {&question, ++next_place_});
    std::optional<image::RegistryAnswer> answer = AwaitTurn(call, *own, until, late);
    waiting_.erase(own);
    changed_.notify_all();  // another thread may be next now
    if (answer) return *std::move(answer);
  }
  Asking own_request(*this, question);
  Reply reply = ask();
  // Other waiting clients find no answer then, and the next of them asks for itself.
  if (reply.of_registry) own_request.Store(reply.answer);
  return std::move(reply.answer);
}

}  // namespace prefetch::agent
