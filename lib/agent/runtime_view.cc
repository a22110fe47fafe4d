#include "agent/runtime_view.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "base/token_bucket.h"
#include "plan/readiness.h"

namespace prefetch::agent {

namespace {

using std::chrono::milliseconds;

// Time limit for one whole poll.
constexpr std::chrono::seconds kPollTimeout{30};
// Interval between polls of a runtime that is away: 100 ms at first, then doubling to 1 s. A restart is
// noticed at once, and a long outage costs little.
constexpr milliseconds kDownPollMin{100};
constexpr milliseconds kDownPollMax{1000};

}  // namespace

RuntimeView::RuntimeView(Loop& loop, credentials::Keyring& keyring, Observer observer, StaleMounts mounts,
                         pulling::RegistryAccessFor access, std::string endpoint)
    : loop_(loop),
      keyring_(keyring),
      observer_(std::move(observer)),
      mounts_(std::move(mounts)),
      access_(std::move(access)),
      next_poll_(loop.now()) {
  status_.endpoint = std::move(endpoint);
}

std::optional<base::Duration> RuntimeView::DownFor() const {
  if (!down_since_) return std::nullopt;
  return loop_.now() - *down_since_;
}

void RuntimeView::Failed(const cri::CallError& error, std::size_t pulls) {
  loop_.Check();
  // Logged once for each outage, and not for each poll.
  if (status_.up || status_.error.empty()) {
    base::Warn("runtime not reachable",
               {{"endpoint", status_.endpoint}, {"error", error.message}, {"pullsUnderWay", pulls}});
  }
  // A poll that runs may have been answered before.
  poll_is_outdated_ = poll_running_;
  if (!down_since_) down_since_ = loop_.now();
  loop_.ChangedIf(status_.up || status_.error != error.message);
  status_.up = false;
  status_.error = error.message;
  // Another runtime may come back, with other images under the same names.
  in_full_ = true;
}

void RuntimeView::StartPollIfDue(base::Workers& workers, std::shared_ptr<const plan::ImageList> list,
                                 std::uint64_t list_epoch, std::function<bool(RuntimePolled)> apply) {
  loop_.Check();
  // Before the first list there is nothing to look for. The Observer is stateful, so one poll runs at a time.
  if (poll_running_ || list_epoch == 0) return;
  if (loop_.now() < std::min(next_poll_, plan::NextPoll(trigger_))) return;
  poll_running_ = true;
  trigger_ = plan::AfterPollBegan(trigger_, loop_.now());
  sequence_++;
  loop_.Submit(
      workers, "RuntimePolled",
      [this, call = loop_.JobCall(), list = std::move(list), list_epoch, sequence = sequence_,
       full = in_full_, now = loop_.now(), wall = loop_.Wall()] {
        return RuntimePolled{list_epoch, sequence,
                             observer_.Poll(call.Within(kPollTimeout), *list, full, wall), keyring_.Health(),
                             mounts_.Poll(now)};
      },
      std::move(apply));
}

// Facts that do not depend on the list are applied from every poll. Facts about entries count only if the
// poll was for the list in force.
RuntimeView::News RuntimeView::Handle(RuntimePolled& event, std::uint64_t list_epoch, std::size_t pulls) {
  loop_.Check();
  poll_running_ = false;
  trigger_ = plan::AfterPollEnded(trigger_, loop_.now());
  const bool outdated = std::exchange(poll_is_outdated_, false);
  RuntimePoll& poll = event.poll;
  News news{.reconnected = poll.connected.has_value(), .answered = !poll.error && !outdated};
  ApplyMounts(std::move(event.stale_mounts));
  // Applied even if the poll failed later, or was for another list: the observer compares the next poll with
  // this one and would not report it again.
  if (poll.unlisted) ApplyUnlisted(std::move(poll.unlisted));
  bool another =
      poll.connected && (status_.name != poll.connected->name || status_.version != poll.connected->version);
  if (poll.connected) {
    status_.name = poll.connected->name;
    status_.version = poll.connected->version;
    status_.registries = poll.connected->registries;
    // Rule C28.
    queues_ = status_.name == "containerd" && base::IsAtLeast(status_.version, {2, 1});
    loop_.Changed();
  }
  ApplyAccess();
  if (poll.error) {
    Failed(*poll.error, pulls);
    next_poll_ = loop_.now() + base::ExponentialBackoff(kDownPollMin, failed_polls_, kDownPollMax);
    failed_polls_++;
    return news;
  }
  if (outdated) {
    poll_again_ = false;
    next_poll_ = loop_.now();
    return news;
  }
  failed_polls_ = 0;
  // PollNow was called while this poll ran.
  next_poll_ = std::exchange(poll_again_, false) ? loop_.now() : loop_.now() + kPollInterval;
  if (!status_.up || another) {
    base::Info("runtime reached",
               {{"endpoint", status_.endpoint}, {"runtime", status_.name}, {"version", status_.version}});
    loop_.Changed();
  }
  status_.up = true;
  status_.error.clear();
  ever_up_ = true;
  down_since_.reset();
  if (event.list_epoch != list_epoch) {
    // The list has changed meanwhile: the images of this poll are indexed by the old one.
    next_poll_ = loop_.now();
    return news;
  }
  news.reports_entries = !poll.unchanged;
  // Only a full answer for the list in force satisfies a request for a full poll.
  if (news.reports_entries) in_full_ = false;
  return news;
}

void RuntimeView::ApplyUnlisted(std::shared_ptr<const plan::Unlisted> unlisted) {
  std::size_t before = unlisted_ ? unlisted_->images.size() : 0;
  unlisted_ = std::move(unlisted);
  loop_.Changed();
  // Images that went are no news for the log.
  if (unlisted_->images.size() <= before) return;
  base::Info("images came that are on no list",
             {{"count", unlisted_->images.size() - before}, {"newest", unlisted_->images.back().image}});
}

void RuntimeView::ApplyMounts(std::vector<std::string> stale) {
  if (stale_mounts_ == stale) return;
  stale_mounts_ = std::move(stale);
  for (const std::string& problem : stale_mounts_) base::Warn("mounts", {{"problem", problem}});
  loop_.Changed();
}

// The agent asks anew after each poll: the runtime may have reported another version, and folders of
// configuration may have appeared.
void RuntimeView::ApplyAccess() {
  if (!access_ || status_.name.empty()) return;
  image::RegistryAccess access = access_(info());
  if (status_.access == access) return;
  status_.access = std::move(access);
  access_logged_ = false;
  loop_.Changed();
}

void RuntimeView::ReportAccess() {
  if (!status_.access || std::exchange(access_logged_, true)) return;
  const image::RegistryAccess& access = *status_.access;
  base::Info("registries are asked", {{"configPath", access.config_path},
                                      {"configPathSource", access.config_path_source},
                                      {"byPull", base::Join(access.by_pull, ",")},
                                      {"byPullSource", access.by_pull_source},
                                      {"notes", base::Join(access.notes, "; ")}});
}

void RuntimeView::CheckGrace() {
  loop_.Check();
  std::optional<base::Duration> down_for = DownFor();
  // Readiness changes when the grace ends, though no event comes then.
  bool over = down_for && *down_for >= plan::kRuntimeGrace;
  loop_.ChangedIf(over != std::exchange(grace_over_, over));
}

base::TimePoint RuntimeView::NextTurn(bool has_list) const {
  loop_.Check();
  base::TimePoint next = base::TimePoint::max();
  if (!poll_running_ && has_list) next = std::min(next_poll_, plan::NextPoll(trigger_));
  // Needed until CheckGrace has seen the end of the grace.
  if (down_since_ && !grace_over_) {
    next = std::min<base::TimePoint>(next, *down_since_ + plan::kRuntimeGrace);
  }
  return next;
}

namespace {

constexpr std::chrono::seconds kMountsInterval{30};
constexpr std::chrono::seconds kMountinfoTimeout{1};

}  // namespace

const std::vector<std::string>& StaleMounts::Poll(base::TimePoint now) {
  const base::SequenceChecker::Use use(sequence_checker_);
  if (mountinfo_.empty() || now < next_) return problems_;
  next_ = now + kMountsInterval;
  auto files = std::make_shared<std::vector<std::string>>();
  // The result is shared with the job, which may go on after the wait has ended.
  if (!files_->Run([files, mountinfo = mountinfo_] { *files = base::ReplacedFiles(mountinfo); },
                   kMountinfoTimeout)) {
    return problems_;
  }
  problems_.clear();
  for (const std::string& file : *files) problems_.push_back(plan::StaleMountMessage(file));
  return problems_;
}

}  // namespace prefetch::agent
