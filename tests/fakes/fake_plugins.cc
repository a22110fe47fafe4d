#include "fakes/fake_plugins.h"

#include <algorithm>

namespace prefetch::tests {

std::string ProviderOfAccounts(const std::string& images, const std::string& cached) {
  return R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: "true"
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: [")" +
         images + R"("]
  defaultCacheDuration: )" +
         cached + R"(
  tokenAttributes: {serviceAccountTokenAudience: reg, requireServiceAccount: true, cacheType: ServiceAccount}
)";
}

FakePlugins::FakePlugins(FakeClock& clock) : clock_(clock) {
  clock.OnAdvance([this] { OnAdvance(); });
}

void FakePlugins::SetLimit(base::Duration limit) {
  base::Lock lock(mutex_);
  limit_ = limit;
}

void FakePlugins::Hang(const std::string& registry, bool hangs) {
  base::Lock lock(mutex_);
  hangs_[registry] = hangs;
}

void FakePlugins::Knows(const std::string& registry, const Answer& answer) {
  base::Lock lock(mutex_);
  answers_[registry] = answer;
}

credentials::PluginRunner FakePlugins::Runner() {
  return [this](const base::Call& call, const credentials::Provider&, const credentials::PluginContext&,
                const std::string& image, const credentials::PluginIdentity&) { return RunOne(call, image); };
}

int FakePlugins::runs(const std::string& registry) const {
  base::Lock lock(mutex_);
  auto found = runs_.find(registry);
  return found == runs_.end() ? 0 : found->second;
}

int FakePlugins::most_at_once() const {
  base::Lock lock(mutex_);
  return most_at_once_;
}

int FakePlugins::Parked() const {
  base::Lock lock(mutex_);
  return static_cast<int>(std::count_if(under_way_.begin(), under_way_.end(), [](const Run& run) {
    return !run.over && !run.stop.stop_requested();
  }));
}

base::TimePoint FakePlugins::NextEvent() const {
  base::Lock lock(mutex_);
  base::TimePoint next = base::TimePoint::max();
  for (const Run& run : under_way_) {
    if (!run.over) next = std::min(next, run.ends);
  }
  return next;
}

void FakePlugins::OnAdvance() {
  base::Lock lock(mutex_);
  for (Run& run : under_way_) run.over = run.over || run.ends <= clock_.Now();
  condition_.notify_all();
}

base::Result<credentials::PluginResponse> FakePlugins::RunOne(const base::Call& call,
                                                              const std::string& image) {
  const std::string registry = image.substr(0, image.find('/'));
  std::stop_callback wake(call.stop, [this] {
    base::Lock lock(mutex_);
    condition_.notify_all();
  });
  base::Lock lock(mutex_);
  runs_[registry]++;
  const bool hangs = hangs_[registry];
  const Answer answer = answers_[registry];
  const base::Duration takes = hangs ? limit_ : answer.takes;
  auto run =
      under_way_.insert(under_way_.end(), {clock_.Now() + takes, call.stop, takes == base::Duration::zero()});
  most_at_once_ = std::max(most_at_once_, static_cast<int>(under_way_.size()));
  while (!run->over && !call.Stopped()) condition_.wait(mutex_);
  const bool over = run->over;
  under_way_.erase(run);
  if (!over) return base::Cancelled("a stop was requested");
  if (hangs) return base::DeadlineExceeded("did not answer within its time");
  credentials::PluginResponse response;
  response.cache_key_type = answer.type;
  if (!answer.auth.username.empty()) response.auth.push_back({registry, answer.auth});
  return response;
}

}  // namespace prefetch::tests
