// Warm and idle: what the agent costs once everything is there.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "bench/measure.h"
#include "http/curl_client.h"
#include "loopback.h"
#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::bench {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kMany = 1000;
constexpr int kFew = 100;
constexpr std::uintmax_t kRoom = 4'000'000'000;

class Idle : public testing::Test {
 protected:
  // The containerd is made once, with a hundred images; in memory where there is room, since pulling a
  // thousand onto a disk takes minutes of fsync, and an idle node reads nothing of them.
  static void SetUpTestSuite() {
    const std::string usual = std::filesystem::temp_directory_path();
    std::error_code none;
    constexpr const char* kMemory = "/dev/shm";
    if (std::filesystem::space(kMemory, none).available >= kRoom && !none) ::setenv("TMPDIR", kMemory, 1);
    shared_ = new Shared;
    ::setenv("TMPDIR", usual.c_str(), 1);
    rig::Pusher pusher(shared_->host->registry().address());
    for (unsigned i = 0; i < kMany; i++) {
      std::string repository = "app" + std::to_string(i);
      auto pushed = pusher.Push({repository, "v1", {{100 + i, 2500}}});
      ASSERT_OK(pushed);
      shared_->images.push_back(shared_->host->host() + "/" + repository + ":v1");
    }
    Pull(kFew);
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  static void List(int count) {
    shared_->node.HasList({shared_->images.begin(), shared_->images.begin() + count});
  }
  // Pulls images until the node has at least `count`.
  static void Pull(int count) {
    if (count <= shared_->pulled) return;
    List(count);
    rig::Ran ran = shared_->node.Once({"--timeout", "170s"});
    ASSERT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
    shared_->host->proxy().Forget();
    shared_->pulled = count;
  }
  system::Node& node() { return shared_->node; }

  int Readyz() {
    auto answer =
        http_.Send({.deadline = steady_clock::now() + seconds(5)},
                   {.url = "http://localhost/readyz", .unix_socket = node().scratch() / "agent.sock"});
    return answer ? answer->status : 0;
  }
  // Starts the agent; seconds from its start until /readyz says 200.
  double StartUntilReady() {
    auto start = steady_clock::now();
    EXPECT_OK(node().agent().Start(node().Agent({}), node().scratch() / "agent.log"));
    EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return Readyz() == 200; })) << node().AgentLog();
    return SecondsSince(start);
  }
  void Stop() { EXPECT_TRUE(node().agent().Stop(seconds(5))); }

  struct Shared {
    system::Node node;
    std::unique_ptr<system::Host> host = node.AddRegistry("registry.example.test", {});
    std::vector<std::string> images;
    int pulled = 0;
  };
  static Shared* shared_;
  http::CurlClient http_;
};
Idle::Shared* Idle::shared_ = nullptr;

// The first, while the node has no other images.
TEST_F(Idle, MemoryAndCpu) {
  Memory few, many;
  for (auto [count, memory] : {std::pair{kFew, &few}, std::pair{kMany, &many}}) {
    Pull(count);
    List(count);
    StartUntilReady();
    rig::Eventually(seconds(10), [] { return false; });  // what comes once is over
    double before = CpuSecondsOf(node().agent().pid());
    auto start = steady_clock::now();
    rig::Eventually(seconds(30), [] { return false; });  // four turns
    double cpu = (CpuSecondsOf(node().agent().pid()) - before) / SecondsSince(start) * 60;
    *memory = MemoryOf(node().agent().pid());
    Print("CPU in an idle minute, " + std::to_string(count) + " entries", Milliseconds(cpu),
          count == kFew ? "<= 20 ms" : "<= 40 ms");
    if (count == kMany)
      Print("CPU of an idle turn, 1,000 entries", Milliseconds(cpu / 60 * 8), "<= 5 ms, 1 RPC");
    Stop();
  }
  Print("memory, idle, 100 entries",
        MiB(few.resident_bytes) + " resident, " + MiB(few.private_bytes) + " of it private",
        "<= 16 MiB, <= 3 MiB");
  Print("memory, idle, 1,000 entries",
        "+" + MiB(many.resident_bytes - std::min(many.resident_bytes, few.resident_bytes)), "<= +4 MiB");
}

TEST_F(Idle, WarmStart) {
  Pull(kMany);
  List(kMany);
  std::vector<double> times;
  for (int i = 0; i < 5; i++) {
    times.push_back(StartUntilReady());
    Stop();
  }
  Print("warm start, 1,000 entries, until /readyz is 200",
        Milliseconds(Median(times)) + ", " + std::to_string(shared_->host->proxy().Requests().size()) +
            " registry requests",
        "<= 150 ms, 0 requests");
  EXPECT_EQ(shared_->host->proxy().Requests().size(), 0U);
}

TEST_F(Idle, ListChangeUntilTheFirstRequest) {
  List(kFew);
  StartUntilReady();
  std::vector<double> times;
  for (int i = 0; i < 5; i++) {
    shared_->host->proxy().Forget();
    std::vector<std::string> images(shared_->images.begin(), shared_->images.begin() + kFew);
    images.push_back(shared_->host->host() + "/gone" + std::to_string(i) + ":v1");
    node().HasList(images);
    auto start = steady_clock::now();
    EXPECT_TRUE(rig::Eventually(seconds(10), [&] { return !shared_->host->proxy().Requests().empty(); }));
    times.push_back(SecondsSince(start));
  }
  Stop();
  Print("list change until its pull reaches the registry", Milliseconds(Median(times)), "<= 200 ms");
}

TEST_F(Idle, TermWithSixteenPullsInFlight) {
  node().HasListFile("images.txt", "");
  node().HasLimits(
      "{parallelPulls: 16, perRegistryPulls: 16, diskHighPercent: 99, diskMinFreeBytes: 1000000}");
  std::vector<std::string> images;
  for (unsigned i = 0; i < 16; i++) {
    images.push_back(shared_->host->Push("slow" + std::to_string(i), "v1", {{5000 + i, 3'000'000}}));
  }
  shared_->host->proxy().LimitBandwidth(500'000);
  shared_->host->proxy().Forget();
  node().HasList(images);
  EXPECT_OK(node().agent().Start(node().Agent({}), node().scratch() / "agent.log"));
  EXPECT_TRUE(rig::Eventually(seconds(20), [&] {
    return shared_->host->proxy().Count("GET", "/blobs/") >= 16;
  })) << shared_->host->proxy().Count("GET", "/blobs/");
  auto start = steady_clock::now();
  EXPECT_TRUE(node().agent().Stop(seconds(10)));
  Print("SIGTERM until the exit, 16 pulls in flight", Milliseconds(SecondsSince(start)), "<= 1 s");
  shared_->host->proxy().LimitBandwidth(0);
}

// A client that sends half a request and then nothing.
int Dribbler(std::uint16_t port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = tests::Loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    [[maybe_unused]] auto sent = ::send(fd, "GET /readyz HT", 14, MSG_NOSIGNAL);
  }
  return fd;
}

TEST_F(Idle, ReadyzUnderTwoHundredSlowClients) {
  List(kFew);
  StartUntilReady();
  auto status = node().Status();
  std::string log = node().AgentLog();
  std::size_t at = log.rfind("\"listen\":\"127.0.0.1:");
  ASSERT_NE(at, std::string::npos);
  auto port = static_cast<std::uint16_t>(std::stoi(log.substr(at + 20)));
  std::vector<int> slow;
  for (int i = 0; i < 200; i++) slow.push_back(Dribbler(port));
  std::vector<double> times;
  for (int i = 0; i < 500; i++) {
    auto start = steady_clock::now();
    auto answer = http_.Send({.deadline = steady_clock::now() + seconds(5)},
                             {.url = "http://127.0.0.1:" + std::to_string(port) + "/readyz"});
    EXPECT_TRUE(answer && answer->status == 200);
    times.push_back(SecondsSince(start));
  }
  for (int fd : slow) ::close(fd);
  Stop();
  std::sort(times.begin(), times.end());
  Print("/readyz under 200 slow connections",
        "p50 " + Milliseconds(times[250]) + ", p99 " + Milliseconds(times[495]), "p99 <= 10 ms");
}

}  // namespace
}  // namespace prefetch::bench
