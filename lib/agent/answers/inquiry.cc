#include "agent/answers/inquiry.h"

#include <algorithm>
#include <utility>

#include "agent/answers/inquiry_pull.h"
#include "agent/answers/inquiry_registry.h"
#include "agent/observe.h"
#include "kubelet/possible_verdicts.h"
#include "kubelet/record_files.h"
#include "kubelet/trimmed_image.h"
#include "plan/asked.h"
#include "status/status_json.h"

namespace prefetch::agent {
namespace {

using image::PullPolicy;
using kubelet::FileContent;
using kubelet::VerdictReason;
using kubelet::VerdictResult;
using status::CheckAnswer;
using status::CheckQuestion;

// A preflight has seconds, not the minute that a check in the background may take.
constexpr std::chrono::seconds kAskNow{15};
// Of these, so many for credentials: a plugin that hangs leaves time to ask for other images.
constexpr std::chrono::seconds kCredentialsNow{5};
// A runtime that answers does so in milliseconds. One that is stopped must not cost the verdict: it is an
// answer that it does not answer.
constexpr std::chrono::seconds kLookNow{10};
constexpr std::chrono::seconds kLookWhileAway{1};
// Any pod is a neighbour, and a list of a thousand images is work for the runtime.
constexpr std::chrono::milliseconds kAgeForNeighbours{500};
// So many answers are held for pulls at once: the others that are asked for meanwhile find a thread. Who
// finds no place is told what is known after a moment, in which the loop takes notice of the wish.
constexpr int kMostHeld = 2;
constexpr std::chrono::milliseconds kMoment{250};

kubelet::Coordinates ToCoordinates(const status::ObjectCoordinates& of) {
  return {.uid = of.uid, .namespace_name = of.namespace_name, .name = of.name};
}

kubelet::PodIdentity ToPod(const status::CheckIdentity& identity) {
  kubelet::PodIdentity pod;
  for (const status::ObjectCoordinates& secret : identity.secrets) {
    pod.secrets.push_back({ToCoordinates(secret), base::Secret()});
  }
  if (identity.service_account) pod.service_account = ToCoordinates(*identity.service_account);
  return pod;
}

kubelet::VerdictQuestion ReadFiles(const plan::Snapshot& snapshot, const std::string& written,
                                   const std::string& image_id) {
  kubelet::VerdictQuestion question{.image = written, .image_id = image_id};
  if (image_id.empty()) return question;
  question.record = kubelet::ReadRecordFile(snapshot.kubelet->root, image_id);
  question.intent = kubelet::ReadIntentFile(snapshot.kubelet->root, written);
  return question;
}

bool HasFacts(const plan::Snapshot& snapshot) {
  return snapshot.kubelet && snapshot.possible_kubelets && !snapshot.possible_kubelets->empty();
}

// The runtime has not told whether it has an image of the list, or has been away for so long that what it
// told says nothing any more.
bool NotTold(const plan::Snapshot& snapshot, const plan::ImageState& image) {
  bool never = !image.present && image.reason == plan::Reason::kFactsUnknown;
  return never || snapshot.readiness.reason == plan::Reason::kRuntimeDown;
}

// What kubelet would say to this very pod, by its files as they are now; nullopt: nothing is known of kubelet
// yet.
std::optional<kubelet::Verdicts> VerdictsOf(const plan::Snapshot& snapshot, const plan::ImageState& image,
                                            const CheckQuestion& question) {
  if (!HasFacts(snapshot)) return std::nullopt;
  kubelet::VerdictQuestion files = ReadFiles(snapshot, question.image, image.image_id);
  files.pod = ToPod(question.identity);
  return kubelet::VerdictsFor(files, *snapshot.possible_kubelets);
}

CheckAnswer RuntimeIsAway(CheckAnswer answer, const std::string& error) {
  return Say(std::move(answer), "Unknown", "RuntimeDown",
             error.empty() ? "the container runtime has not answered yet"
                           : "the container runtime could not be asked: " + error);
}

CheckAnswer ByPresence(CheckAnswer answer, const plan::ImageState& image, PullPolicy policy) {
  if (image.usable) {
    answer.ok = true;
    return Say(std::move(answer), "Starts", "Present",
               "on the node; there is no kubelet here that could refuse it");
  }
  return Say(std::move(answer), policy == PullPolicy::kNever ? "Refused" : "Pulls",
             image.present ? plan::ReasonName(image.reason) : "ImageAbsent",
             "not usable here: " + image.message);
}

std::string_view StateName(const FileContent& file, bool decoded, bool found) {
  switch (file.state) {
    case FileContent::State::kAbsent:
      return "Absent";
    case FileContent::State::kUnreadable:
      return "Unreadable";
    case FileContent::State::kPresent:
      return !decoded ? "Undecodable" : found ? "Found" : "Absent";
  }
  return "Unreadable";
}

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
  if (!identities) return use;
  for (const auto& secret : entry.secrets) use.identities.push_back(Named("secret", secret.secret));
  for (const auto& account : entry.service_accounts) {
    use.identities.push_back(Named("service account", account));
  }
  return use;
}

struct SpellingNow {
  image::Reference reference;
  kubelet::VerdictQuestion files;
  plan::VerdictsPtr verdicts;  // the worst of all spellings
};

// As the files are now: the spelling by which the entry fares worst, the first of these.
SpellingNow WorstSpelling(const plan::Snapshot& snapshot, const plan::ImageState& image) {
  std::vector<SpellingNow> all;
  std::vector<plan::SpelledVerdicts> each;
  for (const image::Reference& reference : plan::SpellingsOf(image.want)) {
    all.push_back({reference, ReadFiles(snapshot, reference.written(), image.image_id), nullptr});
    all.back().verdicts = std::make_shared<const kubelet::Verdicts>(
        kubelet::VerdictsFor(all.back().files, *snapshot.possible_kubelets));
    each.push_back({reference.written(), all.back().verdicts});
  }
  plan::VerdictsPtr worst = plan::WorstOf(std::move(each)).worst;
  auto telling = std::find_if(all.begin(), all.end(), [&](const SpellingNow& one) {
    return one.verdicts->never.result == worst->never.result;
  });
  telling->verdicts = std::move(worst);
  return std::move(*telling);
}

// As the newest kubelet that is possible reads them.
void AddFiles(const plan::Snapshot& snapshot, const plan::ImageState& image, bool identities,
              status::ImageDetail& detail) {
  if (!HasFacts(snapshot)) return;
  image::KubeletVersion version = snapshot.possible_kubelets->back().version;
  SpellingNow said = WorstSpelling(snapshot, image);
  const kubelet::VerdictQuestion& files = said.files;
  detail.verdicts = *said.verdicts;
  detail.record_key = kubelet::TrimmedImage(said.reference, version);
  if (image.image_id.empty()) return;
  kubelet::RecordReading record = kubelet::DecodeRecord(files.record.content, image.image_id, version);
  detail.record.state = StateName(files.record, record.reading != kubelet::Reading::kUndecodable,
                                  record.reading == kubelet::Reading::kFound);
  for (const auto& [repository, entry] : record.record.mapping) {
    detail.record.uses.push_back(UseOf(repository, entry, identities));
  }
  kubelet::Reading intent = kubelet::DecodeIntent(files.intent.content, said.reference.written(), version);
  detail.intent =
      StateName(files.intent, intent != kubelet::Reading::kUndecodable, intent == kubelet::Reading::kFound);
}

}  // namespace

const cri::CallResult<image::LocalImageIndex>& Inquiry::Here(const base::Call& call, Round& round) const {
  if (round.here == nullptr) {
    round.looked_at = clock_.Now();
    base::Call within = call.Within(round.snapshot.runtime.up ? kLookNow : kLookWhileAway);
    round.here = runtime_.Ask(within, round.local ? base::Duration::zero() : kAgeForNeighbours);
  }
  return *round.here;
}

image::RegistryAnswer Inquiry::AskNow(const base::Call& call, Round& round,
                                      const plan::ImageState& image) const {
  const std::string& registry = image.want->reference.domain();
  if (auto silent = round.silent.find(registry); silent != round.silent.end()) return silent->second;
  base::Duration left = round.ask_until - std::chrono::steady_clock::now();
  if (left <= base::Duration::zero()) return NoTimeToAsk(registry);
  AskJob job{.reference = image.want->reference,
             .credentials = nullptr,
             .local = std::nullopt,
             .runtime = {round.snapshot.runtime.name, round.snapshot.runtime.version,
                         round.snapshot.runtime.registries}};
  if (image.present) {
    job.local = plan::Local{.digest = image.digest, .other_digests = image.other_digests};
  }
  const base::Call ask = call.Within(std::min<base::Duration>(kAskNow, left));
  const base::Call look = ask.Within(kCredentialsNow);
  job.credentials = std::make_shared<const credentials::Lookup>(
      keyring_.Find(look, image.want->reference, image.want->sources));
  if (std::chrono::steady_clock::now() >= look.deadline) {
    return round.silent.emplace(registry, NoCredentialsInTime(registry, *job.credentials)).first->second;
  }
  image::RegistryAnswer answer = AskRegistry(ask, {asker_, nullptr, clock_, image::Platform::Host()}, job);
  if (IsSilence(answer)) round.silent.emplace(registry, answer);
  return answer;
}

CheckAnswer Inquiry::AnswerAlways(const base::Call& call, Round& round, const CheckQuestion& question,
                                  const plan::ImageState& image, CheckAnswer answer) const {
  if (!asker_ || !round.local) return AlwaysByWhatIsKnown(std::move(answer), image, asker_ != nullptr);
  return AlwaysByAnswer(std::move(answer), question, image, AskNow(call, round, image));
}

CheckAnswer Inquiry::Answer(const base::Call& call, Round& round, const CheckQuestion& question,
                            std::optional<Wish>* wish) const {
  const plan::Snapshot& snapshot = round.snapshot;
  const bool local = round.local;
  CheckAnswer answer{.image = question.image, .policy = std::string(image::PullPolicyName(question.policy))};
  auto reference = image::Reference::Parse(question.image);
  if (!reference) {
    return Say(std::move(answer), "Refused", "InvalidImageName",
               "kubelet refuses the name (InvalidImageName): " + reference.error().message());
  }
  const plan::ImageState* listed = plan::FindImage(snapshot, *reference);
  answer.listed = listed != nullptr;
  if (listed == nullptr && !local) {
    return Say(std::move(answer), "Unknown", "NotListed",
               "it is not on this node's list, so nobody keeps it here");
  }
  const auto& here = Here(call, round);
  if (listed == nullptr && !here) return RuntimeIsAway(std::move(answer), here.error().message);
  const plan::ImageState image = listed == nullptr ? runtime_.Unlisted(call, *reference, *here)
                                 : here            ? runtime_.Entry(call, *listed, *here, local)
                                                   : *listed;
  if (wish != nullptr && !image.present && image.applies) {
    *wish = Wish{.reference = *reference, .looked_at = round.looked_at};
    return answer;
  }
  if (!here && NotTold(snapshot, image)) {
    return RuntimeIsAway(std::move(answer), snapshot.runtime.error);
  }
  if (question.policy == PullPolicy::kAlways) {
    return AnswerAlways(call, round, question, image, std::move(answer));
  }
  if (!snapshot.kubelet) {
    answer = ByPresence(std::move(answer), image, question.policy);
    if (answer.result != "Pulls" || image.present || !asker_ || !local) return answer;
    return PullByAnswer(std::move(answer), question, AskNow(call, round, image));
  }
  std::optional<kubelet::Verdicts> verdicts = VerdictsOf(snapshot, image, question);
  if (!verdicts) {
    return Say(std::move(answer), "Unknown", "FactsUnknown", "what kubelet would say is not known yet");
  }
  const kubelet::Verdict& verdict = verdicts->For(question.policy);
  answer.rule = verdict.rule;
  if (verdict.result == VerdictResult::kStarts && !image.usable) {
    // kubelet would use it, and the container would not run.
    return Say(std::move(answer), "Starts", plan::ReasonName(image.reason), image.message);
  }
  answer.ok = verdict.result == VerdictResult::kStarts;
  std::string message = verdict.message;
  if (verdict.reason == VerdictReason::kImageAbsent && answer.listed)
    message += " prefetchd: " + image.message;
  answer = Say(std::move(answer), kubelet::VerdictResultName(verdict.result),
               kubelet::VerdictReasonName(verdict.reason), std::move(message));
  // An image that is here and of no use would be of none after that pull either.
  const bool pull_helps = verdict.result == VerdictResult::kPulls && (image.usable || !image.present);
  if (!pull_helps || !asker_ || !local) return answer;
  return PullByAnswer(std::move(answer), question, AskNow(call, round, image));
}

void Inquiry::AwaitPulls(const base::Call& call, const status::CheckRequest& request,
                         std::vector<Wish> wishes, base::TimePoint ask_until,
                         status::CheckResult& result) const {
  plan::SnapshotPtr snapshot = board_.Latest();
  while (true) {
    Round round{.snapshot = *snapshot,
                .ask_until = ask_until,
                .local = true,
                .here = nullptr,
                .looked_at = {},
                .silent = {}};
    std::erase_if(wishes, [&](const Wish& wish) {
      CheckAnswer& answer = result.answers[wish.question];
      const CheckQuestion& question = request.questions[wish.question];
      const plan::ImageState* image = PulledFor(*snapshot, wish.reference, wish.looked_at);
      switch (image == nullptr ? plan::AskedState::kPending : plan::StateOfAsked(*image)) {
        case plan::AskedState::kPending:
          answer = PullPending(std::move(answer), image);
          return false;
        case plan::AskedState::kHere:
          answer = Answer(call, round, question);
          return true;
        case plan::AskedState::kFailed:
          answer = PullFailed(std::move(answer), question, *image);
          return true;
      }
      std::abort();
    });
    if (wishes.empty() || call.Stopped()) return;
    plan::SnapshotPtr newer = board_.LatestAfter(call, snapshot);
    if (newer == snapshot) return;
    snapshot = std::move(newer);
  }
}

status::CheckResult Inquiry::Check(const base::Call& call, const status::CheckRequest& request,
                                   bool local) const {
  plan::SnapshotPtr snapshot = board_.Latest();
  status::CheckResult result{.node = snapshot->node, .time = clock_.Wall(), .ok = true, .answers = {}};
  std::vector<Wish> wishes;
  const base::TimePoint ask_until = std::chrono::steady_clock::now() + request.within;
  Round round{.snapshot = *snapshot,
              .ask_until = ask_until,
              .local = local,
              .here = nullptr,
              .looked_at = {},
              .silent = {}};
  const bool pull = request.pull && local && pulls();
  for (const CheckQuestion& question : request.questions) {
    std::optional<Wish> wish;
    result.answers.push_back(Answer(call, round, question, pull ? &wish : nullptr));
    if (!wish) continue;
    wish->question = result.answers.size() - 1;
    wish_(wish->reference, wish->looked_at);
    wishes.push_back(*std::move(wish));
  }
  if (!wishes.empty()) {
    base::Duration wait = waiting_++ < kMostHeld ? std::max<base::Duration>(request.wait, kMoment) : kMoment;
    AwaitPulls(call.Within(wait), request, std::move(wishes), ask_until, result);
    waiting_--;
  }
  result.ok = std::all_of(result.answers.begin(), result.answers.end(),
                          [](const CheckAnswer& answer) { return answer.ok; });
  return result;
}

void Inquiry::AddCredentials(const base::Call& call, const plan::ImageState& image,
                             status::ImageDetail& detail) const {
  credentials::Lookup lookup = keyring_.Find(call, image.want->reference, image.want->sources);
  detail.credentials_known = true;
  for (const credentials::Credential& credential : lookup.credentials) {
    detail.credentials.push_back({.source = std::string(credentials::SourceName(credential.source)),
                                  .name = credential.name,
                                  .match = credential.match,
                                  .username = credential.auth.username});
  }
  for (const credentials::ProviderReport& provider : lookup.providers) {
    detail.providers.push_back({.name = provider.name,
                                .outcome = std::string(credentials::ProviderOutcomeName(provider.outcome)),
                                .error = provider.error,
                                .matched = provider.matched});
  }
}

Explanation Inquiry::Explain(const base::Call& call, const image::Reference& reference,
                             const ExplainOptions& options) const {
  plan::SnapshotPtr snapshot = board_.Latest();
  status::ImageDetail detail;
  plan::ImageState image;
  bool told = true;
  const plan::ImageState* listed = plan::FindImage(*snapshot, reference);
  detail.listed = listed != nullptr;
  if (listed != nullptr) {
    image = *listed;
    told = image.present || !NotTold(*snapshot, image);
  } else {
    auto here = runtime_.Ask(call.Within(snapshot->runtime.up ? kLookNow : kLookWhileAway), {});
    told = here->ok();
    image.want = plan::DesiredImage{.reference = reference};
    if (!told) image.message = "the container runtime could not be asked: " + here->error().message;
    if (told) image = runtime_.Unlisted(call, reference, **here);
  }
  for (const std::string& alias : image.aliases) {
    auto other = image::Reference::Parse(alias);
    if (other && plan::FindImage(*snapshot, *other) != nullptr) detail.listed_aliases.push_back(alias);
  }
  if (told) AddFiles(*snapshot, image, options.identities, detail);
  if (!detail.listed && detail.verdicts) {
    image.verdicts = std::make_shared<const kubelet::Verdicts>(*detail.verdicts);
    if (image.present) image.reason = plan::ReasonFor(detail.verdicts->never.reason);
    image.ready = image.usable && detail.verdicts->never.result == VerdictResult::kStarts;
  }
  if (options.credentials) AddCredentials(call, image, detail);
  if (hosts_) {
    const plan::RuntimeStatus& runtime = snapshot->runtime;
    detail.registry_hosts = hosts_(reference, {runtime.name, runtime.version, runtime.registries});
  }
  return {.known = detail.listed || image.present, .json = status::ImageJson(*snapshot, image, detail)};
}

}  // namespace prefetch::agent
