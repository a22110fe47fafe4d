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

// Ends the waiter from within; no other process sends it.
constexpr int kEndOfWaiting = SIGUSR1;

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
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
    if (stop.stop_requested()) ::_exit(128 + signal);
    base::Info("stopping", {{"signal", ::strsignal(signal)}});
    stop.request_stop();
  }
}

}  // namespace

StopOnSignals::StopOnSignals() {
  // A process that a plugin leaves in a session of its own becomes a child of this process, and can be ended
  // with the plugin.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t set = Signals();
  sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  waiter_ = std::thread(Wait, stop_);
}

StopOnSignals::~StopOnSignals() {
  ::pthread_kill(waiter_.native_handle(), kEndOfWaiting);
  waiter_.join();
}

}  // namespace prefetch
