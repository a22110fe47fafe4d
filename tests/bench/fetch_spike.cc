#include "bench/fetch_spike.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "bench/content_writer.h"
#include "cri/grpc_content_service.h"
#include "cri/grpc_image_service.h"
#include "cri/pull_resources.h"
#include "cri/runtime_json.h"
#include "http/curl_client.h"
#include "image/reference.h"
#include "registry/client.h"

namespace prefetch::bench {
namespace {

constexpr const char* kLease = "prefetchd-spike";
constexpr std::uint64_t kRange = 1 << 20;
constexpr const char* kManifestTypes =
    "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json";

struct Image {
  std::size_t place = 0;  // in the list
  image::Reference reference;
  registry::Host host;
  std::size_t missing = 0;  // blobs
  bool failed = false;
};

struct Fetch {
  BlobToWrite blob;
  std::string url;
  std::vector<Image*> wanted_by;
  std::unique_ptr<ContentStore::Writer> writer;
  enum class State { kNew, kOpening, kOpen, kDone } state = State::kNew;
  std::uint64_t assigned = 0;  // to streams, from the beginning
  std::uint64_t written = 0;
  bool failed = false;
};

struct Range {
  Fetch* fetch = nullptr;
  std::uint64_t begin = 0, end = 0;
};

class Spike {
 public:
  Spike(const SpikeOptions& options, const std::vector<std::string>& images)
      : options_(options),
        registry_(http_, clock_, Settings(options.hosts_dir)),
        store_(options.socket, kLease),
        runtime_({options.socket}) {
    for (const std::string& name : images) {
      Image& image = images_.emplace_back();
      image.place = images_.size();
      image.reference = image::Reference::Parse(name).value();
      auto chain = registry_.HostsFor(image.reference);
      image.failed = chain->hosts.empty();
      if (!image.failed) image.host = chain->hosts.front().host;
    }
  }

  SpikeResult Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.streams; i++) threads.emplace_back([this] { Stream(); });
    for (int i = 0; i < options_.pulls; i++) threads.emplace_back([this] { Pull(); });
    for (std::thread& thread : threads) thread.join();
    return {fetched_, pulled_};
  }

 private:
  static registry::ClientOptions Settings(const std::string& hosts_dir) {
    registry::ClientOptions options;
    options.hosts.runtime.config_path = hosts_dir;
    return options;
  }

  // A connection's thread.
  void Stream() {
    http::CurlClient http;
    while (true) {
      Image* image = nullptr;
      Range range;
      if (!Next(image, range)) return;
      if (image != nullptr) {
        Resolve(http, *image);
      } else if (range.end == 0 && range.fetch->blob.size > 0) {
        Open(*range.fetch);
      } else {
        Move(http, range);
      }
    }
  }

  // Manifests first, then blobs in the order of the images, larger ones of an image first. False at the end.
  bool Next(Image*& image, Range& range) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    while (true) {
      if (resolved_ < images_.size()) {
        image = &images_[resolved_++];
        resolving_++;
        return true;
      }
      for (auto& [order, fetch] : fetches_) {
        if (fetch.state == Fetch::State::kNew) {
          fetch.state = Fetch::State::kOpening;
          range = {&fetch, 0, 0};
          return true;
        }
        if (fetch.state != Fetch::State::kOpen || fetch.assigned == fetch.blob.size) continue;
        range = {&fetch, fetch.assigned, std::min(fetch.assigned + kRange, fetch.blob.size)};
        fetch.assigned = range.end;
        return true;
      }
      if (resolving_ == 0 && std::all_of(fetches_.begin(), fetches_.end(), [](const auto& fetch) {
            return fetch.second.state == Fetch::State::kDone;
          })) {
        return false;
      }
      changed_.wait(mutex_);
    }
  }

  std::optional<std::string> Get(http::CurlClient& http, const http::Request& request) {
    auto got = http.Send({}, request);
    if (!got || (got->status != 200 && got->status != 206)) return std::nullopt;
    return std::move(got->body);
  }

  void Resolve(http::CurlClient& http, Image& image) {
    http::Request request{.url = registry::ManifestUrl(image.host, image.reference).ToString()};
    request.headers.Add("Accept", kManifestTypes);
    std::optional<std::string> manifest = image.failed ? std::nullopt : Get(http, request);
    std::optional<std::vector<cri::Blob>> blobs;
    if (manifest) blobs = cri::ParseImageManifest(*manifest);
    if (blobs && !Keep(image, *manifest, *blobs)) blobs.reset();
    base::Lock lock(mutex_);
    resolving_--;
    image.failed = !blobs;
    if (blobs) Want(image, *blobs);
    if (image.missing == 0) ready_.push_back(&image);
    changed_.notify_all();
  }

  // The manifest keeps its blobs once the lease has gone.
  bool Keep(const Image& image, const std::string& manifest, const std::vector<cri::Blob>& blobs) {
    const std::string digest = "sha256:" + base::Sha256Hex(manifest);
    BlobToWrite blob{"manifest-" + digest, digest, manifest.size(), Source(image)};
    for (std::size_t i = 0; i < blobs.size(); i++) {
      const std::string key = i == 0 ? "config" : "l." + std::to_string(i - 1);
      blob.labels["containerd.io/gc.ref.content." + key] = blobs[i].digest;
    }
    auto writer = store_.Open(blob);
    auto there = writer->Begin();
    if (!there) return false;
    if (*there == blob.size) return true;
    return *there == 0 && writer->Append(manifest).ok() && writer->Commit().ok();
  }

  static std::map<std::string, std::string> Source(const Image& image) {
    return {{cri::SourceLabel(image.reference.domain()), image.reference.path()}};
  }

  void Want(Image& image, std::vector<cri::Blob> blobs) PREFETCH_REQUIRES(mutex_) {
    const std::string config = blobs.front().digest;
    std::stable_sort(blobs.begin(), blobs.end(),
                     [](const auto& a, const auto& b) { return a.size_bytes > b.size_bytes; });
    for (std::size_t rank = 0; rank < blobs.size(); rank++) {
      const cri::Blob& blob = blobs[rank];
      Fetch*& fetch = by_digest_[blob.digest];
      if (fetch == nullptr) {
        fetch = &fetches_[{image.place, rank}];
        fetch->blob = {(blob.digest == config ? "config-" : "layer-") + blob.digest, blob.digest,
                       blob.size_bytes, Source(image)};
        fetch->url = image.host.server.ToString() + "/" + image.reference.path() + "/blobs/" + blob.digest;
      }
      if (fetch->state == Fetch::State::kDone) continue;
      fetch->wanted_by.push_back(&image);
      image.missing++;
    }
  }

  void Open(Fetch& fetch) {
    auto writer = store_.Open(fetch.blob);
    auto there = writer->Begin();
    base::Lock lock(mutex_);
    if (!there || *there == fetch.blob.size) {
      Done(fetch, !there);
      return;
    }
    fetch.writer = std::move(writer);
    fetch.assigned = fetch.written = *there;
    fetch.state = Fetch::State::kOpen;
    changed_.notify_all();
  }

  void Done(Fetch& fetch, bool failed) PREFETCH_REQUIRES(mutex_) {
    fetch.state = Fetch::State::kDone;
    fetch.failed = failed;
    for (Image* image : fetch.wanted_by) {
      image->failed = image->failed || failed;
      if (--image->missing == 0) ready_.push_back(image);
    }
    changed_.notify_all();
  }

  // Fetches a range, and writes it when those before it are written.
  void Move(http::CurlClient& http, const Range& range) {
    Fetch& fetch = *range.fetch;
    http::Request request{.url = fetch.url};
    if (range.begin > 0 || range.end < fetch.blob.size) {
      request.headers.Add("Range",
                          "bytes=" + std::to_string(range.begin) + "-" + std::to_string(range.end - 1));
    }
    std::optional<std::string> bytes = Get(http, request);
    {
      base::Lock lock(mutex_);
      while (fetch.written != range.begin && !fetch.failed) changed_.wait(mutex_);
      if (fetch.failed) return;
    }
    const bool last = range.end == fetch.blob.size;
    const bool well = bytes && bytes->size() == range.end - range.begin &&
                      fetch.writer->Append(*std::move(bytes)).ok() && (!last || fetch.writer->Commit().ok());
    base::Lock lock(mutex_);
    fetch.written = range.end;
    if (last || !well) {
      fetch.writer.reset();
      Done(fetch, !well);
    } else {
      changed_.notify_all();
    }
  }

  // A thread that calls PullImage.
  void Pull() {
    while (true) {
      Image* image = nullptr;
      {
        base::Lock lock(mutex_);
        while (ready_.empty() && begun_ < images_.size()) changed_.wait(mutex_);
        if (ready_.empty()) return;
        image = ready_.front();
        ready_.pop_front();
        begun_++;
        changed_.notify_all();
      }
      if (!image->failed) fetched_++;
      auto pulled = runtime_.PullImage({}, {.image = image->reference.SpecImage(), .lease = kLease});
      if (pulled) pulled_++;
    }
  }

  const SpikeOptions options_;
  const base::SystemClock clock_;
  http::CurlClient http_;
  registry::Client registry_;
  ContentStore store_;
  cri::GrpcImageService runtime_;
  std::atomic<int> fetched_{0}, pulled_{0};
  base::Mutex mutex_;
  base::Condition changed_;
  std::deque<Image> images_;  // each belongs to one thread at a time
  std::size_t resolved_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int resolving_ PREFETCH_GUARDED_BY(mutex_) = 0;
  // By the image's place and the blob's among the image's.
  std::map<std::pair<std::size_t, std::size_t>, Fetch> fetches_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, Fetch*> by_digest_ PREFETCH_GUARDED_BY(mutex_);
  std::deque<Image*> ready_ PREFETCH_GUARDED_BY(mutex_);
  std::size_t begun_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

}  // namespace

SpikeResult FetchThenPull(const SpikeOptions& options, const std::vector<std::string>& images) {
  cri::GrpcContentService leases({options.socket});
  if (!leases.EnsureLease({}, kLease, std::chrono::hours(1))) return {};
  SpikeResult result = Spike(options, images).Run();
  (void)leases.DeleteLease({}, kLease);
  return result;
}

}  // namespace prefetch::bench
