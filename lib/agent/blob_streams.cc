#include "agent/blob_streams.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace prefetch::agent {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLookLimit{5};
// Blobs that others write are tried again so often.
constexpr std::chrono::seconds kRetryEvery{1};
// A connection that breaks is no trouble yet, nor are many if enough comes in between.
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kBetweenTries{200};
constexpr std::uint64_t kEnough = 64 * 1024;
// Bytes whose turn it is are written when they are so many, or so old.
constexpr std::size_t kAppend = 128 * 1024;
constexpr std::chrono::seconds kAppendAfter{1};
// A failed fetch waits so long for its streams to let go of their blobs.
constexpr std::chrono::seconds kLongestClose{2};

base::Error FromStore(const cri::CallError& error) {
  return base::Internal("the content store: " + error.message);
}

}  // namespace

BlobStreams::BlobStreams(cri::ContentService& content, std::function<void(std::uint64_t)> fetched)
    : content_(content), fetched_(std::move(fetched)) {}

BlobStreams::~BlobStreams() {
  std::vector<std::thread> threads;
  {
    base::Lock lock(mutex_);
    ending_ = true;
    for (auto& [digest, open] : open_) open->stop.request_stop();
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

// A container's limit of threads may be reached: then those that there are do the work.
void BlobStreams::StartThreads() {
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

base::Status BlobStreams::Bring(const base::Call& call, StreamJob given) {
  auto job = std::make_shared<const StreamJob>(std::move(given));
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
    for (const cri::BlobToWrite& blob : job->blobs) {
      blobs.push_back({blob.digest, blob.size_bytes});
      failures_.erase(blob.digest);
    }
    order_.Add(image, std::move(blobs));
    StartThreads();
    changed_.notify_all();
  }
  base::Status result;
  std::vector<std::shared_ptr<Open>> unwanted;
  while (true) {
    LookForOthers(call);
    base::Lock lock(mutex_);
    const auto progress = order_.Of(image);
    if (call.Stopped()) result = base::Cancelled("stopped");
    if (progress == plan::FetchOrder::Progress::kFailed) {
      result = base::Unavailable("a blob could not be fetched");
      for (const cri::BlobToWrite& blob : job->blobs) {
        if (auto failure = failures_.find(blob.digest); failure != failures_.end()) result = failure->second;
      }
    }
    if (ending_) result = base::Cancelled("stopped");
    if (running_ == 0) result = base::ResourceExhausted("no thread can be made");
    if (!result || progress == plan::FetchOrder::Progress::kComplete) {
      order_.Remove(image);
      jobs_.erase(image);
      unwanted = StopUnwanted();
      changed_.notify_all();
      break;
    }
    changed_.wait_until(mutex_, base::TimePoint(next_look_));  // a copy, since it is read without the lock
  }
  unwanted.clear();
  if (!result) AwaitClosed(*job);
  return result ? KeepShared(call, *job) : result;
}

// The pull that comes next would find a blob taken as long as a stream holds its writer.
void BlobStreams::AwaitClosed(const StreamJob& job) {
  const base::TimePoint latest = steady_clock::now() + kLongestClose;
  base::Lock lock(mutex_);
  for (const cri::BlobToWrite& blob : job.blobs) {
    while (moving_.contains(blob.digest) && !order_.Wants(blob.digest) && steady_clock::now() < latest)
      changed_.wait_until(mutex_, latest);
  }
}

// Blobs that another image has brought belong to its lease alone.
base::Status BlobStreams::KeepShared(const base::Call& call, const StreamJob& job) {
  for (const cri::BlobToWrite& blob : job.blobs) {
    auto opened = content_.OpenBlob(call, job.lease, blob);
    if (!opened) return FromStore(opened.error());
    if (opened->state != cri::BlobState::kWhole) return base::Unavailable(blob.digest + " has gone");
  }
  return {};
}

void BlobStreams::LookForOthers(const base::Call& call) {
  {
    base::Lock lock(mutex_);
    const base::TimePoint now = steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + plan::kLookForOthers;
  }
  auto ingests = content_.OthersIngests(call.Within(kLookLimit));
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

std::vector<std::shared_ptr<BlobStreams::Open>> BlobStreams::StopUnwanted() {
  std::vector<std::shared_ptr<Open>> unwanted;
  for (auto it = open_.begin(); it != open_.end();) {
    if (order_.Wants(it->first)) {
      ++it;
      continue;
    }
    it->second->stop.request_stop();
    unwanted.push_back(std::move(it->second));
    it = open_.erase(it);
  }
  return unwanted;
}

std::optional<plan::FetchOrder::Step> BlobStreams::NextStep() {
  base::Lock lock(mutex_);
  while (!ending_ && !jobs_.empty()) {
    const base::TimePoint now = steady_clock::now();
    const base::TimePoint next = giving_way_.NextRange(now);
    if (next > now) {
      changed_.wait_until(mutex_, next);
      continue;
    }
    if (auto step = order_.Next(static_cast<int>(moving_.size()), giving_way_.IsDue(now))) {
      moving_.insert(step->digest);
      return step;
    }
    changed_.wait(mutex_);
  }
  running_--;
  return std::nullopt;
}

void BlobStreams::Stream() {
  while (auto step = NextStep()) {
    step->kind == Step::Kind::kOpen ? OpenBlob(*step) : MoveRange(*step);
    base::Lock lock(mutex_);
    moving_.erase(moving_.find(step->digest));
    changed_.notify_all();
  }
}

void BlobStreams::OpenBlob(const Step& step) {
  auto open = std::make_shared<Open>();
  open->digest = step.digest;
  open->size = step.size;
  {
    base::Lock lock(mutex_);
    auto job = jobs_.find(step.image);
    if (job == jobs_.end() || ending_) return order_.Postponed(step.digest);
    open->job = job->second;
    open_[step.digest] = open;
  }
  const auto& blobs = open->job->blobs;
  const auto blob = std::find_if(blobs.begin(), blobs.end(),
                                 [&](const cri::BlobToWrite& one) { return one.digest == step.digest; });
  auto opened = content_.OpenBlob({.stop = open->stop.get_token()}, open->job->lease, *blob);
  if (!opened) return Fail(step.digest, *open, FromStore(opened.error()));
  const bool all_there = opened->writer && opened->writer->offset() >= open->size;
  if (all_there) {
    if (auto failed = opened->writer->Commit()) return Fail(step.digest, *open, FromStore(*failed));
  }
  base::Lock lock(mutex_);
  if (auto now = open_.find(step.digest); now == open_.end() || now->second != open) return;
  if (opened->state == cri::BlobState::kTaken) {
    order_.Postponed(step.digest);
    open_.erase(step.digest);
  } else if (opened->state == cri::BlobState::kWhole || all_there) {
    order_.Done(step.digest);
    open_.erase(step.digest);
  } else {
    open->writer = std::move(opened->writer);
    open->written = open->writer->offset();
    order_.Opened(step.digest, open->written);
  }
}

bool BlobStreams::IsUnwanted(const Open& open) const {
  return open.failed || open.stop.stop_requested() || ending_;
}

// Is the first byte of these the next one of the blob? Then it stays so until this range was written.
bool BlobStreams::IsNext(const Open& open, const Arrival& arrival) {
  base::Lock lock(mutex_);
  return open.written == arrival.begin;
}

// False: these bytes are not needed, or the blob is not wanted any more.
bool BlobStreams::AwaitTurn(Open& open, const Arrival& arrival) {
  base::Lock lock(mutex_);
  const bool waits = open.written < arrival.begin && !IsUnwanted(open);
  if (waits) order_.Waits(open.digest);
  while (open.written < arrival.begin && !IsUnwanted(open)) changed_.wait(mutex_);
  if (waits) order_.WaitsNoLonger(open.digest);
  return open.written == arrival.begin && !IsUnwanted(open);
}

std::optional<base::Error> BlobStreams::Write(Open& open, Arrival& arrival) {
  for (std::size_t at = 0; at < arrival.bytes.size(); at += kAppend) {
    if (auto failed = open.writer->Append(arrival.bytes.substr(at, kAppend))) return FromStore(*failed);
  }
  arrival.begin += arrival.bytes.size();
  arrival.bytes.clear();
  arrival.written_at = steady_clock::now();
  base::Lock lock(mutex_);
  open.written = arrival.begin;
  return std::nullopt;
}

// False: the blob is not wanted any more.
bool BlobStreams::HoldForOthers(Open& open, Arrival& arrival) {
  base::Lock lock(mutex_);
  while (arrival.may_hold && !IsUnwanted(open)) {
    const base::TimePoint now = steady_clock::now();
    if (!giving_way_.IsDue(now)) break;
    if (arrival.hold_until == base::TimePoint::max()) arrival.hold_until = now + plan::kLongestHold;
    if (now >= arrival.hold_until) break;
    changed_.wait_until(mutex_, std::min(arrival.hold_until, now + plan::kLookForOthers));
  }
  return !IsUnwanted(open);
}

bool BlobStreams::Take(Open& open, Arrival& arrival, std::string_view part) {
  fetched_(part.size());
  if (arrival.bytes.capacity() < arrival.bytes.size() + part.size())
    arrival.bytes.reserve(arrival.bytes.empty() ? kAppend + part.size() : plan::kFetchRange);
  arrival.bytes.append(part);
  if (!HoldForOthers(open, arrival)) return false;
  const bool worth_it =
      arrival.bytes.size() >= kAppend || steady_clock::now() >= arrival.written_at + kAppendAfter;
  if (!worth_it || !IsNext(open, arrival)) return true;
  if (auto failed = Write(open, arrival)) {
    Fail(open.digest, open, *std::move(failed));
    return false;
  }
  return true;
}

base::Status BlobStreams::Get(Open& open, const Step& step, Arrival& arrival) {
  const base::Call call{.stop = open.stop.get_token()};
  const auto take = [&](std::string_view part) { return Take(open, arrival, part); };
  std::uint64_t at = step.begin;
  for (int tried = 1;; tried++) {
    base::Status got =
        open.job->source->Bytes(call, open.job->question, {step.digest, step.size, at, step.end}, take);
    if (got || got.error().code() != base::Code::kUnavailable) return got;
    const std::uint64_t came = arrival.begin + arrival.bytes.size() - at;
    at += came;
    if (at == step.end) return {};
    if (came >= kEnough) tried = 0;
    if (tried == kTries) return got;
    if (!base::Pause(call, kBetweenTries * (tried + 1))) return base::Cancelled("stopped");
  }
}

void BlobStreams::MoveRange(const Step& step) {
  std::shared_ptr<Open> open;
  Arrival arrival{.begin = step.begin, .bytes = {}, .written_at = steady_clock::now()};
  const base::TimePoint began = arrival.written_at;
  {
    base::Lock lock(mutex_);
    if (auto found = open_.find(step.digest); found != open_.end()) open = found->second;
    if (!open) return;
    arrival.may_hold = !giving_way_.IsDue(began);
  }
  const base::Status got = Get(*open, step, arrival);
  {
    base::Lock lock(mutex_);
    giving_way_.RangeEnded(began, steady_clock::now());
  }
  if (!got) return Fail(step.digest, *open, got.error());
  if (!AwaitTurn(*open, arrival)) return;
  if (auto failed = Write(*open, arrival)) return Fail(step.digest, *open, *std::move(failed));
  const bool last = step.end == step.size;
  if (last) {
    if (auto failed = open->writer->Commit()) return Fail(step.digest, *open, FromStore(*failed));
  }
  base::Lock lock(mutex_);
  if (last && open_.contains(step.digest) && open_[step.digest] == open) {
    order_.Done(step.digest);
    open_.erase(step.digest);
  }
  changed_.notify_all();
}

void BlobStreams::Fail(const std::string& digest, Open& open, base::Error error) {
  base::Lock lock(mutex_);
  open.failed = true;
  auto now = open_.find(digest);
  if (now == open_.end() || now->second.get() != &open) return;  // not wanted any more
  failures_.insert_or_assign(digest, std::move(error));
  order_.Failed(digest);
  open.stop.request_stop();
  open_.erase(now);
  changed_.notify_all();
}

}  // namespace prefetch::agent
