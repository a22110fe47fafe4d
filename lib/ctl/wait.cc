#include "ctl/wait.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ctl/cluster.h"
#include "ctl/exit_code.h"
#include "ctl/terminal.h"
#include "screen/fleet_text.h"

namespace prefetch::ctl {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{250};
// An agent reads a list file at most 60 ms after a change (list/watcher.h). A list that was edited just
// before must count: an answer that would end the wait is asked for once more after this time.
constexpr std::chrono::milliseconds kListIsRead{200};
constexpr std::size_t kNodeDetails = 10;  // lines below the first, on a terminal

// Returns how the wait ends with this document, if it does. A permanent failure can still heal: a missing tag
// may be pushed meanwhile.
std::optional<screen::WaitEnd> EndOf(const status::StatusDocument& document, bool fail_fast) {
  if (document.ready) return screen::WaitEnd::kReady;
  if (fail_fast && screen::AnyFailedPermanently(document)) return screen::WaitEnd::kFailedFast;
  return std::nullopt;
}

int CodeOf(screen::WaitEnd end) {
  if (end == screen::WaitEnd::kReady) return kOk;
  return end == screen::WaitEnd::kTimedOut ? kTimedOut : kNo;
}

}  // namespace

int Wait(const base::Call& call, const AgentClient& agent, const WaitOptions& options, std::ostream& out,
         std::ostream& err) {
  std::error_code unknown;
  if (!options.folder.empty() && !std::filesystem::exists(options.folder, unknown)) {
    return Fail(kUnreachable,
                base::NotFound("no agent is on this machine, since " + options.folder +
                               " is missing: wait for all nodes with --fleet, or name an agent with --agent, "
                               "which need not run yet"),
                err);
  }
  Terminal terminal = StdoutTerminal();
  Progress progress(out, terminal);
  auto started = steady_clock::now();
  base::Call limited = call.Within(options.timeout);
  std::optional<status::StatusDocument> newest;
  std::optional<base::Error> trouble;
  const auto waited = [&] { return std::chrono::duration_cast<seconds>(steady_clock::now() - started); };
  const auto finish = [&](screen::WaitEnd end) {
    progress.Close();
    out << screen::WaitResult(*newest, end, waited(), terminal.width);
    return CodeOf(end);
  };
  // An answer ends the wait only if it was asked for after kListIsRead: it may be about the list before an
  // edit.
  do {
    auto asked = steady_clock::now();
    auto status = agent.Status(limited);
    if (call.Stopped()) break;
    if (!status) {
      // A restarting agent comes back. The error is kept for the end, unless it is the time limit itself.
      if (steady_clock::now() < limited.deadline) trouble = status.error();
      progress.ShowProblem(status.error().message(), err);
      continue;
    }
    trouble.reset();
    terminal = StdoutTerminal();  // its size may have changed
    newest = screen::NarrowTo(*std::move(status), options.demand);
    if (auto end = EndOf(*newest, options.fail_fast)) {
      if (asked - started >= kListIsRead) return finish(*end);
      continue;
    }
    std::size_t width = LineWidth(terminal);
    progress.Show(screen::WaitLine(*newest, width), screen::WaitKey(*newest),
                  screen::WaitDetails(*newest, width, DetailLines(terminal, kNodeDetails)));
  } while (base::Pause(limited, kLook) && steady_clock::now() < limited.deadline);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  if (trouble || !newest)
    return Fail(kUnreachable,
                progress.FinalError(trouble.value_or(base::Unavailable("the agent did not answer in time")),
                                    waited()),
                err);
  return finish(EndOf(*newest, options.fail_fast).value_or(screen::WaitEnd::kTimedOut));
}

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kReadyFor{30};          // a node that was ready is not asked again before
constexpr std::size_t kFleetDetails = 8;  // lines below the first, on a terminal

bool AsksForAnything(const screen::WaitDemand& demand) {
  return demand.list || demand.policy || !demand.hash.empty();
}

// The state of the nodes, from one round to the next.
class Watch {
 public:
  Watch(kube::Api& api, const FleetWaitOptions& options) : api_(api), options_(options) {}

  // Takes one round. A failure is the API server's: of listing, or of asking any agent.
  std::optional<kube::Failure> Look(const base::Call& call) {
    auto now = steady_clock::now();
    if (!listed_at_ || now - *listed_at_ >= options_.list_every) {
      // At first all nodes count: a DaemonSet that has just been changed gets pods for new nodes within
      // seconds.
      FleetQuery query = options_.query;
      query.leave_out = listed_at_.has_value();
      auto roster = ListMembers(call, api_, query, had_agents_);
      if (!roster) return std::move(roster).failure();
      for (const FleetMember& member : roster->members) {
        if (member.signs.has_pod) had_agents_.insert(member.node);
      }
      members_ = std::move(roster->members);
      left_out_ = roster->left_out;
      listed_at_ = now;
    }
    std::vector<FleetMember> due = Due(now);
    FleetAnswers answers =
        AskMembers(call, api_, due,
                   {.name_space = options_.query.name_space,
                    .tokens = &tokens_,
                    .demand = AsksForAnything(options_.demand) ? &options_.demand : nullptr});
    if (answers.forbidden) return std::move(answers.forbidden);
    for (screen::FleetNode& node : answers.nodes) {
      Known& known = known_[node.name];
      known = {now, std::move(node)};
    }
    return std::nullopt;
  }

  std::size_t left_out() const { return left_out_; }

  screen::Fleet Gather() const {
    std::vector<screen::FleetNode> nodes;
    for (const FleetMember& member : members_) {
      auto known = known_.find(member.node);
      if (known == known_.end()) continue;
      nodes.push_back(known->second.node);
      nodes.back().leaving = member.signs.leaving;
    }
    return screen::GatherFleet(std::move(nodes));
  }

 private:
  struct Known {
    steady_clock::time_point at;
    screen::FleetNode node;
  };

  std::vector<FleetMember> Due(steady_clock::time_point now) const {
    std::vector<FleetMember> due;
    std::copy_if(members_.begin(), members_.end(), std::back_inserter(due), [&](const FleetMember& member) {
      auto known = known_.find(member.node);
      const bool is_known = known != known_.end();
      // Nodes that are ready or leaving are asked rarely, which leaves the API server to the others.
      const bool no_hurry = is_known && (known->second.node.state == screen::NodeState::kReady ||
                                         !member.signs.leaving.empty());
      return !no_hurry || now - known->second.at >= kReadyFor;
    });
    return due;
  }

  kube::Api& api_;
  const FleetWaitOptions& options_;
  FleetTokens tokens_;
  std::optional<steady_clock::time_point> listed_at_;
  std::vector<FleetMember> members_;
  std::size_t left_out_ = 0;
  std::set<std::string> had_agents_;
  std::map<std::string, Known> known_;  // by node
};

// Returns a key whose change is worth a line in a log.
std::string KeyOf(const screen::Fleet& fleet) {
  return std::to_string(fleet.nodes.size()) + "/" + std::to_string(fleet.ready) + "/" +
         std::to_string(fleet.failing) + "/" + std::to_string(fleet.no_detail) + "/" +
         std::to_string(fleet.leaving);
}

}  // namespace

int FleetWait(const base::Call& call, kube::Api& api, const FleetWaitOptions& options, std::ostream& out,
              std::ostream& err) {
  Terminal terminal = StdoutTerminal();
  Progress progress(out, terminal);
  auto started = steady_clock::now();
  base::Call limited = call.Within(options.timeout);
  Watch watch(api, options);
  std::optional<screen::Fleet> newest;
  std::optional<kube::Failure> trouble;
  steady_clock::duration took{};
  const auto waited = [&] { return std::chrono::duration_cast<seconds>(steady_clock::now() - started); };
  auto end_with = [&](screen::FleetEnd end, int code) {
    progress.Close();
    out << screen::FleetResult(*newest, options.target, end, waited(), terminal.width) << std::flush;
    NoteLeftOut(watch.left_out(), err);
    return code;
  };
  do {
    auto began = steady_clock::now();
    auto failure = watch.Look(limited);
    if (call.Stopped()) break;
    took = steady_clock::now() - began;
    if (failure) {
      bool in_time = steady_clock::now() < limited.deadline;
      if (in_time) trouble = failure;
      // A failure at the deadline is most probably the deadline's own.
      if (in_time && IsForAPerson(*failure)) break;
      progress.ShowProblem(Explain(*failure).message(), err);
      continue;
    }
    trouble.reset();
    // A round that the time limit cut short knows nothing new about the nodes that it did not reach.
    if (!newest || steady_clock::now() < limited.deadline) newest = watch.Gather();
    screen::FleetEnd end = screen::EvaluateFleet(*newest, options.target, options.fail_fast);
    if (end == screen::FleetEnd::kReady) return end_with(end, kOk);
    if (end == screen::FleetEnd::kFailedPermanently) return end_with(end, kNo);
    terminal = StdoutTerminal();  // its size may have changed
    std::size_t width = LineWidth(terminal);
    progress.Show(screen::FleetLine(*newest, width), KeyOf(*newest),
                  screen::FleetDetails(*newest, width, DetailLines(terminal, kFleetDetails)));
  } while (base::Pause(limited, std::max<steady_clock::duration>(options.pause, took)) &&
           steady_clock::now() < limited.deadline);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  if (trouble || !newest) {
    return Fail(kUnreachable,
                progress.FinalError(
                    trouble ? Explain(*trouble) : base::Unavailable("the API server did not answer in time"),
                    waited()),
                err);
  }
  return end_with(screen::FleetEnd::kContinue, kTimedOut);
}

}  // namespace prefetch::ctl
