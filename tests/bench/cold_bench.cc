// Cold: an empty node to all ready, against the same images pulled all at once straight through CRI.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "bench/measure.h"
#include "cri/grpc_image_service.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::bench {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int kImages = 40;
constexpr std::uint64_t kBytes = 8'000'000;
constexpr int kPairs = 2;  // one with each first; PREFETCH_BENCH_PAIRS for a better figure

// The registry's images; each run gets a containerd of its own, so that nothing is there.
class Cold : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(registry_.Start());
    rig::Pusher pusher(registry_.address());
    for (unsigned i = 0; i < kImages; i++) {
      std::string repository = "app" + std::to_string(i);
      auto pushed = pusher.Push({repository, "v1", {{1, 2'000'000}, {100 + i, kBytes}}});
      ASSERT_OK(pushed);
      good_.push_back(kHost + ("/" + repository) + ":v1");
    }
  }

  static constexpr const char* kHost = "registry.example.test";

  // The agent's way: seconds until prefetchd --once has ended.
  double Agent(const std::vector<std::string>& images, const std::string& run, int expect_exit, int port) {
    rig::Containerd containerd(scratch_, run);
    EXPECT_OK(containerd.Start());
    EXPECT_OK(containerd.Route(kHost, port));
    std::string list;
    for (const std::string& image : images) list += image + "\n";
    scratch_.Write(run + ".txt", list);
    scratch_.Write(run + "-config.yaml",
                   "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                   "limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000000}\n");
    ::sync();
    auto start = steady_clock::now();
    auto ran = rig::RunProgram(
        {{std::getenv("PREFETCHD"), "--kubelet=none", "--once", "--config", scratch_ / (run + "-config.yaml"),
          "--list", scratch_ / (run + ".txt"), "--runtime-endpoint", containerd.endpoint(), "--listen",
          "127.0.0.1:0", "--local", scratch_ / (run + ".sock"), "--timeout", "120s"},
         {}},
        std::chrono::minutes(3));
    double took = SecondsSince(start);
    EXPECT_OK(ran);
    if (ran) {
      EXPECT_EQ(ran->exit.code, expect_exit) << ran->out << ran->err;
      scratch_.Write(run + ".log", ran->err);
    }
    return took;
  }

  // All at once: a thread an image, straight through CRI.
  double AllAtOnce(const std::string& run) {
    rig::Containerd containerd(scratch_, run);
    EXPECT_OK(containerd.Start());
    EXPECT_OK(containerd.Route(kHost, registry_.port()));
    ::sync();
    auto start = steady_clock::now();
    cri::GrpcImageService images(*cri::ParseEndpoint(containerd.endpoint()));
    std::vector<std::thread> pulls;
    for (const std::string& image : good_) {
      pulls.emplace_back([&images, image] { EXPECT_TRUE(images.PullImage({}, {.image = image}).ok()); });
    }
    for (std::thread& pull : pulls) pull.join();
    return SecondsSince(start);
  }

  rig::Scratch scratch_;
  rig::Registry registry_{scratch_, "registry"};
  std::vector<std::string> good_;
};

TEST_F(Cold, MakespanAgainstAllAtOnce) {
  std::vector<double> ratios, ours, theirs;
  const char* wanted = std::getenv("PREFETCH_BENCH_PAIRS");
  int pairs = wanted == nullptr ? kPairs : std::max(1, std::atoi(wanted));
  for (int pair = 0; pair < pairs; pair++) {
    std::string n = std::to_string(pair);
    // Each goes first in turn: what the one before has left to be written slows down the next.
    if (pair % 2 == 0) theirs.push_back(AllAtOnce("b" + n));
    ours.push_back(Agent(good_, "a" + n, 0, registry_.port()));
    if (pair % 2 == 1) theirs.push_back(AllAtOnce("b" + n));
    ratios.push_back(ours.back() / theirs.back());
  }
  char text[160];
  std::snprintf(text, sizeof text, "%.2f x (median of %d pairs; %.2f s against %.2f s)", Median(ratios),
                kPairs, Median(ours), Median(theirs));
  Print("cold, 40 images of 10 MB, against all at once", text, "<= 1.05 x");
}

TEST_F(Cold, WrongReferencesDelayNobody) {
  rig::Proxy proxy(registry_.port());
  ASSERT_OK(proxy.Start());
  double clean = Agent(good_, "clean", 0, proxy.port());
  std::vector<std::string> images = good_;
  for (int i = 0; i < 4; i++)
    images.insert(images.begin() + i * 9, kHost + ("/gone" + std::to_string(i)) + ":v1");
  proxy.Answer("/v2/denied/",
               "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\n"
               "Content-Length: 0\r\n\r\n");
  images.insert(images.begin(), kHost + std::string("/denied:v1"));
  proxy.Forget();
  double with_bad = Agent(images, "bad", 1, proxy.port());
  char text[160];
  std::snprintf(text, sizeof text, "%.2f x (%.2f s against %.2f s), %zu requests for the 5 bad ones",
                with_bad / clean, with_bad, clean, proxy.Count("", "/gone") + proxy.Count("", "/denied"));
  Print("cold, with 5 wrong references among 45", text, "no later, <= 10 requests");
}

}  // namespace
}  // namespace prefetch::bench
