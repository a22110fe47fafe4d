#include "base/process_end.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace prefetch::base {
namespace {

constexpr unsigned kSeconds = 2;
std::atomic<int> code_at_end = 0;

}  // namespace

void LimitEnd(int code) {
  code_at_end = code;
  static std::atomic_flag limited;
  if (limited.test_and_set()) return;
  struct sigaction end {};
  end.sa_handler = [](int) { ::_exit(code_at_end); };
  ::sigaction(SIGALRM, &end, nullptr);
  ::alarm(kSeconds);
}

void LeaveEndToOtherThreads() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace prefetch::base
