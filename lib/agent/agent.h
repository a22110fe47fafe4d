// Agent: the loop. It alone owns what changes; workers bring it events, readers see its Snapshots.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>

#include "agent/ask_registry.h"
#include "agent/board.h"
#include "agent/entries.h"
#include "agent/events.h"
#include "agent/lease_book.h"
#include "agent/look_ups.h"
#include "agent/metrics.h"
#include "agent/observe_kubelet.h"
#include "agent/touching.h"
#include "agent/workers.h"
#include "base/channel.h"
#include "base/clock.h"
#include "plan/limits.h"
#include "plan/registry_pace.h"

namespace prefetch::agent {

// Between two looks at the runtime: a vanished image is to be noticed within 10 s.
constexpr std::chrono::seconds kLookInterval{8};

struct Options {
  plan::Limits limits;
  image::Platform platform = image::Platform::Host();
  std::string node;      // the node's name, for people
  std::string endpoint;  // the runtime's, for people
  // Tells this agent's leases from those of another one on the same node.
  std::string instance;
  // --once: Run returns when every entry is ready or has failed for good.
  bool once = false;
  // This node's kubelet; none: presence is the verdict.
  std::optional<KubeletOptions> kubelet;
  // --touch; only with a kubelet and with Parts::api.
  std::optional<TouchOptions> touch;
  // Patterns of images that no list needs to have (image/name_pattern.h): plan/unlisted.h passes them over.
  std::vector<std::string> audit_ignore;
  std::uint64_t seed = std::random_device{}();  // of the jitter
};

// What the agent works with; everything outlives it.
struct Parts {
  cri::ImageService& images;
  cri::ContentService& content;
  credentials::Keyring& keyring;
  const base::Clock& clock;
  DiskProbe disk = ProbeDisk;
  kube::Api* api = nullptr;          // for touching; none: this is no cluster, or nobody wants it
  RegistryAsker registry = nullptr;  // empty: no registry is asked
  RegistryAccessFor access = nullptr;
};

class Agent {
 public:
  Agent(Options options, Parts parts);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Any thread: a new list is in force from the next turn on.
  void SetList(std::shared_ptr<const plan::ImageList> list);
  // Any thread: files of kubelet's have changed. Whoever asked for no watch (KubeletOptions::watch) says so.
  void RecordsChanged(kubelet::FileChanges changes);
  // Any thread: somebody waits for an image that was not here at `looked_at`. An entry of the list is pulled
  // before others; what is on no list is pulled as one is, with the node's own credentials, and shown in
  // Snapshot::asked. The wish lasts plan::kAskedFor; who still waits then repeats it.
  void AskPull(const image::Reference& reference, base::TimePoint looked_at);

  // The loop, on the calling thread, until `stop` is requested, or with Options::once until nothing more is
  // to be waited for, or until `deadline`. Pulls under way are then cancelled and waited for; their leases
  // keep the bytes. Also ends when only another process can go on: see MustRestart.
  void Run(const std::stop_token& stop, base::TimePoint deadline = base::TimePoint::max());

  // The folder with kubelet's records was replaced, and this process has the old one mounted.
  bool MustRestart() const { return records_replaced_; }

  const Board& board() const { return board_; }
  const Metrics& metrics() const { return metrics_; }

  // The loop by hand, for tests with a clock of their own: one turn with at most one event.
  void Turn(std::optional<Event> event);
  // Takes the next event if there is one; does not wait.
  std::optional<Event> TryPop() { return inbox_.TryPop(); }
  // When the loop has to turn next though nothing happens.
  base::TimePoint NextTurn() const { return next_turn_; }
  // Jobs handed to workers whose event has not been absorbed yet, but for searches that wait for others.
  int jobs_under_way() const { return jobs_ - look_ups_.held(); }

 private:
  bool NothingMoreToWaitFor(base::TimePoint started) const;

  // Facts in: absorb.cc.
  void Absorb(Event event);
  void On(Wake) {}
  void On(ListChanged event);
  void On(LookDone event);
  void On(PullDone event);
  void On(const ProgressSeen& event);
  void On(const LeasesTended& event);
  void On(const PullUnprotected& event);
  void On(RecordsTouched event);
  void On(KubeletLooked event);
  void On(TouchStepped event);
  void On(const CheckDone& event);
  void On(const PullAsked& event);
  void On(const LookedUp& event);
  void RuntimeFailed(const cri::CallError& error);
  void FoldAccess();
  void TellAccess();
  void FoldCredentials(credentials::KeyringHealth health);
  void FoldVerdict(Entry& entry, plan::HeldVerdict verdict);
  void ImageChanged(Entry& entry);
  void FoldUnlisted(std::shared_ptr<const plan::Unlisted> unlisted);
  void FoldLocal(Entry& entry, std::optional<plan::Local> local);
  void PullSucceeded(Entry& entry, const ActiveRun& run, PullOutcome outcome);
  void PullFailed(Entry& entry, const ActiveRun& run, const plan::PullFailure& failure);
  bool MayHaveEndedRuntime(const Entry& entry, const ActiveRun& run);
  void RegistryAnswered(const Entry& entry, plan::Reason reason);

  // Questions to registries, and their answers: refresh.cc.
  struct SaidBefore {
    std::string remote;
    bool missing = false;
    bool denied = false;
  };
  bool Asks(const Entry& entry) const;
  plan::Answered NowAnswered() const;
  void FoldDemands();
  bool WaitsForAProbe(const std::string& registry) const;
  void StartDueChecks();
  void StartCheck(Entry& entry);
  void LogAnswer(const Entry& entry, const image::RegistryAnswer& answer, const SaidBefore& before) const;
  void FoldPace(const std::string& registry, const image::RegistryAnswer& answer);
  void HoldPulls(const std::string& registry, const image::RegistryAnswer& answer);
  void FoldPulled(Entry& entry, const std::optional<plan::Local>& before);
  void FoldUpdateFailed(Entry& entry, const plan::PullFailure& failure);
  std::vector<plan::RegistryStatus> RegistriesInUse() const;

  // Room on the disk: room.cc.
  void FoldDisk(const plan::DiskSpace& disk);
  void JudgeRoom();
  plan::PullSlot SlotOf(std::size_t index) const;
  std::uint64_t KeptBytes() const;
  void DropKeptBytes();
  void SettleWithoutRoom();
  bool FilledDisk(Entry& entry, const std::string& error);

  // Decisions out: act.cc.
  bool HasHeardEnough(const Entry& entry) const;
  void DecideAll();
  void JudgeRuns();
  bool SavesPulls(const std::string& registry) const;
  void StartDuePulls();
  void StartLookUp(const Entry& entry);
  void StartPull(Entry& entry);
  void StartLookIfDue();
  void StartKubeletLookIfDue();
  void ReleaseVerdicts();
  void StartWatchIfDue();
  void StartTendingLeases();
  void DropLastLeases();
  void StartTouchIfDue();
  bool MorePullsToCome() const;
  void TakeTouchPodAway();
  void Publish();
  plan::ImageState Judge(const Entry& entry, base::WallTime wall) const;
  void TidyIfCalm();
  base::TimePoint WhenToTurn() const;

  std::string LeaseFor(const Entry& entry) const;
  LeaseUse UseOf(const std::string& name, const std::string& lease);
  bool Shows(const ActiveRun& run) const;  // does the runtime tell how far it is?
  double Random() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  void Submit(Workers& pool, std::function<Event()> job);

  Options options_;
  plan::Limits limits_;  // with kubelet's own thresholds, once they are known
  const Parts parts_;
  std::mt19937_64 random_;
  Refusals refusals_;
  Observer observer_;
  Board board_;
  Metrics metrics_;
  base::Channel<Event> inbox_;

  // The loop's own.
  base::TimePoint now_;
  const base::TimePoint started_at_;
  base::TimePoint next_turn_;
  bool dirty_ = true;  // something has changed that the Snapshot does not show yet
  base::TimePoint published_at_;
  base::TimePoint tidy_at_ = base::TimePoint::max();
  std::shared_ptr<const plan::ImageList> list_;
  std::uint64_t list_epoch_ = 0;
  Entries entries_;
  std::map<std::string, plan::RegistryHealth> registries_;
  std::map<std::string, plan::Reason> registry_trouble_;  // the newest of each that had any
  std::map<std::string, plan::RegistryPace> paces_;       // of those that were asked
  base::TimePoint checks_again_ = base::TimePoint::max();
  base::TimePoint first_pulls_at_;  // startJitter
  plan::RuntimeStatus runtime_;
  bool access_told_ = false;  // runtime_.access, in the log
  bool runtime_ever_up_ = false;
  std::optional<base::TimePoint> runtime_down_since_;
  bool runtime_grace_over_ = false;
  bool queues_in_runtime_ = false;  // containerd 2.1 and later
  bool progress_supported_ = true;
  bool look_running_ = false;
  bool look_in_full_ = true;
  std::uint64_t look_sequence_ = 0;
  base::TimePoint next_look_;
  int failed_looks_ = 0;
  std::shared_ptr<const plan::Unlisted> unlisted_;
  std::optional<plan::KubeletStatus> kubelet_;
  std::vector<std::string> kubelet_problems_;
  std::shared_ptr<const std::vector<kubelet::KubeletSettings>> possible_kubelets_;
  bool kubelet_look_running_ = false;
  bool kubelet_looked_ = false;  // once
  bool records_replaced_ = false;
  std::string kubelet_process_;
  kubelet::FileChanges records_changed_;
  std::shared_ptr<const KubeletQuestion> kubelet_question_;  // null: an image has come, gone or changed
  base::TimePoint next_kubelet_look_;
  bool watch_running_ = false;
  base::TimePoint next_watch_ = base::TimePoint::max();
  std::uint64_t next_run_ = 1;
  // The newest end of the runtime under a pull.
  struct Collapse {
    std::uint64_t runs_before = 0;  // ended the pulls with ids below this
    bool suspect_ran = false;
  } collapse_;
  credentials::KeyringHealth credentials_;
  plan::DiskSpace disk_;
  plan::Relief relief_;
  std::string disk_path_;
  base::TimePoint hold_until_;  // the disk is full: nothing starts before
  base::TimePoint start_again_ = base::TimePoint::max();
  LeaseBook leases_;
  bool settled_ = false;
  bool was_ready_ = false;
  int jobs_ = 0;

  std::stop_source stopping_;
  std::optional<KubeletObserver> kubelet_observer_;  // its watch uses the inbox
  std::optional<TouchPods> touch_pods_;
  std::optional<Touching> touching_;
  LookUps look_ups_;
  // Last: their threads use what stands above.
  Workers pulls_;
  Workers looks_;
  std::optional<Workers> touches_;
  std::unique_ptr<Workers> checks_;  // none before a registry is asked
};

}  // namespace prefetch::agent
