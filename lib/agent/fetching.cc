#include "agent/fetching.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "cri/image_blobs.h"

namespace prefetch::agent {
namespace {

// Of manifest and index together; the runtime has a minute for each of them.
constexpr std::chrono::seconds kManifestLimit{60};
constexpr std::chrono::seconds kStoreLimit{30};
// A near registry that takes longer is in trouble.
constexpr std::chrono::seconds kSizeLimit{5};

// It says something about the way to the registry, and not only about one image or this node.
bool IsTrouble(const base::Error& error) {
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
                 const base::Clock& clock, image::Platform platform, Metrics& metrics)
    : automatic_(automatic),
      content_(content),
      source_for_(std::move(source)),
      clock_(clock),
      platform_(std::move(platform)),
      streams_(content, [&metrics](std::uint64_t bytes) { metrics.Fetched(bytes); }) {}

plan::FetchHealth Fetcher::HealthOf(const std::string& registry) {
  base::Lock lock(mutex_);
  auto found = registries_.find(registry);
  return found == registries_.end() ? plan::FetchHealth() : found->second;
}

// Keeps those that are left to the runtime now: callers of preflights name ever new registries.
void Fetcher::Note(const std::string& registry, const plan::FetchHealth& health) {
  base::Lock lock(mutex_);
  registries_[registry] = health;
  std::erase_if(registries_, [now = clock_.Now()](const auto& one) {
    const plan::FetchHealth& health = one.second;
    return std::max({health.failed_until, health.near_until, health.denied_until, health.limited_until}) <=
           now;
  });
}

std::shared_ptr<image::ContentSource> Fetcher::Choose(const base::Call& call, const FetchJob& job) {
  if (job.lease.empty() || !source_for_) return nullptr;
  if (!plan::MayFetch(automatic_, job.runtime.name, job.runtime.version)) return nullptr;
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
    // Reads the node's configuration of registries, so it comes last.
    source = source_for_(job.reference, job.runtime);
    facts.followed = source != nullptr;
    choice = plan::ChooseFetch(facts, clock_.Now());
  }
  if (choice.by == plan::FetchBy::kAgent) return source;
  base::Debug("the runtime fetches",
              {{"image", job.reference.written()}, {"reason", plan::FetchReasonName(choice.reason)}});
  return nullptr;
}

base::Status Fetcher::WriteDocument(const base::Call& call, const std::string& lease,
                                    const cri::BlobToWrite& blob, const std::string& bytes) {
  const base::Call soon = call.Within(kStoreLimit);
  auto opened = content_.OpenBlob(soon, lease, blob);
  if (!opened) return FromStore(opened.error());
  if (opened->state == cri::BlobState::kWhole) return {};
  if (opened->state == cri::BlobState::kTaken)
    return base::Unavailable("another pull writes the manifest").OwnedBy(base::Owner::kStore);
  const std::uint64_t there = std::min<std::uint64_t>(opened->writer->offset(), bytes.size());
  if (there < bytes.size()) {
    if (auto failed = opened->writer->Append(bytes.substr(there))) return FromStore(*failed);
  }
  if (auto failed = opened->writer->Commit()) return FromStore(*failed);
  return {};
}

base::Status Fetcher::FetchContent(const base::Call& call, const FetchJob& job,
                                   const image::RegistryQuestion& question,
                                   const std::shared_ptr<image::ContentSource>& source) {
  auto manifest = source->Manifest(call.Within(kManifestLimit), question);
  if (!manifest && manifest.error().code() == base::Code::kInvalidArgument)
    return base::NotFound(manifest.error().message());
  if (!manifest) return std::move(manifest).error();
  auto blobs = cri::BlobsOf(job.reference, manifest->index, manifest->manifest);
  if (!blobs) return base::NotFound("its manifest is not that of an image which can be fetched like this");
  const std::string& registry = job.reference.domain();
  const plan::FetchHealth health =
      plan::AfterManifest(HealthOf(registry), manifest->answer_time, manifest->round_trip, clock_.Now());
  Note(registry, health);
  if (clock_.Now() < health.near_until) return base::NotFound("the registry is near");
  if (job.sized) job.sized(call, blobs->size_bytes);
  if (call.Stopped()) return base::Cancelled("stopped");
  for (const cri::ImageDocument& document : blobs->documents) {
    if (auto written = WriteDocument(call, job.lease, document.blob, document.bytes); !written)
      return written;
  }
  return streams_.FetchInto(
      call, {.lease = job.lease, .blobs = std::move(blobs->blobs), .question = question, .source = source});
}

FetchEnd Fetcher::FetchInto(const base::Call& call, const FetchJob& job) {
  const std::string& registry = job.reference.domain();
  const std::shared_ptr<image::ContentSource> source = Choose(call, job);
  if (source == nullptr) {
    // It has asked for patience when another image was fetched.
    const base::Duration left = HealthOf(registry).limited_until - clock_.Now();
    return left > base::Duration(0) ? FetchEnd{.patience = left, .error = registry + " asked for patience"}
                                    : FetchEnd();
  }
  const image::RegistryQuestion question{
      .reference = job.reference, .local_digests = {}, .platform = platform_, .credentials = job.credentials};
  const base::Status brought = FetchContent(call, job, question, source);
  if (brought) return {.brought = true};
  if (call.Stopped()) return {};
  FetchEnd end{.error = brought.error().message()};
  if (brought.error().code() == base::Code::kResourceExhausted) {
    end.patience = source->AskedForPatience(question);
    Note(registry, plan::AfterLimited(HealthOf(registry), end.patience, clock_.Now()));
  } else if (IsTrouble(brought.error())) {
    Note(registry, plan::AfterFetchFailed(HealthOf(registry), clock_.Now()));
  }
  // FromStore describes wrong bytes so.
  end.wrong_bytes = brought.error().code() == base::Code::kInvalidArgument &&
                    brought.error().owner() == base::Owner::kImage;
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
    Note(registry, plan::AfterSizeDenied(HealthOf(registry), clock_.Now()));
  } else if (manifest.error().code() != base::Code::kInvalidArgument && IsTrouble(manifest.error())) {
    Note(registry, plan::AfterFetchFailed(HealthOf(registry), clock_.Now()));
  }
  return 0;
}

}  // namespace prefetch::agent
