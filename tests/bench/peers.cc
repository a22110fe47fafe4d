#include "bench/peers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/call.h"
#include "cri/image_service.h"
#include "rig/expect_ok.h"
#include "rig/process.h"

namespace prefetch::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::minutes kLongest{8};

void InThreads(const std::vector<std::string>& images, const std::function<void(const std::string&)>& work) {
  std::vector<std::thread> threads;
  for (const std::string& image : images) threads.emplace_back([&work, image] { work(image); });
  for (std::thread& thread : threads) thread.join();
}

void CallAtOnce(Lane& lane, const std::vector<std::string>& images, const std::stop_token& enough) {
  const auto runtime = cri::MakeImageService({lane.containerd.socket()});
  InThreads(images,
            [&](const std::string& image) { (void)runtime->PullImage({.stop = enough}, {.image = image}); });
}

Pulls CrictlAtOnce(const std::string& crictl) {
  return [crictl](Lane& lane, const std::vector<std::string>& images, const std::stop_token& enough) {
    const std::string endpoint = lane.containerd.endpoint();
    InThreads(images, [&](const std::string& image) {
      rig::Process process;
      EXPECT_OK(process.Start(
          {{crictl, "--runtime-endpoint", endpoint, "--image-endpoint", endpoint, "pull", image}, {}},
          lane.scratch / "crictl.log"));
      EXPECT_TRUE(rig::Eventually(kLongest, [&] { return enough.stop_requested() || !process.Running(); }));
    });
  };
}

// Its limits and pauses: each try for 30 s at first, doubling to 5 min, with pauses of a second, doubling. A
// quarter of that with a quarter of the images.
struct Timing {
  milliseconds limit{7'500 * Quarters()}, longest_limit{75'000 * Quarters()}, pause{250 * Quarters()};
};

// Bad images would never end: three tries.
void CallAsImagePrefetcher(Lane& lane, const std::vector<std::string>& images,
                           const std::stop_token& enough) {
  const auto runtime = cri::MakeImageService({lane.containerd.socket()});
  InThreads(images, [&](const std::string& image) {
    Timing timing;
    for (int refused = 0; refused < 3 && !enough.stop_requested();) {
      const base::Call call{.deadline = steady_clock::now() + timing.limit, .stop = enough};
      auto pulled = runtime->PullImage(call, {.image = image});
      if (pulled) return;
      const bool limited = pulled.error().error_class == image::ErrorClass::kRateLimited;
      if (steady_clock::now() < call.deadline && !limited) refused++;
      timing.limit = std::min(2 * timing.limit, timing.longest_limit);
      base::Pause({.stop = enough}, timing.pause);
      timing.pause *= 2;
    }
  });
}

Pulls ImagePrefetcher(const std::string& program) {
  return [program](Lane& lane, const std::vector<std::string>& images, const std::stop_token& enough) {
    std::string list;
    for (const std::string& image : images) list += image + "\n";
    const Timing timing;
    auto flag = [](const char* name, milliseconds value) {
      return std::string(name) + "=" + std::to_string(value.count()) + "ms";
    };
    rig::Process process;
    ASSERT_OK(process.Start({{program, "fetch", "--cri-socket", lane.containerd.socket(), "--image-list-file",
                              lane.scratch.Write("image-prefetcher.txt", list),
                              flag("--initial-pull-attempt-timeout", timing.limit),
                              flag("--max-pull-attempt-timeout", timing.longest_limit),
                              flag("--initial-pull-attempt-delay", timing.pause)},
                             {}},
                            lane.scratch / "image-prefetcher.log"));
    // With bad images it does not end.
    EXPECT_TRUE(rig::Eventually(kLongest, [&] { return enough.stop_requested() || !process.Running(); }));
  };
}

}  // namespace

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int Quarters() {
  return FromEnvironment("PREFETCH_BENCH_SIZE") == "whole" ? 4 : 1;
}

Lane::Lane(const std::vector<std::pair<std::string, int>>& hosts) {
  EXPECT_OK(containerd.Start());
  for (const auto& [host, port] : hosts) EXPECT_OK(containerd.Route(host, port));
}

std::vector<Contender> Peers() {
  const std::string crictl = FromEnvironment("PREFETCH_BENCH_CRICTL");
  const std::string image_prefetcher = FromEnvironment("PREFETCH_BENCH_IMAGE_PREFETCHER");
  return {{"at once", crictl.empty() ? CallAtOnce : CrictlAtOnce(crictl)},
          {"image-prefetcher",
           image_prefetcher.empty() ? CallAsImagePrefetcher : ImagePrefetcher(image_prefetcher)}};
}

}  // namespace prefetch::bench
