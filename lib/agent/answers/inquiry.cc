#include "agent/answers/inquiry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/check.h"
#include "plan/requested.h"

namespace prefetch::agent {
namespace {

// Maximum number of answers that are held for pulls, so that other requests find a thread. A request without
// a place gets the known answer after a moment, in which the loop notices the request for a pull.
constexpr int kMostHeld = 2;
constexpr std::chrono::milliseconds kMoment{250};
// Time for registries in one request of a pod, since it occupies a thread.
constexpr std::chrono::seconds kRegistryTimeOfPods{8};

// A place among the answers that are held for pulls.
class Place {
 public:
  explicit Place(std::atomic<int>& taken) : taken_(taken), granted_(taken++ < kMostHeld) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { taken_--; }
  bool granted() const { return granted_; }

 private:
  std::atomic<int>& taken_;
  const bool granted_;
};

}  // namespace

plan::CheckVerdict Inquiry::VerdictNow(const base::Call& call, const status::CheckQuestion& question,
                                       const plan::Snapshot& snapshot, CheckRound& round,
                                       std::optional<RequestedPull>& requested) const {
  // Once a pull was asked for, its result decides, and no more questions go to the registry.
  if (requested) {
    auto verdict = plan::VerdictOfPull(
        requested->facts, plan::PulledFor(snapshot, *requested->facts.reference, requested->observed_at));
    if (verdict) return *std::move(verdict);
  }
  CheckRound::Outcome outcome = round.Decide(call, question, pulls() && !requested);
  if (outcome.step.need != plan::CheckNeed::kPull) return std::move(outcome.step.verdict);
  request_pull_(*outcome.facts.reference, round.observed_at());
  // The facts are kept: the verdict on the pull is about the pod as it was asked about. Decided again at
  // once, because the Snapshot may show a pull of this image already.
  requested = RequestedPull{std::move(outcome.facts), round.observed_at()};
  return VerdictNow(call, question, snapshot, round, requested);
}

status::CheckResult Inquiry::Check(const base::Call& call, const status::CheckRequest& request,
                                   Requester requester) const {
  requester.pull = request.pull;
  std::vector<status::CheckQuestion> questions = request.questions;
  if (requester.kind == Requester::Kind::kAnonymous) {
    // Claims that nobody proves are dropped. The answers to them would tell which Secrets and ServiceAccounts
    // exist.
    for (status::CheckQuestion& question : questions) question.identity = {};
  }
  const base::TimePoint ask_until =
      std::chrono::steady_clock::now() + (requester.kind == Requester::Kind::kPod
                                              ? std::min<base::Duration>(request.within, kRegistryTimeOfPods)
                                              : base::Duration(request.within));
  plan::SnapshotPtr snapshot = board_.Latest();
  status::CheckResult result{.node = snapshot->node, .time = clock_.Wall(), .ok = true, .answers = {}};
  result.answers.resize(questions.size());
  std::vector<Open> open;
  for (std::size_t i = 0; i < questions.size(); i++) open.push_back({i, std::nullopt});
  std::optional<Place> place;
  base::Call held = call;
  while (true) {
    CheckRound round({runtime_, keyring_, clock_, resolver_, shared_answers_}, *snapshot, requester,
                     ask_until);
    std::erase_if(open, [&](Open& one) {
      const status::CheckQuestion& question = questions[one.question];
      const plan::CheckVerdict verdict = VerdictNow(held, question, *snapshot, round, one.requested);
      result.answers[one.question] = status::AnswerOf(question, verdict);
      return !verdict.pending;
    });
    if (open.empty()) break;
    if (!place) {
      place.emplace(waiting_);
      held = call.Within(place->granted() ? std::max<base::Duration>(request.wait, kMoment) : kMoment);
    }
    if (held.Stopped()) break;
    plan::SnapshotPtr newer = board_.LatestAfter(held, snapshot);
    // The time is over. The client gets pending answers and asks again.
    if (newer == snapshot) break;
    snapshot = std::move(newer);
  }
  result.ok = std::all_of(result.answers.begin(), result.answers.end(),
                          [](const status::CheckAnswer& answer) { return answer.ok; });
  return result;
}

std::optional<status::CheckResult> Inquiry::CheckKnown(const base::Call& call,
                                                       const status::CheckRequest& request,
                                                       Requester requester) const {
  requester.pull = request.pull;
  const plan::SnapshotPtr snapshot = board_.Latest();
  status::CheckResult result{.node = snapshot->node, .time = clock_.Wall(), .ok = true, .answers = {}};
  CheckRound round({runtime_, keyring_, clock_, resolver_, shared_answers_}, *snapshot, requester,
                   base::TimePoint(), CheckRound::Reach::kNode);
  for (const status::CheckQuestion& question : request.questions) {
    const CheckRound::Outcome outcome = round.Decide(call, question, pulls());
    // One question that needs a registry sends the whole request to the threads that may wait.
    if (outcome.step.need != plan::CheckNeed::kNothing) return std::nullopt;
    result.answers.push_back(status::AnswerOf(question, outcome.step.verdict));
    result.ok = result.ok && result.answers.back().ok;
  }
  return result;
}

}  // namespace prefetch::agent
