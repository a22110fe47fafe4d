// FakeRegistries: the registries of the fake world as they answer questions without a pull. They hold the
// images that the fake runtime pulls; each registry can be down, refuse access, or ask for patience.
#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "pulling/fetching.h"
#include "pulling/query_registry.h"

namespace prefetch::tests {

enum class RegistryMood {
  kUp,
  kDown,        // no connection
  kDenying,     // 403 to everybody
  kLimiting,    // 429
  kFailing,     // 500
  kUnclear,     // 200, and nothing that can be compared
  kOnlyByPull,  // the runtime uses mirrors that only it can follow
};

// Any thread may call anything. Clock and runtime outlive it.
class FakeRegistries {
 public:
  FakeRegistries(const FakeClock& clock, const FakeImageService& runtime)
      : clock_(clock), runtime_(runtime) {}

  // Sets the mood of one registry, by its domain. `retry_after` is for kLimiting.
  void Set(const std::string& registry, RegistryMood mood,
           std::optional<std::chrono::milliseconds> retry_after = std::nullopt) PREFETCH_EXCLUDES(mutex_);
  // Sets what every answer of that registry about an existing tag reports about pulls; nullopt: nothing.
  void Allow(const std::string& registry, std::optional<image::PullAllowance> allowance)
      PREFETCH_EXCLUDES(mutex_);
  // Answers from what the registries have when they are asked.
  pulling::RegistryResolver Requester();
  // Manifests, as from registries next door; nobody gets bytes of blobs. For an agent that fetches.
  pulling::ContentSourceFor NearContents();

  // All counts, and registries that are up, as if nobody had asked yet: for stories of months.
  void ForgetRequests() PREFETCH_EXCLUDES(mutex_);

  int requests(const std::string& registry) const PREFETCH_EXCLUDES(mutex_);
  int requests() const PREFETCH_EXCLUDES(mutex_);
  int manifests() const PREFETCH_EXCLUDES(mutex_);                         // that were asked for
  int manifests(const std::string& name) const PREFETCH_EXCLUDES(mutex_);  // of one image
  // The most requests that came within any one second of virtual time, to all registries.
  int peak_per_second() const PREFETCH_EXCLUDES(mutex_);

 private:
  struct Registry {
    RegistryMood mood = RegistryMood::kUp;
    std::optional<std::chrono::milliseconds> retry_after;
    std::optional<image::PullAllowance> allowance;
    int requests = 0;
  };

  class NearContent;

  base::Result<image::ImageManifest> ManifestOf(const image::RegistryQuestion& question)
      PREFETCH_EXCLUDES(mutex_);
  image::RegistryAnswer Ask(const image::RegistryQuestion& question) PREFETCH_EXCLUDES(mutex_);
  void Count(Registry& registry) PREFETCH_REQUIRES(mutex_);

  const FakeClock& clock_;
  const FakeImageService& runtime_;
  mutable base::Mutex mutex_;
  std::map<std::string, Registry> registries_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, int> manifests_ PREFETCH_GUARDED_BY(mutex_);  // by name
  std::map<std::int64_t, int> by_second_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::tests
