// prefetchd: the node agent. Flags -> configuration -> the parts -> run -> exit code.
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "agent/pinning.h"
#include "base/ascii_output.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/process_end.h"
#include "base/process_stat.h"
#include "base/scrub.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "base/timed_reader.h"
#include "config/agent_config.h"
#include "config/settings.h"
#include "cri/content_service.h"
#include "cri/endpoint.h"
#include "node_agent.h"
#include "screen/node_text.h"
#include "status/status_json.h"

namespace prefetch {
namespace {

using base::ExitCode;
using enum base::ExitCode;

constexpr const char* kFooter = R"(
Examples:
  prefetchd --list images.yaml --kubelet-version 1.36.2
      Keep the images of images.yaml on this node, and report what its kubelet would do with pods that use
      them. Answer on 127.0.0.1:9477 and on the local socket.
  prefetchd --kubelet=none --list images.yaml
      The same on a host with a container runtime and without kubelet.
  prefetchd --kubelet=none --list images.yaml --once --timeout 10m
      Pull, print the result and exit: 0 all ready, 1 not all ready (or the result could not be printed), 2 bad
      usage or input, 3 timed out, 4 the runtime could not be reached.
  prefetchd --unpin --once
      Before agents are removed for good: take the pins of all of them (pin: true) off this node's images.
  prefetchd --config agent.yaml --list /etc/prefetchd/lists --log-level debug
  prefetchd prefetchctl list check images.yaml
      Start prefetchctl of the PATH, so that `docker run IMAGE prefetchctl …` works.

Each flag is also a field of the configuration file (camelCase) and an environment variable (PREFETCHD_ and the
flag in capitals). Flags win. deploy/docs/reference/configuration.md lists further fields of the file. See also: prefetchctl --help)";

// Gives CLI11 the flag of a setting. The value has the flag as its source.
CLI::Option* Bind(CLI::App& app, const config::Setting& setting, config::RawConfig& raw) {
  const std::string flag = config::FlagOf(setting), help = config::HelpOf(setting);
  auto set = [&raw, &setting, flag]<typename T>(const T& value) {
    raw.given[setting.name] = config::SourcedValue<T>{value, flag};
  };
  switch (setting.kind()) {
    case config::SettingKind::kText:
      return app.add_option_function<std::string>(flag, set, help)->take_last();
    case config::SettingKind::kSwitch:
      return app.add_flag_callback(
          flag, [set] { set(true); }, help);
    case config::SettingKind::kTexts:
      return app.add_option_function<std::vector<std::string>>(flag, set, help)
          ->type_size(1)
          // Allows the flag to be repeated, with one value each time.
          ->expected(1, 1000)
          ->allow_extra_args(false);
  }
  std::abort();
}

// The parsed command line, or the exit code if there is nothing more to do (--help, --version, bad usage).
struct Flags {
  config::RawConfig config;
  std::optional<int> exit;
};

Flags ParseFlags(int argc, char** argv) {
  CLI::App app(
      "prefetchd keeps a declared list of images on this node, and reports ready only if pods can start "
      "with them.");
  app.set_version_flag("--version", "prefetchd " PREFETCH_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(42);
  Flags flags;
  config::RawConfig& raw = flags.config;
  for (const config::SettingGroup& group : config::kSettingGroups) {
    for (const config::Setting& setting : group.settings) {
      CLI::Option* option = Bind(app, setting, raw);
      option->group(setting.place != config::SettingPlace::kFileFirst ? group.title : "");
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      flags.exit = app.exit(error);
    } else {
      std::cerr << "prefetchd: " << error.what() << " (see prefetchd --help)\n";
      flags.exit = kBadInput;
    }
  }
  return flags;
}

// Ends the waiting thread from within. No other process sends it.
constexpr int kStopWaiterSignal = SIGUSR1;

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  // SIGHUP stops the agent, too: no signal reloads anything.
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, kStopWaiterSignal}) sigaddset(&set, signal);
  return set;
}

void Wait(const std::stop_source& stop) {
  sigset_t set = Signals();
  while (true) {
    int signal = 0;
    if (::sigwait(&set, &signal) != 0 || signal == kStopWaiterSignal) return;
    if (signal == SIGCHLD) {
      base::ReapOrphans();
      continue;
    }
    // A second signal: the user does not want to wait for the orderly end.
    if (stop.stop_requested()) ::_exit(128 + signal);
    base::LimitEnd(128 + signal);
    stop.request_stop();
    base::Info("stopping", {{"signal", ::strsignal(signal)}});
  }
}

// SIGTERM and SIGINT become a stop; a second one ends the process at once. SIGCHLD makes it reap orphans.
// Constructed by main before any other thread exists, so that all of them inherit the blocked signals.
class StopOnSignals {
 public:
  StopOnSignals() {
    // If a plugin leaves a process in another session, that process becomes a child of this one, which can
    // then end it.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t set = Signals();
    // A client that closes its connection must not end the agent. The write fails with EPIPE.
    sigaddset(&set, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    waiter_ = std::thread(Wait, stop_);
    base::LeaveEndToOtherThreads();
  }
  ~StopOnSignals() {
    ::pthread_kill(waiter_.native_handle(), kStopWaiterSignal);
    waiter_.join();
  }
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::thread waiter_;
};

// Time for all pins of a node.
constexpr std::chrono::minutes kUnpinTime{1};

ExitCode Fail(ExitCode code, const base::Error& error) {
  // The message is one sentence, or all mistakes of an input, a line each.
  std::cerr << "prefetchd: " << base::ReplaceAll(error.message(), "\n", "\n           ") << "\n";
  return code;
}

// A result that could not be printed is no success.
int CheckOutputDelivered(int code) {
  base::Status printed = base::StdoutDelivered();
  if (printed) return code;
  int failed = Fail(kNegative, printed.error());
  return code == kOk ? failed : code;
}

// The work has ended: destructors are left, which wait for threads. A thread that hangs in reading a file (an
// unresponsive mount) is not waited for at all. Nothing is left that could be lost.
int End(int code) {
  if (base::TimedReader::Running() > 0) std::_Exit(CheckOutputDelivered(code));
  const bool delivered = base::StdoutDelivered().ok();
  base::LimitEnd(code == kOk && !delivered ? int{kNegative} : code);
  return code;
}

ExitCode PrintResult(const plan::Snapshot& snapshot, bool stopped, bool timed_out) {
  // Texts of runtimes and registries may hold what steers a terminal.
  std::cout << base::WithoutControls(base::ToUtf8(screen::StatusTable(status::DocumentOf(snapshot), {})));
  if (snapshot.readiness.ready) return kOk;
  if (snapshot.readiness.reason == plan::Reason::kListInvalid ||
      snapshot.readiness.reason == plan::Reason::kListEmptyOfSources ||
      snapshot.readiness.reason == plan::Reason::kCredentialsInvalid) {
    return kBadInput;
  }
  // These reasons come before the timeout: they name what the user must repair.
  if (snapshot.readiness.reason == plan::Reason::kRuntimeDown) return kUnreachable;
  return timed_out && !stopped ? kTimedOut : kNegative;
}

// Only the operator knows that an agent ends for good: a stop for an upgrade looks the same, and pins must
// outlast that. The operator therefore asks for this before the agent is deleted.
ExitCode Unpin(const base::Call& call, const cri::Endpoint& endpoint, bool prints) {
  const auto content = cri::MakeContentService(endpoint);
  const agent::PinsChanged done = agent::UnpinAll(call.Within(kUnpinTime), *content);
  for (const std::string& name : done.unpinned) base::Info("image unpinned", {{"image", name}});
  // Agents pin nothing on other runtimes than containerd.
  if (!done.unsupported && !done.runtime_error.empty())
    return Fail(kUnreachable, base::Unavailable(done.runtime_error));
  for (const auto& [name, error] : done.errors) Fail(kNegative, base::Internal(name + ": " + error));
  if (!done.errors.empty()) return kNegative;
  const std::size_t count = done.unpinned.size();
  if (prints) std::cout << "unpinned " << base::Plural(count, "image", "images") << "\n";
  return kOk;
}

int Run(const config::AgentConfig& config) {
  auto endpoint =
      config.runtime_endpoint.empty() ? cri::DiscoverEndpoint() : cri::ParseEndpoint(config.runtime_endpoint);
  if (!endpoint) return Fail(config.runtime_endpoint.empty() ? kUnreachable : kBadInput, endpoint.error());

  StopOnSignals stop;  // It must be constructed before any thread, which inherits its signal mask.
  if (config.unpin) {
    // Nothing listens yet: a pod that is ready has taken the pins off, so a rollout tells that all have.
    const ExitCode unpinned = Unpin(base::Call{.stop = stop.token()}, *endpoint, config.once);
    if (config.once || unpinned != kOk) return unpinned;
  }
  base::SystemClock clock;
  NodeAgent node(config, *endpoint, clock);
  if (base::Status listens = node.Listen(); !listens) return Fail(kBadInput, listens.error());
  node.Watch();
  agent::Agent& agent = node.agent();
  base::TimePoint deadline = config.timeout ? clock.Now() + *config.timeout : base::TimePoint::max();
  agent.Run(stop.token(), deadline);
  // A restart of the container mounts the new directory; a mount cannot follow a replaced one.
  if (agent.MustRestart() && !config.once) {
    base::Err("kubelet's records were replaced, prefetchd ends");
    return End(kNegative);
  }
  if (!config.once) {
    base::Info("prefetchd stopped");
    return End(kOk);
  }
  return End(PrintResult(*agent.board().Latest(), stop.token().stop_requested(), clock.Now() >= deadline));
}

// Supports `docker run IMAGE prefetchctl …`, since this program is the image's entry point. Returns only on
// failure.
int BecomePrefetchctl(char** argv) {
  ::execvp(*argv, argv);
  return Fail(kBadInput, base::InvalidArgument(std::string(*argv) + " cannot be started: " +
                                               std::strerror(errno) + "; install it on the PATH"));
}

int Main(int argc, char** argv) {
  base::TextOutput out(std::cout, base::NeedsAscii(STDOUT_FILENO));
  base::TextOutput err(std::cerr, base::NeedsAscii(STDERR_FILENO));
  if (argc > 1 && std::string_view(argv[1]) == "prefetchctl") return BecomePrefetchctl(argv + 1);
  base::LimitHeap();
  // Memory may hold passwords after this line. They must not get into a core dump, and other processes of the
  // same user must not read them.
  ::prctl(PR_SET_DUMPABLE, 0);
  Flags flags = ParseFlags(argc, argv);
  if (flags.exit) return *flags.exit;
  auto config = config::LoadAgentConfig(flags.config, config::ProcessEnv);
  if (!config) return Fail(kBadInput, config.error());
  if (config->core_dumps) ::prctl(PR_SET_DUMPABLE, 1);
  base::SetLogLevel(config->log_level);
  if (config->log_format) base::SetLogFormat(*config->log_format);
  return Run(*config);
}

}  // namespace
}  // namespace prefetch

int main(int argc, char** argv) {
  prefetch::base::OccupyStandardFiles();
  try {
    return prefetch::CheckOutputDelivered(prefetch::Main(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "prefetchd: " << error.what() << "\n";
    return 1;
  }
}
