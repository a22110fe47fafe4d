#include "agent/blob_streams.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

namespace prefetch::agent {
namespace {

using Step = plan::FetchOrder::Step;

// Others' pulls are looked for so often, and blobs that others write are tried again.
constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kLookLimit{5};
// A connection that breaks is no trouble yet.
constexpr int kTries = 3;
constexpr std::chrono::milliseconds kBetweenTries{200};

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
    changed_.wait_until(mutex_, next_look_);
  }
  unwanted.clear();
  return result ? KeepShared(call, *job) : result;
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

// Gives way to pulls of kubelet and others, and tries again what another writer had.
void BlobStreams::LookForOthers(const base::Call& call) {
  {
    base::Lock lock(mutex_);
    const base::TimePoint now = std::chrono::steady_clock::now();
    if (now < next_look_) return;
    next_look_ = now + kLookEvery;
  }
  auto ingests = content_.OthersIngests(call.Within(kLookLimit));
  base::Lock lock(mutex_);
  if (ingests) {
    others_pull_ = false;
    for (const auto& [ref, written] : *ingests) {
      auto before = others_.find(ref);
      others_pull_ = others_pull_ || before == others_.end() || before->second != written;
    }
    others_ = *std::move(ingests);
  }
  order_.Retry();
  changed_.notify_all();
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

std::optional<Step> BlobStreams::NextStep() {
  base::Lock lock(mutex_);
  while (!ending_ && !jobs_.empty()) {
    if (auto step = order_.Next(busy_, others_pull_)) {
      busy_++;
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
    busy_--;
    changed_.notify_all();
  }
}

void BlobStreams::OpenBlob(const Step& step) {
  auto open = std::make_shared<Open>();
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

base::Result<std::string> BlobStreams::Get(const Open& open, const image::BlobRange& range) {
  const base::Call call{.stop = open.stop.get_token()};
  for (int tried = 1;; tried++) {
    auto bytes = open.job->source->Bytes(call, open.job->question, range);
    if (bytes || bytes.error().code() != base::Code::kUnavailable || tried == kTries) return bytes;
    if (!base::Pause(call, kBetweenTries * tried)) return base::Cancelled("stopped");
  }
}

// Waits until all before `begin` is written. False: these bytes are not needed, or the blob is not wanted any
// more.
bool BlobStreams::BeginAppend(Open& open, std::uint64_t begin) {
  base::Lock lock(mutex_);
  while ((open.written < begin || open.writing) && !open.failed && !open.stop.stop_requested() && !ending_)
    changed_.wait(mutex_);
  if (open.written != begin || open.failed || open.stop.stop_requested() || ending_) return false;
  open.writing = true;
  return true;
}

void BlobStreams::MoveRange(const Step& step) {
  std::shared_ptr<Open> open;
  {
    base::Lock lock(mutex_);
    auto found = open_.find(step.digest);
    if (found == open_.end()) return;
    open = found->second;
  }
  auto bytes = Get(*open, {step.digest, step.size, step.begin, step.end});
  if (!bytes) return Fail(step.digest, *open, std::move(bytes).error());
  fetched_(bytes->size());
  if (!BeginAppend(*open, step.begin)) return;
  const bool last = step.end == step.size;
  std::optional<cri::CallError> failed = open->writer->Append(*std::move(bytes));
  if (!failed && last) failed = open->writer->Commit();
  if (failed) return Fail(step.digest, *open, FromStore(*failed));
  base::Lock lock(mutex_);
  open->written = step.end;
  open->writing = false;
  if (last) {
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
