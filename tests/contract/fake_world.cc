// The contract suite's world made of fakes: every persona.
#include <thread>

#include "contract/image_service_contract.h"
#include "fakes/fake_image_service.h"

namespace prefetch::tests {
namespace {

const std::string kOpen = "open.example.test";
const std::string kPrivate = "private.example.test";

class FakeWorld final : public World, public CrioSide {
 public:
  explicit FakeWorld(Persona persona) : persona_(persona), service_(clock_, persona) {}

  cri::ImageService& images() override { return service_; }
  cri::ContentService& content() override { return service_; }
  bool HasContentApi() const override { return tests::HasContentApi(persona_); }
  std::string runtime_name() const override { return InfoOf(persona_).name; }

  Pushed Push(const WorldImage& wanted) override {
    std::vector<LayerOf> layers;
    for (const WorldLayer& layer : wanted.layers) layers.push_back({std::to_string(layer.seed), layer.bytes});
    const std::string host = (wanted.is_private ? kPrivate : kOpen) + Port() + "/";
    FakeImage image = MakeImage(host + wanted.repository + ":" + wanted.tag, layers);
    image.unpackable = !wanted.artifact;
    image.platform = wanted.platform.value_or(image::Platform::Host());
    if (wanted.is_private) {
      image.username = user();
      image.password = password();
    }
    service_.Push(image);
    return {image.name, host + wanted.repository, image.digest};
  }

  void SetBandwidth(std::uint64_t per_second) override { service_.SetBandwidth(per_second); }
  void SetRegistriesUp(bool up) override {
    service_.SetRegistry(up ? RegistryState::kUp : RegistryState::kDown);
  }
  void Fail(const Pushed& pushed, image::ErrorClass error_class) override {
    service_.Fail(pushed.name, error_class);
  }
  void KillRuntime() override { service_.SetRuntimeUp(false); }
  void StartRuntime() override { service_.SetRuntimeUp(true); }
  void Remove(const std::string& name) override { service_.Remove(name); }
  std::uint64_t BytesServed() const override { return service_.counters().bytes_served; }
  bool StoreIsEmpty() override { return service_.BytesStored() == 0; }

  CrioSide* crio() override { return IsCrio(persona_) ? this : nullptr; }
  std::vector<std::string> TakeAsked() override { return service_.TakeAsked(); }
  void Answer(const Pushed& pushed, const std::string& status, const std::string& body) override {
    service_.Answer(pushed.name, status, body);
  }
  void WelcomeAtPing() override { service_.WelcomeAtPing(kPrivate + Port()); }
  void Rewrite(const std::string& prefix, const std::string& location) override {
    service_.Rewrite(prefix, location);
  }
  void GiveUpOnSilenceAfter(std::chrono::seconds silence) override { service_.GiveUpOnSilenceAfter(silence); }
  void CutConnections() override { service_.CutConnections(); }
  void Freeze(bool frozen) override {
    service_.SetRegistry(frozen ? RegistryState::kStalled : RegistryState::kUp);
  }
  void RemoveName(const std::string& name) override { service_.Untag(name); }
  base::Duration Elapsed() override { return clock_.Now() - made_; }

  bool SharesRunningDownloads() const override { return !IsCrio(persona_); }
  bool StatusRefusesOddNames() const override { return IsCrio(persona_); }
  bool SharesEqualPulls() const override { return IsCrio(persona_); }
  bool DigestsOutliveTheirTag() const override { return !IsCrio(persona_); }
  bool HasArrived(int pulls) override { return service_.Parked() >= pulls; }
  bool Until(const std::function<bool()>& done) override {
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      if (service_.NextEvent() != base::TimePoint::max()) clock_.Advance(std::chrono::milliseconds(20));
      std::this_thread::yield();
    }
    return true;
  }

 private:
  // A name without its tag is cut at the port's colon (C34).
  std::string Port() const { return IsCrio(persona_) ? ":5000" : ""; }

  Persona persona_;
  FakeClock clock_;
  const base::TimePoint made_ = clock_.Now();
  FakeImageService service_;
};

WorldKind Kind(const std::string& name, Persona persona) {
  return {name, [persona] { return std::make_unique<FakeWorld>(persona); }};
}

}  // namespace

std::vector<WorldKind> Worlds() {
  return {Kind("FakeContainerd16", Persona::kContainerd16), Kind("FakeContainerd23", Persona::kContainerd23),
          Kind("FakeCrio", Persona::kCrio), Kind("FakeCrio134", Persona::kCrio134)};
}

}  // namespace prefetch::tests
