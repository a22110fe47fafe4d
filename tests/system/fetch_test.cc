// `--fetch=auto` on a real containerd: the agent downloads content itself from 2.1 on, and leaves it to older
// releases. In any case, all images come, and each byte once.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cri/image_service.h"
#include "faults/environment.h"
#include "plan/fetch_order.h"
#include "rig/expect_ok.h"
#include "rig/layer_blob.h"
#include "rig/proxy.h"
#include "rows.h"
#include "system/fetch_parts.h"
#include "system/node.h"

namespace prefetch::system::fetch_test {
namespace {

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
  void ExpectReady() { EXPECT_TRUE(node_.BecomesReady(seconds(60))) << node_.AgentLog(); }
  // One image at most comes by the agent, before the registry is known as near. The quietest of several tries
  // counts: on a busy machine, the first answers may come late.
  void ExpectLeftToTheRuntime(Host& host) {
    constexpr std::uint64_t kTries = 3, kImages = 8;
    node_.HasLimits(
        "{parallelPulls: 1, parallelPullsWhenReady: 1, diskHighPercent: 99, diskMinFreeBytes: 1000000}");
    for (std::uint64_t i = 1; i <= kTries; i++) {
      std::vector<std::string> images;
      for (std::uint64_t k = 0; k < kImages; k++) {
        images.push_back(host.Push("app" + std::to_string(k), "v" + std::to_string(i),
                                   {{10 + i * kImages + k, kMegabyte}}));
      }
      const std::uint64_t before = host.proxy().BytesToClients();
      node_.HasList(images);
      node_.StartAgent(Flags());
      ExpectReady();
      EXPECT_GE(Fetched(), 0) << "its metrics tell";
      EXPECT_LE(host.proxy().BytesToClients() - before, kImages * kMegabyte + kHeaders);
      if (Fetched() <= kMegabyte + kHeaders) return;
      node_.agent().Kill();
    }
    ADD_FAILURE() << "more than one image came by the agent: " << node_.AgentLog();
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
  const std::string image = Push(*registry_);
  Start(image);
  ExpectReady();
  ExpectFetchedAll();
  EXPECT_EQ(node_.StatusOf(image).origin.fetched_by_agent, IsFetchedFor(node_.containerd()));
  EXPECT_LE(registry_->proxy().BytesToClients(), kContent + kHeaders);
}

// On a busy machine, an answer may come late, and its image counts as a far one.
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

// Without containerd's file, the agent does not know the mirrors, and would ask the registry instead.
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

// `--fetch=auto` on a real containerd when things go wrong or get in its way: kills at any byte, another pull
// on the same link, little memory.

class FetchFaults : public testing::Test {
 protected:
  FetchFaults() { Far(0); }

  // Moves the registry farther away than a near one that is busy (plan/fetch_order.h), with this number of
  // bytes a second (0: any).
  void Far(std::uint64_t bytes_per_second) {
    registry_->proxy().Shape({.bytes_per_second = bytes_per_second, .one_way = milliseconds(15)});
  }
  void StartAgent(const std::string& fetch = "auto") {
    node_.StartAgent({"--fetch=" + fetch, "--registry-containerd-config", node_.containerd().config_file()});
  }
  bool IsReady() { return node_.Get("/readyz").status == 200; }
  void ExpectReady() {
    EXPECT_TRUE(rig::Eventually(seconds(120), [&] { return IsReady(); })) << node_.AgentLog();
  }
  std::uint64_t Served() { return registry_->proxy().BytesToClients(); }
  // Counts the blobs and manifests of one repository.
  std::uint64_t ServedOf(const std::string& repository) {
    std::uint64_t bytes = 0;
    for (const rig::Passed& passed : registry_->proxy().Requests()) {
      if (passed.path.starts_with("/v2/" + repository + "/")) bytes += passed.bytes;
    }
    return bytes;
  }
  // The most bytes that parts of large blobs held in the agent's memory. A stream that the machine's other
  // work slows is split into parts, too (plan/fetch_order.h).
  std::uint64_t MostInParts() {
    const std::vector<rig::Passed> requests = registry_->proxy().Requests();
    const auto parts = std::count_if(requests.begin(), requests.end(), [](const rig::Passed& passed) {
      return !passed.range.empty() && !passed.range.ends_with('-');
    });
    return static_cast<std::uint64_t>(std::min<std::ptrdiff_t>(parts, plan::kMaxParts)) * plan::kPartSize;
  }
  // The digests of what the runtime has whole, a line each.
  std::string Stored() {
    auto digests = node_.containerd().Ctr({"content", "ls", "--quiet"});
    EXPECT_OK(digests);
    return digests ? *digests : "";
  }
  // Returns the first blob among `whole` that was asked for after the first `after` requests; "": none.
  std::string AskedAgain(const std::string& whole, std::size_t after) {
    const std::vector<rig::Passed> requests = registry_->proxy().Requests();
    for (std::size_t i = after; i < requests.size(); i++) {
      const std::size_t digest = requests[i].path.find("/blobs/sha256:");
      if (requests[i].method != "GET" || digest == std::string::npos) continue;
      if (whole.find(requests[i].path.substr(digest + 7, 71)) != std::string::npos) return requests[i].path;
    }
    return "";
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
};

// $PREFETCH_KILL_ROUNDS is the number of kills, $PREFETCH_FAULT_FIRST their seed. Each costs what was on its
// way and could not be written yet: what the kernel holds for three streams, 3.4 MB at most in 24 kills. A
// runtime that downloads by itself goes on where it was, too. Nobody asks again for a blob that was complete,
// although the runtime collects its garbage between the agents.
TEST_F(FetchFaults, AnAgentThatIsKilledAtAnyByteLosesFew) {
  constexpr std::uint64_t kContent = 350 * kMegabyte;
  const std::uint64_t rounds = tests::FromEnvironment("PREFETCH_KILL_ROUNDS", 2);
  std::mt19937_64 random(tests::FromEnvironment("PREFETCH_FAULT_FIRST", 1));
  const std::string image =
      registry_->Push("app", "v1", {{1, 200 * kMegabyte}, {2, 100 * kMegabyte}, {3, 50 * kMegabyte}});
  node_.HasList({image});
  registry_->proxy().Forget();
  std::uint64_t most = 0;
  for (std::uint64_t round = 0; round < rounds; round++) {
    const std::uint64_t before = Served(), target = before + random() % kContent;
    SCOPED_TRACE("round " + std::to_string(round) + ", killed after " + std::to_string(target - before) +
                 " bytes");
    StartAgent();
    ASSERT_TRUE(rig::Eventually(seconds(120), [&] { return Served() > target || IsReady(); }))
        << node_.AgentLog();
    node_.agent().Kill();
    const std::string whole = Stored();
    CollectGarbage(node_.containerd());
    const std::size_t requests = registry_->proxy().Requests().size();
    StartAgent();
    ExpectReady();
    EXPECT_EQ(AskedAgain(whole, requests), "");
    most = std::max(most, Served() - before);
    node_.agent().Kill();
    EmptyStore(node_.containerd());
  }
  std::printf("%llu kills: %.4f of the content on average, %.4f at most\n",
              static_cast<unsigned long long>(rounds),
              static_cast<double>(Served()) / static_cast<double>(rounds * kContent),
              static_cast<double>(most) / static_cast<double>(kContent));
  if (!IsFetchedFor(node_.containerd())) return;
  EXPECT_LE(most, kContent + kContent / 200 + 3 * (2U << 20) + MostInParts());
  if (rounds >= 20) {  // fewer may all be killed at the worst moment
    EXPECT_LE(Served(), rounds * (kContent + kContent / 50));
  }
}

TEST_F(FetchFaults, AnotherPullHasTheLinkToItself) {
  ASSERT_TRUE(IsFetchedFor(node_.containerd())) << "older releases download by themselves";
  constexpr std::uint64_t kTheirs = 40 * kMegabyte;
  const std::string ours = registry_->Push("ours", "v1", {{1, 150 * kMegabyte}, {2, 50 * kMegabyte}});
  Far(4 * kMegabyte);
  node_.HasList({ours});
  StartAgent();
  const auto kubelet = cri::MakeImageService({node_.containerd().socket()});
  // The quietest of several tries counts: on a busy machine, the agent may wake late. The link is slow, so
  // that it misses little until then.
  constexpr std::uint64_t kTries = 5;
  std::uint64_t least = kTheirs;
  for (std::uint64_t i = 1; i <= kTries && least > kTheirs / 5; i++) {
    const std::string theirs = registry_->Push("theirs", "v" + std::to_string(i), {{2 + i, kTheirs}});
    const std::uint64_t idle = ServedOf("ours");
    ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return ServedOf("ours") > idle + 5 * kMegabyte; }));
    const std::uint64_t before = ServedOf("ours");
    auto pulled = kubelet->PullImage({}, {.image = theirs});
    ASSERT_TRUE(pulled) << pulled.error().message;
    const std::uint64_t meanwhile = ServedOf("ours") - before;
    std::printf("meanwhile %.1f MB of ours for %.1f MB of theirs\n",
                static_cast<double>(meanwhile) / kMegabyte, static_cast<double>(kTheirs) / kMegabyte);
    least = std::min(least, meanwhile);
  }
  EXPECT_LE(least, kTheirs / 5);
  // It goes on afterwards, at full speed.
  Far(0);
  ExpectReady();
}

TEST_F(FetchFaults, MemoryStaysBounded) {
  ASSERT_TRUE(IsFetchedFor(node_.containerd())) << "older releases download by themselves";
  const std::string image = registry_->Push("app", "v1", {{1, 100 * kMegabyte}, {2, 50 * kMegabyte}});
  node_.HasList({image});
  std::uint64_t most[2] = {};
  for (const int fetches : {0, 1}) {
    StartAgent(fetches == 1 ? "auto" : "runtime");
    ExpectReady();
    most[fetches] = node_.agent().PeakBytes();
    node_.agent().Kill();
    EmptyStore(node_.containerd());
  }
  std::printf("%.1f MiB; the runtime fetches: %.1f MiB\n", static_cast<double>(most[1]) / 1048576,
              static_cast<double>(most[0]) / 1048576);
  EXPECT_GT(most[0], 0U);
  // Less than 1 MiB a stream: half a MiB of bytes, a thread, a connection.
  EXPECT_LE(most[1], most[0] + 16 * 1024 * 1024 + MostInParts());
}

TEST_F(FetchFaults, ASlowDownloadShowsThatItMoves) {
  const std::string image = registry_->Push("app", "v1", {{1, 30 * kMegabyte}});
  node_.HasList({image});
  Far(2 * kMegabyte);
  StartAgent();
  std::uint64_t seen = 0;
  int steps = 0;
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    const std::uint64_t done = node_.StatusOf(image).pull.bytes_done.value_or(0);
    if (done > seen && done < 30 * kMegabyte) steps++;
    seen = std::max(seen, done);
    return steps >= 3;
  })) << node_.AgentLog();
  Far(0);
  ExpectReady();
}

// A registry, or its mirror, sends wrong bytes for a while: what stays of them harms no later pull.

const rig::Layer kLayer{1, 1'000'000};

struct Lie {
  std::string name;
  std::string (*of)(const std::string& bytes);
  bool by_mirror = false;
};

std::string Flipped(const std::string& bytes) {
  std::string flipped = bytes;
  flipped[5000] = static_cast<char>(flipped[5000] ^ 1);
  return flipped;
}
std::string Longer(const std::string& bytes) {
  return bytes + "more";
}
std::string InParts(const std::string& bytes) {
  return "--x\r\nContent-Range: bytes 0-9/10\r\n\r\n" + bytes + "\r\n--x--\r\n";
}

TEST_TABLE(WrongBytes, HarmNoPullOnceTheRegistryIsHonest, Lie) {
  Node node;
  std::unique_ptr<Host> registry = node.AddRegistry("registry.example.test", {});
  rig::Proxy mirror(registry->registry().port());
  ASSERT_OK(mirror.Start());
  if (row.by_mirror) {
    ASSERT_OK(node.containerd().RouteByMirror(registry->host(), mirror.port(), registry->proxy().port()));
  }
  rig::Proxy& liar = row.by_mirror ? mirror : registry->proxy();
  const std::string image = registry->Push("app", "v1", {kLayer, {2, 3000}});
  const std::string other = registry->Push("team/other", "v7", {kLayer});
  const rig::LayerBlob blob = rig::MakeLayer(kLayer);
  const std::string lie = row.of(blob.bytes);
  liar.Answer("/blobs/" + blob.digest, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n" +
                                           ("Content-Length: " + std::to_string(lie.size())) + "\r\n\r\n" +
                                           lie);
  node.HasList({image});
  node.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node.StatusOf(image).reason.text() == "Corrupt"; }))
      << node.AgentLog();
  liar.Answer("/blobs/" + blob.digest, "");
  // A pod's pull of another name, with the same layer.
  const auto kubelet = cri::MakeImageService({node.containerd().socket()});
  EXPECT_TRUE(rig::Eventually(seconds(5), [&] {
    auto pulled = kubelet->PullImage(base::Call{}.Within(seconds(20)), {.image = other});
    return pulled.ok();
  })) << node.AgentLog();
  EXPECT_TRUE(node.BecomesReady(seconds(30))) << node.AgentLog();
}

TEST_ROWS(Lies, WrongBytes, {"OneByte", Flipped}, {"Longer", Longer}, {"InParts", InParts},
          {"AMirrors", Flipped, true});

}  // namespace
}  // namespace prefetch::system::fetch_test
