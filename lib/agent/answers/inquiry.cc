#include "agent/answers/inquiry.h"

#include <algorithm>
#include <utility>

#include "plan/asked.h"
#include "plan/check.h"

namespace prefetch::agent {
namespace {

// So many answers are held for pulls at once: the others that are asked for meanwhile find a thread. Who
// finds no place is told what is known after a moment, in which the loop takes notice of the wish.
constexpr int kMostHeld = 2;
constexpr std::chrono::milliseconds kMoment{250};
// For registries, in one request of a pod: what it asks for keeps a thread from others.
constexpr std::chrono::seconds kRegistryTimeOfPods{8};

}  // namespace

CheckRound Inquiry::RoundOf(const plan::Snapshot& snapshot, const Asker& asker,
                            base::TimePoint ask_until) const {
  return {{.runtime = runtime_, .keyring = keyring_, .clock = clock_, .asker = asker_, .moment = moment_},
          snapshot,
          asker,
          ask_until};
}

void Inquiry::AwaitPulls(const base::Call& call, const status::CheckRequest& request, const Asker& asker,
                         std::vector<Wish> wishes, base::TimePoint ask_until,
                         status::CheckResult& result) const {
  plan::SnapshotPtr snapshot = board_.Latest();
  while (true) {
    CheckRound round = RoundOf(*snapshot, asker, ask_until);
    std::erase_if(wishes, [&](const Wish& wish) {
      const status::CheckQuestion& question = request.questions[wish.question];
      auto verdict =
          plan::VerdictOfPull(wish.facts, plan::PulledFor(*snapshot, *wish.facts.reference, wish.looked_at));
      if (!verdict) verdict = round.Decide(call, question, false).step.verdict;
      result.answers[wish.question] = status::AnswerOf(question, *verdict);
      return !verdict->pending;
    });
    if (wishes.empty() || call.Stopped()) return;
    plan::SnapshotPtr newer = board_.LatestAfter(call, snapshot);
    if (newer == snapshot) return;
    snapshot = std::move(newer);
  }
}

status::CheckResult Inquiry::Check(const base::Call& call, const status::CheckRequest& request,
                                   Asker asker) const {
  asker.pull = request.pull;
  plan::SnapshotPtr snapshot = board_.Latest();
  status::CheckResult result{.node = snapshot->node, .time = clock_.Wall(), .ok = true, .answers = {}};
  std::vector<Wish> wishes;
  const std::chrono::nanoseconds within =
      asker.kind == Asker::Kind::kPod
          ? std::min<std::chrono::nanoseconds>(request.within, kRegistryTimeOfPods)
          : request.within;
  const base::TimePoint ask_until = std::chrono::steady_clock::now() + within;
  CheckRound round = RoundOf(*snapshot, asker, ask_until);
  const bool pull = pulls();
  for (const status::CheckQuestion& question : request.questions) {
    CheckRound::Outcome outcome = round.Decide(call, question, pull);
    if (outcome.step.need == plan::CheckNeed::kPull) {
      wish_(*outcome.facts.reference, round.looked_at());
      wishes.push_back({result.answers.size(), std::move(outcome.facts), round.looked_at()});
    }
    result.answers.push_back(status::AnswerOf(question, outcome.step.verdict));
  }
  if (!wishes.empty()) {
    base::Duration wait = waiting_++ < kMostHeld ? std::max<base::Duration>(request.wait, kMoment) : kMoment;
    AwaitPulls(call.Within(wait), request, asker, std::move(wishes), ask_until, result);
    waiting_--;
  }
  result.ok = std::all_of(result.answers.begin(), result.answers.end(),
                          [](const status::CheckAnswer& answer) { return answer.ok; });
  return result;
}

}  // namespace prefetch::agent
