// The costs of the agent on a node of an extreme size: 5,000 entries of 300 registries, 20,000 records of
// kubelet's, a list that changes every second.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/many_images.h"
#include "bench/measure.h"
#include "http/curl_client.h"
#include "kubelet/record_text.h"
#include "kubelet/records.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::bench {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kEntries = 5000, kRegistries = 300, kRecords = 20'000;
constexpr int kFewEntries = 500, kFewRecords = 2000;

class Scale : public testing::Test {
 protected:
  // kubelet has `records` records of images, and the list has the first `entries` of these images.
  void Start(int entries, int records) {
    runtime_ = std::make_unique<ManyImages>(scratch_ / "cri.sock", entries, kRegistries);
    const std::string folder = scratch_ / "kubelet/image_manager/";
    for (const char* part : {"pulled", "pulling"}) std::filesystem::create_directories(folder + part);
    for (int i = 0; i < records; i++) {
      const std::string name = ImageName(i, kRegistries);
      std::ofstream(folder + "pulled/" + kubelet::FileNameFor(ImageId(i)))
          << tests::RecordText(ImageId(i), name.substr(0, name.rfind(':')), tests::kOpenEntry);
    }
    WriteList(entries);
    started_ = steady_clock::now();
    ASSERT_OK(
        agent_.Start({{std::getenv("PREFETCHD"), "--list", scratch_ / "images.yaml", "--runtime-endpoint",
                       "unix://" + (scratch_ / "cri.sock"), "--listen", "127.0.0.1:0", "--local", Socket(),
                       "--kubelet-root", scratch_ / "kubelet", "--kubelet-version", "1.36.2",
                       "--kubelet-verification", "NeverVerifyPreloadedImages"},
                      {{"HOME", scratch_.path()}}},
                     scratch_ / "agent.log"));
    const bool ready = rig::Eventually(seconds(40), [&] { return Get("/readyz").first == 200; });
    ASSERT_TRUE(ready) << Get("/readyz?verbose").second.substr(0, 2000);
    ready_after_ = SecondsSince(started_);
  }
  void TearDown() override {
    if (agent_.pid() <= 0) return;
    EXPECT_TRUE(agent_.Stop(seconds(10)));
  }

  void WriteList(int entries, int change = 0) {
    std::string text = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n";
    for (int i = change % 2; i < entries; i++) text += "- {image: " + ImageName(i, kRegistries) + "}\n";
    scratch_.Write("images.new", text);
    std::filesystem::rename(scratch_ / "images.new", scratch_ / "images.yaml");
  }
  std::string Socket() const { return scratch_ / "agent.sock"; }
  std::pair<int, std::string> Get(const std::string& path) {
    auto answer =
        http_.Send({.deadline = steady_clock::now() + seconds(20)},
                   {.url = "http://localhost" + path, .unix_socket = Socket(), .max_body_bytes = 64 << 20});
    return answer ? std::pair(answer->status, answer->body) : std::pair(0, std::string());
  }
  // CPU seconds of one look and its turn, over `time`.
  double CpuOfALook(seconds time) {
    const int before = runtime_->lists();
    const double cpu = CpuSecondsOf(agent_.pid());
    rig::Eventually(time, [] { return false; });
    return (CpuSecondsOf(agent_.pid()) - cpu) / std::max(1, runtime_->lists() - before);
  }

  rig::Scratch scratch_;
  std::unique_ptr<ManyImages> runtime_;
  rig::Process agent_;
  http::CurlClient http_;
  steady_clock::time_point started_;
  double ready_after_ = 0;
};

// Ten times as much costs ten times as much: nothing grows faster than its list.
TEST_F(Scale, ATenthOfIt) {
  Start(kFewEntries, kFewRecords);
  const double cpu = CpuSecondsOf(agent_.pid());
  Print("500 entries, 2,000 records: until /readyz is 200", Milliseconds(ready_after_), "");
  Print("… CPU until then", Milliseconds(cpu), "");
  Print("… CPU of an idle look", Milliseconds(CpuOfALook(seconds(25))), "");
  Print("… resident", MiB(MemoryOf(agent_.pid()).resident_bytes), "");
}

TEST_F(Scale, FiveThousandEntries) {
  Start(kEntries, kRecords);
  const double cpu = CpuSecondsOf(agent_.pid());
  Print("5,000 entries, 300 registries, 20,000 records: until /readyz is 200", Milliseconds(ready_after_),
        "<= 2 s");
  Print("… CPU until then", Milliseconds(cpu), "<= 1.5 s");
  Print("… CPU of an idle look", Milliseconds(CpuOfALook(seconds(25))), "<= 50 ms");
  Print("… resident", MiB(MemoryOf(agent_.pid()).resident_bytes), "<= 64 MiB");
  const auto start = steady_clock::now();
  const auto status = Get("/v1/status");
  EXPECT_EQ(status.first, 200);
  Print("… /v1/status", MiB(status.second.size()) + " in " + Milliseconds(SecondsSince(start)), "<= 8 MiB");
  const auto metrics = Get("/metrics");
  EXPECT_EQ(metrics.first, 200);
  Print("… /metrics", std::to_string(metrics.second.size() >> 10) + " KiB", "");
}

TEST_F(Scale, AListThatChangesEverySecond) {
  Start(kEntries, kRecords);
  std::atomic<bool> over = false;
  std::vector<double> times;
  std::thread probe([&] {
    while (!over) {
      const auto start = steady_clock::now();
      EXPECT_NE(Get("/readyz").first, 0);
      times.push_back(SecondsSince(start));
      rig::Pause();
    }
  });
  constexpr int kChanges = 30;
  const double cpu = CpuSecondsOf(agent_.pid());
  for (int change = 1; change <= kChanges; change++) {
    WriteList(kEntries, change);
    const auto next = steady_clock::now() + seconds(1);
    while (steady_clock::now() < next) rig::Pause();
  }
  const double used = CpuSecondsOf(agent_.pid()) - cpu;
  over = true;
  probe.join();
  std::sort(times.begin(), times.end());
  // The last change is in force, and nothing of it was pulled.
  const std::string entries = "\"entries\":" + std::to_string(kEntries - kChanges % 2);
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] {
    return Get("/readyz").first == 200 && Get("/v1/status").second.find(entries) != std::string::npos;
  })) << Get("/readyz").second;
  Print("… CPU of a changed list, one a second", Milliseconds(used / kChanges), "<= 400 ms");
  Print("… /readyz meanwhile, " + std::to_string(times.size()) + " questions",
        "p50 " + Milliseconds(times[times.size() / 2]) + ", p99 " +
            Milliseconds(times[times.size() * 99 / 100]),
        "p99 <= 10 ms");
  Print("… resident afterwards", MiB(MemoryOf(agent_.pid()).resident_bytes), "<= 96 MiB");
}

}  // namespace
}  // namespace prefetch::bench
