// The contract suite's world made of fakes: every persona.
#include <thread>

#include "contract/image_service_contract.h"
#include "fakes/fake_image_service.h"

namespace prefetch::tests {
namespace {

class FakeWorld final : public World {
 public:
  explicit FakeWorld(Persona persona) : persona_(persona), service_(clock_, persona) {}

  cri::ImageService& images() override { return service_; }
  cri::ContentService& content() override { return service_; }
  bool HasContentApi() const override { return tests::HasContentApi(persona_); }
  std::string runtime_name() const override { return InfoOf(persona_).name; }

  Pushed Push(const WorldImage& wanted) override {
    std::vector<LayerOf> layers;
    for (const WorldLayer& layer : wanted.layers) layers.push_back({std::to_string(layer.seed), layer.bytes});
    std::string host = wanted.is_private ? "private.example.test/" : "open.example.test/";
    FakeImage image = MakeImage(host + wanted.repository + ":" + wanted.tag, layers);
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
  Persona persona_;
  FakeClock clock_;
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
