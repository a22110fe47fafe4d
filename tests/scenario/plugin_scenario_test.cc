// Credential plugins that are slow, or hang: images that they delay, and images that they do not.
#include <gtest/gtest.h>

#include "scenario/node.h"

namespace prefetch::tests::plugin_scenario_test {
namespace {

const char kPublic[] = "public.example.test/app:v1";
const char kOther[] = "registry.other.test/app:v1";  // with a plugin of its own
const char kProviders[] = R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["*.private.test"]
  defaultCacheDuration: 0s
- name: "echo"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ["*.other.test"]
  defaultCacheDuration: 0s
)";

std::string Host(int number) {
  return "r" + std::to_string(number) + ".private.test";
}

struct Behind {
  int images = 0;
  int registries = 1;  // that have them
};

class PluginScenario : public testing::Test {
 protected:
  // Private images first, then a public one.
  void Start(const Behind& behind, const std::function<void(plan::DesiredImage&)>& change = nullptr,
             NodeOptions options = {}) {
    options.provider_config = kProviders;
    node_ = std::make_unique<Node>(std::move(options));
    node_->plugins.SetLimit(seconds(1));
    for (int i = 0; i < behind.images; i++) {
      std::string host = Host(i % behind.registries);
      names_.push_back(host + "/team/app" + std::to_string(i) + ":v1");
      PushPrivate(names_.back());
    }
    names_.emplace_back(kPublic);
    node_->runtime.Push(MakeImage(kPublic, kMB));
    node_->runtime.SetLatency(milliseconds(10));
    change_ = change;
  }
  void PushPrivate(const std::string& name) {
    node_->runtime.Push(Private(MakeImage(name, kMB), "ci", "pw"));
  }
  void Hang(int registries) {
    for (int i = 0; i < registries; i++) node_->plugins.Hang(Host(i));
  }
  void Know(int registries, const FakePlugins::Answer& answer) {
    for (int i = 0; i < registries; i++) node_->plugins.Knows(Host(i), answer);
  }
  void List() { node_->List(names_, change_); }
  bool Here(const std::string& name, base::Duration limit) {
    return node_->RunUntil([&] { return node_->Image(name).usable; }, limit);
  }
  base::Duration TimeTo(const std::string& name) {
    base::Duration before = node_->Elapsed();
    EXPECT_TRUE(Here(name, minutes(2)));
    return node_->Elapsed() - before;
  }

  static FakePlugins::Answer Good(base::Duration takes = {}) {
    return {.auth = {.username = "ci", .password = base::Secret("pw")}, .takes = takes};
  }

  std::unique_ptr<Node> node_;
  std::vector<std::string> names_;
  std::function<void(plan::DesiredImage&)> change_;
};

// Behind 1, 4, 8, 16 images of one registry, and of sixteen.
TEST_F(PluginScenario, APublicImageIsHereAsSoonAsWithoutPrivateOnes) {
  Start({});
  List();
  const base::Duration alone = TimeTo(kPublic);
  for (Behind behind : {Behind{1, 1}, Behind{4, 1}, Behind{8, 1}, Behind{16, 1}, Behind{16, 16}}) {
    names_.clear();
    Start(behind);
    Hang(behind.registries);
    List();
    EXPECT_EQ(TimeTo(kPublic), alone) << behind.images << " in " << behind.registries << " registries";
  }
}

// A plugin that hangs for all of its registries delays its own images only: not those of another plugin, nor
// public ones, be they behind it in the list or count for less.
TEST_F(PluginScenario, APluginThatHangsForManyRegistriesDelaysNoOtherPlugin) {
  struct Times {
    base::Duration other, none;
  };
  // Or each counts for more than all that come after it.
  auto times = [this](const Behind& behind, bool ranked) {
    names_.clear();
    Start(behind, [next = ranked ? 100 : 0](plan::DesiredImage& desired) mutable {
      desired.priority = next > 0 && desired.reference.domain().ends_with(".private.test") ? next-- : 0;
    });
    node_->plugins.SetLimit(seconds(60));
    Hang(behind.registries);
    names_.emplace_back(kOther);
    PushPrivate(kOther);
    node_->plugins.Knows("registry.other.test", Good(milliseconds(100)));
    List();
    Times took{.other = {}, .none = TimeTo(kPublic)};
    took.other = took.none + TimeTo(kOther);
    return took;
  };
  const Times alone = times({}, false);
  for (int registries : {1, 5, 8, 9, 16}) {
    const Times behind = times({16, registries}, false);
    EXPECT_EQ(behind.none, alone.none) << registries;
    EXPECT_EQ(behind.other, alone.other) << registries;
    // For a second it is not known that they hang: their places are kept.
    const Times below = times({16, registries}, true);
    EXPECT_LE(below.none, alone.none + seconds(1)) << registries;
    EXPECT_LE(below.other, alone.other + seconds(1)) << registries;
  }
}

// Those that hang are not asked again for every image, nor all at once.
TEST_F(PluginScenario, AHangingPluginRunsOnceForARegistryAndItsImagesAreToldSoon) {
  Start({16, 1});
  Hang(1);
  List();
  node_->RunFor(seconds(2));
  EXPECT_EQ(node_->plugins.runs(Host(0)), 1);
  for (const std::string& name : names_) {
    if (name == kPublic) continue;
    EXPECT_EQ(node_->ReasonOf(name), plan::Reason::kAccessDenied) << name;
    EXPECT_HAS(node_->Image(name).message, "provider \"true\" failed");
    EXPECT_HAS(node_->Image(name).message, "did not answer");
  }
}

// Pods may ask for ever new images: the lookup for one ends when it is forgotten.
TEST_F(PluginScenario, ALookupForAnImageThatNobodyWantsAnyMoreEnds) {
  Start({});
  node_->plugins.SetLimit(std::chrono::hours(24));
  Hang(1);
  List();
  node_->RunFor(seconds(10));
  node_->RequestPull(Host(0) + "/team/asked:v1");
  ASSERT_TRUE(node_->RunUntil([&] { return node_->plugins.Parked() == 1; }, seconds(10)));
  EXPECT_TRUE(node_->RunUntil([&] { return node_->plugins.Parked() == 0; }, std::chrono::minutes(1)));
}

TEST_F(PluginScenario, WhileAPluginHangsItsImageWaitsAndHasNoAttempt) {
  Start({1, 1});
  Hang(1);
  List();
  node_->RunFor(milliseconds(500));
  EXPECT_EQ(node_->ReasonOf(names_[0]), plan::Reason::kQueued);
  EXPECT_EQ(node_->Image(names_[0]).message, "waits for its credentials");
  EXPECT_EQ(node_->Image(names_[0]).pull.attempts, 0U);
}

TEST_F(PluginScenario, SoManyPluginsRunAtOnceAndNoneIsForgotten) {
  Start({64, 16});
  Know(16, Good(milliseconds(300)));
  List();
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
  EXPECT_LE(node_->plugins.most_at_once(), pulling::kPluginsAtOnce);
}

// The image of higher priority starts first, though its credentials take a moment.
TEST_F(PluginScenario, AMomentForCredentialsCostsNoPriority) {
  NodeOptions one;
  one.limits.parallel_pulls = 1;
  Start(
      {1, 1},
      [](plan::DesiredImage& desired) { desired.priority = desired.reference.domain() == Host(0) ? 10 : 0; },
      one);
  Know(1, Good(milliseconds(200)));
  node_->runtime.SetLatency(seconds(1));
  List();
  EXPECT_TRUE(Here(names_[0], seconds(5)));
  EXPECT_FALSE(node_->Image(kPublic).present);
  EXPECT_TRUE(Here(kPublic, seconds(5)));
}

// Four, and eight once it has turned out to be far.
TEST_F(PluginScenario, TheOnlyRegistryWithWorkHasAllPlaces) {
  Start({12, 1});
  names_.pop_back();
  Know(1, Good());
  node_->runtime.SetLatency(seconds(10));
  List();
  node_->RunFor(milliseconds(200));
  EXPECT_EQ(node_->runtime.Parked(), 4);
  node_->RunFor(seconds(1));
  EXPECT_EQ(node_->runtime.Parked(), 8);
}

// An entry that goes while its credentials are searched for: the plugin's run is for nobody, and what comes
// of it is nobody's. One that comes back starts anew.
TEST_F(PluginScenario, AnEntryThatGoesEndsItsSearch) {
  Start({2, 1});
  Hang(1);
  node_->plugins.SetLimit(minutes(1));
  List();
  node_->RunFor(milliseconds(500));
  node_->List({kPublic});
  node_->RunFor(seconds(1));
  EXPECT_EQ(node_->plugins.Parked(), 0);
  EXPECT_TRUE(node_->Ready());
  node_->plugins.Hang(Host(0), false);
  Know(1, Good());
  List();
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(5)));
}

TEST_F(PluginScenario, NewCredentialFilesEndSearchesWithTheOldOnes) {
  Start({1, 1});
  Hang(1);
  node_->plugins.SetLimit(minutes(10));
  List();
  node_->RunFor(seconds(2));
  node_->plugins.Hang(Host(0), false);
  Know(1, Good());
  node_->WriteProviderConfig(std::string(kProviders) + "# again");
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, seconds(20)));
}

TEST_F(PluginScenario, AStalledPullIsReplacedWithNewCredentials) {
  Start({1, 1});
  names_.pop_back();
  Know(1, Good(seconds(2)));
  List();
  ASSERT_TRUE(node_->RunUntil([&] { return node_->runtime.Parked() > 0; }, seconds(30)));
  node_->runtime.SetRegistry(RegistryState::kStalled);
  node_->RunFor(minutes(11));
  node_->runtime.SetRegistry(RegistryState::kUp);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(12)));
  EXPECT_EQ(node_->runtime.counters().pull_calls, 2);
  EXPECT_EQ(node_->plugins.runs(Host(0)), 2);
}

// A denial while the plugin hangs says nothing of the image: what has come of it stays.
TEST_F(PluginScenario, APluginThatHangsInMidPullLosesNoByte) {
  Start({1, 1});
  Know(1, Good());
  node_->runtime.SetBandwidth(kMB / 100);
  List();
  node_->RunFor(seconds(100));
  Hang(1);
  node_->runtime.SetRegistry(RegistryState::kDown);
  node_->RunFor(seconds(1));
  node_->runtime.SetRegistry(RegistryState::kUp);
  ASSERT_TRUE(
      node_->RunUntil([&] { return node_->ReasonOf(names_[0]) == plan::Reason::kAccessDenied; }, minutes(2)));
  node_->RunFor(minutes(3));
  node_->plugins.Hang(Host(0), false);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(30)));
  EXPECT_LE(node_->runtime.counters().bytes_served, 2 * kMB + kMB / 10);
}

// A plugin that fails tells nothing about the registry, so a node that is ready stays ready.
TEST_F(PluginScenario, APluginThatFailsTakesNoReadyNodeAway) {
  Start({1, 1}, [](plan::DesiredImage& desired) {
    desired.refresh = plan::Refresh::kIfDigestChanged;
    desired.refresh_interval = minutes(10);
  });
  Know(1, Good());
  List();
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
  Hang(1);
  node_->registries.Set(Host(0), RegistryMood::kDenying);
  const auto said = [&] {
    const auto& registry = node_->Image(names_[0]).registry;
    return registry && registry->message.find("provider \"true\" failed: ") != std::string::npos;
  };
  ASSERT_TRUE(node_->RunUntil(said, minutes(30)));
  EXPECT_EQ(node_->LogLines("pull failed"), 0);
  EXPECT_EQ(node_->LogLines("registry does not answer"), 0) << "it did";
  EXPECT_FALSE(node_->RunUntil([&] { return !node_->Ready(); }, hours(1)));
  node_->plugins.Hang(Host(0), false);
  EXPECT_TRUE(node_->RunUntil([&] { return !node_->Ready(); }, hours(1))) << "its credential is denied";
}

// A new node whose plugin fails at first gets its private images as soon as the plugin answers.
TEST_F(PluginScenario, APluginThatFailsAtTheStartIsAskedAgainSoon) {
  Start({1, 1});
  Know(1, Good());
  Hang(1);
  List();
  ASSERT_TRUE(
      node_->RunUntil([&] { return node_->ReasonOf(names_[0]) == plan::Reason::kAccessDenied; }, minutes(1)));
  EXPECT_FALSE(node_->Image(names_[0]).settled);
  node_->plugins.Hang(Host(0), false);
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(2)));
}

// The registries of the images that are here are asked, too.
TEST_F(PluginScenario, OtherRegistriesAreAskedWhilePluginsHang) {
  Start({16, 16}, [](plan::DesiredImage& desired) {
    desired.refresh = plan::Refresh::kAlways;
    desired.refresh_interval = std::chrono::minutes(10);
  });
  Know(16, Good());
  List();
  ASSERT_TRUE(node_->RunUntil([&] { return node_->Ready(); }, minutes(1)));
  node_->plugins.SetLimit(minutes(10));
  Hang(16);
  node_->RunFor(minutes(10));
  node_->runtime.Push(MakeImage(kPublic, 2 * kMB));  // the tag moves
  const std::string before = node_->Image(kPublic).digest;
  EXPECT_TRUE(node_->RunUntil([&] { return node_->Image(kPublic).digest != before; }, minutes(12)));
}

}  // namespace
}  // namespace prefetch::tests::plugin_scenario_test
