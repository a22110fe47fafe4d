#include "agent/runtime_view.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/find_with_default.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/process_stat.h"
#include "base/text.h"
#include "base/token_bucket.h"
#include "plan/readiness.h"
#include "pulling/image_facts.h"

namespace prefetch::agent {

namespace {

constexpr std::chrono::seconds kDiskProbeTimeout{1};

std::uint64_t HashOf(const image::LocalImage& image) {
  std::hash<std::string> of_text;
  std::uint64_t hash = base::Mixed(of_text(image.id), image.size_bytes * 2 + (image.pinned ? 1 : 0));
  for (const std::vector<std::string>* names : {&image.repo_tags, &image.repo_digests}) {
    hash = base::Mixed(hash, names->size());
    for (const std::string& name : *names) hash = base::Mixed(hash, of_text(name));
  }
  return hash;
}

// Returns a hash that tells two answers of the runtime apart. containerd lists its images in another order
// each time, so the order does not count. 64 bits are enough: the names and ids of a thousand images, kept
// only to be compared, were a third of a megabyte.
std::uint64_t HashOf(const std::vector<image::LocalImage>& images) {
  std::uint64_t sum = images.size();
  // A sum does not depend on the order.
  for (const image::LocalImage& image : images) sum += HashOf(image);
  return sum;
}

bool RootIsAnOverlay() {
  struct statfs root {};
  return ::statfs("/", &root) == 0 && root.f_type == OVERLAYFS_SUPER_MAGIC;
}

}  // namespace

// Measures the filesystem at the mount point. If the path is not visible in the agent's container and its
// root is an overlay, the root is measured instead: the overlay is on the filesystem of the images.
plan::DiskSpace ProbeDisk(const std::string& mountpoint) {
  if (mountpoint.empty()) return {};
  struct statvfs info {};
  if (::statvfs(mountpoint.c_str(), &info) != 0) {
    // Any other error means that the mount exists and cannot be measured. A root that is no overlay is
    // another filesystem than the images'.
    if (errno != ENOENT || !RootIsAnOverlay() || ::statvfs("/", &info) != 0) return {};
  }
  if (info.f_blocks == 0) return {};
  return {.known = true,
          .capacity_bytes = static_cast<std::uint64_t>(info.f_blocks) * info.f_frsize,
          .available_bytes = static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize};
}

// A dead mount must not block the callers. They get the newest figure that is known for this mount point.
DiskProbe WithDeadline(DiskProbe probe) {
  // The state is shared with the job, which may end long after its callers have stopped waiting.
  struct Newest {
    base::Mutex mutex;
    std::string mountpoint PREFETCH_GUARDED_BY(mutex);
    plan::DiskSpace space PREFETCH_GUARDED_BY(mutex);
  };
  return [probe = std::move(probe), newest = std::make_shared<Newest>(),
          files = std::make_shared<base::TimedReader>()](const std::string& mountpoint) {
    {
      base::Lock lock(newest->mutex);
      // A figure of another filesystem is worse than none.
      if (mountpoint != std::exchange(newest->mountpoint, mountpoint)) newest->space = {};
    }
    auto measure = [probe, mountpoint, newest] {
      const plan::DiskSpace space = probe(mountpoint);
      base::Lock lock(newest->mutex);
      // A reading that hung may end after the mount point has changed.
      if (mountpoint == newest->mountpoint) newest->space = space;
    };
    files->Run(measure, kDiskProbeTimeout);
    base::Lock lock(newest->mutex);
    return newest->space;
  };
}

// Called at the start and after each restart of the runtime. Forgets what was learnt about the previous
// process.
std::optional<cri::CallError> Observer::Connect(const base::Call& call, RuntimePoll& poll) {
  // Read before the call: a restart during the call must be noticed by the next comparison.
  generation_ = images_.Generation();
  auto info = images_.Connect(call);
  if (!info) return info.error();
  poll.connected = *info;
  names_are_pulled_ = info->name == "cri-o";
  mountpoint_.clear();
  if (auto filesystems = images_.ImageFsInfo(call); filesystems && !filesystems->empty()) {
    mountpoint_ = filesystems->front().mountpoint;
  }
  // Facts of the previous process may be about content that its successor does not have.
  facts_.clear();
  last_.reset();
  connected_ = true;
  return std::nullopt;
}

// Learns what ListImages does not show. The runtime does not check the platform of a single-manifest image
// (C19), so each new id is asked for once. An id names its configuration, so the answer holds as long as the
// image is there. An image that loses its last tag is asked for again: it may have lost its last name, though
// it is still listed (C34).
std::optional<cri::CallError> Observer::Learn(const base::Call& call, const plan::ImageList& list,
                                              const image::LocalImageIndex& index) {
  std::map<std::string, ImageFacts> now;
  std::vector<std::string> new_ids;
  std::vector<std::string> names;
  for (const plan::DesiredImage& desired : list.images) {
    // An image that was imported has a tag and no repo digest. It counts only if it starts (FindHere).
    const image::LocalImage* found = index.Find(desired.reference);
    if (found == nullptr) found = index.FindTagged(desired.reference);
    if (found == nullptr || now.contains(found->id)) continue;
    auto known = facts_.find(found->id);
    const bool untagged = found->repo_tags.empty();
    // An image that starts keeps starting while it is here, so old answers are kept over thousands of polls.
    const bool holds = known != facts_.end() && !known->second.gone && (known->second.untagged || !untagged);
    ImageFacts& facts = now.emplace(found->id, holds ? known->second : ImageFacts{}).first->second;
    facts.untagged = untagged;
    if (holds) continue;
    new_ids.push_back(found->id);
    names.push_back(desired.reference.Normalized());
  }
  if (!names.empty()) {
    // In one batch: a node that starts with a thousand images has a thousand to ask for.
    auto answers = images_.ImageStatuses(call, names);
    if (!answers) return answers.error();
    for (std::size_t i = 0; i < new_ids.size(); i++) {
      ImageFacts& facts = now[new_ids[i]];
      std::optional<cri::ImageDetails>& details = (*answers)[i];
      facts.gone = !details;
      if (!details) continue;
      facts.foreign = pulling::IsForeign(node_, *details);
      facts.platform = std::move(details->platform);
      facts.chain_id = std::move(details->chain_id);
      facts.artifact = details->artifact;
    }
  }
  for (auto& [id, facts] : now) {
    if (!facts.gone && !facts.starts) {
      auto starts = pulling::IsStartable(call, content_, id, facts.chain_id, facts.foreign);
      if (!starts) return starts.error();
      facts.starts = *starts;
    }
    // Without this, the next equal answer would be skipped as unchanged. Completing the image may change
    // nothing in ListImages, and neither does a pull that gives it a name.
    if (!facts.starts) last_.reset();
  }
  facts_ = std::move(now);
  return std::nullopt;
}

// An image under the entry's digest or tag counts. An imported image, which has a tag alone, counts only if a
// container starts from it.
const image::LocalImage* Observer::FindHere(const image::LocalImageIndex& index,
                                            const image::Reference& reference) const {
  if (const image::LocalImage* pulled = index.Find(reference)) {
    return base::FindWithDefault(facts_, pulled->id).gone ? nullptr : pulled;
  }
  const image::LocalImage* tagged = index.FindTagged(reference);
  return tagged != nullptr && base::FindWithDefault(facts_, tagged->id).starts ? tagged : nullptr;
}

// Returns the unlisted images, or null if none has come or gone. The comparison costs a hash for each name.
std::shared_ptr<const plan::Unlisted> Observer::Audit(const std::vector<image::LocalImage>& images,
                                                      const plan::ImageList& list, base::WallTime wall) {
  std::optional<plan::Unlisted> before = arrivals_.unlisted;
  arrivals_ = plan::AfterPoll(std::move(arrivals_), images, list, audit_ignore_, wall);
  if (before == arrivals_.unlisted) return nullptr;
  return std::make_shared<const plan::Unlisted>(*arrivals_.unlisted);
}

RuntimePoll Observer::Poll(const base::Call& call, const plan::ImageList& list, bool full,
                           base::WallTime wall) {
  RuntimePoll poll = PollConnected(call, list, full, wall);
  // Another version may come back, so the next poll connects again.
  if (poll.error && poll.error->error_class == image::ErrorClass::kRuntimeDown) connected_ = false;
  return poll;
}

// Connects if needed, lists the images, compares them with the last answer, and only then asks for details.
// An unchanged answer costs one call.
RuntimePoll Observer::PollConnected(const base::Call& call, const plan::ImageList& list, bool full,
                                    base::WallTime wall) {
  RuntimePoll poll;
  if (!connected_) {
    poll.error = Connect(call, poll);
    if (poll.error) return poll;
    full = true;
  }
  auto images = images_.ListImages(call);
  if (!images) {
    poll.error = images.error();
    return poll;
  }
  // The answer may come from another process: the runtime was restarted since the previous poll, or the call
  // was repeated over a new connection.
  if (images_.Generation() != generation_) {
    poll.error = Connect(call, poll);
    if (poll.error) return poll;
    full = true;
  }
  poll.disk_path = mountpoint_;
  poll.disk = disk_(mountpoint_);
  std::uint64_t hash = HashOf(*images);
  // The usual case, every few seconds: one call, one hash, and no turn of the loop.
  if (!full && hash == last_) {
    poll.unchanged = true;
    return poll;
  }
  // Before the index takes the images.
  poll.unlisted = Audit(*images, list, wall);
  last_ = hash;
  image::LocalImageIndex index(*std::move(images));
  poll.error = Learn(call, list, index);
  if (poll.error) {
    // The answer was not applied, so an equal one must not count as unchanged.
    last_.reset();
    return poll;
  }
  poll.locals.reserve(list.images.size());
  for (const plan::DesiredImage& desired : list.images) {
    const image::LocalImage* found = FindHere(index, desired.reference);
    if (found == nullptr) {
      poll.locals.emplace_back();
      continue;
    }
    plan::Local local = pulling::ToLocal(*found, desired.reference, index.NamesOf(found->id));
    local.found_by_tag = names_are_pulled_ && desired.reference.has_digest() &&
                         image::HasTagIn(*found, desired.reference.Repository());
    if (auto known = facts_.find(found->id); known != facts_.end()) {
      pulling::AddDetails(node_, known->second.platform, known->second.artifact, local);
      local.unpacked = known->second.starts;
    }
    poll.locals.emplace_back(std::move(local));
  }
  return poll;
}

namespace {

constexpr std::chrono::milliseconds kEventReportInterval{250};

}  // namespace

ImageWatch::ImageWatch(cri::ContentService& content, std::function<void()> changed)
    : content_(content),
      changed_(std::move(changed)),
      thread_([this](const base::Call& call) { return Turn(call); }) {}

base::TimePoint ImageWatch::Turn(const base::Call& call) {
  using Clock = std::chrono::steady_clock;
  const base::TimePoint started = Clock::now();
  cri::CallError ended = content_.WatchImages(call, [this] {
    const base::TimePoint now = Clock::now();
    if (now - reported_at_ < kEventReportInterval) return;
    reported_at_ = now;
    changed_();
  });
  const base::TimePoint now = Clock::now();
  base::Duration wait = plan::ReconnectDelay(now - started, failures_,
                                             ended.error_class == image::ErrorClass::kRuntimeUnsupported);
  failures_ = plan::WasStable(now - started) ? 0 : failures_ + 1;
  if (!call.Stopped()) {
    base::Debug("runtime sends no image events", {{"error", ended.message}, {"retryIn", wait}});
  }
  return now + wait;
}

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
