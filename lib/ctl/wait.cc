#include "ctl/commands.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "ctl/cluster.h"
#include "ctl/terminal.h"

namespace prefetch::ctl {

namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollInterval{250};
// An agent reads a list file at most 60 ms after a change (list/watcher.h). A list that was edited just
// before must count: an answer that would end the wait is asked for once more after this time.
constexpr std::chrono::milliseconds kListReadDelay{200};
constexpr std::size_t kNodeDetails = 10;  // lines below the first, on a terminal

// Returns how the wait ends with this document, if it does. A settled image may still become ready: a missing
// tag may be pushed meanwhile.
std::optional<screen::WaitOutcome> OutcomeOf(const status::StatusDocument& document, bool fail_fast) {
  if (document.ready) return screen::WaitOutcome::kReady;
  if (fail_fast && screen::AnyMissingSettled(document)) return screen::WaitOutcome::kFailedFast;
  return std::nullopt;
}

int ExitCodeOf(screen::WaitOutcome end) {
  if (end == screen::WaitOutcome::kReady) return kOk;
  return end == screen::WaitOutcome::kTimedOut ? kTimedOut : kNegative;
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
  std::optional<base::Error> last_error;
  const auto waited = [&] { return std::chrono::duration_cast<seconds>(steady_clock::now() - started); };
  const auto finish = [&](screen::WaitOutcome end) {
    progress.Close();
    out << screen::WaitResult(*newest, end, waited(), terminal.width);
    return ExitCodeOf(end);
  };
  // An answer ends the wait only if it was asked for after kListReadDelay: it may be about the list before an
  // edit.
  do {
    auto asked = steady_clock::now();
    auto status = agent.Status(limited);
    if (call.Stopped()) break;
    if (!status) {
      // A restarting agent comes back. The error is kept for the end, unless it is the time limit itself.
      if (steady_clock::now() < limited.deadline) last_error = status.error();
      progress.ShowProblem(status.error().message(), err);
      continue;
    }
    last_error.reset();
    terminal = StdoutTerminal();  // its size may have changed
    newest = screen::NarrowTo(*std::move(status), options.demand);
    if (auto end = OutcomeOf(*newest, options.fail_fast)) {
      if (asked - started >= kListReadDelay) return finish(*end);
      continue;
    }
    std::size_t width = LineWidth(terminal);
    progress.Show(screen::WaitLine(*newest, width), screen::WaitKey(*newest),
                  screen::WaitDetails(*newest, width, DetailLines(terminal, kNodeDetails)));
  } while (base::Pause(limited, kPollInterval) && steady_clock::now() < limited.deadline);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  if (last_error || !newest)
    return Fail(kUnreachable,
                progress.FinalError(
                    last_error.value_or(base::Unavailable("the agent did not answer in time")), waited()),
                err);
  return finish(OutcomeOf(*newest, options.fail_fast).value_or(screen::WaitOutcome::kTimedOut));
}

namespace {

constexpr seconds kReadyPollInterval{30};  // a node that was ready is not asked again before
constexpr std::size_t kFleetDetails = 8;   // lines below the first, on a terminal

bool HasDemand(const screen::WaitDemand& demand) {
  return demand.list || demand.policy || !demand.hash.empty();
}

// The state of the nodes, from one round to the next.
class FleetPoller {
 public:
  FleetPoller(kube::Api& api, const WaitOptions& options)
      : api_(api), options_(options), agents_(api, options.query.name_space) {}

  // Takes one round. A failure is the API server's: of listing, or of asking any agent.
  std::optional<kube::Failure> Poll(const base::Call& call) {
    auto now = steady_clock::now();
    if (!listed_at_ || now - *listed_at_ >= options_.list_every) {
      // At first all nodes count: a DaemonSet that has just been changed gets pods for new nodes within
      // seconds.
      FleetQuery query = options_.query;
      query.leave_out = listed_at_.has_value();
      auto roster = ListMembers(call, api_, query, had_agents_);
      if (!roster) return std::move(roster).failure();
      for (const FleetMember& member : roster->members) {
        if (member.facts.has_pod) had_agents_.insert(member.node);
      }
      members_ = std::move(roster->members);
      left_out_ = roster->left_out;
      listed_at_ = now;
    }
    std::vector<FleetMember> due = Due(now);
    FleetAnswers answers =
        PollMembers(call, agents_, due, {.demand = HasDemand(options_.demand) ? &options_.demand : nullptr});
    if (answers.forbidden) return std::move(answers.forbidden);
    for (screen::FleetNode& node : answers.nodes) {
      LastAnswer& known = last_answers_[node.name];
      known = {now, std::move(node)};
    }
    return std::nullopt;
  }

  std::size_t left_out() const { return left_out_; }

  screen::Fleet Gather() const {
    std::vector<screen::FleetNode> nodes;
    for (const FleetMember& member : members_) {
      auto known = last_answers_.find(member.node);
      if (known == last_answers_.end()) continue;
      nodes.push_back(known->second.node);
      nodes.back().leaving = member.facts.leaving;
    }
    return screen::GatherFleet(std::move(nodes));
  }

 private:
  struct LastAnswer {
    steady_clock::time_point at;
    screen::FleetNode node;
  };

  std::vector<FleetMember> Due(steady_clock::time_point now) const {
    std::vector<FleetMember> due;
    std::ranges::copy_if(members_, std::back_inserter(due), [&](const FleetMember& member) {
      auto known = last_answers_.find(member.node);
      const bool is_known = known != last_answers_.end();
      // Nodes that are ready or leaving are asked rarely, which leaves the API server to the others.
      const bool low_priority = is_known && (known->second.node.state == screen::NodeState::kReady ||
                                             !member.facts.leaving.empty());
      return !low_priority || now - known->second.at >= kReadyPollInterval;
    });
    return due;
  }

  kube::Api& api_;
  const WaitOptions& options_;
  FleetAgents agents_;
  std::optional<steady_clock::time_point> listed_at_;
  std::vector<FleetMember> members_;
  std::size_t left_out_ = 0;
  std::set<std::string> had_agents_;
  std::map<std::string, LastAnswer> last_answers_;  // by node
};

// Returns a key whose change is worth a line in a log.
std::string KeyOf(const screen::Fleet& fleet) {
  return std::to_string(fleet.nodes.size()) + "/" + std::to_string(fleet.ready) + "/" +
         std::to_string(fleet.failing) + "/" + std::to_string(fleet.no_detail) + "/" +
         std::to_string(fleet.leaving);
}

}  // namespace

int FleetWait(const base::Call& call, kube::Api& api, const WaitOptions& options, std::ostream& out,
              std::ostream& err) {
  Terminal terminal = StdoutTerminal();
  Progress progress(out, terminal);
  auto started = steady_clock::now();
  base::Call limited = call.Within(options.timeout);
  FleetPoller poller(api, options);
  std::optional<screen::Fleet> newest;
  std::optional<kube::Failure> last_error;
  steady_clock::duration took{};
  const auto waited = [&] { return std::chrono::duration_cast<seconds>(steady_clock::now() - started); };
  const auto finish = [&](screen::WaitOutcome end) {
    progress.Close();
    out << screen::FleetResult(*newest, options.target, end, waited(), terminal.width) << std::flush;
    NoteLeftOut(poller.left_out(), err);
    return ExitCodeOf(end);
  };
  do {
    auto began = steady_clock::now();
    auto failure = poller.Poll(limited);
    if (call.Stopped()) break;
    took = steady_clock::now() - began;
    if (failure) {
      bool in_time = steady_clock::now() < limited.deadline;
      if (in_time) last_error = failure;
      // A failure at the deadline is most probably the deadline's own.
      if (in_time && NeedsUserAction(*failure)) break;
      progress.ShowProblem(ToUserError(*failure).message(), err);
      continue;
    }
    last_error.reset();
    // A round that the time limit cut short knows nothing new about the nodes that it did not reach.
    if (!newest || steady_clock::now() < limited.deadline) newest = poller.Gather();
    if (auto end = screen::EvaluateFleet(*newest, options.target, options.fail_fast)) return finish(*end);
    terminal = StdoutTerminal();  // its size may have changed
    std::size_t width = LineWidth(terminal);
    progress.Show(screen::FleetLine(*newest, width), KeyOf(*newest),
                  screen::FleetDetails(*newest, width, DetailLines(terminal, kFleetDetails)));
  } while (base::Pause(limited, std::max<steady_clock::duration>(options.pause, took)) &&
           steady_clock::now() < limited.deadline);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  if (last_error || !newest) {
    return Fail(kUnreachable,
                progress.FinalError(last_error ? ToUserError(*last_error)
                                               : base::Unavailable("the API server did not answer in time"),
                                    waited()),
                err);
  }
  return finish(screen::WaitOutcome::kTimedOut);
}

}  // namespace prefetch::ctl
