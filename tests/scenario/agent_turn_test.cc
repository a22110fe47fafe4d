// The loop by hand, where the order in which two answers come is the point.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "agent/agent.h"
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

std::shared_ptr<const plan::ImageList> ListOfOne(const std::string& name, const base::Clock& clock) {
  return ListOf({name}, clock);
}

// Takes the event of that kind, of which one is under way, out of the loop's sight. The others have their
// turn.
template <typename Kind>
agent::Event Hold(agent::Agent& agent) {
  std::vector<agent::Event> others;
  for (;;) {
    std::optional<agent::Event> event = agent.TryPop();
    if (!event) {
      std::this_thread::yield();
    } else if (std::holds_alternative<Kind>(*event)) {
      for (agent::Event& other : others) agent.Turn(std::move(other));
      return *std::move(event);
    } else {
      others.push_back(*std::move(event));
    }
  }
}

TEST(AgentTurn, NothingIsPulledBeforeKubeletsSettingsWereLookedAt) {
  TempDir dir;
  std::filesystem::create_directories(dir / "kubelet");
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
  options.kubelet.emplace(agent::KubeletOptions{
      .facts = kubelet::NodeFactsReader({.root = dir / "kubelet"}, "", {}), .watch = false});
  agent::Agent agent(std::move(options), {runtime, runtime, keyring, clock,
                                          [](const std::string&) { return plan::DiskSpace{}; }});
  agent.SetList(ListOfOne("r.io/a:v1", clock));
  agent.Turn(std::nullopt);
  std::optional<agent::Event> looked, kubelet_looked;
  while (!looked || !kubelet_looked) {  // both were asked for
    if (std::optional<agent::Event> event = agent.TryPop()) {
      (std::holds_alternative<agent::RuntimePolled>(*event) ? looked : kubelet_looked) = std::move(event);
    } else {
      std::this_thread::yield();
    }
  }
  auto attempts = [&] {
    clock.Advance(std::chrono::milliseconds(100));
    return agent.board().Latest()->images.at(0).pull.attempts;
  };
  clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::move(looked));
  EXPECT_EQ(attempts(), 0);
  agent.Turn(std::move(kubelet_looked));
  clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(Hold<agent::LookupFinished>(agent));
  EXPECT_EQ(attempts(), 1);
}

// The parts of a node beside the agent tell of kubelet's files, whether there is a kubelet or not.
TEST(AgentTurn, WithoutAKubeletNobodyMindsWhatItsFilesDo) {
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  agent::Agent agent(
      {.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"},
      {runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; }});
  agent.RecordsChanged({.all = true});
  agent.Turn(std::nullopt);
  EXPECT_FALSE(agent.board().Latest()->kubelet);
  EXPECT_FALSE(agent.MustRestart());
}

// A look may last for half a minute.
TEST(AgentTurn, TheEndOfTheRuntimesGraceIsNoticedDuringALook) {
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  runtime.Preload(MakeImage("r.io/a:v1", 1'000'000));
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  agent::Agent agent(
      {.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"},
      {runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; }});
  agent.SetList(ListOfOne("r.io/a:v1", clock));
  agent.Turn(std::nullopt);
  agent.Turn(Hold<agent::RuntimePolled>(agent));
  runtime.SetRuntimeUp(false);
  clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  agent.Turn(Hold<agent::RuntimePolled>(agent));  // from here on it is down
  clock.Advance(plan::kRuntimeGrace - std::chrono::seconds(1));
  agent.Turn(std::nullopt);
  agent::Event unheard = Hold<agent::RuntimePolled>(agent);
  EXPECT_TRUE(agent.board().Latest()->readiness.ready);
  EXPECT_EQ(agent.NextTurn() - clock.Now(), std::chrono::seconds(1));
  clock.Advance(std::chrono::seconds(1));
  agent.Turn(std::nullopt);
  EXPECT_EQ(agent.board().Latest()->readiness.reason, plan::Reason::kRuntimeDown);
}

// A registry that does not answer must not delay the end.
TEST(AgentTurn, TheEndStopsAQuestionThatIsUnderWay) {
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  runtime.Preload(MakeImage("r.io/a:v1", 1'000'000));
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  std::atomic<bool> asked = false, stopped = false;
  agent::RegistryResolver silent = [&](const base::Call& call, const image::RegistryQuestion&,
                                       const agent::RegistryQueryContext&) {
    asked = true;
    stopped = !base::Pause(call, std::chrono::seconds(5));
    return image::RegistryAnswer{};
  };
  auto agent = std::make_unique<agent::Agent>(
      agent::Options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"},
      agent::Parts{runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; },
                   nullptr, silent});
  plan::ImageList list = *ListOfOne("r.io/a:v1", clock);
  list.images[0].refresh = plan::Refresh::kAlways;
  agent->SetList(std::make_shared<const plan::ImageList>(std::move(list)));
  while (!asked) {
    std::optional<agent::Event> event = agent->TryPop();
    if (!event && agent->jobs_under_way() > 0) {
      std::this_thread::yield();
      continue;
    }
    if (!event) clock.AdvanceTo(std::max(clock.Now(), agent->NextTurn()));
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
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd16);
  runtime.Push(MakeImage("r.io/a:v1", 1'000'000));
  runtime.SetLatency(agent::kPollInterval + std::chrono::seconds(1));
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  agent::Agent agent(
      {.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"},
      {runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; }});
  auto present = [&] {
    clock.Advance(std::chrono::milliseconds(100));
    agent.Turn(std::nullopt);
    return agent.board().Latest()->images.at(0).present;
  };
  agent.SetList(ListOfOne("r.io/a:v1", clock));
  agent.Turn(std::nullopt);
  agent.Turn(Hold<agent::RuntimePolled>(agent));
  agent.Turn(Hold<agent::LookupFinished>(agent));
  while (runtime.Parked() == 0) std::this_thread::yield();  // the pull resolves its name
  runtime.Preload(MakeImage("r.io/other:v1", 1'000'000));   // so that there is something to tell
  clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  agent::Event before_the_pull_ended = Hold<agent::RuntimePolled>(agent);
  clock.Advance(std::chrono::minutes(1));
  agent.Turn(Hold<agent::PullDone>(agent));
  EXPECT_TRUE(present());
  agent.Turn(std::move(before_the_pull_ended));
  EXPECT_TRUE(present());
  runtime.Remove("r.io/a:v1");
  clock.Advance(agent::kPollInterval);
  agent.Turn(std::nullopt);
  agent.Turn(Hold<agent::RuntimePolled>(agent));
  EXPECT_FALSE(present());
}

// A far registry, with an image of one layer that nobody gets a byte of.
class RegistryOfOne final : public image::ContentSource {
 public:
  explicit RegistryOfOne(std::uint64_t layer_bytes) : layer_bytes_(layer_bytes) {}

  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion&) override {
    const auto descriptor = [](const std::string& type, char digit, std::uint64_t bytes) {
      return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(","digest":"sha256:)" +
             std::string(64, digit) + R"(","size":)" + std::to_string(bytes) + "}";
    };
    return image::ImageManifest{.index = {},
                                .manifest = R"({"config":)" + descriptor("config.v1+json", 'c', 100) +
                                            R"(,"layers":[)" + descriptor("layer.v1.tar", 'a', layer_bytes_) +
                                            "]}",
                                .answer_time = std::chrono::milliseconds(100)};
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
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  runtime.Push(MakeImage("r.io/a:v1", 1000));
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  auto registry = std::make_shared<RegistryOfOne>(1000);
  registry->AskForPatience(std::chrono::hours(1));
  agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
  options.fetch = true;
  agent::Parts parts{runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; }};
  parts.contents = [registry](const image::Reference&, const agent::RegistryQueryContext&) {
    return registry;
  };
  agent::Agent agent(std::move(options), parts);
  agent.SetList(ListOfOne("r.io/a:v1", clock));
  agent.Turn(std::nullopt);
  agent.Turn(Hold<agent::RuntimePolled>(agent));
  agent.Turn(Hold<agent::LookupFinished>(agent));
  agent.Turn(Hold<agent::PullSizeKnown>(agent));
  agent.Turn(Hold<agent::PullDone>(agent));
  clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::nullopt);
  EXPECT_TRUE(registry->asked());
  const auto& image = agent.board().Latest()->images.at(0);
  EXPECT_EQ(image.reason, plan::Reason::kRateLimited);
  EXPECT_EQ(runtime.counters().pull_calls, 0);
  clock.Advance(std::chrono::minutes(55));
  agent.Turn(std::nullopt);
  EXPECT_EQ(runtime.counters().pull_calls, 0);
}

// The disk as it is when the size is known decides, and not as it was seconds before.
TEST(AgentTurn, WhatHasNoRoomOnceItsSizeIsKnownCostsNoByte) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  auto registry = std::make_shared<RegistryOfOne>(10 * kGiB);
  std::atomic<std::uint64_t> available = 900 * kGiB;
  agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
  options.fetch = true;
  agent::Parts parts{runtime, runtime, keyring, clock, [&](const std::string&) {
                       return plan::DiskSpace{
                           .known = true, .capacity_bytes = 1000 * kGiB, .available_bytes = available};
                     }};
  parts.contents = [registry](const image::Reference&, const agent::RegistryQueryContext&) {
    return registry;
  };
  agent::Agent agent(std::move(options), parts);
  agent.SetList(ListOfOne("r.io/a:v1", clock));
  agent.Turn(std::nullopt);
  agent.Turn(Hold<agent::RuntimePolled>(agent));
  available = 205 * kGiB;  // the rule leaves 5 of them
  agent.Turn(Hold<agent::LookupFinished>(agent));
  agent.Turn(Hold<agent::PullSizeKnown>(agent));
  agent.Turn(Hold<agent::PullDone>(agent));
  clock.Advance(std::chrono::milliseconds(100));
  agent.Turn(std::nullopt);
  EXPECT_FALSE(registry->asked());
  EXPECT_EQ(agent.board().Latest()->images.at(0).reason, plan::Reason::kDiskPressure);
}

// A far registry, whose images are a config and nothing else.
class RegistryOfConfigs final : public image::ContentSource {
 public:
  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion&) override {
    return image::ImageManifest{
        .index = {},
        .manifest = R"({"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:)" +
                    base::Sha256Hex(kConfig) + R"(","size":2},"layers":[]})",
        .answer_time = std::chrono::milliseconds(100)};
  }
  base::Status FetchBytes(const base::Call&, const image::RegistryQuestion&, const image::BlobRange&,
                          const std::function<bool(std::string_view part)>& sink) override {
    sink(kConfig);
    return {};
  }

 private:
  static constexpr const char* kConfig = "{}";
};

// A far registry, whose images are a config with their name. Sends no byte before two are asked for.
class RegistryOfPairs final : public image::ContentSource {
 public:
  base::Result<image::ImageManifest> FetchManifest(const base::Call&,
                                                   const image::RegistryQuestion& image) override {
    const std::string& config = image.reference.Normalized();
    return image::ImageManifest{
        .index = {},
        .manifest = R"({"config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:)" +
                    base::Sha256Hex(config) + R"(","size":)" + std::to_string(config.size()) +
                    R"(},"layers":[]})",
        .answer_time = std::chrono::milliseconds(100)};
  }
  base::Status FetchBytes(const base::Call& call, const image::RegistryQuestion& image,
                          const image::BlobRange&,
                          const std::function<bool(std::string_view part)>& sink) override {
    for (asked_++; asked_ < 2;) {
      if (call.stop.stop_requested()) return base::Unavailable("stopped");
      std::this_thread::yield();
    }
    sink(image.reference.Normalized());
    return {};
  }

 private:
  std::atomic<int> asked_ = 0;
};

// The thread sanitizer watches it: the workers of both pulls measure the disk once their sizes are known, and
// write into the store, while the loop goes on.
TEST(AgentTurn, TwoImagesAreDownloadedSideBySide) {
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  const std::vector<std::string> names = {"one.io/a:v1", "two.io/a:v1"};
  for (const std::string& name : names) runtime.Push(MakeImage(name, 1000));
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
  options.fetch = true;
  // Without a disk of its own, the agent measures that of the machine.
  agent::Parts parts{runtime, runtime, keyring, clock, {}};
  auto asked = std::make_shared<RegistryOfPairs>();
  parts.contents = [asked](const image::Reference&, const agent::RegistryQueryContext&) { return asked; };
  agent::Agent agent(std::move(options), parts);
  agent.SetList(ListOf(names, clock));
  agent.Turn(std::nullopt);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const std::uint64_t all = names[0].size() + names[1].size();
  auto brought = [&] { return agent.metrics().Copy().fetched_bytes; };
  while (brought() < all && std::chrono::steady_clock::now() < give_up) {
    std::optional<agent::Event> event = agent.TryPop();
    if (!event) std::this_thread::yield();
    if (event) agent.Turn(std::move(event));
  }
  EXPECT_EQ(brought(), all);
}

// The runtime gets as many pulls again as there are places once their content is here.
TEST(AgentTurn, APullWhoseContentWasBroughtLeavesItsPlace) {
  TempDir dir;
  FakeClock clock;
  FakeImageService runtime(clock, Persona::kContainerd23);
  runtime.SetBandwidth(1'000'000);
  std::vector<std::string> names;
  for (int i = 0; i < 12; i++) {
    names.push_back("r.io/a" + std::to_string(i) + ":v1");
    runtime.Push(MakeImage(names.back(), 10'000'000));
  }
  credentials::Keyring keyring({.docker_configs = {dir / "absent"}}, clock);
  agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
  options.fetch = true;
  agent::Parts parts{runtime, runtime, keyring, clock, [](const std::string&) { return plan::DiskSpace{}; }};
  parts.contents = [](const image::Reference&, const agent::RegistryQueryContext&) {
    return std::make_shared<RegistryOfConfigs>();
  };
  agent::Agent agent(std::move(options), parts);
  agent.SetList(ListOf(names, clock));
  agent.Turn(std::nullopt);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (runtime.Parked() < 8 && std::chrono::steady_clock::now() < give_up) {
    std::optional<agent::Event> event = agent.TryPop();
    if (!event) std::this_thread::yield();
    if (event) agent.Turn(std::move(event));
  }
  EXPECT_EQ(runtime.Parked(), 8) << "pulls that the runtime is busy with";
}

}  // namespace
}  // namespace prefetch::tests::agent_turn_test
