#include "pulling/fetching.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "base/enum_name.h"
#include "base/find_with_default.h"
#include "base/log.h"
#include "cri/pull_resources.h"

namespace prefetch::pulling {

namespace {

// Time limit for manifest and index together; the runtime has a minute for each of them.
constexpr std::chrono::seconds kManifestLimit{60};
constexpr std::chrono::seconds kStoreLimit{30};
// Time limit for a size question, which only near registries get. A near registry that takes longer has a
// problem.
constexpr std::chrono::seconds kSizeLimit{5};

// Returns true if the error says something about the way to the registry, and not only about one image or
// this node.
bool IsRegistryFault(const base::Error& error) {
  // The layer that saw the failure may have named its owner, which is certain. Otherwise the code decides.
  if (error.fault() != base::Fault::kUnspecified)
    return base::IsOneOf(error.fault(), {base::Fault::kNetwork, base::Fault::kRegistry});
  return !base::IsOneOf(error.code(),
                        {base::Code::kNotFound, base::Code::kPermissionDenied, base::Code::kCancelled});
}

}  // namespace

Fetcher::Fetcher(cri::ContentService& content, ContentSourceFor source, const base::Clock& clock,
                 std::function<void(std::uint64_t)> fetched, std::uint64_t bytes_per_second)
    : content_(content),
      source_for_(std::move(source)),
      clock_(clock),
      downloader_(content, std::move(fetched), bytes_per_second) {}

plan::FetchHealth Fetcher::HealthOf(const std::string& registry) {
  base::Lock lock(mutex_);
  return base::FindWithDefault(registries_, registry);
}

// Under one lock, so that what another pull learns in the same moment is not lost. Keeps only registries with
// a fact that still counts: clients of preflights keep naming new ones.
template <typename Change>
plan::FetchHealth Fetcher::ChangeHealth(const std::string& registry, const Change& change) {
  base::Lock lock(mutex_);
  const base::TimePoint now = clock_.Now();
  const plan::FetchHealth health = registries_[registry] = change(registries_[registry], now);
  std::erase_if(registries_, [now](const auto& one) { return plan::CanDiscard(one.second, now); });
  return health;
}

// Returns the source from which the agent downloads, or nullptr if the runtime does. The checks go from cheap
// to expensive, since most pulls end at the first ones.
std::shared_ptr<image::ContentSource> Fetcher::ChooseSource(const base::Call& call, const FetchJob& job) {
  // Without a lease, containerd's garbage collection could remove the content before the pull needs it.
  if (job.lease.empty() || !source_for_) return nullptr;
  if (!plan::MayFetch(job.runtime.name, job.runtime.version)) return nullptr;
  // Snapshotters other than overlayfs fetch by themselves, or lazily. MayFetch is checked before, since this
  // is a call to the runtime.
  auto snapshotter = content_.Snapshotter(call.Within(kStoreLimit));
  plan::FetchFacts facts{.runtime = job.runtime.name,
                         .version = job.runtime.version,
                         .snapshotter = snapshotter ? *snapshotter : "",
                         .hosts_known = true,
                         .health = HealthOf(job.question.reference.domain())};
  std::shared_ptr<image::ContentSource> source;
  plan::FetchReason reason = plan::ChooseFetch(facts, clock_.Now());
  if (reason == plan::FetchReason::kFar) {
    // This reads the node's configuration of registries, so it comes after all cheaper reasons.
    source = source_for_(job.question.reference, job.runtime);
    facts.hosts_known = source != nullptr;
    reason = plan::ChooseFetch(facts, clock_.Now());
  }
  if (reason == plan::FetchReason::kFar) return source;
  base::Debug("the runtime fetches",
              {{"image", job.question.reference.written()}, {"reason", base::EnumName(reason)}});
  return nullptr;
}

// The store may have the document already, wholly or in part, from an earlier pull.
base::Status Fetcher::WriteDocument(const base::Call& call, const std::string& lease,
                                    const cri::BlobToWrite& blob, const std::string& bytes) {
  const base::Call soon = call.Within(kStoreLimit);
  auto opened = content_.OpenBlob(soon, lease, blob);
  if (!opened) return ToStoreError(opened.error());
  if (opened->state == cri::BlobState::kExists) return {};
  if (opened->state == cri::BlobState::kLocked)
    return base::Unavailable("another pull writes the manifest").CausedBy(base::Fault::kStore);
  // An ingest that an earlier pull has begun is resumed.
  const std::uint64_t there = std::min<std::uint64_t>(opened->writer->offset(), bytes.size());
  if (there < bytes.size()) {
    if (auto failed = opened->writer->Append(bytes.substr(there))) return ToStoreError(*failed);
  }
  if (auto failed = opened->writer->Commit()) return ToStoreError(*failed);
  return {};
}

// The order is: manifest, distance, disk budget, documents, blobs. Nothing is written before the budget has
// decided, and nothing is downloaded before the documents show the size to the progress polls. Only blobs
// have further tries (FetchWithRetries): if no server sends the manifest, the runtime takes over.
base::Result<DownloadJob> Fetcher::PrepareDownload(const base::Call& call, const FetchJob& job,
                                                   const std::shared_ptr<image::ContentSource>& source) {
  auto manifest = source->FetchManifest(call.Within(kManifestLimit), job.question);
  // A wrong manifest is this image's fault. The code NotFound keeps it, here and below, from counting against
  // the registry (IsRegistryFault) and from counting as wrong bytes.
  if (!manifest && manifest.error().code() == base::Code::kInvalidArgument)
    return base::NotFound(manifest.error().message());
  if (!manifest) return std::move(manifest).error();
  auto blobs = cri::BlobsOf(job.question.reference, manifest->index, manifest->manifest);
  if (!blobs) return base::NotFound("its manifest is not that of an image which can be fetched like this");
  const std::string& registry = job.question.reference.domain();
  // The manifest's own round trip shows whether the registry is near, so no request is made for that alone.
  const plan::FetchHealth health =
      ChangeHealth(registry, [&](const plan::FetchHealth& before, base::TimePoint now) {
        return plan::AfterManifest(before, manifest->answer_time, manifest->round_trip, now);
      });
  // Near registries are quicker through the runtime. Nothing has been written yet. This is no failure: the
  // code NotFound leaves the health of the registry as it is (IsRegistryFault).
  if (clock_.Now() < health.near_until) return base::NotFound("the registry is near");
  // The disk budget decides here, before the first byte is written.
  if (job.on_size) job.on_size(call, blobs->size_bytes);
  if (call.Stopped()) return base::Cancelled("stopped");
  // Documents come before blobs: progress and size are read from the manifest in the store.
  for (const cri::ImageDocument& document : blobs->documents) {
    if (auto written = WriteDocument(call, job.lease, document.blob, document.bytes); !written)
      return std::move(written).error();
  }
  return DownloadJob{.lease = job.lease,
                     .blobs = std::move(blobs->blobs),
                     .question = job.question,
                     .source = source,
                     .on_fetched = job.on_fetched};
}

// The end of a download decides what happens to the registry's health: a limit holds it, a fault leaves it to
// the runtime for a while, and a problem of the image or the store changes nothing.
FetchResult Fetcher::Fetch(const base::Call& call, const FetchJob& job) {
  const std::string& registry = job.question.reference.domain();
  const std::shared_ptr<image::ContentSource> source = ChooseSource(call, job);
  if (source == nullptr) {
    // The registry may have limited the fetch of another image. The runtime must not ask it before that time
    // either.
    const base::Duration left = HealthOf(registry).limited_until - clock_.Now();
    return left > base::Duration(0) ? FetchResult{.retry_after = left, .error = registry + " limits requests"}
                                    : FetchResult();
  }
  // The documents are not kept while the blobs come: they may be as large as kManifestLimits.
  auto download = PrepareDownload(call, job, source);
  const base::Status fetched =
      download ? downloader_.Download(call, *std::move(download)) : std::move(download).error();
  if (fetched) return {.fetched = true};
  // A stop says nothing about the registry.
  if (call.Stopped()) return {};
  FetchResult end{.error = fetched.error().message()};
  if (fetched.error().code() == base::Code::kResourceExhausted) {
    end.retry_after = source->RetryAfter(job.question);
    ChangeHealth(registry, [&](const plan::FetchHealth& before, base::TimePoint now) {
      return plan::AfterLimited(before, end.retry_after, now);
    });
  } else if (IsRegistryFault(fetched.error())) {
    ChangeHealth(registry, plan::AfterFetchFailed);
  }
  // The source sent other bytes than were asked for, or serves no ranges. The blobs that it began are
  // aborted.
  end.cannot_continue = fetched.error().code() == base::Code::kInvalidArgument;
  base::Debug("the runtime fetches the rest",
              {{"image", job.question.reference.written()}, {"error", end.error}});
  return end;
}

bool Fetcher::MayQuerySize(const image::Reference& reference, const image::RuntimeInfo& runtime) {
  return source_for_ && plan::MayFetch(runtime.name, runtime.version) &&
         plan::MayQuerySize(HealthOf(reference.domain()), clock_.Now());
}

std::uint64_t Fetcher::QuerySize(const base::Call& call, const FetchJob& job) {
  const std::string& registry = job.question.reference.domain();
  const std::shared_ptr<image::ContentSource> source = source_for_(job.question.reference, job.runtime);
  if (source == nullptr) return 0;
  auto manifest = source->FetchManifest(call.Within(kSizeLimit), job.question);
  if (manifest) {
    auto blobs = cri::BlobsOf(job.question.reference, manifest->index, manifest->manifest);
    return blobs ? blobs->size_bytes : 0;
  }
  if (call.Stopped()) return 0;
  if (manifest.error().code() == base::Code::kPermissionDenied) {
    // The runtime's pulls find out which credentials the registry rejects; more questions would not.
    ChangeHealth(registry, plan::AfterSizeDenied);
  } else if (manifest.error().code() != base::Code::kInvalidArgument && IsRegistryFault(manifest.error())) {
    ChangeHealth(registry, plan::AfterFetchFailed);
  }
  return 0;
}

namespace {

using std::chrono::steady_clock;

// Time limit for one poll of the downloads of others.
constexpr std::chrono::seconds kIngestPollLimit{5};
// Interval at which blobs that others write are tried again.
constexpr std::chrono::seconds kReopenEvery{1};
// A broken connection is no failure yet: there are up to kMaxTries in a row, with pauses. A try that brings
// kMinProgress bytes starts the count again, and the next one follows at once, as the runtime's would.
constexpr int kMaxTries = 3;
constexpr std::chrono::milliseconds kRetryDelay{200};
constexpr std::uint64_t kMinProgress = 64 * 1024;
// Number of bytes between two pauses while a pull of kubelet or others moves.
constexpr std::uint64_t kBurstBytes = 512 * 1024;
// Size, and age, at which bytes are written.
constexpr std::size_t kWriteSize = 128 * 1024;
constexpr std::chrono::seconds kWriteInterval{1};
// Time that a failed fetch waits for its streams to let go of their blobs.
constexpr std::chrono::seconds kCloseTimeout{2};

bool Lists(const DownloadJob& job, const std::string& digest) {
  return std::ranges::find(job.blobs, digest, &cri::BlobToWrite::digest) != job.blobs.end();
}

// Returns the rate. After a pause, the bytes of a tenth of a second pass at once.
base::TokenRate RateOf(std::uint64_t bytes_per_second) {
  const auto rate = static_cast<double>(bytes_per_second);
  return {.per_second = rate, .burst = rate / 10};
}

}  // namespace

BlobDownloader::BlobDownloader(cri::ContentService& content, std::function<void(std::uint64_t)> fetched,
                               std::uint64_t bytes_per_second)
    : content_(content), fetched_(std::move(fetched)), rate_(RateOf(bytes_per_second)) {}

BlobDownloader::~BlobDownloader() {
  std::vector<std::thread> threads;
  {
    base::Lock lock(mutex_);
    ending_ = true;
    for (auto& [digest, transfer] : transfers_) transfer->stop.request_stop();
    threads.swap(threads_);
    // Wakes the pull's worker in Download, and streams that wait for a turn.
    changed_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

// If the container's limit of threads is reached, the existing threads do the work.
void BlobDownloader::StartThreads() {
  // A thread that has left its loop takes no lock any more, so joining it does not block.
  for (const std::thread::id& id : std::exchange(left_, {})) {
    auto thread = std::ranges::find_if(threads_, [&](const std::thread& one) { return one.get_id() == id; });
    thread->join();
    threads_.erase(thread);
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

base::Status BlobDownloader::Download(const base::Call& call, DownloadJob given) {
  auto job = std::make_shared<const DownloadJob>(std::move(given));
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    changed_.notify_all();
  });
  ImageId image = 0;
  {
    base::Lock lock(mutex_);
    image = next_image_++;
    jobs_[image].job = job;
    std::vector<plan::BlobToFetch> blobs;
    for (const cri::BlobToWrite& blob : job->blobs) blobs.push_back({blob.digest, blob.size_bytes});
    order_.Add(image, job->question.reference.domain(), std::move(blobs));
    // Started again with each job: if the limit of threads was reached before, more may be possible now.
    StartThreads();
    changed_.notify_all();
  }
  base::Status result;
  bool told = false;
  const auto tell = [&](bool fetched) {
    if (fetched != std::exchange(told, fetched) && job->on_fetched) job->on_fetched(fetched);
  };
  while (true) {
    tell(LacksNoneOfItsOwn(image));
    // Without the lock, since it calls the runtime. Each waiting worker comes here; the time in next_poll_
    // lets only one of them ask.
    PollForeignPulls(call);
    base::Lock lock(mutex_);
    Rebalance();
    const auto progress = order_.ProgressOf(image);
    if (call.Stopped()) result = base::Cancelled("stopped");
    if (progress == plan::FetchOrder::Progress::kFailed) {
      result = jobs_.at(image).failure.value_or(base::Unavailable("a blob could not be fetched"));
    }
    if (ending_) result = base::Cancelled("stopped");
    // Without a thread nothing would ever end this wait.
    if (running_ == 0) result = base::Internal("no thread can be made").CausedBy(base::Fault::kStore);
    if (!result || progress == plan::FetchOrder::Progress::kComplete) {
      EndJob(image, job);
      break;
    }
    // A copy, since it is read without the lock.
    const base::TimePoint next = std::min(next_poll_, steady_clock::now() + plan::kForeignPullPollInterval);
    changed_.wait_until(mutex_, next);
  }
  // Without the lock, and for failures only: after a success no stream holds these blobs.
  if (!result) AwaitClosed(job);
  if (result) result = RetainShared(call, *job);
  // After a failure the runtime downloads, so the pull takes its slot again.
  tell(result.ok());
  return result;
}

void BlobDownloader::EndJob(ImageId image, const std::shared_ptr<const DownloadJob>& job) {
  // Removed before the streams are stopped, so that none of them takes the next blob of this image.
  order_.Remove(image);
  jobs_.erase(image);
  StopUnwanted();
  // A stream that another image needs begins again under that image's lease, since this job's may go.
  for (auto& [key, transfer] : transfers_) {
    if (transfer->job != job || transfer->step.is_part) continue;
    order_.Preempt(key);
    transfer->preempted = true;
    transfer->stop.request_stop();
  }
  changed_.notify_all();
}

bool BlobDownloader::LacksNoneOfItsOwn(ImageId image) {
  base::Lock lock(mutex_);
  return order_.LacksNoneOfItsOwn(image);
}

// Waits until the streams of a failed fetch have closed their writers. The runtime's pull, which comes next,
// would find these blobs locked (C37).
void BlobDownloader::AwaitClosed(const std::shared_ptr<const DownloadJob>& job) {
  const base::TimePoint latest = steady_clock::now() + kCloseTimeout;
  base::Lock lock(mutex_);
  while (IsHeld(job) && steady_clock::now() < latest) changed_.wait_until(mutex_, latest);
}

// Returns true if a stream may have a writer for a blob of the job, which has ended. A part has none. Another
// job may have begun a stream that nobody wants any more.
bool BlobDownloader::IsHeld(const std::shared_ptr<const DownloadJob>& job) const {
  for (const auto& [key, transfer] : transfers_) {
    const plan::FetchOrder::Step& step = transfer->step;
    if (step.is_part) continue;
    if (transfer->job == job || (Lists(*job, step.digest) && !order_.Wants(step.digest))) return true;
  }
  return false;
}

// Puts all blobs under this job's lease. A blob that another image has brought is under that image's lease
// alone, and would go with it.
base::Status BlobDownloader::RetainShared(const base::Call& call, const DownloadJob& job) {
  for (const cri::BlobToWrite& blob : job.blobs) {
    auto opened = content_.OpenBlob(call, job.lease, blob);
    if (!opened) return ToStoreError(opened.error());
    if (opened->state != cri::BlobState::kExists)
      return base::Unavailable(blob.digest + " has gone").CausedBy(base::Fault::kStore);
  }
  return {};
}

void BlobDownloader::PollForeignPulls(const base::Call& call) {
  {
    base::Lock lock(mutex_);
    const base::TimePoint now = steady_clock::now();
    if (now < next_poll_) return;
    next_poll_ = now + kIngestPollLimit;  // nobody asks beside this poll
  }
  auto ingests = content_.ForeignIngests(call.Within(kIngestPollLimit));
  base::Lock lock(mutex_);
  const base::TimePoint now = steady_clock::now();
  next_poll_ = now + plan::kForeignPullPollInterval;
  const bool yielded_before = yield_policy_.ShouldYield(now);
  // A failed poll changes nothing: the policy's own time limit lets downloads go on.
  if (ingests) yield_policy_.Observe(*std::move(ingests), now);
  // Nothing reports that another writer has finished a blob, so these are opened again from time to time.
  if (now >= next_reopen_) {
    next_reopen_ = now + kReopenEvery;
    order_.Reopen();
    changed_.notify_all();
  }
  if (yielded_before != yield_policy_.ShouldYield(now)) changed_.notify_all();
}

bool BlobDownloader::HoldsBack(const std::string& lease) {
  base::Lock lock(mutex_);
  return yield_policy_.ShouldYield(steady_clock::now()) &&
         std::ranges::any_of(jobs_, [&](const auto& one) { return one.second.job->lease == lease; });
}

void BlobDownloader::StopUnwanted() {
  for (auto& [key, transfer] : transfers_) {
    if (!order_.Wants(key)) transfer->stop.request_stop();
  }
  for (auto part = parts_.begin(); part != parts_.end();) {
    part = order_.Wants(part->first) ? std::next(part) : parts_.erase(part);
  }
}

void BlobDownloader::Rebalance() {
  const base::TimePoint now = steady_clock::now();
  // A free stream takes the waiting blob by itself. While downloads yield to others, slow streams are no sign
  // of a stall.
  if (static_cast<int>(transfers_.size()) < running_ || yield_policy_.ShouldYield(now)) return;
  const auto preemption = order_.StreamToPreempt(now);
  if (!preemption) return;
  auto found = transfers_.find(preemption->key);
  if (found == transfers_.end()) return;
  // Tells Ended that the stop was intended: the blob waits for another stream and is no failure.
  found->second->preempted = true;
  found->second->stop.request_stop();
  if (preemption->too_slow)
    Fail(*found->second, base::DeadlineExceeded("it came too slowly, and other images waited"));
}

std::shared_ptr<BlobDownloader::Transfer> BlobDownloader::NextBlob() {
  base::Lock lock(mutex_);
  while (!ending_ && !jobs_.empty()) {
    const base::TimePoint now = steady_clock::now();
    base::TimePoint next = yield_policy_.NextBurst(now);
    const bool alone = yield_policy_.ShouldYield(now);
    // While another's pull moves, one blob moves at a time.
    if (next <= now && !(alone && !transfers_.empty())) {
      next = order_.NextAt(now);
      if (auto step = order_.Next(now)) {
        // A stopped stream may still hold the blob's writer.
        auto [it, is_free] = transfers_.try_emplace(step->key, std::make_shared<Transfer>());
        if (!is_free) {
          // A part is left to the blob's own stream.
          step->is_part ? order_.RemovePart(step->key) : order_.Postponed(step->key);
          continue;
        }
        Transfer& transfer = *it->second;
        transfer.step = *step;
        transfer.offset = step->begin;
        transfer.job = jobs_.at(step->image).job;
        transfer.paced = alone;
        transfer.burst_began = now;
        if (step->is_part) parts_[step->key] = {.digest = step->digest, .begin = step->begin, .bytes = {}};
        return it->second;
      }
    }
    if (next <= now)
      next = now + plan::kForeignPullPollInterval;  // another stream has the one burst that is allowed
    base::WaitUntil(changed_, mutex_, next);
  }
  // The last thread to leave tells Download that none is left.
  running_--;
  left_.push_back(std::this_thread::get_id());
  return nullptr;
}

void BlobDownloader::Stream() {
  while (auto transfer = NextBlob()) Ended(transfer, DownloadBlob(*transfer));
}

// Returns how the stream ends without a byte: the blob is there, another client writes it, or the store
// fails. nullopt: the writer is open, where the bytes in the store end.
std::optional<base::Result<BlobDownloader::TransferResult>> BlobDownloader::OpenBlob(Transfer& transfer) {
  const auto& blobs = transfer.job->blobs;
  const auto blob = std::ranges::find(blobs, transfer.step.digest, &cri::BlobToWrite::digest);
  auto opened = content_.OpenBlob({.stop = transfer.stop.get_token()}, transfer.job->lease, *blob);
  if (!opened) return ToStoreError(opened.error());
  if (opened->state == cri::BlobState::kExists) return TransferResult::kDone;
  if (opened->state == cri::BlobState::kLocked) return TransferResult::kLockedByOther;
  transfer.writer = std::move(opened->writer);
  transfer.offset = transfer.writer->offset();
  transfer.written_at = steady_clock::now();
  return std::nullopt;
}

base::Result<BlobDownloader::TransferResult> BlobDownloader::DownloadBlob(Transfer& transfer) {
  if (transfer.step.is_part) {
    if (auto got = FetchWithRetries(transfer, transfer.step.end); !got) return std::move(got).error();
    return TransferResult::kDone;
  }
  if (auto end = OpenBlob(transfer)) return *std::move(end);
  base::Status got;
  while (got && transfer.offset < transfer.step.end) {
    const auto next = AwaitContinuation(transfer);
    if (!next) {
      got = base::Cancelled("stopped");
    } else if (!next->bytes.empty()) {
      got = WritePart(transfer, next->bytes);
    } else {
      got = FetchWithRetries(transfer, next->end);
      if (std::exchange(transfer.met_part, false)) got = {};
    }
  }
  // Bytes that came before a failure are written: nothing speaks against them, and the next try goes on
  // behind them.
  if (transfer.store_error || !Write(transfer)) return *std::move(transfer.store_error);
  if (!got) return std::move(got).error();
  // The commit checks the digest (C37); no byte is content before.
  if (auto failed = transfer.writer->Commit()) return ToStoreError(*failed);
  return TransferResult::kDone;
}

void BlobDownloader::Ended(const std::shared_ptr<Transfer>& transfer, base::Result<TransferResult> end) {
  // Closed before the order is told, so that the next thread to take the blob finds it free.
  transfer->writer.reset();
  std::optional<base::Duration> retry_after;
  // The source is asked without the lock: it may read its own state under another one.
  if (!end && end.error().code() == base::Code::kResourceExhausted) {
    retry_after =
        transfer->job->source->RetryAfter(transfer->job->question).value_or(plan::kDefaultRetryAfter);
  }
  base::Lock lock(mutex_);
  transfers_.erase(transfer->step.key);
  // The pause after a burst counts even if the stream failed.
  if (transfer->paced) yield_policy_.BurstEnded(transfer->burst_began, steady_clock::now());
  // A stream that was stopped on purpose must not fail its image.
  const bool stopped =
      transfer->preempted || transfer->stop.stop_requested() || !order_.Wants(transfer->step.key);
  const base::TimePoint until = steady_clock::now() + retry_after.value_or(base::Duration::zero());
  if (transfer->step.is_part) {
    // Its failure is none of the image: the blob's own stream fetches the rest.
    if (retry_after && *retry_after <= plan::kMaxRetryAfter && !stopped)
      order_.RateLimited(transfer->step.key, until);
    order_.PartFetched(transfer->step.key, !end && !stopped);
  } else if (end && *end == TransferResult::kDone) {
    order_.Done(transfer->step.key);
  } else if (end) {
    order_.Postponed(transfer->step.key);
  } else if (stopped) {
    order_.Requeue(transfer->step.key);
  } else if (!retry_after || *retry_after > plan::kMaxRetryAfter ||
             !order_.RateLimited(transfer->step.key, until)) {
    Fail(*transfer, end.error());
  }
  StopUnwanted();  // the parts of a blob that is over
  Rebalance();
  changed_.notify_all();
}

// Returns false if the write failed; `transfer.store_error` then has the reason.
bool BlobDownloader::Write(Transfer& transfer) {
  if (transfer.bytes.empty()) return true;
  // The content store's own failure is kept apart from the source's: it must not be held against the
  // registry.
  if (auto failed = transfer.writer->Append(std::exchange(transfer.bytes, {}))) {
    transfer.store_error = ToStoreError(*failed);
    return false;
  }
  transfer.written_at = steady_clock::now();
  return true;
}

// Called after each piece that came. While a pull of kubelet or others moves, streams pause, and then end:
// servers close connections on which nothing moves. The last stream goes on in bursts. Returns false if this
// one ends.
bool BlobDownloader::YieldToOthers(Transfer& transfer, std::size_t bytes_received) {
  base::Lock lock(mutex_);
  if (order_.OnBytes(transfer.step.key, bytes_received, transfer.offset, steady_clock::now()))
    changed_.notify_all();
  transfer.burst_bytes += bytes_received;
  while (!transfer.stop.stop_requested()) {
    const base::TimePoint now = steady_clock::now();
    base::TimePoint next;
    if (!yield_policy_.ShouldYield(now)) {
      transfer.paced = false;
      transfer.pause_until = base::TimePoint::max();
      return true;
    }
    if (transfer.paced) {
      if (transfer.burst_bytes >= kBurstBytes) {
        // The pause is kPauseFactor times the duration of the burst, so the burst is capped: the pause stays
        // below kMaxPause, which a connection survives.
        yield_policy_.BurstEnded(std::max(transfer.burst_began, now - plan::kMaxPause / plan::kPauseFactor),
                                 now);
        transfer.burst_bytes = 0;
      }
      next = yield_policy_.NextBurst(now);
      if (transfer.burst_bytes == 0) transfer.burst_began = now;
      if (next <= now) return true;
    } else if (transfer.pause_until == base::TimePoint::max()) {
      next = transfer.pause_until = now + plan::kMaxPause;
    } else if (now < transfer.pause_until) {
      next = transfer.pause_until;
    } else {
      // The last stream goes on in small bursts. If all of them ended, no image of the agent would advance
      // while others pull.
      transfer.preempted = std::ranges::any_of(transfers_, [&](const auto& other) {
        return other.second.get() != &transfer && !other.second->preempted;
      });
      if (transfer.preempted) return false;
      transfer.paced = true;
      transfer.burst_bytes = 0;
      continue;
    }
    changed_.wait_until(mutex_, std::min(next, now + plan::kForeignPullPollInterval));
    order_.RestartSpeedWindow(transfer.step.key, steady_clock::now());
  }
  return false;
}

// Blocks until the bytes that came are within the rate, so that the sender is slowed. Returns false if the
// stream was stopped.
bool BlobDownloader::AwaitRate(Transfer& transfer, std::size_t bytes_received) {
  base::Lock lock(mutex_);
  rate_.Take(static_cast<double>(bytes_received), steady_clock::now());
  while (!transfer.stop.stop_requested()) {
    const base::TimePoint now = steady_clock::now();
    const base::Duration wait = rate_.WaitAt(now);
    if (wait <= base::Duration::zero()) return true;
    changed_.wait_until(mutex_, now + wait);
    order_.ShiftSpeedWindow(transfer.step.key, steady_clock::now() - now);
  }
  return false;
}

// Returns false if the part is no longer wanted, or has no memory.
bool BlobDownloader::KeepPart(const Transfer& transfer, std::string_view piece) {
  base::Lock lock(mutex_);
  auto found = parts_.find(transfer.step.key);
  if (found == parts_.end()) return false;
  std::string& bytes = found->second.bytes;
  try {
    if (bytes.empty()) bytes.reserve(transfer.step.end - transfer.offset);
    bytes.append(piece);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

BlobDownloader::Parts::iterator BlobDownloader::FirstPart(const std::string& digest) {
  auto first = parts_.end();
  for (auto part = parts_.begin(); part != parts_.end(); ++part) {
    if (part->second.digest != digest) continue;
    if (first == parts_.end() || part->second.begin < first->second.begin) first = part;
  }
  return first;
}

// Its stream ends, and the blob's own stream fetches what is missing of it. Another part may begin.
void BlobDownloader::DropPart(Parts::iterator part) {
  order_.RemovePart(part->first);
  parts_.erase(part);
  StopUnwanted();
  changed_.notify_all();
}

// Returns true if a part has the byte that comes next, so that the request of the blob's own stream has to
// end. Parts whose bytes have not come by now are given up: the own stream is as quick.
bool BlobDownloader::MeetsPart(const Transfer& transfer) {
  base::Lock lock(mutex_);
  for (auto part = FirstPart(transfer.step.digest); part != parts_.end();
       part = FirstPart(transfer.step.digest)) {
    if (part->second.begin > transfer.offset) return false;
    if (part->second.begin + part->second.bytes.size() > transfer.offset) return true;
    DropPart(part);
  }
  return false;
}

bool BlobDownloader::Take(Transfer& transfer, std::string_view piece) {
  fetched_(piece.size());
  if (transfer.step.is_part) {
    if (!KeepPart(transfer, piece)) return false;
    transfer.offset += piece.size();
    return YieldToOthers(transfer, piece.size()) && AwaitRate(transfer, piece.size());
  }
  if (transfer.bytes.empty()) transfer.bytes.reserve(kWriteSize + piece.size());
  transfer.bytes.append(piece);
  transfer.offset += piece.size();
  if (!YieldToOthers(transfer, piece.size()) || !AwaitRate(transfer, piece.size())) return false;
  // Small pieces are gathered, because each write is a message to the runtime. Slow streams are written after
  // a second, so that progress shows.
  const bool is_due =
      transfer.bytes.size() >= kWriteSize || steady_clock::now() >= transfer.written_at + kWriteInterval;
  if (is_due && !Write(transfer)) return false;
  transfer.met_part = transfer.offset < transfer.step.end && MeetsPart(transfer);
  return !transfer.met_part;
}

// Returns how the blob goes on, or nullopt if this stream is to end.
std::optional<BlobDownloader::Continuation> BlobDownloader::AwaitContinuation(Transfer& transfer) {
  base::Lock lock(mutex_);
  while (!transfer.stop.stop_requested()) {
    const base::TimePoint now = steady_clock::now();
    // Writing, and waiting for another stream, must not count as slowness of the network.
    order_.RestartSpeedWindow(transfer.step.key, now);
    auto part = FirstPart(transfer.step.digest);
    if (part == parts_.end() || part->second.begin > transfer.offset) {
      if (!order_.RegistryIsHeld(transfer.step.digest, now))
        return Continuation{.end = part == parts_.end() ? transfer.step.end : part->second.begin};
      transfer.preempted = true;
      return std::nullopt;
    }
    const std::uint64_t behind = transfer.offset - part->second.begin;
    if (part->second.bytes.size() > behind) {
      Continuation next{.bytes = std::exchange(part->second.bytes, {})};
      part->second.begin += next.bytes.size();
      next.bytes.erase(0, behind);
      return next;
    }
    // All of it is written, or its stream has ended early or is too slow.
    if (!transfers_.contains(part->first) || order_.IsTooSlow(part->first, now)) {
      DropPart(part);
    } else {
      changed_.wait_until(mutex_, now + plan::kForeignPullPollInterval);
    }
  }
  return std::nullopt;
}

base::Status BlobDownloader::WritePart(Transfer& transfer, std::string_view bytes) {
  while (Write(transfer) && !bytes.empty()) {
    transfer.bytes = bytes.substr(0, kWriteSize);
    transfer.offset += transfer.bytes.size();
    bytes.remove_prefix(transfer.bytes.size());
  }
  return transfer.store_error ? base::Status(*transfer.store_error) : base::Status();
}

base::Status BlobDownloader::FetchWithRetries(Transfer& transfer, std::uint64_t end) {
  const base::Call call{.stop = transfer.stop.get_token()};
  const auto take = [&](std::string_view piece) { return Take(transfer, piece); };
  for (int tried = 1; transfer.offset < end; tried++) {
    const std::uint64_t before = transfer.offset;
    base::Status got = transfer.job->source->FetchBytes(
        call, transfer.job->question, {transfer.step.digest, transfer.step.size, transfer.offset, end}, take);
    // Unavailable is repeated here: a broken connection, or an answer such as 500 or 502. Refusals, limits
    // and wrong answers are the caller's to judge.
    if (got || got.error().code() != base::Code::kUnavailable) return got;
    // A long blob over a poor line may need many connections, as long as each one brings bytes.
    if (transfer.offset - before >= kMinProgress) tried = 0;
    if (tried == kMaxTries) return got;
    if (!base::Pause(call, kRetryDelay * tried)) return base::Cancelled("stopped");
  }
  return {};
}

void BlobDownloader::Fail(const Transfer& transfer, const base::Error& error) {
  const bool of_registry = error.fault() != base::Fault::kStore && error.fault() != base::Fault::kImage;
  const std::string& registry = transfer.job->question.reference.domain();
  for (auto& [image, running] : jobs_) {
    // The first error is the cause. Those that follow come from the stops.
    if (running.failure || !Lists(*running.job, transfer.step.digest)) continue;
    // An image of another registry waited for the same layer. Its own registry has done nothing wrong.
    const bool innocent = of_registry && running.job->question.reference.domain() != registry;
    running.failure =
        innocent ? base::Unavailable(registry + " failed: " + error.message()).CausedBy(base::Fault::kImage)
                 : error;
  }
  order_.Failed(transfer.step.digest);
}

}  // namespace prefetch::pulling
