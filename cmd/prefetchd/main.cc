// prefetchd: the node agent. Flags -> configuration -> the parts -> run -> exit code.
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "agent/pinning.h"
#include "base/ascii_output.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/standard_output.h"
#include "base/text.h"
#include "base/timed_reader.h"
#include "config/agent_config.h"
#include "cri/endpoint.h"
#include "cri/grpc_content_service.h"
#include "flags.h"
#include "node_agent.h"
#include "screen/status_table.h"
#include "signals.h"
#include "status/documents.h"

namespace prefetch {
namespace {

// Time for all pins of a node.
constexpr std::chrono::minutes kUnpinTime{1};

// Exit codes are an interface for scripts.
enum ExitCode { kOk = 0, kNotReady = 1, kBadInput = 2, kTimedOut = 3, kUnreachable = 4 };

ExitCode Fail(ExitCode code, const base::Error& error) {
  // The message is one sentence, or all mistakes of an input, a line each.
  std::cerr << "prefetchd: " << base::ReplaceAll(error.message(), "\n", "\n           ") << "\n";
  return code;
}

// A result that could not be printed is no success.
int Delivered(int code) {
  base::Status printed = base::StdoutDelivered();
  if (printed) return code;
  int failed = Fail(kNotReady, printed.error());
  return code == kOk ? failed : code;
}

// Ends the process without its destructors if a thread hangs in reading a file (an unresponsive mount): it
// could never be joined. Nothing is left that could be lost.
int EndedAtOnce(int code) {
  if (base::TimedReader::Running() > 0) std::_Exit(Delivered(code));
  return code;
}

ExitCode PrintResult(const plan::Snapshot& snapshot, bool stopped, bool timed_out) {
  // Texts of runtimes and registries may hold what steers a terminal.
  std::cout << screen::StatusTable(status::WithoutControls(status::DocumentOf(snapshot)), {});
  if (snapshot.readiness.ready) return kOk;
  if (snapshot.readiness.reason == plan::Reason::kListInvalid ||
      snapshot.readiness.reason == plan::Reason::kListEmptyOfSources ||
      snapshot.readiness.reason == plan::Reason::kCredentialsInvalid) {
    return kBadInput;
  }
  // These reasons come before the timeout: they name what the user must repair.
  if (snapshot.readiness.reason == plan::Reason::kRuntimeDown) return kUnreachable;
  return timed_out && !stopped ? kTimedOut : kNotReady;
}

// Only the operator knows that an agent ends for good: a stop for an upgrade looks the same, and pins must
// outlast that. The operator therefore asks for this before the agent is deleted.
ExitCode Unpin(const base::Call& call, const cri::Endpoint& endpoint, bool prints) {
  cri::GrpcContentService content(endpoint);
  const agent::PinsChanged done = agent::UnpinAll(call.Within(kUnpinTime), content);
  for (const std::string& name : done.unpinned) base::Info("image unpinned", {{"image", name}});
  // Agents pin nothing on other runtimes than containerd.
  if (!done.unsupported && !done.runtime_error.empty())
    return Fail(kUnreachable, base::Unavailable(done.runtime_error));
  for (const auto& [name, error] : done.errors) Fail(kNotReady, base::Internal(name + ": " + error));
  if (!done.errors.empty()) return kNotReady;
  const std::size_t count = done.unpinned.size();
  if (prints) std::cout << "unpinned " << count << (count == 1 ? " image\n" : " images\n");
  return kOk;
}

int Run(const config::AgentConfig& config) {
  auto endpoint =
      config.runtime_endpoint.empty() ? cri::DiscoverEndpoint() : cri::ParseEndpoint(config.runtime_endpoint);
  if (!endpoint) return Fail(config.runtime_endpoint.empty() ? kUnreachable : kBadInput, endpoint.error());

  StopOnSignals stop;  // It must exist before any thread does (signals.h).
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
    return EndedAtOnce(kNotReady);
  }
  if (!config.once) {
    base::Info("prefetchd stopped");
    return EndedAtOnce(kOk);
  }
  return EndedAtOnce(
      PrintResult(*agent.board().Latest(), stop.token().stop_requested(), clock.Now() >= deadline));
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
  auto config = config::LoadAgentConfig(flags.config, [](const char* name) { return std::getenv(name); });
  if (!config) return Fail(kBadInput, config.error());
  if (config->core_dumps) ::prctl(PR_SET_DUMPABLE, 1);
  base::SetLogLevel(config->log_level);
  if (config->log_format) base::SetLogFormat(*config->log_format);
  return Run(*config);
}

}  // namespace
}  // namespace prefetch

int main(int argc, char** argv) {
  try {
    return prefetch::Delivered(prefetch::Main(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "prefetchd: " << error.what() << "\n";
    return 1;
  }
}
