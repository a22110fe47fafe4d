#include "agent/observe_kubelet.h"

#include <algorithm>
#include <utility>

#include "plan/readiness.h"

namespace prefetch::agent {
namespace {

std::vector<kubelet::KubeletSettings> PossibleFor(const kubelet::SettingsFacts& facts) {
  auto possible = kubelet::PossibleSettings(facts);
  if (possible) return *std::move(possible);
  // NodeFacts come with settings that some kubelet has; without any, every kubelet is possible.
  return *kubelet::PossibleSettings({});
}

// Returns the facts about kubelet as status and logs show them.
plan::KubeletStatus StatusOf(const kubelet::NodeFacts& facts,
                             const std::vector<kubelet::KubeletSettings>& possible,
                             kubelet::RecordsAccess access) {
  plan::KubeletStatus status;
  if (facts.settings.version) status.version = facts.settings.version->ToString();
  const std::optional<image::KubeletVersion> rules = kubelet::RulesFor(facts.settings);
  status.newer = rules && image::IsNewerThanKnown(*rules);
  if (rules != facts.settings.version) status.rules = rules->ToString();
  // The settings may not be known in full. The policy is stated if every possible kubelet has the same one.
  bool one_policy = std::ranges::all_of(possible, [&](const kubelet::KubeletSettings& each) {
    return each.policy == possible.front().policy && each.gate == possible.front().gate;
  });
  if (one_policy && possible.front().gate) {
    status.verification = base::EnumName(possible.front().policy);
  } else if (facts.settings.policy) {
    status.verification = base::EnumName(*facts.settings.policy);
  }
  status.allowlist = facts.settings.allowlist;
  status.root = facts.root;
  status.sources = facts.sources;
  status.records_readable =
      access == kubelet::RecordsAccess::kReadable || access == kubelet::RecordsAccess::kNoFolder;
  const bool gate_is_on = std::ranges::all_of(possible, &kubelet::KubeletSettings::gate);
  status.records_note = plan::RecordsNote(facts.root, access, gate_is_on);
  status.contradictions = facts.contradictions;
  status.gc = facts.gc;
  return status;
}

// The Node's version counts where none is declared.
void AddVersion(const plan::VersionInForce& version, kubelet::NodeFacts& facts) {
  if (!version.version) return;
  facts.settings.version = version.version;
  facts.sources.emplace_back("version", "Node status");
}

}  // namespace

KubeletObserver::KubeletObserver(KubeletOptions options, kubelet::RecordWatch::Callback on_change)
    : options_(std::move(options)), on_change_(std::move(on_change)) {}

// Compares files and process only. A version or setting that other threads learn asks for a full poll itself
// (RecordsChanged).
bool KubeletObserver::HasChanged() {
  const base::SequenceChecker::Use use(sequence_checker_);
  return options_.facts.HasChanged() || verdicts_.HasChanged();
}

plan::VersionInForce KubeletObserver::Version(base::TimePoint now, base::WallTime wall) {
  const std::string before = std::exchange(process_, options_.facts.process());
  if (!options_.version) return {};
  const plan::NodeReport report = options_.version->Get();
  estimate_ = plan::AfterNodeReport(std::move(estimate_), report);
  const std::optional<base::WallTime> began_at = options_.facts.process_started_at();
  // The first process that is seen may have just started, too. If its time of start is unknown, it counts as
  // old: otherwise each start of the agent would cost a minute.
  const bool started = before != process_ && !process_.empty() && (!before.empty() || began_at);
  if (started) {
    const plan::KubeletStart start{now, began_at.value_or(wall)};
    estimate_ = plan::AfterStart(std::move(estimate_), start);
    if (options_.start) options_.start->Set(start);
    // Applied again after the start: the report may already come from the new process.
    estimate_ = plan::AfterNodeReport(std::move(estimate_), report);
  }
  return plan::VersionAt(estimate_, report, now);
}

KubeletPoll KubeletObserver::Poll(std::shared_ptr<const KubeletQuestion> question,
                                  kubelet::FileChanges changes, base::TimePoint now, base::WallTime wall) {
  const base::SequenceChecker::Use use(sequence_checker_);
  // Read before everything else: a fact that is learnt later causes another poll, and until then this one
  // still counts as waiting for it.
  const bool version_comes = options_.version && options_.version->Pending();
  const bool settings_pending = options_.learnt_settings && options_.learnt_settings->Pending();
  kubelet::NodeFacts facts =
      options_.facts.Read(options_.learnt_settings ? options_.learnt_settings->Get() : nullptr);
  plan::VersionInForce version = Version(now, wall);
  if (!facts.settings.version) {
    AddVersion(version, facts);
  } else {
    // The operator's declaration counts, and the Node's version is only compared with it.
    if (version.version && version.version != facts.settings.version) {
      facts.contradictions.push_back(
          plan::VersionContradictionMessage(facts.settings.version->ToString(), version.version->ToString()));
    }
    version = {};
  }
  // The root decides where records are, so it comes before they are read.
  if (facts.root != facts_.root) {
    verdicts_.SetRoot(facts.root);
    if (options_.watch) watch_ = std::make_unique<kubelet::RecordWatch>(facts.root, on_change_);
  }
  const bool learning = (version_comes && !facts.settings.version) || version.awaited || settings_pending;
  bool same = question == last_ && facts == facts_;
  if (facts != facts_ || !possible_) {
    // With other settings, the same files give other verdicts.
    verdicts_.Forget();
    facts_ = std::move(facts);
    possible_ = std::make_shared<const std::vector<kubelet::KubeletSettings>>(PossibleFor(facts_.settings));
  }
  KubeletPoll poll;
  poll.process = options_.facts.process();
  poll.provider_config = options_.facts.provider_config();
  poll.provider_bin_dir = options_.facts.provider_bin_dir();
  poll.until = version.until;
  // `same` lets the reader skip images whose files have not changed.
  poll.reading = verdicts_.Read(question->images, *possible_, std::move(changes), same);
  last_ = question;
  poll.question = std::move(question);
  poll.status = StatusOf(facts_, *possible_, poll.reading.access);
  poll.status.learning = learning;
  poll.possible = possible_;
  poll.problems = facts_.problems;
  poll.problems.insert(poll.problems.end(), facts_.contradictions.begin(), facts_.contradictions.end());
  if (!version.problem.empty()) poll.problems.push_back(std::move(version.problem));
  if (poll.status.newer) poll.problems.push_back(kubelet::UnknownRulesReason(facts_.settings));
  if (!poll.status.records_note.empty()) poll.problems.push_back(poll.status.records_note);
  return poll;
}

}  // namespace prefetch::agent
