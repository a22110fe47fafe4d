// FakeSource: the content of images for tests of the agent's own fetches.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/call.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/sha256.h"
#include "image/reference.h"
#include "image/registry_question.h"

namespace prefetch::pulling::fetching_test {

inline std::string DigestOf(const std::string& bytes) {
  return "sha256:" + base::Sha256Hex(bytes);
}

inline image::Reference Named(const std::string& name) {
  return *image::Reference::Parse(name);
}

// A registry with real bytes, whose answers can be held back or spoilt.
class FakeSource final : public image::ContentSource {
 public:
  // Makes an image of these layers.
  void Put(const std::string& name, const std::vector<std::string>& layers) {
    const auto descriptor = [this](const std::string& type, const std::string& bytes) {
      blobs_[DigestOf(bytes)] = bytes;
      return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(","digest":")" + DigestOf(bytes) +
             R"(","size":)" + std::to_string(bytes.size()) + "}";
    };
    std::string manifest =
        R"({"config":)" + descriptor("config.v1+json", "config of " + name) + R"(,"layers":[)";
    for (std::size_t i = 0; i < layers.size(); i++) {
      manifest += (i == 0 ? "" : ",") + descriptor("layer.v1.tar", layers[i]);
    }
    manifests_[Named(name).Normalized()] = manifest + "]}";
  }
  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion& image) override {
    base::Lock lock(mutex_);
    manifest_requests_++;
    if (manifests_fail_) return *manifests_fail_;
    auto found = manifests_.find(image.reference.Normalized());
    if (found == manifests_.end()) return base::NotFound("404");
    return image::ImageManifest{
        .index = {}, .manifest = found->second, .answer_time = answer_time_, .round_trip = round_trip_};
  }
  base::Status FetchBytes(const base::Call& call, const image::RegistryQuestion&,
                          const image::BlobRange& range,
                          const std::function<bool(std::string_view part)>& sink) override {
    std::string bytes;
    bool is_first = false;
    {
      base::Lock lock(mutex_);
      if (!asked_.empty() && refusals_ > 0) {
        refusals_--;
        asked_.push_back(range);
        changed_.notify_all();
        return base::ResourceExhausted("429");
      }
      bytes = blobs_.at(range.digest).substr(range.begin, range.end - range.begin);
      is_first = std::none_of(asked_.begin(), asked_.end(),
                              [&](const image::BlobRange& one) { return one.digest == range.digest; });
      asked_.push_back(range);
      under_way_++;
      most_ = std::max(most_, under_way_);
      changed_.notify_all();
    }
    base::Status sent = Send(call, range, bytes, is_first, sink);
    base::Lock lock(mutex_);
    under_way_--;
    return sent;
  }

  // Its bytes wait, all of them or those of each request from this one on.
  void Hold(const std::string& bytes, std::size_t from = 0) {
    Change([&] { held_[DigestOf(bytes)] = from; });
  }
  // The first request for these bytes drips after the first ones, until `requests` have come for them.
  void DripUntil(const std::string& bytes, int requests) {
    Change([&] { drips_[DigestOf(bytes)] = requests; });
  }
  void EndDrips() {
    Change([&] { drips_.clear(); });
  }
  // The first request that begins within a blob gets the bytes before this one, and no more.
  void HoldFirstPart(std::size_t from) {
    Change([&] { held_part_from_ = from; });
  }
  // Refuses the next `refusals` requests once it has served one.
  void Limit(int refusals) {
    Change([&] { refusals_ = refusals; });
  }
  // Breaks the connection after `after` bytes of each request.
  void Break(const std::string& bytes, std::size_t after) {
    Change([&] { breaks_[DigestOf(bytes)] = after; });
  }
  void Release() {
    Change([&] { held_.clear(); });
  }
  void Fail(const std::string& bytes, base::Error error) {
    Change([&] { failures_.insert_or_assign(DigestOf(bytes), std::move(error)); });
  }
  std::optional<base::Duration> RetryAfter(const image::RegistryQuestion&) override {
    return Read(patience_);
  }

  void AskForPatience(base::Duration wait) {
    Change([&] { patience_ = wait; });
  }
  void Spoil(const std::string& bytes) {
    Change([&] { blobs_[DigestOf(bytes)] = std::string(bytes.size(), '?'); });
  }
  void FailManifests(std::optional<base::Error> error) {
    Change([&] { manifests_fail_ = std::move(error); });
  }
  void AnswerIn(base::Duration time, std::optional<base::Duration> round_trip = {}) {
    Change([&] {
      answer_time_ = time;
      round_trip_ = round_trip;
    });
  }
  void AwaitRequests(int count) {
    base::Lock lock(mutex_);
    while (under_way_ < count) changed_.wait(mutex_);
  }
  // Until all of Limit() were refused.
  void AwaitRefusals() {
    base::Lock lock(mutex_);
    while (refusals_ > 0) changed_.wait(mutex_);
  }
  std::uint64_t served() { return Read(served_); }
  int most() { return Read(most_); }
  int manifest_requests() { return Read(manifest_requests_); }
  std::size_t requests() {
    base::Lock lock(mutex_);
    return asked_.size();
  }
  std::vector<image::BlobRange> ranges() { return Read(asked_); }

 private:
  static constexpr std::size_t kDripsFrom = 100'000;

  base::Status Send(const base::Call& call, const image::BlobRange& range, std::string_view bytes,
                    bool is_first, const std::function<bool(std::string_view part)>& sink) {
    const std::string& digest = range.digest;
    std::stop_callback wake(call.stop, [this] { changed_.notify_all(); });
    std::size_t end = bytes.size();
    base::Status result;
    {
      base::Lock lock(mutex_);
      if (held_part_from_ && range.begin > 0 && !held_part_) held_part_ = range.begin;
      if (auto failure = failures_.find(digest); failure != failures_.end()) return failure->second;
      if (auto breaks = breaks_.find(digest); breaks != breaks_.end() && breaks->second < end) {
        end = breaks->second;
        result = base::Unavailable("reset");
      }
    }
    for (std::size_t at = 0; at < end;) {
      std::size_t part = std::min<std::size_t>(end - at, 16 * 1024);
      {
        base::Lock lock(mutex_);
        const auto is_held = [&] {
          return (held_.contains(digest) && held_[digest] <= at) ||
                 (range.begin == held_part_ && held_part_from_ <= at);
        };
        while (is_held() && !call.Stopped())
          changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
        if (auto held = held_.find(digest); held != held_.end()) part = std::min(part, held->second - at);
        if (is_first && at >= kDripsFrom && drips_.contains(digest)) {
          part = 1;
          changed_.wait_until(mutex_, std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
          const auto requests = std::count_if(asked_.begin(), asked_.end(), [&](const image::BlobRange& one) {
            return one.digest == digest;
          });
          if (auto drips = drips_.find(digest); drips != drips_.end() && requests >= drips->second)
            drips_.erase(drips);
        }
        if (call.Stopped()) return base::Cancelled("stopped");
        served_ += part;
      }
      if (!sink(bytes.substr(at, part))) return base::Cancelled("not wanted");
      at += part;
    }
    return result;
  }
  template <typename F>
  void Change(F change) {
    base::Lock lock(mutex_);
    change();
    changed_.notify_all();
  }
  template <typename T>
  T Read(const T& member) {
    base::Lock lock(mutex_);
    return member;
  }
  base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, std::string> blobs_, manifests_;
  std::map<std::string, std::size_t> held_, breaks_;  // by digest
  std::map<std::string, int> drips_;                  // by digest
  std::optional<std::size_t> held_part_from_;
  std::optional<std::uint64_t> held_part_;  // where it begins
  std::map<std::string, base::Error> failures_;
  std::vector<image::BlobRange> asked_;
  std::optional<base::Error> manifests_fail_;
  base::Duration answer_time_ = std::chrono::milliseconds(50);
  std::optional<base::Duration> patience_, round_trip_;
  std::uint64_t served_ = 0;
  int under_way_ = 0, most_ = 0, manifest_requests_ = 0, refusals_ = 0;
};

}  // namespace prefetch::pulling::fetching_test
