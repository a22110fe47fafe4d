#include "agent/kubelet_view.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/log.h"
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

namespace {

// Returns one entry's verdicts from a poll of kubelet's files. The entry's pods are the poll's images from
// `first` to before `end`.
plan::VerdictReadout SeenOf(const KubeletPoll& poll, std::size_t first, std::size_t end,
                            const plan::EntryVerdicts& before) {
  plan::VerdictReadout seen{.verdicts = {}, .image_id = poll.question->images[first].image_id};
  std::vector<plan::SpellingVerdicts> each;
  for (std::size_t i = first; i < end; i++) {
    const kubelet::ImageOnNode& asked = poll.question->images[i];
    each.push_back({asked.image, poll.reading.verdicts[i], asked.pod});
    seen.pull_under_way = seen.pull_under_way || poll.reading.pull_under_way[i];
    seen.files_changed = seen.files_changed || poll.reading.files_changed[i];
  }
  seen.verdicts = plan::WorstOf(std::move(each), before);
  return seen;
}

}  // namespace

KubeletView::KubeletView(Loop& loop, Entries& entries, credentials::Keyring& keyring, KubeletOptions options)
    : loop_(loop),
      entries_(entries),
      keyring_(keyring),
      polls_{.next_quick = loop.now(), .next_full = loop.now()},
      observer_(std::move(options), [this](kubelet::FileChanges changes) {
        loop_.Post("KubeletRecordsChanged",
                   [this, changes = std::move(changes)]() mutable { FilesChanged(std::move(changes)); });
      }) {}

bool KubeletView::Verifies() const {
  return possible_ && std::ranges::all_of(*possible_, &kubelet::KubeletSettings::gate);
}

void KubeletView::ImageChanged(Entry& entry) {
  loop_.Check();
  // The next poll builds the question anew, and so reads the files of the new image id.
  question_ = nullptr;
  if (entry.observed.local) return;
  // An absent image gets its verdict without a poll: no file of kubelet's counts for it.
  auto absent = std::make_shared<const kubelet::Verdicts>(kubelet::DecideVerdicts(
      {.image = entry.desired->reference.written(), .image_id = "", .record = {}}, {}, {}));
  ApplyVerdict(entry, plan::AfterReading(entry.verdict, {.verdicts = {std::move(absent)}, .image_id = ""},
                                         loop_.now()));
}

void KubeletView::ApplyVerdict(Entry& entry, plan::DebouncedVerdict verdict) {
  plan::VerdictsPtr before = std::exchange(entry.verdict, std::move(verdict)).shown.worst;
  const plan::VerdictsPtr& now = entry.verdict.shown.worst;
  // Pointers are compared: a poll without changes keeps the old verdicts.
  if (before == now) return;
  loop_.Changed();
  auto starts = [](const plan::VerdictsPtr& verdicts) {
    return verdicts && verdicts->never.result == kubelet::VerdictResult::kStarts;
  };
  bool about_this_image = entry.observed.local && entry.verdict.image_id == entry.observed.local->id;
  // Logged only if pods are affected: whether the image is open has changed.
  if (!about_this_image || (before && starts(before) == starts(now))) return;
  base::LogFields fields = {{"image", entry.desired->reference.written()},
                            {"imageRef", entry.verdict.image_id},
                            {"verdict", base::EnumName(now->never.result)},
                            {"reason", base::EnumName(now->never.reason)},
                            {"message", now->never.message}};
  if (!starts(now)) {
    loop_.PublishAtOnce();  // the published Snapshot calls it open
    base::Warn("image closed to pods", fields);
  } else if (before && before->never.reason != kubelet::VerdictReason::kImageAbsent) {
    base::Info("image open to pods", fields);
  }
}

void KubeletView::ShowDueVerdicts() {
  for (Entry& entry : entries_.all()) {
    if (entry.verdict.differs_since) ApplyVerdict(entry, plan::AfterTime(entry.verdict, loop_.now()));
  }
}

std::shared_ptr<const KubeletQuestion> KubeletView::QuestionOf(std::uint64_t list_epoch) const {
  auto question = std::make_shared<KubeletQuestion>();
  question->list_epoch = list_epoch;
  std::span<const Entry> listed = entries_.listed();
  for (std::size_t i = 0; i < listed.size(); i++) {
    if (!listed[i].applies() || !listed[i].observed.local) continue;
    // Sources of the list may differ in spelling and pod, and each pair has its own verdict.
    for (const plan::PodProfile& pod : plan::PodsOf(listed[i].desired)) {
      question->images.push_back({pod.reference.written(), listed[i].observed.local->id, pod.ready_as});
      question->entries.push_back(i);
    }
  }
  return question;
}

void KubeletView::StartPollIfDue(base::Workers& workers, std::uint64_t list_epoch,
                                 std::function<bool(Polled)> apply) {
  loop_.Check();
  if (poll_running_ || list_epoch == 0) return;
  const bool touched = files_changed_.all || !files_changed_.names.empty();
  const plan::PollDepth depth = plan::DueKubeletPoll(polls_, !question_ || touched, loop_.now());
  if (depth == plan::PollDepth::kNone) return;
  if (!question_) question_ = QuestionOf(list_epoch);
  poll_running_ = true;
  polls_ = plan::AfterKubeletPollBegan(polls_, depth, loop_.now());
  loop_.Submit(
      workers, "KubeletPolled",
      [this, depth, question = question_, changes = std::exchange(files_changed_, {}), now = loop_.now(),
       wall = loop_.Wall()]() -> Polled {
        if (depth == plan::PollDepth::kQuick && !observer_.HasChanged()) return std::nullopt;
        KubeletPoll poll = observer_.Poll(question, changes, now, wall);
        keyring_.SetKubeletRoot(poll.status.root);
        const auto version = image::KubeletVersion::Parse(poll.status.version);
        if (version) keyring_.SetKubeletVersion(*version);
        keyring_.SetKubeletProviders({poll.provider_config, poll.provider_bin_dir});
        return poll;
      },
      std::move(apply));
}

bool KubeletView::ApplyStatus(plan::KubeletStatus status) {
  if (status_ == status) return false;
  base::Info("kubelet", {{"version", status.version.empty() ? "unknown" : status.version},
                         {"verification", status.verification.empty() ? "unknown" : status.verification},
                         {"root", status.root},
                         {"recordsReadable", status.records_readable.value_or(false)}});
  status_ = std::move(status);
  if (status_.gc && status_.gc->maximum_age.count() > 0) {
    base::Warn("kubelet removes unused images by age", {{"imageMaximumGCAge", status_.gc->maximum_age}});
  }
  loop_.Changed();
  return true;
}

bool KubeletView::ApplyProblems(std::vector<std::string> problems) {
  if (problems_ == problems) return false;
  problems_ = std::move(problems);
  for (const std::string& problem : problems_) base::Warn("kubelet", {{"problem", problem}});
  loop_.Changed();
  return true;
}

KubeletView::News KubeletView::Handle(Polled polled, std::uint64_t list_epoch) {
  loop_.Check();
  poll_running_ = false;
  News news;
  if (!polled) return news;
  KubeletPoll& poll = *polled;
  // A version that is only estimated expires, and then the verdicts change without any event.
  polls_.next_full = std::min(polls_.next_full, poll.until);
  // The first process that is seen is no restart.
  news.restarted = !process_.empty() && process_ != poll.process;
  news.any = !std::exchange(polled_, true) || process_ != poll.process || !poll.reading.unchanged;
  process_ = poll.process;
  records_replaced_ = poll.reading.access == kubelet::RecordsAccess::kReplaced;
  news.any = ApplyStatus(std::move(poll.status)) || news.any;
  if (possible_ != poll.possible) {
    possible_ = std::move(poll.possible);
    news.settings = news.any = true;
    loop_.Changed();
  }
  news.any = ApplyProblems(std::move(poll.problems)) || news.any;
  if (poll.reading.unchanged) return news;
  const KubeletQuestion& question = *poll.question;
  if (question.list_epoch != list_epoch) return news;  // the next poll is due already
  for (std::size_t i = 0, next = 0; i < question.images.size(); i = next) {
    while (next < question.images.size() && question.entries[next] == question.entries[i]) next++;
    Entry& entry = entries_.all()[question.entries[i]];
    // The image was replaced while the poll ran; the next one is about the new id.
    if (!entry.observed.local || entry.observed.local->id != question.images[i].image_id) continue;
    ApplyVerdict(entry,
                 plan::AfterReading(entry.verdict, SeenOf(poll, i, next, entry.verdict.newest), loop_.now()));
  }
  return news;
}

void AddGcOutlook(plan::Snapshot& snapshot) {
  if (!snapshot.kubelet || !snapshot.kubelet->gc) return;
  std::vector<kubelet::GcImage> images;
  std::set<std::string> seen;  // several names may be one image
  for (const plan::ImageState& state : snapshot.images) {
    if (!state.present || !seen.insert(state.image_id).second) continue;
    kubelet::GcImage image{.id = state.image_id, .pinned = state.pinned};
    // Images that the agent did not pull are older than all that it pulled.
    image.first_seen_age =
        state.origin.pulled_at ? snapshot.time - *state.origin.pulled_at : snapshot.time.time_since_epoch();
    images.push_back(std::move(image));
  }
  kubelet::ImageDisk disk;
  if (snapshot.disk_known) {
    disk = {.capacity_bytes = snapshot.disk.capacity_bytes, .available_bytes = snapshot.disk.available_bytes};
  }
  kubelet::GcForecast forecast = kubelet::ForecastGc(*snapshot.kubelet->gc, disk, images);
  std::unordered_map<std::string, std::size_t> order;
  for (const std::string& id : forecast.order) order.emplace(id, order.size() + 1);
  for (plan::ImageState& state : snapshot.images) {
    if (auto at = order.find(state.image_id); state.present && at != order.end()) state.gc_order = at->second;
  }
  snapshot.kubelet->gc_warnings = std::move(forecast.warnings);
}

}  // namespace prefetch::agent
