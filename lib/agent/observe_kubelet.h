// KubeletObserver: reads the settings and records of this node's kubelet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/cluster/kubelet_readers.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "kubelet/node_facts_reader.h"
#include "kubelet/verdict_reader.h"
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

}  // namespace prefetch::agent
