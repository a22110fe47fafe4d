// `--fetch=auto` on a real containerd: the agent downloads content itself from 2.1 on, and leaves it to older
// releases. In any case, all images come, and each byte once.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rig/expect_ok.h"
#include "system/fetch_parts.h"
#include "system/node.h"

namespace prefetch::system::fetch_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kContent = 7 * kMegabyte;
constexpr std::uint64_t kHeaders = 300'000;  // manifests, configurations, tokens, headers
// For kernels, the proxy is near. So an answer is to take longer than a near registry's that is busy
// (plan/fetch_order.h).
constexpr milliseconds kFarOneWay{15};
const rig::User kRobot{"robot", "hunter2-of-the-fetch"};

std::string Answer(const std::string& status, const std::string& header = "") {
  return "HTTP/1.1 " + status + "\r\n" + header + "Content-Length: 0\r\nConnection: close\r\n\r\n";
}

class FetchOnContainerd : public testing::Test {
 protected:
  FetchOnContainerd() { registry_->proxy().Delay(kFarOneWay); }

  // The route of hosts.toml leads to another name, so the operator has to trust it with the login.
  std::vector<std::string> Flags() {
    return {"--fetch=auto", "--registry-containerd-config", node_.containerd().config_file(),
            "--registry-trusted-mirror", registry_->proxy().address()};
  }
  std::string Push(Host& host) { return host.Push("app", "v1", {{1, 4 * kMegabyte}, {2, 3 * kMegabyte}}); }
  void Start(const std::string& image) {
    node_.HasList({image});
    node_.StartAgent(Flags());
  }
  void ExpectReady() {
    EXPECT_TRUE(rig::Eventually(seconds(60), [&] { return node_.Get("/readyz").status == 200; }))
        << node_.AgentLog();
  }
  void ExpectLeftToTheRuntime(Host& host) {
    std::vector<std::string> images;
    for (std::uint64_t i = 0; i < 8; i++) {
      images.push_back(host.Push("app" + std::to_string(i), "v1", {{10 + i, kMegabyte}}));
    }
    node_.HasLimits(
        "{parallelPulls: 1, parallelPullsWhenReady: 1, diskHighPercent: 99, diskMinFreeBytes: 1000000}");
    node_.HasList(images);
    node_.StartAgent(Flags());
    ExpectReady();
    EXPECT_LT(Fetched(), 8 * kMegabyte);
    EXPECT_LE(host.proxy().BytesToClients(), 8 * kMegabyte + kHeaders);
  }
  double Fetched() { return FetchedBytes(node_.Get("/metrics").body); }
  void ExpectFetchedAll() {
    if (IsFetchedFor(node_.containerd())) {
      EXPECT_GE(Fetched(), kContent) << node_.AgentLog();
    } else {
      EXPECT_EQ(Fetched(), 0);
    }
  }
  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", kRobot);
};

TEST_F(FetchOnContainerd, ALoginIsUsedAndEachByteComesOnce) {
  node_.HasDockerConfig("registry.example.test", kRobot);
  Start(Push(*registry_));
  ExpectReady();
  ExpectFetchedAll();
  EXPECT_LE(registry_->proxy().BytesToClients(), kContent + kHeaders);
}

// One early answer is enough; on a busy machine not each of them is early.
TEST_F(FetchOnContainerd, ANearRegistryIsLeftToTheRuntime) {
  auto near = node_.AddRegistry("near.example.test", {});
  ExpectLeftToTheRuntime(*near);
}

// 6 ms and longer, at a distance of some 0.03 ms.
TEST_F(FetchOnContainerd, ANearRegistryThatIsBusyIsLeftToTheRuntime) {
  auto near = node_.AddRegistry("near.example.test", {});
  near->proxy().Delay(milliseconds(3));
  ExpectLeftToTheRuntime(*near);
}

// With 20 of them before it, and two pulls at a time, it would begin when 18 are here.
TEST_F(FetchOnContainerd, ALargeImageOfANearRegistryDoesNotComeLast) {
  auto near = node_.AddRegistry("near.example.test", {});
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 20; i++) {
    images.push_back(near->Push("app" + std::to_string(i), "v1", {{10 + i, kMegabyte}}));
  }
  images.push_back(near->Push("large", "v1", {{9, 60 * kMegabyte}}));
  node_.HasLimits("{parallelPulls: 2, diskHighPercent: 99, diskMinFreeBytes: 1000000}");
  node_.HasList(images);
  auto flags = Flags();
  flags.emplace_back("--log-level=debug");
  node_.StartAgent(flags);
  ExpectReady();
  const std::string log = node_.AgentLog();
  const auto began = [&log](const std::string& image) {
    return log.find("\"msg\":\"pull started\",\"image\":\"" + image + "\"");
  };
  ASSERT_NE(began(images[20]), std::string::npos) << log;
  EXPECT_GT(began(images[20]), began(images[8])) << "before half of them were here: " << log;
  if (IsFetchedFor(node_.containerd())) {
    EXPECT_LT(began(images[20]), began(images[19])) << log;
  } else {
    EXPECT_GT(began(images[20]), began(images[19])) << log;
  }
}

TEST_F(FetchOnContainerd, ARouteThatTheOperatorDoesNotTrustIsTheRuntimesAffair) {
  node_.HasDockerConfig("registry.example.test", kRobot);
  node_.HasList({Push(*registry_)});
  node_.StartAgent({"--fetch=auto", "--registry-containerd-config", node_.containerd().config_file()});
  ExpectReady();
  EXPECT_EQ(Fetched(), 0);
}

TEST_F(FetchOnContainerd, AMirrorComesFirst) {
  auto origin = node_.AddRegistry("origin.example.test", {});
  auto mirror = node_.AddRegistry("mirror.example.test", {});
  const std::string image = Push(*origin);
  Push(*mirror);
  mirror->proxy().Delay(kFarOneWay);
  ASSERT_OK(node_.containerd().RouteByMirror("origin.example.test", mirror->proxy().port(),
                                             origin->proxy().port()));
  Start(image);
  ExpectReady();
  ExpectFetchedAll();
  EXPECT_EQ(origin->proxy().Count("", "/blobs/"), 0U);
  EXPECT_LE(mirror->proxy().BytesToClients(), kContent + kHeaders);
}

// Without its file nobody knows of which mirrors it knows: the registry would be asked in the mirror's place.
TEST_F(FetchOnContainerd, WithoutContainerdsConfigurationTheRuntimeDownloads) {
  auto origin = node_.AddRegistry("origin.example.test", {});
  auto mirror = node_.AddRegistry("mirror.example.test", {});
  Push(*origin);
  Push(*mirror);
  // An address that the agent could reach without anybody's word.
  const std::string registry = origin->proxy().address();
  origin->proxy().Delay(kFarOneWay);
  mirror->proxy().Delay(kFarOneWay);
  ASSERT_OK(node_.containerd().RouteByMirror(registry, mirror->proxy().port(), origin->proxy().port()));
  node_.HasList({registry + "/app:v1"});
  node_.StartAgent({"--fetch=auto"});
  ExpectReady();
  EXPECT_EQ(Fetched(), 0);
  EXPECT_EQ(origin->proxy().Count("", "/blobs/"), 0U);
}

// A mirror of the node alone: from a pod of its own network, this address is not the node's.
TEST_F(FetchOnContainerd, AMirrorOutOfTheAgentsReachIsTheRuntimesAffair) {
  auto origin = node_.AddRegistry("origin.example.test", {});
  auto mirror = node_.AddRegistry("mirror.example.test", {});
  const std::string image = Push(*origin);
  origin->proxy().Delay(kFarOneWay);
  ASSERT_OK(mirror->proxy().Refuse(true));
  ASSERT_OK(node_.containerd().RouteByMirror("origin.example.test", mirror->proxy().port(),
                                             origin->proxy().port()));
  Start(image);
  ExpectReady();
  EXPECT_EQ(Fetched(), 0);
}

TEST_F(FetchOnContainerd, ABlobStoreBehindARedirect) {
  auto open = node_.AddRegistry("open.example.test", {});
  open->proxy().Delay(kFarOneWay);
  const std::string image = Push(*open);
  node_.HasList({image});
  EXPECT_EQ(node_.Once().exit, rig::Exit{});
  std::set<std::string> blobs;
  for (const rig::Passed& passed : open->proxy().Requests()) {
    if (passed.path.find("/blobs/") != std::string::npos)
      blobs.insert(passed.path.substr(0, passed.path.find('?')));
  }
  ASSERT_EQ(blobs.size(), 3U);
  EmptyStore(node_.containerd());
  rig::Proxy store(open->registry().port());
  ASSERT_OK(store.Start());
  for (const std::string& path : blobs) {
    open->proxy().Answer(
        path, Answer("307 Temporary Redirect", "Location: http://" + store.address() + path + "\r\n"));
  }
  const std::uint64_t before = open->proxy().BytesToClients();
  Start(image);
  ExpectReady();
  ExpectFetchedAll();
  EXPECT_GE(store.BytesToClients(), kContent);
  EXPECT_LE(store.BytesToClients() + open->proxy().BytesToClients() - before, kContent + kHeaders);
}

TEST_F(FetchOnContainerd, ARegistryThatFailsIsLeftToThePullAndItsRetries) {
  auto open = node_.AddRegistry("open.example.test", {});
  open->proxy().Delay(kFarOneWay);
  const std::string image = Push(*open);
  for (const char* status : {"404 Not Found", "500 Internal Server Error", "429 Too Many Requests"}) {
    const std::string header = std::string(status).starts_with("429") ? "Retry-After: 1\r\n" : "";
    open->proxy().Answer("/blobs/", Answer(status, header));
    Start(image);
    EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return open->proxy().Count("GET", "/blobs/") > 0; }))
        << status;
    open->proxy().Answer("/blobs/", "");
    ExpectReady();
    EXPECT_TRUE(node_.Has(image)) << status;
    EXPECT_TRUE(node_.agent().Stop(seconds(5)));
    EmptyStore(node_.containerd());
    open->proxy().Forget();
  }
}

// The size is known before the first byte, and so is the room.
TEST(FetchOnASmallDisk, AnImageWithoutRoomCostsItsManifest) {
  Node node(Node::Small::kEverything, 120 * kMegabyte);
  auto registry = node.AddRegistry("registry.example.test", {});
  registry->proxy().Delay(kFarOneWay);
  const std::string big = registry->Push("big", "v1", {{1, 40 * kMegabyte}, {2, 40 * kMegabyte}});
  const std::string one = registry->Push("one", "v1", {{3, kMegabyte}});
  node.HasLimits("{diskHighPercent: 90, diskMinFreeBytes: 5000000}");
  node.HasList({big, one});
  node.StartAgent({"--fetch=auto", "--registry-containerd-config", node.containerd().config_file()});
  EXPECT_TRUE(rig::Eventually(seconds(40), [&] { return node.StatusOf(one).reason.text() == "Present"; }));
  EXPECT_TRUE(rig::Eventually(seconds(40), [&] {
    return node.StatusOf(big).reason.text() == "DiskPressure";
  })) << node.AgentLog();
  if (IsFetchedFor(node.containerd())) {
    EXPECT_LE(registry->proxy().BytesToClients(), kMegabyte + kHeaders);
  }
}

}  // namespace
}  // namespace prefetch::system::fetch_test
