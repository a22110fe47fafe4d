#include "agent/fetching.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "cri/image_blobs.h"

namespace prefetch::agent {
namespace {

// Time limit for manifest and index together; the runtime has a minute for each of them.
constexpr std::chrono::seconds kManifestLimit{60};
constexpr std::chrono::seconds kStoreLimit{30};
// Time limit for a size question, which only near registries get. One that takes longer is in trouble.
constexpr std::chrono::seconds kSizeLimit{5};

// Returns true if the error says something about the way to the registry, and not only about one image or
// this node.
bool IsRegistryFault(const base::Error& error) {
  // The layer that saw the failure may have named its owner, which is certain. Otherwise the code decides.
  switch (error.owner()) {
    case base::Owner::kStore:
    case base::Owner::kImage:
      return false;
    case base::Owner::kNetwork:
    case base::Owner::kRegistry:
      return true;
    case base::Owner::kNotNamed:
      break;
  }
  switch (error.code()) {
    case base::Code::kNotFound:
    case base::Code::kPermissionDenied:
    case base::Code::kCancelled:
      return false;
    case base::Code::kInvalidArgument:
    case base::Code::kUnavailable:
    case base::Code::kDeadlineExceeded:
    case base::Code::kResourceExhausted:
    case base::Code::kInternal:
      return true;
  }
  return true;
}

}  // namespace

Fetcher::Fetcher(bool automatic, cri::ContentService& content, ContentSourceFor source,
                 const base::Clock& clock, image::Platform platform, Metrics& metrics,
                 std::uint64_t bytes_per_second)
    : automatic_(automatic),
      content_(content),
      source_for_(std::move(source)),
      clock_(clock),
      platform_(std::move(platform)),
      downloader_(
          content, [&metrics](std::uint64_t bytes) { metrics.Fetched(bytes); }, bytes_per_second) {}

plan::FetchHealth Fetcher::HealthOf(const std::string& registry) {
  base::Lock lock(mutex_);
  auto found = registries_.find(registry);
  return found == registries_.end() ? plan::FetchHealth() : found->second;
}

// Keeps only registries with a fact that still counts: clients of preflights keep naming new ones.
void Fetcher::Note(const std::string& registry, const plan::FetchHealth& health) {
  base::Lock lock(mutex_);
  registries_[registry] = health;
  std::erase_if(registries_, [now = clock_.Now()](const auto& one) {
    const plan::FetchHealth& health = one.second;
    return std::max({health.failed_until, health.near_until, health.denied_until, health.limited_until}) <=
           now;
  });
}

// Returns the source from which the agent downloads, or nullptr if the runtime does. The checks go from cheap
// to expensive, since most pulls end at the first ones.
std::shared_ptr<image::ContentSource> Fetcher::Choose(const base::Call& call, const FetchJob& job) {
  // Without a lease, containerd's garbage collection could remove the content before the pull needs it.
  if (job.lease.empty() || !source_for_) return nullptr;
  if (!plan::MayFetch(automatic_, job.runtime.name, job.runtime.version)) return nullptr;
  // Snapshotters other than overlayfs fetch by themselves, or lazily. MayFetch is checked before, since this
  // is a call to the runtime.
  auto snapshotter = content_.Snapshotter(call.Within(kStoreLimit));
  plan::FetchFacts facts{.automatic = automatic_,
                         .runtime = job.runtime.name,
                         .version = job.runtime.version,
                         .snapshotter = snapshotter ? *snapshotter : "",
                         .followed = true,
                         .health = HealthOf(job.reference.domain())};
  std::shared_ptr<image::ContentSource> source;
  plan::FetchChoice choice = plan::ChooseFetch(facts, clock_.Now());
  if (choice.by == plan::FetchBy::kAgent) {
    // This reads the node's configuration of registries, so it comes after all cheaper reasons.
    source = source_for_(job.reference, job.runtime);
    facts.followed = source != nullptr;
    choice = plan::ChooseFetch(facts, clock_.Now());
  }
  if (choice.by == plan::FetchBy::kAgent) return source;
  base::Debug("the runtime fetches",
              {{"image", job.reference.written()}, {"reason", plan::FetchReasonName(choice.reason)}});
  return nullptr;
}

// The store may have the document already, wholly or in part, from an earlier pull.
base::Status Fetcher::WriteDocument(const base::Call& call, const std::string& lease,
                                    const cri::BlobToWrite& blob, const std::string& bytes) {
  const base::Call soon = call.Within(kStoreLimit);
  auto opened = content_.OpenBlob(soon, lease, blob);
  if (!opened) return FromStore(opened.error());
  if (opened->state == cri::BlobState::kWhole) return {};
  if (opened->state == cri::BlobState::kTaken)
    return base::Unavailable("another pull writes the manifest").CausedBy(base::Owner::kStore);
  // An ingest that an earlier pull has begun is resumed.
  const std::uint64_t there = std::min<std::uint64_t>(opened->writer->offset(), bytes.size());
  if (there < bytes.size()) {
    if (auto failed = opened->writer->Append(bytes.substr(there))) return FromStore(*failed);
  }
  if (auto failed = opened->writer->Commit()) return FromStore(*failed);
  return {};
}

// The order is: manifest, distance, disk budget, documents, blobs. Nothing is written before the budget has
// decided, and nothing is downloaded before the documents show the size to the progress polls.
base::Status Fetcher::FetchContent(const base::Call& call, const FetchJob& job,
                                   const image::RegistryQuestion& question,
                                   const std::shared_ptr<image::ContentSource>& source) {
  auto manifest = source->Manifest(call.Within(kManifestLimit), question);
  // A manifest that is wrong is this image's fault: NotFound keeps it from counting against the registry.
  if (!manifest && manifest.error().code() == base::Code::kInvalidArgument)
    return base::NotFound(manifest.error().message());
  if (!manifest) return std::move(manifest).error();
  auto blobs = cri::BlobsOf(job.reference, manifest->index, manifest->manifest);
  if (!blobs) return base::NotFound("its manifest is not that of an image which can be fetched like this");
  const std::string& registry = job.reference.domain();
  const plan::FetchHealth health =
      // The manifest's own round trip shows whether the registry is near, so no request is made for that
      // alone.
      plan::AfterManifest(HealthOf(registry), manifest->answer_time, manifest->round_trip, clock_.Now());
  Note(registry, health);
  // Near registries are quicker through the runtime. Nothing has been written yet.
  if (clock_.Now() < health.near_until) return base::NotFound("the registry is near");
  // The disk budget decides here, before the first byte is written.
  if (job.sized) job.sized(call, blobs->size_bytes);
  if (call.Stopped()) return base::Cancelled("stopped");
  // Documents come before blobs: progress and size are read from the manifest in the store.
  for (const cri::ImageDocument& document : blobs->documents) {
    if (auto written = WriteDocument(call, job.lease, document.blob, document.bytes); !written)
      return written;
  }
  return downloader_.FetchInto(
      call, {.lease = job.lease, .blobs = std::move(blobs->blobs), .question = question, .source = source});
}

// The end of a download decides what happens to the registry's health: a limit holds it, a fault leaves it to
// the runtime for a while, and a problem of the image or the store changes nothing.
FetchEnd Fetcher::FetchInto(const base::Call& call, const FetchJob& job) {
  const std::string& registry = job.reference.domain();
  const std::shared_ptr<image::ContentSource> source = Choose(call, job);
  if (source == nullptr) {
    // The registry may have limited the fetch of another image. The runtime must not ask it before that time
    // either.
    const base::Duration left = HealthOf(registry).limited_until - clock_.Now();
    return left > base::Duration(0) ? FetchEnd{.retry_after = left, .error = registry + " limits requests"}
                                    : FetchEnd();
  }
  const image::RegistryQuestion question{
      .reference = job.reference, .local_digests = {}, .platform = platform_, .credentials = job.credentials};
  const base::Status fetched = FetchContent(call, job, question, source);
  if (fetched) return {.fetched = true};
  // A stop says nothing about the registry.
  if (call.Stopped()) return {};
  FetchEnd end{.error = fetched.error().message()};
  if (fetched.error().code() == base::Code::kResourceExhausted) {
    end.retry_after = source->RetryAfter(question);
    Note(registry, plan::AfterLimited(HealthOf(registry), end.retry_after, clock_.Now()));
  } else if (IsRegistryFault(fetched.error())) {
    Note(registry, plan::AfterFetchFailed(HealthOf(registry), clock_.Now()));
  }
  // The store or the source found that the bytes are others than those of the blob.
  end.wrong_bytes = fetched.error().code() == base::Code::kInvalidArgument;
  base::Debug("the runtime fetches the rest", {{"image", job.reference.written()}, {"error", end.error}});
  return end;
}

bool Fetcher::MayAskSize(const image::Reference& reference, const RegistryQueryContext& runtime) {
  return source_for_ && plan::MayFetch(automatic_, runtime.name, runtime.version) &&
         plan::MayAskSize(HealthOf(reference.domain()), clock_.Now());
}

std::uint64_t Fetcher::AskSize(const base::Call& call, const FetchJob& job) {
  const std::string& registry = job.reference.domain();
  const std::shared_ptr<image::ContentSource> source = source_for_(job.reference, job.runtime);
  if (source == nullptr) return 0;
  auto manifest = source->Manifest(call.Within(kSizeLimit), {.reference = job.reference,
                                                             .local_digests = {},
                                                             .platform = platform_,
                                                             .credentials = job.credentials});
  if (manifest) {
    auto blobs = cri::BlobsOf(job.reference, manifest->index, manifest->manifest);
    return blobs ? blobs->size_bytes : 0;
  }
  if (call.Stopped()) return 0;
  if (manifest.error().code() == base::Code::kPermissionDenied) {
    // The runtime's pulls find out which credentials the registry refuses; more questions would not.
    Note(registry, plan::AfterSizeDenied(HealthOf(registry), clock_.Now()));
  } else if (manifest.error().code() != base::Code::kInvalidArgument && IsRegistryFault(manifest.error())) {
    Note(registry, plan::AfterFetchFailed(HealthOf(registry), clock_.Now()));
  }
  return 0;
}

}  // namespace prefetch::agent
