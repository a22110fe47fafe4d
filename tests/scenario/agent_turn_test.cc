// The loop by hand, where the order in which two answers come is the point.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "base/mutex.h"
#include "base/sha256.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "image/registry_question.h"
#include "plan/readiness.h"
#include "temp_dir.h"

namespace prefetch::tests::agent_turn_test {
namespace {

std::shared_ptr<const plan::ImageList> ListOf(const std::vector<std::string>& names,
                                              const base::Clock& clock) {
  plan::ImageList list;
  for (const std::string& name : names) {
    list.images.emplace_back();
    list.images.back().reference = *image::Reference::Parse(name);
  }
  list.sources = {{.name = "images.yaml", .loaded_at = clock.Wall()}};
  return std::make_shared<const plan::ImageList>(std::move(list));
}

// Waits for the event of that name, which is under way, and keeps it from the loop. The others have their
// turn.
agent::Event Hold(agent::Agent& agent, std::string_view name) {
  std::vector<agent::Event> others;
  for (;;) {
    std::optional<agent::Event> event = agent.TryPop();
    if (!event) {
      std::this_thread::yield();
    } else if (event->name == name) {
      for (agent::Event& other : others) agent.Turn(std::move(other));
      return *std::move(event);
    } else {
      others.push_back(*std::move(event));
    }
  }
}

// An agent whose loop the test turns.
struct Loop {
  explicit Loop(Persona persona = Persona::kContainerd16) : runtime(clock, persona) {}

  // Makes the agent download images itself, from `registry`.
  void FetchFrom(const std::shared_ptr<image::ContentSource>& registry) {
    options.fetch = true;
    parts.contents = [registry](const image::Reference&, const image::RuntimeInfo&) { return registry; };
  }
  agent::Agent& Make() {
    agent = std::make_unique<agent::Agent>(std::move(options), parts);
    return *agent;
  }
  // Makes it, and turns once with a list of these images.
  agent::Agent& Start(const std::vector<std::string>& names = {"r.io/a:v1"}) {
    Make().SetList(ListOf(names, clock));
    agent->Turn(std::nullopt);
    return *agent;
  }
  // Turns with the event of each name.
  void Hear(std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) agent->Turn(Hold(*agent, name));
  }
  // Turns with what comes until it is so, for 20 s at most.
  void TurnUntil(const std::function<bool()>& done) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < give_up) {
      std::optional<agent::Event> event = agent->TryPop();
      if (!event) std::this_thread::yield();
      if (event) agent->Turn(std::move(event));
    }
  }

  TempDir dir;
  FakeClock clock;
  FakeImageService runtime;
  credentials::Keyring keyring{{.docker_configs = {dir / "absent"}}, clock};
  agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
  agent::Parts parts{runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; }};
  std::unique_ptr<agent::Agent> agent;
};

TEST(AgentTurn, NothingIsPulledBeforeKubeletsSettingsWereLookedAt) {
  Loop loop;
  std::filesystem::create_directories(loop.dir / "kubelet");
  loop.options.kubelet.emplace(agent::KubeletOptions{
      .facts = kubelet::NodeFactsReader({.root = loop.dir / "kubelet"}, "", {}), .watch = false});
  agent::Agent& agent = loop.Start();
  std::optional<agent::Event> looked, kubelet_looked;
  while (!looked || !kubelet_looked) {  // both were asked for
    if (std::optional<agent::Event> event = agent.TryPop()) {
      (event->name == "RuntimePolled" ? looked : kubelet_looked) = std::move(event);
    } else {
      std::this_thread::yield();
    }
  }
  auto attempts = [&] {
    loop.clock.Advance(std::chrono::milliseconds(100));
    return agent.board().Latest()->images.at(0).pull.attempts;
  };
  loop.clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::move(looked));
  EXPECT_EQ(attempts(), 0);
  agent.Turn(std::move(kubelet_looked));
  loop.clock.Advance(std::chrono::milliseconds(100));
  loop.Hear({"LookupFinished"});
  EXPECT_EQ(attempts(), 1);
}

// The parts of a node beside the agent tell of kubelet's files, whether there is a kubelet or not.
TEST(AgentTurn, WithoutAKubeletNobodyMindsWhatItsFilesDo) {
  Loop loop;
  agent::Agent& agent = loop.Make();
  agent.RecordsChanged({.all = true});
  agent.Turn(std::nullopt);
  EXPECT_FALSE(agent.board().Latest()->kubelet);
  EXPECT_FALSE(agent.MustRestart());
}

// A look may last for half a minute.
TEST(AgentTurn, TheEndOfTheRuntimesGraceIsNoticedDuringALook) {
  Loop loop;
  loop.runtime.Preload(MakeImage("r.io/a:v1", 1'000'000));
  agent::Agent& agent = loop.Start();
  loop.Hear({"RuntimePolled"});
  loop.runtime.SetRuntimeUp(false);
  loop.clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  loop.Hear({"RuntimePolled"});  // from here on it is down
  loop.clock.Advance(plan::kRuntimeGrace - std::chrono::seconds(1));
  agent.Turn(std::nullopt);
  agent::Event unheard = Hold(agent, "RuntimePolled");
  EXPECT_TRUE(agent.board().Latest()->readiness.ready);
  // Other jobs may have ended beside it, and a Snapshot be due for them: it comes now.
  loop.clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::nullopt);
  EXPECT_EQ(agent.NextTurn() - loop.clock.Now(), std::chrono::milliseconds(900));
  loop.clock.Advance(std::chrono::milliseconds(900));
  agent.Turn(std::nullopt);
  EXPECT_EQ(agent.board().Latest()->readiness.reason, plan::Reason::kRuntimeDown);
}

// Pulls would start on a runtime that has gone, and be suspected of having ended it.
TEST(AgentTurn, APollThatBeganBeforeTheRuntimeWentShowsNothing) {
  Loop loop;
  loop.runtime.SetBandwidth(1'000'000);
  loop.runtime.Push(MakeImage("r.io/a:v1", 100'000'000));
  agent::Agent& agent = loop.Start();
  loop.Hear({"RuntimePolled"});
  loop.clock.Advance(std::chrono::milliseconds(100));
  loop.Hear({"LookupFinished"});
  loop.TurnUntil([&] { return loop.runtime.counters().pull_calls == 1; });
  loop.clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  agent::Event answered = Hold(agent, "RuntimePolled");
  loop.runtime.SetRuntimeUp(false);
  loop.Hear({"PullDone"});
  agent.Turn(std::move(answered));
  loop.clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::nullopt);
  EXPECT_FALSE(agent.board().Latest()->runtime.up);
  EXPECT_EQ(loop.runtime.counters().pull_calls, 1);
  loop.runtime.SetRuntimeUp(true);
  loop.TurnUntil([&] {
    loop.clock.Advance(std::chrono::milliseconds(10));
    agent.Turn(std::nullopt);
    return agent.board().Latest()->readiness.ready;
  });
  EXPECT_TRUE(agent.board().Latest()->readiness.ready);
}

// A registry that does not answer must not delay the end.
TEST(AgentTurn, TheEndStopsAQuestionThatIsUnderWay) {
  std::atomic<bool> asked = false, stopped = false;
  Loop loop;
  loop.runtime.Preload(MakeImage("r.io/a:v1", 1'000'000));
  loop.parts.registry = [&](const base::Call& call, const image::RegistryQuestion&,
                            const image::RuntimeInfo&) {
    asked = true;
    stopped = !base::Pause(call, std::chrono::seconds(5));
    return image::RegistryAnswer{};
  };
  plan::ImageList list = *ListOf({"r.io/a:v1"}, loop.clock);
  list.images[0].refresh = plan::Refresh::kAlways;
  std::unique_ptr<agent::Agent>& agent = loop.agent;
  loop.Make().SetList(std::make_shared<const plan::ImageList>(std::move(list)));
  while (!asked) {
    std::optional<agent::Event> event = agent->TryPop();
    if (!event && agent->jobs_under_way() > 0) {
      std::this_thread::yield();
      continue;
    }
    if (!event) loop.clock.AdvanceTo(std::max(loop.clock.Now(), agent->NextTurn()));
    agent->Turn(std::move(event));
  }
  std::stop_source stop;
  stop.request_stop();
  agent->Run(stop.get_token());
  agent.reset();
  EXPECT_TRUE(stopped);
}

// A look that was asked before our own pull changed what is there is not heard; nor is a later one that only
// says that nothing has changed since.
TEST(AgentTurn, WhatVanishesRightAfterItsPullIsNoticed) {
  Loop loop;
  loop.runtime.Push(MakeImage("r.io/a:v1", 1'000'000));
  loop.runtime.SetLatency(agent::kPollInterval + std::chrono::seconds(1));
  agent::Agent& agent = loop.Start();
  auto present = [&] {
    loop.clock.Advance(std::chrono::milliseconds(100));
    agent.Turn(std::nullopt);
    return agent.board().Latest()->images.at(0).present;
  };
  loop.Hear({"RuntimePolled", "LookupFinished"});
  while (loop.runtime.Parked() == 0) std::this_thread::yield();  // the pull resolves its name
  loop.runtime.Preload(MakeImage("r.io/other:v1", 1'000'000));   // so that there is something to tell
  loop.clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  agent::Event before_the_pull_ended = Hold(agent, "RuntimePolled");
  loop.clock.Advance(std::chrono::minutes(1));
  loop.Hear({"PullDone"});
  EXPECT_TRUE(present());
  agent.Turn(std::move(before_the_pull_ended));
  EXPECT_TRUE(present());
  loop.runtime.Remove("r.io/a:v1");
  loop.clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  loop.Hear({"RuntimePolled"});
  EXPECT_FALSE(present());
}

// A blob of a manifest.
struct BlobOf {
  std::string digest;
  std::uint64_t bytes = 0;
};

image::ImageManifest ManifestOf(const BlobOf& config, const BlobOf& layer, base::Duration answer_time) {
  const auto descriptor = [](const std::string& type, const BlobOf& blob) {
    return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(","digest":"sha256:)" + blob.digest +
           R"(","size":)" + std::to_string(blob.bytes) + "}";
  };
  return {.manifest = R"({"config":)" + descriptor("config.v1+json", config) + R"(,"layers":[)" +
                      descriptor("layer.v1.tar", layer) + "]}",
          .answer_time = answer_time};
}

// A far registry, with an image of one layer that nobody gets a byte of.
class RegistryOfOne final : public image::ContentSource {
 public:
  explicit RegistryOfOne(std::uint64_t layer_bytes) : layer_bytes_(layer_bytes) {}

  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion&) override {
    return ManifestOf({std::string(64, 'c'), 100}, {std::string(64, 'a'), layer_bytes_},
                      std::chrono::milliseconds(100));
  }
  base::Status FetchBytes(const base::Call&, const image::RegistryQuestion&, const image::BlobRange&,
                          const std::function<bool(std::string_view part)>&) override {
    asked_ = true;
    if (patience_) return base::ResourceExhausted("429 Too Many Requests");
    return base::NotFound("404");
  }
  std::optional<base::Duration> RetryAfter(const image::RegistryQuestion&) override { return patience_; }

  void AskForPatience(base::Duration wait) { patience_ = wait; }
  bool asked() const { return asked_; }

 private:
  const std::uint64_t layer_bytes_;
  std::optional<base::Duration> patience_;
  std::atomic<bool> asked_ = false;
};

// Before the time that the registry names, not even the runtime asks it.
TEST(AgentTurn, ALimitThatADownloadMeetsHoldsThePullToo) {
  Loop loop(Persona::kContainerd23);
  loop.runtime.Push(MakeImage("r.io/a:v1", 1000));
  auto registry = std::make_shared<RegistryOfOne>(1000);
  registry->AskForPatience(std::chrono::hours(1));
  loop.FetchFrom(registry);
  agent::Agent& agent = loop.Start();
  loop.Hear({"RuntimePolled", "LookupFinished", "PullSizeKnown", "PullDone"});
  loop.clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::nullopt);
  EXPECT_TRUE(registry->asked());
  const auto& image = agent.board().Latest()->images.at(0);
  EXPECT_EQ(image.reason, plan::Reason::kRateLimited);
  EXPECT_EQ(loop.runtime.counters().pull_calls, 0);
  loop.clock.Advance(std::chrono::minutes(55));
  agent.Turn(std::nullopt);
  EXPECT_EQ(loop.runtime.counters().pull_calls, 0);
}

// The disk as it is when the size is known decides, and not as it was seconds before.
TEST(AgentTurn, WhatHasNoRoomOnceItsSizeIsKnownCostsNoByte) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  std::atomic<std::uint64_t> available = 900 * kGiB;
  Loop loop(Persona::kContainerd23);
  auto registry = std::make_shared<RegistryOfOne>(10 * kGiB);
  loop.parts.disk = [&](const std::string&) {
    return plan::DiskSpace{.known = true, .capacity_bytes = 1000 * kGiB, .available_bytes = available};
  };
  loop.FetchFrom(registry);
  agent::Agent& agent = loop.Start();
  loop.Hear({"RuntimePolled"});
  available = 205 * kGiB;  // the rule leaves 5 of them
  loop.Hear({"LookupFinished", "PullSizeKnown", "PullDone"});
  loop.clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::nullopt);
  EXPECT_FALSE(registry->asked());
  EXPECT_EQ(agent.board().Latest()->images.at(0).reason, plan::Reason::kDiskPressure);
}

// A far registry, whose images are a config with their name and one layer. Sends no layer before Release.
class RegistryOfOneLayer final : public image::ContentSource {
 public:
  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion& image) override {
    const std::string& config = image.reference.Normalized();
    return ManifestOf({base::Sha256Hex(config), config.size()}, {base::Sha256Hex(kLayer), kLayer.size()},
                      std::chrono::milliseconds(100));
  }
  base::Status FetchBytes(const base::Call& call, const image::RegistryQuestion& image,
                          const image::BlobRange& range,
                          const std::function<bool(std::string_view part)>& sink) override {
    const bool is_layer = range.digest == "sha256:" + base::Sha256Hex(kLayer);
    while (is_layer && !released_) {
      if (call.stop.stop_requested()) return base::Unavailable("stopped");
      std::this_thread::yield();
    }
    sink(is_layer ? kLayer : std::string_view(image.reference.Normalized()));
    configs_ += is_layer ? 0 : 1;
    return {};
  }
  void Release() { released_ = true; }
  int configs() const { return configs_; }  // that were sent

  static constexpr std::string_view kLayer = "layer";

 private:
  std::atomic<bool> released_ = false;
  std::atomic<int> configs_ = 0;
};

TEST(AgentTurn, APullThatWaitsForALayerOfAnotherHasNotStalled) {
  Loop loop(Persona::kContainerd23);
  const std::vector<std::string> names = {"r.io/a:v1", "r.io/b:v1"};
  for (const std::string& name : names) loop.runtime.Push(MakeImage(name, 1000));
  auto registry = std::make_shared<RegistryOfOneLayer>();
  loop.FetchFrom(registry);
  agent::Agent& agent = loop.Start(names);
  // Until the other one has said that it waits.
  for (bool waits = false; registry->configs() < 2 || !waits;) {
    std::optional<agent::Event> event = agent.TryPop();
    if (!event) std::this_thread::yield();
    waits = waits || (event && event->name == "ContentFetched");
    if (event) agent.Turn(std::move(event));
  }
  const auto attempts = [&] {
    const auto node = agent.board().Latest();
    return node->images.at(0).pull.attempts + node->images.at(1).pull.attempts;
  };
  for (int i = 0; i < 600 && attempts() < 3; i++) {
    loop.clock.Advance(std::chrono::seconds(2));
    agent.Turn(std::nullopt);
    loop.Hear({"ProgressPolled"});
  }
  loop.TurnUntil([&] { return attempts() == 3; });  // on a busy machine, its thread ends late
  EXPECT_EQ(attempts(), 3) << "the one that has the layer has stalled";
}

// The credential may have expired meanwhile, and the next try gets another one.
TEST(AgentTurn, ADenialAfterTheDownloadCostsNoByte) {
  Loop loop(Persona::kContainerd23);
  loop.runtime.Push(MakeImage("r.io/a:v1", 1000));
  loop.runtime.Fail("r.io/a:v1", image::ErrorClass::kAccessDenied);
  auto registry = std::make_shared<RegistryOfOneLayer>();
  registry->Release();
  loop.FetchFrom(registry);
  agent::Agent& agent = loop.Start();
  const auto turn_until = [&](auto is_so) {
    loop.TurnUntil([&] {
      loop.clock.Advance(std::chrono::milliseconds(100));
      agent.Turn(std::nullopt);
      return is_so(*agent.board().Latest());
    });
  };
  turn_until([](const plan::Snapshot& node) {
    return !node.images.empty() && node.images[0].reason == plan::Reason::kAccessDenied;
  });
  loop.runtime.Fail("r.io/a:v1", std::nullopt);
  turn_until([](const plan::Snapshot& node) { return node.readiness.ready; });
  EXPECT_TRUE(agent.board().Latest()->readiness.ready);
  EXPECT_EQ(registry->configs(), 1);
}

// The thread sanitizer watches it: the workers of both pulls measure the disk once their sizes are known, and
// write into the store, while the loop goes on.
TEST(AgentTurn, TwoImagesAreDownloadedSideBySide) {
  Loop loop(Persona::kContainerd23);
  const std::vector<std::string> names = {"one.io/a:v1", "two.io/a:v1"};
  for (const std::string& name : names) loop.runtime.Push(MakeImage(name, 1000));
  loop.parts.disk = {};  // the agent measures the machine's
  auto registry = std::make_shared<RegistryOfOneLayer>();
  loop.FetchFrom(registry);
  agent::Agent& agent = loop.Start(names);
  loop.TurnUntil([&] { return registry->configs() == 2; });
  registry->Release();
  const auto all = static_cast<double>(names[0].size() + names[1].size() + RegistryOfOneLayer::kLayer.size());
  auto brought = [&] { return agent.metrics().Copy().At("prefetchd_fetched_bytes_total").value; };
  loop.TurnUntil([&] { return brought() >= all; });
  EXPECT_EQ(brought(), all);
}

// Twelve images that share a layer. While it comes, they take no slots; then the runtime gets eight at a
// time.
struct TwelvePulls : Loop {
  TwelvePulls() : Loop(Persona::kContainerd23) {
    runtime.SetBandwidth(1'000'000);
    std::vector<std::string> names = Numbered("r.io/a", 12);
    for (const std::string& name : names) runtime.Push(MakeImage(name, 10'000'000));
    auto registry = std::make_shared<RegistryOfOneLayer>();
    FetchFrom(registry);
    Start(names);
    TurnUntil([&] { return registry->configs() == 12; });
    EXPECT_EQ(registry->configs(), 12) << "pulls under way";
    registry->Release();
    TurnUntil([&] { return runtime.Parked() >= 8; });
    EXPECT_EQ(runtime.Parked(), 8) << "pulls that the runtime is busy with";
  }
};

TEST(AgentTurn, TheRuntimeIsBusyWithSomePullsAtATime) {
  TwelvePulls loop;
  loop.clock.Advance(std::chrono::minutes(5));
  loop.TurnUntil([&] { return loop.runtime.ListImages({})->size() == 8 && loop.runtime.Parked() == 4; });
  EXPECT_EQ(loop.runtime.Parked(), 4) << "the others come next";
}

// Else one that has not reached the runtime would be suspected of having ended it.
TEST(AgentTurn, APullThatWaitsIsNotGivenToARuntimeThatIsAway) {
  TwelvePulls loop;
  // Each pull opens its manifest and its config, and at its end both blobs again; one of them opens the
  // layer.
  loop.TurnUntil([&] { return loop.runtime.opened_blobs() >= 12 * 4 + 1; });
  loop.runtime.SetRuntimeUp(false);
  const auto running = [&] {
    const auto snapshot = loop.agent->board().Latest();
    return std::count_if(snapshot->images.begin(), snapshot->images.end(), [](const auto& image) {
      return image.pull.state == plan::PullState::kPulling || image.pull.state == plan::PullState::kUnpacking;
    });
  };
  loop.TurnUntil([&] {
    loop.clock.Advance(std::chrono::milliseconds(1));  // until the next Snapshot is due
    loop.agent->Turn(std::nullopt);
    return running() == 4;
  });
  EXPECT_EQ(running(), 4);
  EXPECT_EQ(loop.runtime.counters().pull_calls, 8);
}

// Questions about sizes, with the loop by hand: how many are under way, and answers that come too late.

std::string Name(int i) {
  return "r.io/a" + std::to_string(i) + ":v1";
}

// Next door, with images of one layer. Questions about the first four images, which are pulled, are answered;
// those about others wait until the test lets them go.
class NearRegistry final : public image::ContentSource {
 public:
  base::Result<image::ImageManifest> FetchManifest(const base::Call& call,
                                                   const image::RegistryQuestion& question) override {
    if (question.reference.Normalized() > Name(3)) WaitForTurn(call);
    return ManifestOf({std::string(64, 'c'), 1000}, {std::string(64, 'a'), 1000},
                      std::chrono::milliseconds(1));
  }
  base::Status FetchBytes(const base::Call&, const image::RegistryQuestion&, const image::BlobRange&,
                          const std::function<bool(std::string_view part)>&) override {
    return base::NotFound("404");
  }
  std::optional<base::Duration> RetryAfter(const image::RegistryQuestion&) override { return {}; }

  void LetOneGo() {
    base::Lock lock(mutex_);
    let_go_++;
    changed_.notify_all();
    while (answered_ < let_go_) changed_.wait(mutex_);
  }
  int waiting() {
    base::Lock lock(mutex_);
    return asked_ - answered_;
  }

 private:
  void WaitForTurn(const base::Call& call) {
    std::stop_callback wake(call.stop, [this] { changed_.notify_all(); });
    base::Lock lock(mutex_);
    const int turn = asked_++;
    while (turn >= let_go_ && !call.Stopped()) changed_.wait(mutex_);
    answered_++;
    changed_.notify_all();
  }

  base::Mutex mutex_;
  base::Condition changed_;
  int asked_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int let_go_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int answered_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

// Six others hang, and may have all slots in their first second.
TEST(AgentTurn, ARegistryThatHasDeliveredHasTheSlotsThatItHasAlone) {
  Loop loop(Persona::kContainerd23);
  loop.runtime.SetBandwidth(1'000'000);
  std::vector<std::string> names;
  for (int i = 0; i < 6; i++) names.push_back("s" + std::to_string(i) + ".io/hangs:v1");
  for (int i = 0; i < 4; i++) {
    names.push_back(Name(i));
    loop.runtime.Push(MakeImage(Name(i), i == 0 ? 1000 : 10'000'000));
  }
  loop.FetchFrom(std::make_shared<NearRegistry>());
  loop.Start(names);
  loop.TurnUntil([&] { return loop.runtime.Parked() == 1; });
  EXPECT_EQ(loop.runtime.Parked(), 1) << "beyond the limit";
  loop.clock.Advance(std::chrono::milliseconds(10));
  loop.TurnUntil([&] { return loop.runtime.Parked() == 3; });
  EXPECT_EQ(loop.runtime.Parked(), 3);
}

// An agent whose four pulls go on for long.
class SizeTurn : public testing::Test {
 protected:
  SizeTurn() {
    runtime_.SetBandwidth(1000);
    loop_.FetchFrom(registry_);
    loop_.Make();
  }

  void List(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; i++) {
      names.push_back(Name(i));
      if (runtime_.Parked() == 0) runtime_.Push(MakeImage(Name(i), 10'000'000));
    }
    agent_->SetList(ListOf(names, clock_));
    Settle();
  }
  // Until nothing but the pulls and these questions is under way. The registry is near once the pulls have
  // begun, so it is done twice.
  void Settle() {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int turn = 0; turn < 2; turn++) {
      agent_->Turn(std::nullopt);
      while (runtime_.Parked() < 4 || agent_->jobs_under_way() > 4 + registry_->waiting()) {
        ASSERT_LT(std::chrono::steady_clock::now(), give_up);
        std::optional<agent::Event> event = agent_->TryPop();
        if (!event) std::this_thread::yield();
        if (event) agent_->Turn(std::move(event));
      }
    }
  }
  void LetOneGo() {
    registry_->LetOneGo();
    Settle();
  }

  Loop loop_{Persona::kContainerd23};
  FakeClock& clock_ = loop_.clock;
  FakeImageService& runtime_ = loop_.runtime;
  std::unique_ptr<agent::Agent>& agent_ = loop_.agent;
  std::shared_ptr<NearRegistry> registry_ = std::make_shared<NearRegistry>();
};

TEST_F(SizeTurn, TwoQuestionsAtATime) {
  List(8);
  EXPECT_EQ(registry_->waiting(), 2);
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 2);
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 2) << "the last two of four";
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 1);
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 0);
}

TEST_F(SizeTurn, AnAnswerAboutAnImageThatLeftTheList) {
  List(8);
  ASSERT_EQ(registry_->waiting(), 2);
  List(4);
  LetOneGo();
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 0);
  clock_.Advance(std::chrono::seconds(1));
  agent_->Turn(std::nullopt);
  EXPECT_EQ(agent_->board().Latest()->images.size(), 4U);
}

}  // namespace
}  // namespace prefetch::tests::agent_turn_test
