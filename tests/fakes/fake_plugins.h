// FakePlugins: credential plugins in virtual time, as a model of RunPlugin: each run takes the time that its
// plugin needs for that registry, and ends early when it is stopped.
#pragma once

#include <list>
#include <map>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "credentials/plugin.h"
#include "fakes/fake_clock.h"

namespace prefetch::tests {

// A provider configuration for `images`: its plugin, the program "true", gets a token of the pod's
// ServiceAccount.
std::string ProviderOfAccounts(const std::string& images, const std::string& cached = "0s");

// Any thread may call anything. The clock outlives it and must not move any more once it is gone.
class FakePlugins {
 public:
  explicit FakePlugins(FakeClock& clock);
  FakePlugins(const FakePlugins&) = delete;
  FakePlugins& operator=(const FakePlugins&) = delete;

  // A plugin that hangs is killed after this.
  void SetLimit(base::Duration limit);
  // For images of this registry every plugin hangs from now on, or not any more.
  void Hang(const std::string& registry, bool hangs = true);
  // The plugins' answer for a registry, and its duration. Others: no credentials, at once.
  struct Answer {
    image::AuthConfig auth;
    base::Duration takes{};
    credentials::CacheKeyType type = credentials::CacheKeyType::kRegistry;
  };
  void Knows(const std::string& registry, const Answer& answer);

  credentials::PluginRunner Runner();

  int runs(const std::string& registry) const;  // begun
  int most_at_once() const;

  // ---- for the harness, as FakeImageService
  int Parked() const;
  base::TimePoint NextEvent() const;

 private:
  struct Run {
    base::TimePoint ends;
    std::stop_token stop;
    bool over = false;
  };
  base::Result<credentials::PluginResponse> RunOne(const base::Call& call, const std::string& image);
  void OnAdvance();

  FakeClock& clock_;
  mutable base::Mutex mutex_;
  base::Condition condition_;
  base::Duration limit_ PREFETCH_GUARDED_BY(mutex_) = credentials::kPluginTimeout;
  std::map<std::string, bool> hangs_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, Answer> answers_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, int> runs_ PREFETCH_GUARDED_BY(mutex_);
  std::list<Run> under_way_ PREFETCH_GUARDED_BY(mutex_);
  int most_at_once_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

}  // namespace prefetch::tests
