#include "ctl/commands.h"

#include <algorithm>
#include <utility>

#include "base/mutex.h"
#include "ctl/cluster.h"
#include "ctl/terminal.h"
#include "doc/write.h"
#include "screen/document_words.h"
#include "screen/report/report.h"

namespace prefetch::ctl {

namespace {

constexpr std::chrono::seconds kRefresh{1};
constexpr std::chrono::seconds kFleetRefresh{2};
constexpr std::chrono::minutes kFleetTimeout{2};  // of one round

std::string PageOf(screen::report::ReportBuilder builder, screen::Fleet fleet) {
  return screen::report::Page(std::move(builder).Take(std::move(fleet)), base::SystemClock().Wall());
}

// Makes the page about many nodes for a single one.
std::string PageOf(const status::StatusDocument& document) {
  screen::report::ReportBuilder builder;
  builder.Add(document.node, document);
  return PageOf(std::move(builder), screen::GatherFleet({screen::SummarizeStatus(document, document.node)}));
}

// Returns the screen of one request.
base::Result<std::string> Screen(const base::Call& call, const AgentClient& agent,
                                 const StatusOptions& options, const Terminal& terminal) {
  auto json = agent.StatusJson(call);
  if (!json) return json;
  // Parsed even for JSON and YAML: the answer of another server must not pass for an agent's.
  auto document = status::ParseStatusDocument(*json);
  if (!document) return std::move(document).error().Wrap("the agent's answer");
  if (options.output == "json") return doc::IndentedJson(*json);
  if (options.output == "yaml") return doc::AsYaml(*json);
  if (options.output == "html") return PageOf(*document);
  return screen::StatusTable(
      *document, {.width = terminal.width, .wide = options.output == "wide", .color = terminal.color});
}

}  // namespace

int Status(const base::Call& call, const AgentClient& agent, const StatusOptions& options, std::ostream& out,
           std::ostream& err) {
  if (const auto format = options.results) {
    auto status = agent.Status(call);
    if (!status) return Fail(kUnreachable, status.error(), err);
    out << screen::ResultsHeader(*format) << screen::ResultRows(*status, status->node, *format) << std::flush;
    return kOk;
  }
  if (options.watch) {
    return WatchScreen(call, kRefresh, out, [&](const Terminal& terminal) {
      auto screen = Screen(call, agent, options, terminal);
      return screen ? *std::move(screen)
                    : screen.error().message() + "\n";  // an agent that restarts comes back
    });
  }
  auto screen = Screen(call, agent, options, StdoutTerminal());
  if (call.Stopped()) return kInterrupted;
  if (!screen) return Fail(kUnreachable, screen.error(), err);
  out << *screen << std::flush;
  return kOk;
}

namespace {

base::Result<std::string> Screen(const screen::Fleet& fleet, const StatusOptions& options,
                                 const Terminal& terminal) {
  if (options.output == "json" || options.output == "yaml") {
    std::string json = screen::FleetJson(fleet, base::SystemClock().Wall(), options.not_ready);
    return options.output == "json" ? doc::IndentedJson(json) : doc::AsYaml(json);
  }
  return screen::FleetTable(fleet, {.width = terminal.width,
                                    .wide = options.output == "wide",
                                    .not_ready = options.not_ready,
                                    .color = terminal.color});
}

// Returns the screen of one round of a watch. Failures are text as well: an API server that is away for a
// moment comes back.
std::string Round(const base::Call& call, kube::Api& api, const StatusOptions& options, FleetAgents& agents,
                  const Terminal& terminal) {
  const base::Call limited = call.Within(kFleetTimeout);
  auto roster = ListMembers(limited, api, options.query);
  if (!roster) return ToUserError(roster.failure()).message() + "\n";
  FleetAnswers answers = PollMembers(limited, agents, roster->members, {});
  if (answers.forbidden) return ToUserError(*answers.forbidden).message() + "\n";
  auto screen = Screen(screen::GatherFleet(std::move(answers.nodes)), options, terminal);
  return screen ? *std::move(screen) : screen.error().message() + "\n";
}

}  // namespace

int FleetStatus(const base::Call& call, kube::Api& api, const StatusOptions& options, std::ostream& out,
                std::ostream& err) {
  // Kept over all rounds of a watch, so that a token is requested once.
  FleetAgents agents(api, options.query.name_space);
  if (options.watch) {
    return WatchScreen(call, kFleetRefresh, out,
                       [&](const Terminal& terminal) { return Round(call, api, options, agents, terminal); });
  }
  base::Call limited = call.Within(kFleetTimeout);
  Progress progress(err, StderrTerminal(), true);
  progress.Show("asking for nodes and pods", "");
  auto roster = ListMembers(limited, api, options.query);
  if (!roster) {
    progress.Close();
    return Fail(kUnreachable, ToUserError(roster.failure()), err);
  }
  const std::vector<FleetMember>& members = roster->members;
  // Rows are made as documents come, so that a thousand documents need not be kept. Each thread writes the
  // rows of its own member only.
  std::vector<std::string> rows(options.results ? members.size() : 0);
  FleetPollOptions poll{.progress = &progress};
  if (options.results) {
    poll.each = [&](std::size_t i, const status::StatusDocument& document) {
      rows[i] = screen::ResultRows(document, members[i].node, *options.results);
    };
  }
  base::Mutex mutex;
  screen::report::ReportBuilder builder;
  if (options.output == "html") {
    poll.each = [&](std::size_t i, const status::StatusDocument& document) {
      base::Lock lock(mutex);  // documents come on several threads
      builder.Add(members[i].node, document);
    };
  }
  FleetAnswers answers = PollMembers(limited, agents, members, poll);
  progress.Close();
  if (call.Stopped()) return kInterrupted;
  // Without the right to ask pods, an empty screen would look like a fleet without agents.
  if (answers.forbidden) return Fail(kUnreachable, ToUserError(*answers.forbidden), err);
  NoteLeftOut(roster->left_out, err);
  if (options.results) {
    out << screen::ResultsHeader(*options.results);
    for (const std::string& row : rows) out << row;
    out << std::flush;
    if (std::ranges::any_of(answers.nodes, &screen::FleetNode::public_only)) {
      err << "prefetchctl: " << screen::kHiddenText << "\n";
    }
    return kOk;
  }
  screen::Fleet fleet = screen::GatherFleet(std::move(answers.nodes));
  auto screen = options.output == "html" ? PageOf(std::move(builder), std::move(fleet))
                                         : Screen(fleet, options, StdoutTerminal());
  if (!screen) return Fail(kUnreachable, screen.error(), err);
  out << *screen << std::flush;
  return kOk;
}

int Explain(const base::Call& call, const AgentClient& agent, const ExplainOptions& options,
            std::ostream& out, std::ostream& err) {
  auto reference = image::Reference::Parse(options.image);
  if (!reference) return Fail(kBadInput, reference.error(), err);
  auto json = agent.ImageJson(call.Within(options.timeout), options.image, options.query);
  if (call.Stopped()) return kInterrupted;
  if (!json) return Fail(json.error(), err);
  // Parsed even if JSON is printed as it came: the answer of another server must not pass for an agent's.
  auto document = status::ParseImageDocument(*json);
  if (!document) return Fail(kUnreachable, std::move(document).error().Wrap("the agent's answer"), err);
  if (options.json) {
    out << *json << std::flush;
    return kOk;
  }
  out << screen::ExplainText(*document, options.width) << std::flush;
  return kOk;
}

}  // namespace prefetch::ctl
