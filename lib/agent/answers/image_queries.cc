#include "agent/answers/image_queries.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/on_exit.h"
#include "credentials/lookup_words.h"
#include "kubelet/records.h"
#include "kubelet/settings.h"
#include "kubelet/verdict_reader.h"
#include "plan/check.h"
#include "plan/image_readiness.h"
#include "plan/spellings.h"
#include "status/status_json.h"

namespace prefetch::agent {

namespace {

// Maximum number of answers that are held for pulls, so that other requests find a thread. A request without
// a place gets the known answer after a moment, in which the loop notices the request for a pull.
constexpr int kMaxHeldAnswers = 2;
constexpr std::chrono::milliseconds kShortHold{250};
// Time for registries in one request of a pod, since it occupies a thread.
constexpr std::chrono::seconds kRegistryTimeOfPods{8};

}  // namespace

plan::CheckDecision ImageQueryService::EvaluateQuestion(const base::Call& call,
                                                        const status::CheckQuestion& question,
                                                        const plan::Snapshot& snapshot, CheckRound& round,
                                                        std::optional<RequestedPull>& requested) const {
  // Once a pull was asked for, its result decides, and no more questions go to the registry.
  if (requested) {
    auto decision = plan::DecisionForPull(
        requested->facts,
        plan::FindRequestedImage(snapshot, *requested->facts.reference, requested->observed_at));
    if (decision) return *std::move(decision);
  }
  CheckRound::Outcome outcome = round.Decide(call, question, pulls() && !requested);
  if (outcome.step.need != plan::CheckNeed::kPull) return std::move(outcome.step.decision);
  request_pull_(*outcome.facts.reference, round.observed_at());
  // The facts are kept: the decision for the pull is about the pod as it was asked about. Decided again at
  // once, because the Snapshot may show a pull of this image already.
  requested = RequestedPull{std::move(outcome.facts), round.observed_at()};
  return EvaluateQuestion(call, question, snapshot, round, requested);
}

status::CheckResult ImageQueryService::Check(const base::Call& call, const status::CheckRequest& request,
                                             Requester requester) const {
  requester.pull = request.pull;
  std::vector<status::CheckQuestion> questions = request.questions;
  if (requester.kind == Requester::Kind::kAnonymous) {
    // Claims that nobody proves are dropped. The answers to them would tell which Secrets and ServiceAccounts
    // exist.
    for (status::CheckQuestion& question : questions) question.identity = {};
  }
  const base::TimePoint registry_deadline =
      std::chrono::steady_clock::now() + (requester.kind == Requester::Kind::kPod
                                              ? std::min<base::Duration>(request.within, kRegistryTimeOfPods)
                                              : base::Duration(request.within));
  plan::SnapshotPtr snapshot = board_.Latest();
  status::CheckResult result{.node = snapshot->node, .time = clock_.Wall(), .ok = true, .answers = {}};
  result.answers.resize(questions.size());
  std::vector<PendingQuestion> open;
  for (std::size_t i = 0; i < questions.size(); i++) open.push_back({i, std::nullopt});
  int places = 0;  // of this answer among those that are held for pulls
  const base::OnExit leave([&] { held_answers_ -= places; });
  base::Call held = call;
  while (true) {
    CheckRound round({runtime_, keyring_, clock_, resolver_, shared_answers_}, *snapshot, requester,
                     registry_deadline);
    std::erase_if(open, [&](PendingQuestion& one) {
      const status::CheckQuestion& question = questions[one.question];
      const plan::CheckDecision decision = EvaluateQuestion(held, question, *snapshot, round, one.requested);
      result.answers[one.question] = status::AnswerOf(question, decision);
      return !decision.pending;
    });
    if (open.empty()) break;
    if (places == 0) {
      places = 1;
      const bool granted = held_answers_++ < kMaxHeldAnswers;
      held = call.Within(granted ? std::max<base::Duration>(request.wait, kShortHold) : kShortHold);
    }
    if (held.Stopped()) break;
    plan::SnapshotPtr newer = board_.LatestAfter(held, snapshot);
    // The time is over. The client gets pending answers and asks again.
    if (newer == snapshot) break;
    snapshot = std::move(newer);
  }
  result.ok = std::ranges::all_of(result.answers, &status::CheckAnswer::ok);
  return result;
}

std::optional<status::CheckResult> ImageQueryService::CheckKnown(const base::Call& call,
                                                                 const status::CheckRequest& request,
                                                                 Requester requester) const {
  requester.pull = request.pull;
  const plan::SnapshotPtr snapshot = board_.Latest();
  status::CheckResult result{.node = snapshot->node, .time = clock_.Wall(), .ok = true, .answers = {}};
  CheckRound round({runtime_, keyring_, clock_, resolver_, shared_answers_}, *snapshot, requester,
                   base::TimePoint(), CheckRound::Scope::kNode);
  for (const status::CheckQuestion& question : request.questions) {
    const CheckRound::Outcome outcome = round.Decide(call, question, pulls());
    // One question that needs a registry sends the whole request to the threads that may wait.
    if (outcome.step.need != plan::CheckNeed::kNothing) return std::nullopt;
    result.answers.push_back(status::AnswerOf(question, outcome.step.decision));
    result.ok = result.ok && result.answers.back().ok;
  }
  return result;
}

// GET /v1/images/REF: the facts about one image, collected.

namespace {

std::string Named(const char* what, const kubelet::Coordinates& of) {
  return std::string(what) + " " + of.namespace_name + "/" + of.name;
}

status::RecordedUse UseOf(const std::string& repository, const kubelet::CredentialEntry& entry,
                          bool identities) {
  status::RecordedUse use{.repository = repository,
                          .node = entry.node_pods_accessible,
                          .secrets = entry.secrets.size(),
                          .service_accounts = entry.service_accounts.size(),
                          .identities = {}};
  // Names of Secrets and ServiceAccounts are shown only to a client that asks for them.
  if (!identities) return use;
  for (const auto& secret : entry.secrets) use.identities.push_back(Named("secret", secret.secret));
  for (const auto& account : entry.service_accounts) {
    use.identities.push_back(Named("service account", account));
  }
  return use;
}

struct JudgedPod {
  image::Reference reference;
  kubelet::VerdictQuestion files;
  plan::VerdictsPtr verdicts;  // the worst of all pods
};

// Reads kubelet's files as they are now. Returns the pod profile with the worst verdict, and the first of
// several. Its files explain the verdict that status shows for the entry.
JudgedPod WorstPod(const plan::Snapshot& snapshot, const plan::ImageState& image) {
  std::vector<JudgedPod> all;
  std::vector<plan::SpellingVerdicts> each;
  for (const plan::PodProfile& pod : plan::PodsOf(image.desired)) {
    const std::string& written = pod.reference.written();
    all.push_back(
        {pod.reference, kubelet::ReadKubeletFiles(snapshot.kubelet->root, written, image.image_id), nullptr});
    all.back().files.pod = kubelet::IdentityOf(*pod.ready_as);
    all.back().verdicts = std::make_shared<const kubelet::Verdicts>(
        kubelet::VerdictsFor(all.back().files, *snapshot.possible_kubelets));
    each.push_back({written, all.back().verdicts, pod.ready_as});
  }
  plan::VerdictsPtr worst = plan::WorstOf(std::move(each)).worst;
  auto decisive = std::ranges::find_if(all, [&](const JudgedPod& one) {
    return one.verdicts->never.result == worst->never.result &&
           one.verdicts->never.reason == worst->never.reason;
  });
  decisive->verdicts = std::move(worst);
  return std::move(*decisive);
}

// Adds kubelet's files as the newest possible kubelet reads them. Returns the verdict; null if nothing is
// known of kubelet.
plan::VerdictsPtr AddKubeletFiles(const plan::Snapshot& snapshot, const plan::ImageState& image,
                                  bool identities, status::ImageDocument& document) {
  if (!HasKubeletFacts(snapshot)) return nullptr;
  image::KubeletVersion version = snapshot.possible_kubelets->back().version;
  JudgedPod judged_pod = WorstPod(snapshot, image);
  const kubelet::VerdictQuestion& files = judged_pod.files;
  document.reasoning = status::ReasoningOf(*judged_pod.verdicts);
  document.record_key = kubelet::TrimmedImage(judged_pod.reference, version);
  // Records are filed under an image id (K18), so an absent image has none.
  if (image.image_id.empty()) return judged_pod.verdicts;
  kubelet::RecordReading record = kubelet::ReadRecord(files, version);
  document.record.state = record.reading;
  for (const auto& [repository, entry] : record.record.mapping) {
    document.record.uses.push_back(UseOf(repository, entry, identities));
  }
  document.intent = kubelet::ReadIntent(files, version);
  return judged_pod.verdicts;
}

}  // namespace

void ImageQueryService::AddCredentials(const base::Call& call, const plan::ImageState& image,
                                       status::ImageDocument& document) const {
  credentials::LookupWords lookup =
      credentials::WordsOf(keyring_.Find(call, {image.desired->reference, image.desired->sources}));
  document.credentials = std::move(lookup.credentials);
  document.providers = std::move(lookup.providers);
}

// A listed image is answered from the Snapshot, so that the page agrees with status. For other images the
// runtime is asked now. If it does not answer, nothing is said about kubelet's records, which are filed under
// the image id that only the runtime knows.
Explanation ImageQueryService::Explain(const base::Call& call, const image::Reference& reference,
                                       const ExplainOptions& options) const {
  plan::SnapshotPtr snapshot = board_.Latest();
  status::ImageDocument document;
  plan::ImageState image;
  bool runtime_answered = true;
  const plan::ImageState* listed = plan::FindImage(*snapshot, reference);
  document.listed = listed != nullptr;
  if (listed != nullptr) {
    image = *listed;
    const bool down = snapshot->readiness.reason == plan::Reason::kRuntimeDown;
    runtime_answered = image.present || !plan::IsUnreported(image, down);
  } else {
    auto here = runtime_.Ask(call, LiveRuntime::Timeout(snapshot->runtime), {});
    auto found = runtime_.Unlisted(call, reference, *here);
    runtime_answered = found.ok();
    if (found) {
      image = *std::move(found);
    } else {
      image.desired = plan::DesiredImage{.reference = reference};
      image.message = "the container runtime could not be asked: " + found.error().message;
    }
  }
  for (const std::string& alias : image.aliases) {
    auto other = image::Reference::Parse(alias);
    if (other && plan::FindImage(*snapshot, *other) != nullptr) document.listed_aliases.push_back(alias);
  }
  plan::VerdictsPtr verdicts;
  if (runtime_answered) verdicts = AddKubeletFiles(*snapshot, image, options.identities, document);
  if (listed == nullptr && verdicts != nullptr) {
    if (image.present) image.reason = plan::ReasonFor(verdicts->never.reason);
    image.verdicts = std::move(verdicts);
    // An unlisted image has no entry that the loop would judge.
    image.ready = plan::IsReadyFor(image, image::PullPolicy::kNever, true);
    image.settled = image.ready;
    image.phase = image.ready ? plan::Phase::kReady : plan::Phase::kFailing;
  }
  if (options.credentials) AddCredentials(call, image, document);
  if (hosts_) document.registry_hosts = hosts_(reference, snapshot->runtime.Info());
  return {.known = listed != nullptr || image.present,
          .json = status::ImageJson(*snapshot, image, std::move(document), clock_.Wall())};
}

}  // namespace prefetch::agent
