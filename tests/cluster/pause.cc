// The program of pods that run: it waits to be ended. Static, for an image that has nothing else. With an
// argument it ends at once, with that code. With "hold" and a number it waits with that number of MiB in use.
#include <csignal>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "hold") == 0) {
    const std::size_t bytes = std::strtoul(argv[2], nullptr, 10) << 20;
    auto* held = static_cast<volatile char*>(std::malloc(bytes));
    if (held == nullptr) return 1;
    for (std::size_t i = 0; i < bytes; i += 1024) held[i] = 1;
  } else if (argc > 1) {
    return std::atoi(argv[1]);
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}
