#include "check_ask.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "doc/write.h"
#include "pause.h"
#include "report/members.h"
#include "report/text_layout.h"

namespace prefetch::ctl {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAskAgain{500};
constexpr std::chrono::seconds kSayAgain{10};
// An agent reads at most 64 KiB of a request.
constexpr std::size_t kMostQuestionBytes = 48 * 1024;
constexpr std::size_t kQuestionOverhead = 64;
constexpr std::size_t kMostAtOnce = 8;
// A pull that was asked for is asked after so often at least, and told of last so long before the deadline.
constexpr std::chrono::seconds kHeldFor{5};
constexpr std::chrono::milliseconds kLastWord{500};
constexpr std::chrono::milliseconds kPullPause{200};

// Items that go into one request, by their numbers.
struct Batch {
  std::vector<std::size_t> items;
  std::size_t bytes = 0;
  bool may_take_long = false;  // the agent may have to ask a registry
};

// The agent asks registries one after the other within a request: for Always each time, for IfNotPresent
// where a pod would pull.
std::size_t MostInBatch(image::PullPolicy policy) {
  switch (policy) {
    case image::PullPolicy::kNever:
      return report::kMostQuestions;
    case image::PullPolicy::kIfNotPresent:
      return 64;
    case image::PullPolicy::kAlways:
      return 2;
  }
  std::abort();
}

std::vector<Batch> Batches(const std::vector<report::CheckItem>& items) {
  std::vector<Batch> batches;
  std::map<image::PullPolicy, std::size_t> growing;
  for (std::size_t i = 0; i < items.size(); i++) {
    const image::PullPolicy policy = items[i].question.policy;
    std::size_t bytes =
        doc::WriteJson(report::ToNode({.questions = {items[i].question}})).size() + kQuestionOverhead;
    auto current = growing.find(policy);
    if (current == growing.end() || batches[current->second].items.size() == MostInBatch(policy) ||
        batches[current->second].bytes + bytes > kMostQuestionBytes) {
      current = growing.insert_or_assign(policy, batches.size()).first;
      batches.push_back({.items = {}, .bytes = 0, .may_take_long = policy != image::PullPolicy::kNever});
    }
    batches[current->second].items.push_back(i);
    batches[current->second].bytes += bytes;
  }
  return batches;
}

// One run. Its threads take one batch after the other.
class Asking {
 public:
  Asking(const base::Call& call, const AgentClient& agent, const std::vector<report::CheckItem>& items,
         bool pull, std::ostream& err)
      : agent_(agent),
        items_(items),
        pull_(pull),
        batches_(Batches(items)),
        err_(err),
        started_(steady_clock::now()),
        stop_all_(call.stop, [this] { over_.request_stop(); }),
        call_{call.deadline, over_.get_token()} {
    result_.answers.resize(items.size());
  }

  base::Status Run(report::CheckResult& result) {
    {
      std::vector<std::jthread> others;
      for (std::size_t i = 1; i < std::min(kMostAtOnce, batches_.size()); i++)
        others.emplace_back([this] { Work(); });
      Work();
    }
    base::Lock lock(mutex_);
    result = std::move(result_);
    return failure_ ? base::Status(*failure_) : base::Status();
  }

 private:
  void Work() EXCLUDES(mutex_) {
    while (const Batch* batch = Next()) {
      std::vector<std::size_t> open = batch->items;
      while (!open.empty()) {
        report::CheckRequest request{.questions = {}, .pull = pull_, .wait = HoldFor()};
        for (std::size_t i : open) request.questions.push_back(items_[i].question);
        open = Absorb(open, AskPatiently(request, batch->may_take_long));
        if (!open.empty() && !AwaitPulls(open)) break;
      }
    }
  }

  // How long the agent may hold its answer for pulls.
  base::Duration HoldFor() const {
    base::Duration left = call_.deadline - steady_clock::now() - 2 * kLastWord;
    return std::clamp<base::Duration>(left, base::Duration::zero(), kHeldFor);
  }

  const Batch* Next() EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return next_ < batches_.size() && !over_.stop_requested() ? &batches_[next_++] : nullptr;
  }

  // Gives those of them that are being pulled.
  std::vector<std::size_t> Absorb(const std::vector<std::size_t>& items,
                                  base::Result<report::CheckResult> answered) EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    if (!answered) {
      Fail(answered.error());
      return {};
    }
    result_.node = answered->node;
    result_.time = answered->time;
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < items.size(); i++) {
      if (answered->answers[i].pending) pending.push_back(items[i]);
      result_.answers[items[i]] = std::move(answered->answers[i]);
    }
    return pending;
  }

  void Fail(const base::Error& error) REQUIRES(mutex_) {
    bool stays = !ComesBack(error.code()) && error.code() != base::Code::kCancelled;
    if (!failure_ || (stays && ComesBack(failure_->code()))) failure_ = error;
    if (stays) over_.request_stop();
  }

  // A moment, after which the agent is asked again. False: there is no time for it.
  bool AwaitPulls(const std::vector<std::size_t>& pending) EXCLUDES(mutex_) {
    {
      base::Lock lock(mutex_);
      const std::size_t first = pending.front();
      std::string where =
          items_[first].question.image + ": " + report::Harmless(result_.answers[first].message);
      if (steady_clock::now() + kPullPause + kLastWord >= call_.deadline) {
        Fail(base::DeadlineExceeded("the time is over, and " + Count(pending.size()) +
                                    " not here yet; a pull that has begun goes on (" + where + ")"));
        return false;
      }
      Say("waiting: " + Count(pending.size()) + " not here yet", where);
    }
    return Pause(call_, kPullPause);
  }

  static std::string Count(std::size_t images) {
    return images == 1 ? "an image is" : std::to_string(images) + " images are";
  }

  // Asks until there is an answer: an agent may not be there yet, or just restart.
  base::Result<report::CheckResult> AskPatiently(const report::CheckRequest& request, bool may_take_long) {
    while (true) {
      base::Duration within = base::Duration::max() / 4;
      if (!may_take_long && !request.pull) within = kAnswerWithin;
      auto result = agent_.Check(call_, request, within);
      if (result || !ComesBack(result.error().code()) || call_.Stopped()) return result;
      if (steady_clock::now() + kAskAgain >= call_.deadline) return result;
      SayWaiting(result.error());
      if (!Pause(call_, kAskAgain)) return result;
    }
  }

  void SayWaiting(const base::Error& error) EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    Say("waiting for the agent", error.message());
  }

  void Say(const std::string& what, const std::string& why) REQUIRES(mutex_) {
    auto now = steady_clock::now();
    if (said_ && now - *said_ < kSayAgain) return;
    auto left = std::chrono::duration_cast<std::chrono::seconds>(call_.deadline - now);
    auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - started_);
    err_ << what << " (" << report::HumanTime(waited) << " so far, at most " << report::HumanTime(left)
         << " more): " << why << std::endl;
    said_ = now;
  }

  const AgentClient& agent_;
  const std::vector<report::CheckItem>& items_;
  const bool pull_;
  const std::vector<Batch> batches_;
  std::ostream& err_;
  const steady_clock::time_point started_;
  std::stop_source over_;  // the caller's wish, or a failure that stays
  std::stop_callback<std::function<void()>> stop_all_;
  const base::Call call_;
  base::Mutex mutex_;
  std::size_t next_ GUARDED_BY(mutex_) = 0;
  report::CheckResult result_ GUARDED_BY(mutex_);
  std::optional<base::Error> failure_ GUARDED_BY(mutex_);
  std::optional<steady_clock::time_point> said_ GUARDED_BY(mutex_);
};

}  // namespace

bool ComesBack(base::Code code) {
  return code == base::Code::kNotFound || code == base::Code::kUnavailable ||
         code == base::Code::kDeadlineExceeded || code == base::Code::kResourceExhausted;
}

base::Status AskAll(const base::Call& call, const AgentClient& agent,
                    const std::vector<report::CheckItem>& items, bool pull, report::CheckResult& result,
                    std::ostream& err) {
  return Asking(call, agent, items, pull, err).Run(result);
}

}  // namespace prefetch::ctl
