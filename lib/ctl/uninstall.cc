#include "ctl/commands.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/label_syntax.h"
#include "base/mutex.h"
#include "base/text.h"
#include "base/workers.h"
#include "ctl/cluster.h"
#include "ctl/terminal.h"
#include "kube/answer.h"
#include "plan/node_gate.h"

namespace prefetch::ctl {
namespace {

using kube::Failure;
using kube::Node;
using std::chrono::seconds;

constexpr std::size_t kAtOnce = 8;
// Maximum number of tries of one call. Together they last about half a minute, as long as an API server's
// restart.
constexpr unsigned kMostTries = 6;
constexpr seconds kCallLimit{15};
constexpr seconds kLongestPause{15};
constexpr std::size_t kMaxFailuresShown = 10;
// No object of the cluster tells whether a node has pins.
constexpr const char* kPinsNote =
    "prefetchctl: this command does not see pins (pin: true of a list), which are on the nodes: see step 2 "
    "of prefetchctl uninstall --help\n";

// Waits before the next try of a call. Wait returns false if there is none.
class ApiRetries {
 public:
  explicit ApiRetries(const base::Call& call) : call_(call) {}

  bool Wait(const Failure& failure) {
    kube::Retry retry = kube::NextTry(failure, ++failures_, RandomFraction());
    // Missing rights and missing nodes do not change while the command runs.
    bool passing = retry.step != kube::Step::kGiveUp && failure.kind != kube::ApiError::kForbidden &&
                   failure.kind != kube::ApiError::kNotFound;
    if (!passing || failures_ >= kMostTries) return false;
    return base::Pause(call_, std::min<base::Duration>(retry.after, kLongestPause));
  }

 private:
  double RandomFraction() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  const base::Call& call_;
  unsigned failures_ = 0;
  std::mt19937_64 random_{std::random_device{}()};
};

// The agent's traces on a node.
struct Traces {
  std::vector<std::string> labels;
  bool condition = false;
  std::vector<std::string> taints;

  bool Any() const { return !labels.empty() || condition || !taints.empty(); }
  std::string ToText() const {
    std::vector<std::string> words;
    for (const std::string& label : labels) words.push_back("label " + label);
    if (condition) words.push_back("condition " + std::string(plan::kConditionType));
    for (const std::string& taint : taints) words.push_back("taint " + taint);
    return base::Join(words, ", ");
  }
};

// Without an instance, everything with the agent's prefix is cleared, also what removed instances have left.
Traces FindTraces(const Node& node, const UninstallOptions& options) {
  Traces found;
  for (const auto& [key, value] : node.labels) {
    bool ours = options.instance.empty() ? key.starts_with(plan::kLabelPrefix)
                                         : key == std::string(plan::kLabelPrefix) + options.instance;
    bool named = std::ranges::find(options.labels, key) != options.labels.end();
    if (ours || named) found.labels.push_back(key);
  }
  // The condition and the default taint are shared by all instances of the node.
  const bool of_all = options.instance.empty();
  found.condition = of_all && std::ranges::any_of(node.conditions, [](const auto& one) {
                      return one.type == plan::kConditionType;
                    });
  for (const kube::Taint& taint : node.taints) {
    const bool ours = of_all ? plan::IsStartupTaint(taint.key, options.taint_key)
                             : !options.taint_key.empty() && taint.key == options.taint_key;
    if (ours) found.taints.push_back(taint.key);
  }
  return found;
}

// Repeats a call until it succeeds or no try is left. A node that is gone has nothing to clear.
template <typename Try>
std::optional<Failure> RetryCall(const base::Call& call, const Try& attempt) {
  ApiRetries retries(call);
  while (true) {
    std::optional<Failure> failure = attempt();
    if (!failure || failure->kind == kube::ApiError::kNotFound) return std::nullopt;
    if (!retries.Wait(*failure)) return failure;
  }
}

template <typename T>
std::optional<Failure> FailureOf(const kube::Answer<T>& answer) {
  return answer ? std::nullopt : std::optional<Failure>(answer.failure());
}

// Removes the taints. The list of taints can only be written as a whole, so it is read just before; if
// another client changes it in between, the write is a conflict and starts over.
std::optional<Failure> RemoveTaints(const base::Call& call, kube::Api& api, const std::string& name,
                                    const std::vector<std::string>& ours) {
  auto node = api.GetNode(call.Within(kCallLimit), name);
  if (!node) return node.failure();
  std::vector<kube::Taint> taints = node->taints;
  std::erase_if(taints,
                [&](const kube::Taint& taint) { return std::ranges::find(ours, taint.key) != ours.end(); });
  if (taints == node->taints) return std::nullopt;
  return FailureOf(api.SetNodeTaints(call.Within(kCallLimit), name, node->resource_version, taints));
}

// Clears one node. The taint goes first, since it keeps pods away. After a failure nothing else is tried.
std::optional<Failure> Clear(const base::Call& call, kube::Api& api, const std::string& name,
                             const Traces& found) {
  std::optional<Failure> failure;
  auto retry_call = [&](const auto& attempt) {
    if (!failure) failure = RetryCall(call, attempt);
  };
  if (!found.taints.empty()) retry_call([&] { return RemoveTaints(call, api, name, found.taints); });
  for (const std::string& label : found.labels) {
    retry_call(
        [&] { return FailureOf(api.SetNodeLabel(call.Within(kCallLimit), name, label, std::nullopt)); });
  }
  if (found.condition) {
    retry_call([&] {
      return FailureOf(
          api.RemoveNodeCondition(call.Within(kCallLimit), name, std::string(plan::kConditionType)));
    });
  }
  return failure;
}

// Returns all nodes, page by page. The same page is asked for again, unless the server has dropped the list
// meanwhile.
kube::Answer<std::vector<Node>> ListNodes(const base::Call& call, kube::Api& api,
                                          const std::string& selector) {
  ApiRetries retries(call);
  return ListAll<Node>(call, {.label_selector = selector}, [&](const kube::ListOptions& options) {
    while (true) {
      auto page = api.ListNodes(call.Within(kCallLimit), options);
      if (page || page.failure().kind == kube::ApiError::kGone || !retries.Wait(page.failure())) return page;
    }
  });
}

struct Task {
  std::string node;
  Traces found;
};

std::string Count(std::size_t count) {
  return base::Plural(count, "node", "nodes");
}

// Clears nodes, on several threads.
class NodeCleaner {
 public:
  NodeCleaner(kube::Api& api, const std::vector<Task>& tasks, std::ostream& out, std::ostream& err)
      : api_(api), tasks_(tasks), out_(out), err_(err), progress_(err, StderrTerminal(), true) {}

  void Run(const base::Call& call) PREFETCH_EXCLUDES(mutex_) {
    base::ParallelFor(kAtOnce, tasks_.size(), [&](std::size_t i) {
      if (!call.Stopped()) ClearNode(call, tasks_[i]);
    });
  }

  // Call it after Run; returns the exit code. `nodes`: how many were looked at. Failures come first and are
  // bounded, so that the summary stays visible. Pins are noted in any case, because the API server does not
  // know of them.
  int Summarize(const base::Call& call, std::size_t nodes) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    progress_.Close();  // before anything else comes to its line
    for (std::size_t i = 0; i < std::min(failures_.size(), kMaxFailuresShown); i++) {
      err_ << "prefetchctl: " << failures_[i] << "\n";
    }
    if (failures_.size() > kMaxFailuresShown) {
      err_ << "prefetchctl: … and " << Count(failures_.size() - kMaxFailuresShown) << " more\n";
    }
    out_ << "cleared " << Count(cleared_) << "; " << nodes - tasks_.size() << " of " << Count(nodes)
         << " had nothing of ours\n";
    err_ << kPinsNote;
    if (cleared_ == tasks_.size()) return kOk;
    err_ << "prefetchctl: " << (call.Stopped() ? "stopped: " : "")
         << base::Plural(tasks_.size() - cleared_, "node is", "nodes are")
         << " not cleared; run it again: it goes on with the rest\n";
    return kNegative;
  }

 private:
  void ClearNode(const base::Call& call, const Task& task) PREFETCH_EXCLUDES(mutex_) {
    auto failure = Clear(call, api_, task.node, task.found);
    base::Lock lock(mutex_);
    if (failure && failure->kind == kube::ApiError::kCancelled) return;
    if (failure) {
      failures_.push_back(task.node + ": " + kube::ToError(*failure).message());
    } else {
      cleared_++;
      progress_.Close();
      out_ << task.node << ": cleared " << task.found.ToText() << "\n" << std::flush;
    }
    std::size_t done = cleared_ + failures_.size();
    progress_.Show(std::to_string(done) + " of " + std::to_string(tasks_.size()) + " nodes",
                   std::to_string(done));
  }

  kube::Api& api_;
  const std::vector<Task>& tasks_;
  base::Mutex mutex_;
  std::ostream& out_ PREFETCH_GUARDED_BY(mutex_);
  std::ostream& err_ PREFETCH_GUARDED_BY(mutex_);
  Progress progress_ PREFETCH_GUARDED_BY(mutex_);
  std::size_t cleared_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> failures_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace

int Uninstall(const base::Call& call, kube::Api& api, const UninstallOptions& options, std::ostream& out,
              std::ostream& err) {
  // Another key, such as node.kubernetes.io/unschedulable, is not the agent's to take from any node.
  if (!options.taint_key.empty() && !base::IsStartupTaintKey(options.taint_key)) {
    return Fail(kBadInput,
                base::InvalidArgument(std::string("--startup-taint-key ") + base::kStartupTaintKeyRule), err);
  }
  auto nodes = ListNodes(call, api, options.selector);
  if (!nodes) return Fail(kUnreachable, kube::ToError(nodes.failure()), err);
  std::vector<Task> tasks;
  for (const Node& node : *nodes) {
    Traces found = FindTraces(node, options);
    if (found.Any()) tasks.push_back({node.name, std::move(found)});
  }
  if (options.dry_run) {
    for (const Task& task : tasks) out << task.node << ": would clear " << task.found.ToText() << "\n";
    out << "would clear " << Count(tasks.size()) << " of " << nodes->size() << "; nothing was changed\n";
    err << kPinsNote;
    return kOk;
  }
  NodeCleaner cleaner(api, tasks, out, err);
  cleaner.Run(call);
  return cleaner.Summarize(call, nodes->size());
}

}  // namespace prefetch::ctl
