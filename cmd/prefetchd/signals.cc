#include "signals.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "base/log.h"
#include "base/orphans.h"

namespace prefetch {
namespace {

// Ends the waiting thread from within. No other process sends it.
constexpr int kEndOfWaiting = SIGUSR1;

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  // SIGHUP stops the agent, too: no signal reloads anything.
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, kEndOfWaiting}) sigaddset(&set, signal);
  return set;
}

void Wait(const std::stop_source& stop) {
  sigset_t set = Signals();
  while (true) {
    int signal = 0;
    if (::sigwait(&set, &signal) != 0 || signal == kEndOfWaiting) return;
    if (signal == SIGCHLD) {
      base::ReapOrphans();
      continue;
    }
    // A second signal: the user does not want to wait for the orderly end.
    if (stop.stop_requested()) ::_exit(128 + signal);
    base::Info("stopping", {{"signal", ::strsignal(signal)}});
    stop.request_stop();
  }
}

}  // namespace

StopOnSignals::StopOnSignals() {
  // If a plugin leaves a process in another session, that process becomes a child of this one, which can then
  // end it.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set = Signals();
  // A client that closes its connection must not end the agent. The write fails with EPIPE.
  sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::thread(Wait, stop_);
}

StopOnSignals::~StopOnSignals() {
  ::pthread_kill(waiter_.native_handle(), kEndOfWaiting);
  waiter_.join();
}

}  // namespace prefetch
