// KubeletView: the loop's facts about this node's kubelet, and kubelet's verdict on each entry.
// KubeletObserver: reads the settings and records of this node's kubelet on a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cluster/kubelet_readers.h"
#include "agent/entries.h"
#include "agent/loop.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "credentials/keyring.h"
#include "kubelet/node_facts_reader.h"
#include "kubelet/verdict_reader.h"
#include "plan/poll_trigger.h"
#include "plan/snapshot.h"

namespace prefetch::agent {

struct KubeletOptions {
  kubelet::NodeFactsReader facts;
  // If false, nothing watches the folder of records, and each change of it needs a call of
  // Agent::RecordsChanged.
  bool watch = true;
  // The version from the Node, which counts if none is declared; may be null.
  std::shared_ptr<const LatestNodeReport> version;
  // Gets each new process of kubelet; may be null.
  std::shared_ptr<LatestKubeletStart> start;
  // Settings from kubelet's own port; null: the agent does not ask there.
  std::shared_ptr<const LatestKubeletSettings> learnt_settings;
};

// The present images of one version of the list.
struct KubeletQuestion {
  std::uint64_t list_epoch = 0;
  std::vector<kubelet::ImageOnNode> images;  // each judged pod of an entry after the other
  std::vector<std::size_t> entries;          // their indices in the list
};

struct KubeletPoll {
  plan::KubeletStatus status;
  std::shared_ptr<const std::vector<kubelet::KubeletSettings>> possible;
  std::vector<std::string> problems;               // one sentence each
  std::string process;                             // NodeFactsReader::process()
  std::string provider_config, provider_bin_dir;   // as NodeFactsReader has them
  base::TimePoint until = base::TimePoint::max();  // then time alone changes the result
  std::shared_ptr<const KubeletQuestion> question;
  kubelet::VerdictReading reading;  // by the index of its images
};

// Caches what need not be read twice. No lock: several threads may use it, one after the other. Owned by the
// Agent.
class KubeletObserver {
 public:
  // The watch calls `on_change` on a thread of its own.
  KubeletObserver(KubeletOptions options, kubelet::RecordWatch::Callback on_change);

  // Returns true if Poll() would see anything else than the last time. Call it only after the first Poll().
  // Blocks for disk reads.
  bool HasChanged();
  // Blocks for disk reads. `now` and `wall` are the same moment.
  KubeletPoll Poll(std::shared_ptr<const KubeletQuestion> question, kubelet::FileChanges changes,
                   base::TimePoint now, base::WallTime wall);

 private:
  // The version that counts, and the problem to report about it.
  plan::VersionInForce Version(base::TimePoint now, base::WallTime wall);

  base::SequenceChecker sequence_checker_;
  KubeletOptions options_;
  const kubelet::RecordWatch::Callback on_change_;
  std::shared_ptr<const KubeletQuestion> last_;
  std::string process_;  // of the last poll
  plan::VersionEstimate estimate_;
  kubelet::NodeFacts facts_;
  std::shared_ptr<const std::vector<kubelet::KubeletSettings>> possible_;
  kubelet::VerdictReader verdicts_{""};
  std::unique_ptr<kubelet::RecordWatch> watch_;
};

// No lock: the loop's thread alone uses it, which Loop::Check checks. The constructor's arguments must
// outlive it.
class KubeletView {
 public:
  KubeletView(Loop& loop, Entries& entries, credentials::Keyring& keyring, KubeletOptions options);

  bool polled() const { return polled_; }  // once
  const plan::KubeletStatus& status() const { return status_; }
  const std::vector<std::string>& problems() const { return problems_; }
  // Null: the kubelets that may run here are not known yet.
  const std::shared_ptr<const std::vector<kubelet::KubeletSettings>>& possible() const { return possible_; }
  // Returns true if every kubelet that may run here keeps records and decides by them.
  bool Verifies() const;
  // The folder with its records was replaced, and this process has the old one mounted.
  bool records_replaced() const { return records_replaced_; }

  // The list has changed, so the next poll asks about its images.
  void ListChanged() { question_ = nullptr; }
  // The image under the entry's name is another one, or none.
  void ImageChanged(Entry& entry);
  void FilesChanged(kubelet::FileChanges changes) { files_changed_.Add(std::move(changes)); }

  // The result of a poll; none: a quick poll has found no change.
  using Polled = std::optional<KubeletPoll>;
  // At each waking. `list_epoch`: the version of the list that the entries are of. The loop gives the result
  // to `apply`, which returns whether it brings news.
  void StartPollIfDue(base::Workers& workers, std::uint64_t list_epoch,
                      std::function<bool(Polled polled)> apply);
  struct News {
    bool restarted = false;
    bool settings = false;  // of the kubelets that may run here
    bool any = false;       // false: all is as it was
  };
  // Applies the result of a poll, and returns what it has changed.
  News Handle(Polled polled, std::uint64_t list_epoch);
  // Shows the changed verdicts whose debounce is over.
  void ShowDueVerdicts();
  // When there is something to do though nothing happens; the entries' own times are not in it.
  base::TimePoint NextTurn(bool has_list) const {
    return poll_running_ || !has_list ? base::TimePoint::max() : plan::NextKubeletPoll(polls_);
  }

 private:
  std::shared_ptr<const KubeletQuestion> QuestionOf(std::uint64_t list_epoch) const;
  bool ApplyStatus(plan::KubeletStatus status);
  bool ApplyProblems(std::vector<std::string> problems);
  void ApplyVerdict(Entry& entry, plan::DebouncedVerdict verdict);

  Loop& loop_;
  Entries& entries_;
  credentials::Keyring& keyring_;
  plan::KubeletStatus status_;
  std::vector<std::string> problems_;
  std::shared_ptr<const std::vector<kubelet::KubeletSettings>> possible_;
  bool poll_running_ = false;
  bool polled_ = false;
  bool records_replaced_ = false;
  std::string process_;
  kubelet::FileChanges files_changed_;
  std::shared_ptr<const KubeletQuestion> question_;  // null: an image has come, gone or changed
  plan::KubeletPolls polls_;
  KubeletObserver observer_;  // last: its watch uses the loop
};

// Forecasts the effect of kubelet's image garbage collection on the images of a Snapshot.

// Fills in the order in which it takes them and what a person should know. Nothing where its settings are not
// known. Pure.
void AddGcOutlook(plan::Snapshot& snapshot);

}  // namespace prefetch::agent
