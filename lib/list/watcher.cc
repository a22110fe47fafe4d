#include "list/watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "list/path_watch.h"
#include "list/source.h"

namespace prefetch::list {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool Readable(int fd) {
  pollfd poll_fd{.fd = fd, .events = POLLIN, .revents = 0};
  return fd >= 0 && ::poll(&poll_fd, 1, 0) > 0;
}

// Logs only what differs from the last time, since the watcher reads everything again at each change.
void LogNew(const plan::ImageList& list, std::vector<plan::ListSource>& before) {
  for (const plan::ListSource& source : list.sources) {
    auto same_name = [&](const plan::ListSource& other) { return other.name == source.name; };
    auto known = std::find_if(before.begin(), before.end(), same_name);
    if (known != before.end() && *known == source) continue;
    if (!source.error.empty()) {
      base::Err(
          "list source is not valid",
          {{"source", source.name}, {"inForce", source.loaded_at.has_value()}, {"error", source.error}});
    } else {
      base::Info("list source loaded",
                 {{"source", source.name}, {"entries", source.entries}, {"hash", source.hash}});
    }
  }
  for (const plan::ListSource& source : before) {
    auto same_name = [&](const plan::ListSource& other) { return other.name == source.name; };
    if (std::none_of(list.sources.begin(), list.sources.end(), same_name)) {
      base::Info("list source is gone", {{"source", source.name}});
    }
  }
  before = list.sources;
}

}  // namespace

ListWatcher::ListWatcher(std::vector<std::string> paths, const Capabilities& capabilities,
                         const base::Clock& clock, const WatchTiming& timing)
    : paths_(std::move(paths)),
      capabilities_(capabilities),
      clock_(clock),
      timing_(timing),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ListWatcher::~ListWatcher() {
  std::uint64_t one = 1;
  // This cannot fail: the counter of an eventfd has room for it.
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  if (thread_.joinable()) thread_.join();
}

void ListWatcher::Start(Callback callback) {
  thread_ = std::thread([this, callback = std::move(callback)] { Run(callback); });
}

// Returns true if there is something to read on `inotify_fd`; false after `limit`, or when the watcher stops.
bool ListWatcher::WaitForChange(int inotify_fd, milliseconds limit) const {
  pollfd fds[] = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                  {.fd = inotify_fd, .events = POLLIN, .revents = 0}};
  // poll ignores a negative descriptor (no inotify), so this is then a plain wait.
  int ready = ::poll(fds, 2, static_cast<int>(limit.count()));
  return ready > 0 && fds[0].revents == 0 && fds[1].revents != 0;
}

void ListWatcher::Run(const Callback& callback) {
  ListSources sources(paths_, capabilities_, std::chrono::seconds(3), timing_.empty);
  PathWatch watch(sources.paths());
  std::vector<plan::ListSource> logged;
  bool first = true;
  // Files that come one after the other and are blank do not delay the first list forever.
  const base::TimePoint hold_until = clock_.Now() + 2 * timing_.empty;
  while (!Readable(stop_.get())) {
    std::string complaint;
    watch.Arm(&complaint);
    if (!complaint.empty()) {
      base::Warn("list cannot be watched; the agent polls it",
                 {{"error", complaint}, {"every", timing_.poll}});
    }
    // Events that came before this point are covered by the reading that follows.
    watch.Drain();
    const base::TimePoint now = clock_.Now();
    const bool changed_sources = sources.Refresh(clock_.Wall(), watch.BeingWritten(timing_.unclosed), now);
    // The first list waits for a file that is blank: without its entries, the node would be ready.
    const bool holds = first && now < hold_until && sources.HasNewBlank();
    if (!holds && (std::exchange(first, false) || changed_sources)) {
      plan::ImageList list = sources.List();
      LogNew(list, logged);
      callback(std::move(list));
    }
    // A directory that appeared during the reading is watched only from now on, so it must be read again.
    if (watch.Arm(nullptr)) continue;

    base::Duration until_next = timing_.poll;
    if (auto blank_at = sources.BlankAt()) {
      until_next = std::clamp<base::Duration>(*blank_at - now, milliseconds(0), until_next);
    }
    auto next_poll = steady_clock::now() + until_next;
    bool changed = false;
    while (!changed && steady_clock::now() < next_poll && !Readable(stop_.get())) {
      auto rest = duration_cast<milliseconds>(next_poll - steady_clock::now()) + milliseconds(1);
      if (WaitForChange(watch.fd(), rest)) changed = watch.Drain();
    }
    // A change usually consists of several events; reading after the first would find half of it. The
    // deadline keeps a busy directory from delaying the reading forever.
    auto latest = steady_clock::now() + timing_.debounce;
    while (changed && steady_clock::now() < latest && WaitForChange(watch.fd(), timing_.quiet)) watch.Drain();
  }
}

}  // namespace prefetch::list
