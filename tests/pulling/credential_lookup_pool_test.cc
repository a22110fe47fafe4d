#include "pulling/credential_lookups.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/channel.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "temp_dir.h"

namespace prefetch::pulling::look_up_pool_test {
namespace {

// Plugins for registries of some domains. Each run for a registry that hangs waits for its end.
class LookUpPools : public testing::Test {
 protected:
  LookUpPools() : keyring_(Options(), clock_), pool_(keyring_) {}
  ~LookUpPools() override { stop_.request_stop(); }

  credentials::KeyringOptions Options() {
    credentials::KeyringOptions options;
    options.provider_config = dir_.Write("providers.yaml", R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- {name: "true", apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.a.test", "*.both.test"], defaultCacheDuration: 0s}
- {name: echo, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.b.test", "*.both.test", "*.bc.test"], defaultCacheDuration: 0s}
- {name: cat, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.c.test", "*.bc.test"], defaultCacheDuration: 0s}
- {name: date, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: ["*.d.test"], defaultCacheDuration: 0s}
)");
    options.provider_bin_dir = "/bin";
    options.run_plugin = [this](const base::Call& call, const credentials::Provider&,
                                const credentials::PluginContext&, const std::string& image,
                                const credentials::PluginIdentity&) { return RunPlugin(call, image); };
    return options;
  }
  base::Result<credentials::PluginResponse> RunPlugin(const base::Call& call, const std::string& image) {
    const std::string registry = image.substr(0, image.find('/'));
    std::stop_callback wake(call.stop, [this] {
      base::Lock lock(mutex_);
      changed_.notify_all();
    });
    base::Lock lock(mutex_);
    while (hanging_.count(registry) != 0 && !call.Stopped()) changed_.wait(mutex_);
    credentials::PluginResponse response;
    response.cache_key_type = credentials::CacheKeyType::kImage;
    return response;
  }

  void Hang(const std::string& registry) {
    base::Lock lock(mutex_);
    hanging_.insert(registry);
  }
  void Recovers(const std::string& registry) {
    base::Lock lock(mutex_);
    hanging_.erase(registry);
    changed_.notify_all();
  }
  void Search(const std::string& registry, int images = 1) { Search(registry, images, stop_); }
  void Search(const std::string& registry, int images, const std::stop_source& stop) {
    for (int i = 0; i < images; i++) {
      auto reference = image::Reference::Parse(registry + "/app" + std::to_string(i));
      ASSERT_TRUE(reference.ok());
      pool_.Start({.call = {.stop = stop.get_token()},
                   .question = {*reference},
                   .done = [this, registry](const credentials::Lookup&) {
                     base::Lock lock(mutex_);
                     done_[registry]++;
                     changed_.notify_all();
                   }});
    }
  }
  // Waits up to 10 s for `searches` of the registry's searches to end: one that runs takes no time.
  bool Ends(const std::string& registry, int searches = 1) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    base::Lock lock(mutex_);
    while (done_[registry] < searches) {
      if (changed_.wait_until(mutex_, limit) == std::cv_status::timeout) return done_[registry] >= searches;
    }
    return true;
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  base::Mutex mutex_;
  base::Condition changed_;
  std::set<std::string> hanging_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, int> done_ PREFETCH_GUARDED_BY(mutex_);
  std::stop_source stop_;
  credentials::Keyring keyring_;
  CredentialLookupPool pool_;
};

TEST_F(LookUpPools, ARegistryThatHangsLeavesOthersOfItsPluginTheirThreads) {
  Hang("r0.a.test");
  Search("r0.a.test", 16);
  Search("r1.a.test");
  EXPECT_TRUE(Ends("r1.a.test"));
  EXPECT_EQ(pool_.queued(), 16 - kMaxLookupsPerRegistry);
  Search("r1.a.test", 5);
  EXPECT_TRUE(Ends("r1.a.test", 6));
  Recovers("r0.a.test");
  EXPECT_TRUE(Ends("r0.a.test", 16));
  EXPECT_EQ(pool_.queued(), 0);
}

TEST_F(LookUpPools, HoweverManyPluginsHangAnotherOneRuns) {
  for (const char* plugin : {".a.test", ".b.test"}) {
    for (int i = 0; i < 8; i++) {
      const std::string registry = "r" + std::to_string(i) + plugin;
      Hang(registry);
      Search(registry);
    }
  }
  Search("r.c.test", 3);
  EXPECT_TRUE(Ends("r.c.test", 3));
  EXPECT_EQ(pool_.queued(), 16 - kPluginsAtOnce);
}

// Images of two plugins wait for the one that hangs, and take no thread from those of the other one.
TEST_F(LookUpPools, ImagesOfTwoPluginsAreAGroupOfTheirOwn) {
  for (int i = 0; i < 8; i++) {
    const std::string registry = "r" + std::to_string(i) + ".both.test";
    Hang(registry);
    Search(registry);
  }
  Search("r.a.test");
  Search("r.b.test");
  EXPECT_TRUE(Ends("r.a.test"));
  EXPECT_TRUE(Ends("r.b.test"));
}

// It has its share, and a thread that was made for the first search of the second group.
TEST_F(LookUpPools, APluginThatHangsForSeveralGroupsHasOneShare) {
  for (const char* group : {".both.test", ".bc.test"}) {
    for (int i = 0; i < 8; i++) {
      const std::string registry = "r" + std::to_string(i) + group;
      Hang(registry);
      Search(registry);
    }
  }
  Hang("r0.d.test");
  Search("r0.d.test");
  Search("r1.d.test", 3);
  EXPECT_TRUE(Ends("r1.d.test", 3));
  EXPECT_EQ(pool_.queued(), 16 - kMaxLookupsPerPlugin - 1);
}

TEST_F(LookUpPools, AStoppedSearchWaitsForNoOther) {
  Hang("r0.a.test");
  Search("r0.a.test", kMaxLookupsPerRegistry);
  std::stop_source gone;
  Search("r0.a.test", 5, gone);
  Search("r1.a.test");
  ASSERT_TRUE(Ends("r1.a.test"));  // by then those before it wait
  EXPECT_EQ(pool_.queued(), 5);
  gone.request_stop();
  pool_.DropStopped();
  EXPECT_TRUE(Ends("r0.a.test", 5));
  EXPECT_EQ(pool_.queued(), 0);
}

// The list has changed, so an entry's search begins anew while the one before still waits for others.
TEST_F(LookUpPools, ASearchThatIsReplacedWaitsForNoOther) {
  Hang("r0.a.test");
  std::vector<LookupFinished> told;
  CredentialLookups lookups(keyring_, [&](LookupFinished event) {
    base::Lock lock(mutex_);
    told.push_back(std::move(event));
    changed_.notify_all();
  });
  std::vector<plan::DesiredImage> wants;
  for (int i = 0; i <= kMaxLookupsPerRegistry; i++) {
    wants.push_back({.reference = *image::Reference::Parse("r0.a.test/app" + std::to_string(i))});
    ASSERT_TRUE(lookups.StartIfNeeded(wants.back(), clock_.Now()));
  }
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  auto heard = [&](std::size_t searches) {
    base::Lock lock(mutex_);
    while (told.size() < searches && changed_.wait_until(mutex_, limit) != std::cv_status::timeout) continue;
    return told.size() == searches;
  };
  ASSERT_TRUE(lookups.StartIfNeeded({.reference = *image::Reference::Parse("r1.a.test/app")}, clock_.Now()));
  ASSERT_TRUE(heard(1));  // by then the last one before it waits
  wants.back().sources = {"other.txt"};
  EXPECT_TRUE(lookups.StartIfNeeded(wants.back(), clock_.Now()));
  ASSERT_TRUE(heard(2));
  EXPECT_EQ(told[1].name, wants.back().reference.Normalized());
  EXPECT_FALSE(lookups.Handle(told[1], clock_.Now())) << "nobody waits for it any more";
  Recovers("r0.a.test");
  lookups.DropAll();
}

// A plugin may take longer than its answer is kept for.
TEST_F(LookUpPools, AResultLivesFromWhenItWasFound) {
  base::Channel<LookupFinished> results;
  CredentialLookups lookups(keyring_, [&](LookupFinished found) { results.Push(std::move(found)); });
  const plan::DesiredImage desired{.reference = *image::Reference::Parse("r.a.test/app"), .ready_as = {}};
  const base::TimePoint begun{}, found = begun + 2 * kLookupLifetime;
  ASSERT_TRUE(lookups.StartIfNeeded(desired, begun));
  EXPECT_EQ(lookups.StateOf(desired, found).state, plan::LookupState::kUnderWay);
  auto result = results.PopUntil(base::TimePoint::clock::now() + std::chrono::seconds(10));
  ASSERT_TRUE(result && lookups.Handle(*result, found));
  EXPECT_EQ(lookups.StateOf(desired, found + kLookupLifetime / 2).state, plan::LookupState::kDone);
  EXPECT_EQ(lookups.StateOf(desired, found + kLookupLifetime).state, plan::LookupState::kNeeded);
}

}  // namespace
}  // namespace prefetch::pulling::look_up_pool_test
