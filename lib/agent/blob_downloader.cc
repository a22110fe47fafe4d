#include "agent/blob_downloader.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "plan/fetch_choice.h"

namespace prefetch::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLookLimit{5};
// Interval at which blobs that others write are tried again.
constexpr std::chrono::seconds kRetryEvery{1};
// A connection that breaks is no trouble yet, nor are many if enough comes in between.
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kBetweenTries{200};
constexpr std::uint64_t kEnough = 64 * 1024;
// Bytes that come between two pauses, while another's pull moves.
constexpr std::uint64_t kTurn = 512 * 1024;
// Size, and age, at which bytes are written.
constexpr std::size_t kAppend = 128 * 1024;
constexpr std::chrono::seconds kAppendAfter{1};
// Time that a failed fetch waits for its streams to let go of their blobs.
constexpr std::chrono::seconds kLongestClose{2};

bool Lists(const DownloadJob& job, const std::string& digest) {
  return std::any_of(job.blobs.begin(), job.blobs.end(),
                     [&](const cri::BlobToWrite& blob) { return blob.digest == digest; });
}

}  // namespace

BlobDownloader::BlobDownloader(cri::ContentService& content, std::function<void(std::uint64_t)> fetched)
    : content_(content), fetched_(std::move(fetched)) {}

BlobDownloader::~BlobDownloader() {
  std::vector<std::thread> threads;
  {
    base::Lock lock(mutex_);
    ending_ = true;
    for (auto& [digest, moving] : moving_) moving->stop.request_stop();
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

// A container's limit of threads may be reached: then those that there are do the work.
void BlobDownloader::StartThreads() {
  if (running_ == 0) {
    // Those of earlier work have ended, but for their last instructions.
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  try {
    while (running_ < plan::kFetchStreams) {
      threads_.emplace_back([this] { Stream(); });
      running_++;
    }
  } catch (const std::system_error&) {
    return;
  }
}

base::Status BlobDownloader::FetchInto(const base::Call& call, DownloadJob given) {
  auto job = std::make_shared<const DownloadJob>(std::move(given));
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    changed_.notify_all();
  });
  ImageId image = 0;
  {
    base::Lock lock(mutex_);
    image = next_image_++;
    jobs_[image] = job;
    std::vector<plan::BlobToFetch> blobs;
    for (const cri::BlobToWrite& blob : job->blobs) blobs.push_back({blob.digest, blob.size_bytes});
    order_.Add(image, job->question.reference.domain(), std::move(blobs));
    StartThreads();
    changed_.notify_all();
  }
  base::Status result;
  while (true) {
    PollForeignPulls(call);
    base::Lock lock(mutex_);
    Rebalance();
    const auto progress = order_.Of(image);
    if (call.Stopped()) result = base::Cancelled("stopped");
    if (progress == plan::FetchOrder::Progress::kFailed) {
      auto failure = failures_.find(image);
      result =
          failure != failures_.end() ? failure->second : base::Unavailable("a blob could not be fetched");
    }
    if (ending_) result = base::Cancelled("stopped");
    if (running_ == 0) result = base::Internal("no thread can be made").OwnedBy(base::Owner::kStore);
    if (!result || progress == plan::FetchOrder::Progress::kComplete) {
      order_.Remove(image);
      jobs_.erase(image);
      failures_.erase(image);
      StopUnwanted();
      changed_.notify_all();
      break;
    }
    changed_.wait_until(mutex_, base::TimePoint(next_look_));  // a copy, since it is read without the lock
  }
  if (!result) AwaitClosed(*job);
  return result ? RetainShared(call, *job) : result;
}

// The pull that comes next would find a blob taken as long as a stream holds its writer.
void BlobDownloader::AwaitClosed(const DownloadJob& job) {
  const base::TimePoint latest = steady_clock::now() + kLongestClose;
  base::Lock lock(mutex_);
  for (const cri::BlobToWrite& blob : job.blobs) {
    while (moving_.contains(blob.digest) && !order_.Wants(blob.digest) && steady_clock::now() < latest)
      changed_.wait_until(mutex_, latest);
  }
}

// Blobs that another image has brought belong to its lease alone.
base::Status BlobDownloader::RetainShared(const base::Call& call, const DownloadJob& job) {
  for (const cri::BlobToWrite& blob : job.blobs) {
    auto opened = content_.OpenBlob(call, job.lease, blob);
    if (!opened) return FromStore(opened.error());
    if (opened->state != cri::BlobState::kWhole)
      return base::Unavailable(blob.digest + " has gone").OwnedBy(base::Owner::kStore);
  }
  return {};
}

void BlobDownloader::PollForeignPulls(const base::Call& call) {
  {
    base::Lock lock(mutex_);
    const base::TimePoint now = steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + plan::kForeignPullPollInterval;
  }
  auto ingests = content_.ForeignIngests(call.Within(kLookLimit));
  base::Lock lock(mutex_);
  const base::TimePoint now = steady_clock::now();
  const bool was_due = giving_way_.IsDue(now);
  if (ingests) giving_way_.Look(*std::move(ingests), now);
  if (now >= next_retry_) {
    next_retry_ = now + kRetryEvery;
    order_.Retry();
    changed_.notify_all();
  }
  if (was_due != giving_way_.IsDue(now)) changed_.notify_all();
}

void BlobDownloader::StopUnwanted() {
  for (auto& [digest, moving] : moving_) {
    if (!order_.Wants(digest)) moving->stop.request_stop();
  }
}

void BlobDownloader::Rebalance() {
  const base::TimePoint now = steady_clock::now();
  if (static_cast<int>(moving_.size()) < running_ || giving_way_.IsDue(now)) return;
  const auto yield = order_.ToYield(now);
  if (!yield) return;
  auto found = moving_.find(yield->digest);
  if (found == moving_.end()) return;
  found->second->gives_up = true;
  found->second->stop.request_stop();
  if (yield->stalled)
    Fail(yield->digest, base::DeadlineExceeded("it came too slowly, and other images waited"));
}

std::shared_ptr<BlobDownloader::Moving> BlobDownloader::NextBlob() {
  base::Lock lock(mutex_);
  while (!ending_ && !jobs_.empty()) {
    const base::TimePoint now = steady_clock::now();
    base::TimePoint next = giving_way_.NextRange(now);
    const bool alone = giving_way_.IsDue(now);
    if (next <= now && !(alone && !moving_.empty())) {
      next = order_.NextAt(now);
      if (auto step = order_.Next(now)) {
        // A stream that was stopped may still hold it.
        auto [it, is_free] = moving_.try_emplace(step->digest, std::make_shared<Moving>());
        if (!is_free) {
          order_.Postponed(step->digest);
          continue;
        }
        it->second->digest = step->digest;
        it->second->job = jobs_.at(step->image);
        it->second->paced = alone;
        it->second->turn_began = now;
        return it->second;
      }
    }
    if (next <= now) next = now + plan::kForeignPullPollInterval;  // another one moves
    if (next == base::TimePoint::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_until(mutex_, next);
    }
  }
  running_--;
  return nullptr;
}

void BlobDownloader::Stream() {
  while (auto moving = NextBlob()) Ended(moving, Move(*moving));
}

base::Result<BlobDownloader::End> BlobDownloader::Move(Moving& moving) {
  const auto& blobs = moving.job->blobs;
  const auto blob = std::find_if(blobs.begin(), blobs.end(),
                                 [&](const cri::BlobToWrite& one) { return one.digest == moving.digest; });
  auto opened = content_.OpenBlob({.stop = moving.stop.get_token()}, moving.job->lease, *blob);
  if (!opened) return FromStore(opened.error());
  if (opened->state == cri::BlobState::kWhole) return End::kDone;
  if (opened->state == cri::BlobState::kTaken) return End::kTaken;
  moving.writer = std::move(opened->writer);
  moving.at = moving.writer->offset();
  moving.written_at = steady_clock::now();
  {
    base::Lock lock(mutex_);
    order_.Rested(moving.digest, moving.written_at);
  }
  base::Status got = Get(moving, blob->size_bytes);
  // The bytes before a failure are good as far as anybody can tell.
  if (moving.broken || !Write(moving)) return *std::move(moving.broken);
  if (!got) return std::move(got).error();
  if (auto failed = moving.writer->Commit()) return FromStore(*failed);
  return End::kDone;
}

void BlobDownloader::Ended(const std::shared_ptr<Moving>& moving, base::Result<End> end) {
  moving->writer.reset();
  std::optional<base::Duration> patience;
  if (!end && end.error().code() == base::Code::kResourceExhausted) {
    patience = moving->job->source->AskedForPatience(moving->job->question).value_or(plan::kAfterRefusal);
  }
  base::Lock lock(mutex_);
  moving_.erase(moving->digest);
  if (moving->paced) giving_way_.RangeEnded(moving->turn_began, steady_clock::now());
  if (end && *end == End::kDone) {
    order_.Done(moving->digest);
  } else if (end) {
    order_.Postponed(moving->digest);
  } else if (moving->gives_up || !order_.Wants(moving->digest)) {
    order_.GaveUp(moving->digest);
  } else if (!patience || *patience > plan::kLongestPatience ||
             !order_.Refused(moving->digest, steady_clock::now() + *patience)) {
    Fail(moving->digest, end.error());
  }
  Rebalance();
  changed_.notify_all();
}

// False: it failed, and `broken` says why.
bool BlobDownloader::Write(Moving& moving) {
  if (moving.bytes.empty()) return true;
  if (auto failed = moving.writer->Append(std::exchange(moving.bytes, {}))) {
    moving.broken = FromStore(*failed);
    return false;
  }
  moving.written_at = steady_clock::now();
  return true;
}

// While another's pull moves, streams hold still, and then end: servers close connections on which nothing
// moves. The last one goes on with pauses. False: this one ends.
bool BlobDownloader::GiveWay(Moving& moving, std::size_t came) {
  base::Lock lock(mutex_);
  order_.Came(moving.digest, came, steady_clock::now());
  moving.turn_bytes += came;
  while (!moving.stop.stop_requested()) {
    const base::TimePoint now = steady_clock::now();
    base::TimePoint next;
    if (!giving_way_.IsDue(now)) {
      moving.paced = false;
      moving.hold_until = base::TimePoint::max();
      return true;
    }
    if (moving.paced) {
      if (moving.turn_bytes >= kTurn) {
        // A connection bears a pause of at most kMaxHold.
        giving_way_.RangeEnded(std::max(moving.turn_began, now - plan::kMaxHold / plan::kPauses), now);
        moving.turn_bytes = 0;
      }
      next = giving_way_.NextRange(now);
      if (moving.turn_bytes == 0) moving.turn_began = now;
      if (next <= now) return true;
    } else if (moving.hold_until == base::TimePoint::max()) {
      next = moving.hold_until = now + plan::kMaxHold;
    } else if (now < moving.hold_until) {
      next = moving.hold_until;
    } else {
      moving.gives_up = std::any_of(moving_.begin(), moving_.end(), [&](const auto& other) {
        return other.second.get() != &moving && !other.second->gives_up;
      });
      if (moving.gives_up) return false;
      moving.paced = true;
      moving.turn_bytes = 0;
      continue;
    }
    changed_.wait_until(mutex_, std::min(next, now + plan::kForeignPullPollInterval));
    order_.Rested(moving.digest, steady_clock::now());
  }
  return false;
}

bool BlobDownloader::Take(Moving& moving, std::string_view part) {
  fetched_(part.size());
  if (moving.bytes.empty()) moving.bytes.reserve(kAppend + part.size());
  moving.bytes.append(part);
  moving.at += part.size();
  if (!GiveWay(moving, part.size())) return false;
  const bool is_due =
      moving.bytes.size() >= kAppend || steady_clock::now() >= moving.written_at + kAppendAfter;
  return !is_due || Write(moving);
}

base::Status BlobDownloader::Get(Moving& moving, std::uint64_t size) {
  const base::Call call{.stop = moving.stop.get_token()};
  const auto take = [&](std::string_view part) { return Take(moving, part); };
  for (int tried = 1; moving.at < size; tried++) {
    const std::uint64_t before = moving.at;
    base::Status got =
        moving.job->source->Bytes(call, moving.job->question, {moving.digest, size, moving.at, size}, take);
    if (got || got.error().code() != base::Code::kUnavailable) return got;
    if (moving.at - before >= kEnough) tried = 0;
    if (tried == kTries) return got;
    if (!base::Pause(call, kBetweenTries * (tried + 1))) return base::Cancelled("stopped");
  }
  return {};
}

void BlobDownloader::Fail(const std::string& digest, const base::Error& error) {
  for (const auto& [image, job] : jobs_) {
    if (Lists(*job, digest)) failures_.try_emplace(image, error);
  }
  order_.Failed(digest);
}

}  // namespace prefetch::agent
