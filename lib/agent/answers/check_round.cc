#include "agent/answers/check_round.h"

#include <algorithm>

#include "base/on_exit.h"
#include "credentials/lookup_words.h"
#include "image/platform.h"
#include "kubelet/verdict_reader.h"
#include "plan/image_readiness.h"
#include "pulling/image_facts.h"

namespace prefetch::agent {

namespace {

using plan::CheckFacts;
using plan::CheckNeed;

// Age up to which a list of images answers a pod. Any pod may ask, and a list of a thousand images is work
// for the runtime.
constexpr std::chrono::milliseconds kMaxAgeForAnonymous{500};

base::TimePoint RealNow() {
  return std::chrono::steady_clock::now();
}

plan::CheckKubelet KubeletOf(const plan::Snapshot& snapshot) {
  if (!snapshot.kubelet) return plan::CheckKubelet::kNone;
  return HasKubeletFacts(snapshot) ? plan::CheckKubelet::kKnown : plan::CheckKubelet::kNotKnown;
}

// Returns true if an image of the list is in this registry. The operator then trusts the registry, whichever
// image a pod names there.
bool NamesRegistry(const plan::Snapshot& snapshot, const image::Reference& reference) {
  return std::ranges::any_of(snapshot.images, [&](const plan::ImageState& image) {
    return image.desired->reference.domain() == reference.domain();
  });
}

}  // namespace

// Lists the images once for all questions of the round, so that a preflight of many images is one call to the
// runtime.
plan::CheckRuntime CheckRound::AskRuntime(const base::Call& call, const image::Reference& reference,
                                          const plan::ImageState* listed) {
  LiveRuntime& runtime = sources_.runtime;
  const bool node = requester_.kind == Requester::Kind::kNode;
  if (listing_ == nullptr) {
    observed_at_ = sources_.clock.Now();
    listing_ = runtime.Ask(call, LiveRuntime::Timeout(snapshot_.runtime),
                           node || requester_.pull ? base::Duration::zero() : kMaxAgeForAnonymous);
  }
  auto image = listed != nullptr ? runtime.Entry(call, *listed, *listing_, node)
                                 : runtime.Unlisted(call, reference, *listing_, node);
  plan::CheckRuntime found;
  if (image) {
    found.image = *std::move(image);
  } else {
    found.error = image.error().message;
    if (listed != nullptr) found.image = *listed;
  }
  return found;
}

// Returns true if the question has credentials that are not the node's. A pod that asks with its own token
// always has a service account, which counts as a credential only if a provider accepts it.
bool CheckRound::HasOwnCredentials(const status::CheckQuestion& question, const image::Reference* reference) {
  if (!IsForPod()) return question.identity != status::CheckIdentity{};
  return !question.identity.secrets.empty() ||
         (reference != nullptr && !sources_.keyring.TokenProviderFor(*reference).empty());
}

// plan::DecideCheck names the next fact that it needs, and this loop fetches it. So a question that the
// Snapshot answers costs no call, and the registry is asked only if everything before it allows the pod to
// start.
CheckRound::Outcome CheckRound::Decide(const base::Call& call, const status::CheckQuestion& question,
                                       bool pull) {
  auto reference = image::Reference::Parse(question.image);
  const plan::ImageState* listed = reference ? plan::FindImage(snapshot_, *reference) : nullptr;
  CheckFacts facts{.image = question.image,
                   .policy = question.policy,
                   .own_credentials = HasOwnCredentials(question, reference ? &*reference : nullptr),
                   .rights = requester_.Rights(listed != nullptr),
                   .redact_messages = IsForPod(),
                   .listed = listed != nullptr,
                   .asks_registries = sources_.resolver != nullptr,
                   .runtime_down = snapshot_.readiness.reason == plan::Reason::kRuntimeDown,
                   .runtime_error = snapshot_.runtime.error,
                   .kubelet = KubeletOf(snapshot_)};
  facts.rights.pull = facts.rights.pull && pull;
  if (reference) {
    facts.reference = *reference;
  } else {
    facts.name_error = reference.error().message();
  }
  while (true) {
    plan::CheckStep step = plan::DecideCheck(facts);
    switch (step.need) {
      case CheckNeed::kNothing:
      case CheckNeed::kPull:
        return {std::move(facts), std::move(step)};
      case CheckNeed::kRuntime:
        facts.runtime = AskRuntime(call, *reference, listed);
        break;
      case CheckNeed::kVerdict:
        facts.verdict = KubeletVerdict(snapshot_, facts.runtime->image->image_id, question);
        break;
      case CheckNeed::kRegistry:
        if (scope_ == Scope::kNode) return {std::move(facts), std::move(step)};
        facts.registry = AskRegistry(call, *facts.runtime->image,
                                     listed != nullptr || NamesRegistry(snapshot_, *reference));
        break;
    }
  }
}

namespace {

// Long enough for the pods of one job that start together.
constexpr std::chrono::seconds kSharedAnswerLifetime{5};
constexpr std::size_t kMostSlots = 1000;

}  // namespace

void SharedRegistryAnswers::EndQuery(const Question& question) {
  base::Lock lock(mutex_);
  in_flight_.remove(&question);
  slots_[question.key].in_flight = false;
  // Other clients that wait come before the next question of this one.
  next_ticket_++;
  for (Waiter& waiting : waiting_) {
    if (waiting.question->client == question.client) waiting.ticket = next_ticket_;
  }
  changed_.notify_all();
}

bool SharedRegistryAnswers::HasCapacity(const Question& question) const {
  int all = 0, own = 0;
  for (const Question* running : in_flight_) {
    if (running->registry != question.registry) continue;
    all++;
    if (running->client == question.client) own++;
  }
  return all < kMaxQueries && own < kMaxQueriesPerClient;
}

bool SharedRegistryAnswers::IsNext(const Waiter& waiting) {
  for (const Waiter& other : waiting_) {
    const Question& question = *other.question;
    const bool first = question.registry == waiting.question->registry && other.ticket < waiting.ticket;
    // Threads that wait for another one's answer, or for one of their own client, take no turn.
    if (first && !slots_[question.key].in_flight && HasCapacity(question)) return false;
  }
  return true;
}

image::RegistryAnswer SharedRegistryAnswers::Get(const base::Call& call, const Question& question,
                                                 const std::function<Reply()>& ask,
                                                 const std::function<image::RegistryAnswer()>& on_timeout) {
  {
    base::Lock lock(mutex_);
    // Any pod may name any image, so the memory is bounded. Slots with a waiting client stay.
    if (slots_.size() > kMostSlots) {
      std::erase_if(slots_,
                    [](const auto& one) { return !one.second.in_flight && one.second.until <= RealNow(); });
    }
    const auto own = waiting_.insert(waiting_.end(), {&question, ++next_ticket_});
    const base::OnExit leave([&]() PREFETCH_REQUIRES(mutex_) {
      waiting_.erase(own);
      changed_.notify_all();  // another thread may be next now
    });
    bool answered = false;
    const auto turn = [&]() PREFETCH_REQUIRES(mutex_) {
      const Slot& slot = slots_[question.key];
      answered = !slot.in_flight && RealNow() < slot.until;
      return answered || (!slot.in_flight && HasCapacity(question) && IsNext(*own));
    };
    if (!base::WaitFor(changed_, mutex_, call.Within(kMaxWait), turn)) return on_timeout();
    Slot& slot = slots_[question.key];
    if (answered) return slot.answer;
    in_flight_.push_back(&question);
    slot.in_flight = true;
  }
  const base::OnExit end([&] { EndQuery(question); });
  Reply reply = ask();
  // Other waiting clients find no answer then, and the next of them asks for itself.
  if (!reply.is_shareable) return std::move(reply.answer);
  base::Lock lock(mutex_);
  Slot& slot = slots_[question.key];
  slot.until = RealNow() + kSharedAnswerLifetime;
  slot.answer = reply.answer;
  return std::move(reply.answer);
}

bool HasKubeletFacts(const plan::Snapshot& snapshot) {
  return snapshot.kubelet && snapshot.possible_kubelets && !snapshot.possible_kubelets->empty();
}

kubelet::Verdict KubeletVerdict(const plan::Snapshot& snapshot, const std::string& image_id,
                                const status::CheckQuestion& question) {
  kubelet::VerdictQuestion files =
      kubelet::ReadKubeletFiles(snapshot.kubelet->root, question.image, image_id);
  // The hash is unknown: only UID, namespace and name of a secret are compared (K25).
  files.pod = kubelet::IdentityOf(question.identity);
  return kubelet::VerdictsFor(files, *snapshot.possible_kubelets).For(question.policy);
}

namespace {

// Time limits for one question, if the runtime was up at the last poll, and if not: a preflight must not wait
// long for a runtime that is known to be away.
constexpr std::chrono::seconds kListTimeout{10};
constexpr std::chrono::seconds kListTimeoutWhileAway{1};

bool HasName(const image::LocalImageIndex& index, const plan::ImageState& entry) {
  const std::vector<std::string>& names = index.NamesOf(entry.image_id);
  return std::ranges::find(names, entry.desired->reference.Normalized()) != names.end();
}

// Describes an image that was there at the last poll and is gone.
void SetAbsent(plan::ImageState& state) {
  bool was_here = state.present;
  bool not_reported = plan::IsUnknown(state.reason);
  state.present = state.usable = state.ready = false;
  state.image_id.clear();
  state.digest.clear();
  state.other_digests.clear();
  if (!was_here && !not_reported) return;  // the message names the agent's next step
  state.reason = plan::Reason::kImageAbsent;
  state.message =
      was_here ? "it was removed a moment ago; the agent pulls it again" : "it is not on the node";
}

}  // namespace

base::Duration LiveRuntime::Timeout(const plan::RuntimeStatus& last_seen) {
  return last_seen.up ? kListTimeout : kListTimeoutWhileAway;
}

LiveRuntime::Listing LiveRuntime::Ask(const base::Call& call, base::Duration limit, base::Duration age) {
  const base::TimePoint asked = clock_.Now();
  base::TimePoint began;
  {
    base::Lock lock(mutex_);
    const auto fresh = [&]() PREFETCH_REQUIRES(mutex_) { return newest_ != nullptr && began_ + age > asked; };
    base::WaitFor(changed_, mutex_, call.Within(limit / 2),
                  [&]() PREFETCH_REQUIRES(mutex_) { return fresh() || running_ == 0; });
    if (fresh()) return newest_;
    running_++;
    began = clock_.Now();
  }
  const base::OnExit end([this] {
    base::Lock lock(mutex_);
    running_--;
    changed_.notify_all();
  });
  const base::Call own = call.Within(limit);
  const bool hurried = own.HasShortDeadline(kListTimeoutWhileAway);
  auto images = images_.ListImages(own);
  auto listing = images ? std::make_shared<const Listed>(image::LocalImageIndex(*std::move(images)))
                        : std::make_shared<const Listed>(images.error());
  // A failure of a call that its client abandoned, or had no time for, says nothing about the runtime, so it
  // is not shared.
  const bool cut_short = call.Stopped() || (hurried && !*listing);
  base::Lock lock(mutex_);
  if (!cut_short && (newest_ == nullptr || began >= began_)) {
    newest_ = listing;
    began_ = began;
  }
  return listing;
}

cri::CallResult<bool> LiveRuntime::Find(const base::Call& call, const image::LocalImageIndex& index,
                                        bool search, const std::string& message,
                                        plan::ImageState& state) const {
  const image::Reference& reference = state.desired->reference;
  const image::LocalImage* found = index.Find(reference);
  const bool imported = found == nullptr;
  if (imported && search) found = index.FindTagged(reference);
  if (found == nullptr) return false;
  auto details = images_.ImageStatus(call, reference.Normalized());
  if (!details) return details.error();
  if (!*details) return false;  // listed, and not found by name (C34)
  // The walk through the content store is expensive, so pods get the cheap check.
  const bool only_unpacked = !search || pulling::IsForeign(image::Platform::Host(), **details);
  auto starts = pulling::IsStartable(call, content_, found->id, (*details)->chain_id, only_unpacked);
  if (!starts) return starts.error();
  // A name without a repo digest may be an import that no container starts from. It does not count then.
  if (imported && !*starts) return false;
  plan::Local local = pulling::ToLocal(*found, reference, index.NamesOf(found->id));
  pulling::AddDetails(image::Platform::Host(), (*details)->platform, (*details)->artifact, local);
  local.unpacked = *starts;
  state.present = true;
  plan::SetLocal(local, state);
  const std::optional<plan::Reason> obstacle = plan::ObstacleOf(local);
  state.usable = !obstacle;
  state.reason = obstacle.value_or(plan::Reason::kPresent);
  state.message = obstacle ? plan::ObstacleMessage(*obstacle, local) : message;
  return true;
}

cri::CallResult<plan::ImageState> LiveRuntime::Entry(const base::Call& call, plan::ImageState entry,
                                                     const Listed& listed, bool search) const {
  if (!listed) return listed.error();
  // The poll's facts about this image id still hold; most questions end here.
  if (entry.present && HasName(*listed, entry)) return entry;
  // Another content came since the poll. The poll's facts about platform and unpacking were about the old
  // one.
  auto found = Find(call, *listed, search, "it came a moment ago", entry);
  if (!found) return found.error();
  if (!*found) SetAbsent(entry);
  return entry;
}

cri::CallResult<plan::ImageState> LiveRuntime::Unlisted(const base::Call& call,
                                                        const image::Reference& reference,
                                                        const Listed& listed, bool search) const {
  if (!listed) return listed.error();
  plan::ImageState state;
  state.desired = plan::DesiredImage{.reference = reference, .required = false};
  state.phase = plan::Phase::kFailing;
  state.reason = plan::Reason::kImageAbsent;
  state.message = "it is not on the list, and not on the node";
  auto found = Find(call, *listed, search,
                    "it is on the node, but not on the list: the agent does not keep it there", state);
  if (!found) return found.error();
  return state;
}

namespace {

// Time limit for one question of a preflight. A check in the background has a minute.
constexpr std::chrono::seconds kQueryTimeout{15};
// Time limit for a question of a pod. Two hundred pods that ask together wait for one answer.
constexpr std::chrono::seconds kPodQueryTimeout = SharedRegistryAnswers::kMaxWait;
// The part of this time for credentials: a plugin that hangs leaves time to ask for other images.
constexpr std::chrono::seconds kCredentialTimeout{5};

// Returns true if the server would answer any question like this: it is away, or another server in front of
// it answers.
bool IsUnresponsive(const image::RegistryAnswer& reply) {
  // A plugin that failed at once says nothing about other images of the registry; one that hangs takes their
  // time, too.
  if (image::IsUncountedDenial(reply)) return false;
  return reply.kind == image::RegistryAnswerKind::kUnreachable || image::IsTransient(reply);
}

// The answer if the client's time was over before this registry's turn came.
image::RegistryAnswer DeadlinePassedAnswer(const std::string& registry) {
  return {.kind = image::RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kTimeout,
          .message = "the time that was given was over before " + registry + " could be asked"};
}

// The answer if the search for credentials took all the time.
image::RegistryAnswer CredentialTimeoutAnswer(const std::string& registry, const credentials::Lookup& lookup,
                                              bool for_pods) {
  std::string message = registry + " was not asked: the credentials for it were not found in time";
  const std::string trouble = credentials::ProviderTrouble(lookup, for_pods);
  if (!trouble.empty()) message += " (" + trouble + ")";
  return {.kind = image::RegistryAnswerKind::kUnreachable,
          .detail = image::RegistryDetail::kCredentials,
          .message = std::move(message)};
}

}  // namespace

image::RegistryAnswer CheckRound::QueryNow(const base::Call& call, const plan::ImageState& image,
                                           bool known) const {
  const plan::DesiredImage& desired = *image.desired;
  const base::Call lookup_call = call.Within(kCredentialTimeout);
  auto credentials = std::make_shared<const credentials::Lookup>(
      sources_.keyring.Find(lookup_call, {desired.reference, desired.sources, IsForPod()}));
  if (std::chrono::steady_clock::now() >= lookup_call.deadline) {
    return CredentialTimeoutAnswer(desired.reference.domain(), *credentials, IsForPod());
  }
  pulling::RegistryQueryJob job{.reference = desired.reference,
                                .credentials = std::move(credentials),
                                .local = std::nullopt,
                                .runtime = snapshot_.runtime.Info(),
                                .untrusted_name = IsForPod() && !known,
                                .for_pods = IsForPod()};
  if (image.present) {
    job.local = plan::Local{.digest = image.digest, .other_digests = image.other_digests};
  }
  // No refusals are counted: clients of preflights must not be able to hold back the node's credentials.
  return pulling::QueryRegistry(call, {sources_.resolver, nullptr, sources_.clock, image::Platform::Host()},
                                job);
}

image::RegistryAnswer CheckRound::AskRegistry(const base::Call& call, const plan::ImageState& image,
                                              bool known) {
  const std::string& registry = image.desired->reference.domain();
  // A request may name many images of one registry. If it is silent, the client waits for it once.
  if (auto silent = unresponsive_.find(registry); silent != unresponsive_.end()) return silent->second;
  const base::Duration left = registry_deadline_ - std::chrono::steady_clock::now();
  const base::Duration limit = IsForPod() ? kPodQueryTimeout : kQueryTimeout;
  const base::Call within = call.Within(std::min<base::Duration>(limit, left));
  const auto on_timeout = [&] { return DeadlinePassedAnswer(registry); };
  image::RegistryAnswer answer;
  if (left <= base::Duration::zero()) {
    answer = on_timeout();
  } else if (!IsForPod()) {
    answer = QueryNow(within, image, known);
  } else {
    const auto ask = [&]() -> SharedRegistryAnswers::Reply {
      // The turns of others may have taken part of the time.
      const bool hurried = within.HasShortDeadline(limit);
      image::RegistryAnswer reply = QueryNow(within, image, known);
      // Silence that comes from this client's short time or departure must not be shared: another client may
      // have more time.
      const bool cut_short = hurried || call.Stopped();
      return {reply, !(cut_short && IsUnresponsive(reply))};
    };
    answer = sources_.shared_answers.Get(
        within, {requester_.name_space, registry, image.desired->reference.Normalized() + " " + image.digest},
        ask, on_timeout);
  }
  if (IsUnresponsive(answer)) unresponsive_.emplace(registry, answer);
  return answer;
}

}  // namespace prefetch::agent
