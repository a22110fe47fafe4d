// The program of pods that run: it waits to be ended. Static, for an image that has nothing else. With an
// argument it ends at once, with that code.
#include <csignal>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc > 1) return std::atoi(argv[1]);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}
