// Promises of the fake beyond the contract suite: words of each persona, virtual time, counters.
#include "fakes/fake_image_service.h"

#include <gtest/gtest.h>

#include <thread>

#include "must.h"
#include "rows.h"

namespace prefetch::tests::fake_image_service_test {
namespace {

using image::ErrorClass;

TEST_TABLE(PersonaTest, SaysWhatTheClassifierUnderstands, std::tuple<Persona, ErrorClass>) {
  auto [persona, error_class] = row;
  cri::CallError error = Say(persona, error_class, "reg.example/x/denied:toomanyrequests");
  EXPECT_EQ(image::ErrorClassName(error.error_class), image::ErrorClassName(error_class)) << error.message;
}

INSTANTIATE_TEST_SUITE_P(
    All, PersonaTest,
    testing::Combine(
        testing::Values(Persona::kContainerd16, Persona::kContainerd23, Persona::kCrio, Persona::kCrio134),
        testing::Values(ErrorClass::kCancelled, ErrorClass::kTimeout, ErrorClass::kRuntimeDown,
                        ErrorClass::kRuntimeUnsupported, ErrorClass::kRuntimeProgressTimeout,
                        ErrorClass::kRuntimeError, ErrorClass::kSignatureRejected, ErrorClass::kDiskFull,
                        ErrorClass::kDiskFault, ErrorClass::kRateLimited, ErrorClass::kTlsError,
                        ErrorClass::kDnsFailure, ErrorClass::kUnreachable, ErrorClass::kAccessDenied,
                        ErrorClass::kPlatformMismatch, ErrorClass::kUnsupportedImage,
                        ErrorClass::kContentMissing, ErrorClass::kNotFound, ErrorClass::kCorrupt,
                        ErrorClass::kServerError, ErrorClass::kRangeRefused, ErrorClass::kInvalidReference,
                        ErrorClass::kUnpackFailed, ErrorClass::kBadCredentialFormat, ErrorClass::kUnknown)));

// One pull on a thread of its own; Join() once it has ended in virtual time.
class Pulling {
 public:
  Pulling(FakeImageService& service, const std::string& image, const std::string& lease = "")
      : thread_([this, &service, image, lease](const std::stop_token& stop) {
          result_.emplace(service.PullImage({base::TimePoint::max(), stop}, {image, std::nullopt, lease}));
        }) {}
  void Stop() { thread_.request_stop(); }
  cri::CallResult<std::string> Join() {
    thread_.join();
    return *result_;
  }

 private:
  std::optional<cri::CallResult<std::string>> result_;
  std::jthread thread_;
};

class FakeImageServiceTest : public testing::Test {
 protected:
  void WaitForParked(int calls) {
    while (service_.Parked() != calls) std::this_thread::yield();
  }
  // Jumps to the next event and returns when that is, in seconds from the beginning.
  double Jump() {
    clock_.AdvanceTo(service_.NextEvent());
    return std::chrono::duration<double>(clock_.Now() - start_).count();
  }

  FakeClock clock_;
  FakeImageService service_{clock_, Persona::kContainerd16};
  base::TimePoint start_ = clock_.Now();
};

TEST_F(FakeImageServiceTest, TimeIsWhatBandwidthLatencyAndUnpackingNeed) {
  FakeImage app = MakeImage("reg.example/app:v1", 10'000'000);
  app.unpack = std::chrono::seconds(7);
  service_.Push(app);
  service_.SetBandwidth(1'000'000);
  service_.SetLatency(std::chrono::seconds(2));
  EXPECT_EQ(service_.NextEvent(), base::TimePoint::max());
  Pulling pull(service_, app.name);
  WaitForParked(1);
  EXPECT_NEAR(Jump(), 2, 1e-6);        // resolved
  EXPECT_NEAR(Jump(), 2.001, 1e-3);    // the configuration, beside the layer
  EXPECT_NEAR(Jump(), 12.0005, 1e-3);  // the layer
  EXPECT_NEAR(Jump(), 19.0005, 1e-3);  // unpacked
  EXPECT_TRUE(pull.Join());
  EXPECT_EQ(service_.Parked(), 0);
  EXPECT_EQ(service_.NextEvent(), base::TimePoint::max());
  EXPECT_EQ(service_.counters().bytes_served, app.Bytes() + app.manifest_bytes);
}

TEST_F(FakeImageServiceTest, OneLongJumpEndsWhereManyShortOnesDo) {
  for (int i = 0; i < 5; i++) service_.Push(MakeImage("reg.example/app:v" + std::to_string(i), 1'000'000));
  service_.SetBandwidth(1'000'000);
  std::list<Pulling> pulls;
  for (int i = 0; i < 5; i++) pulls.emplace_back(service_, "reg.example/app:v" + std::to_string(i));
  WaitForParked(5);
  clock_.Advance(std::chrono::milliseconds(4900));
  EXPECT_EQ(service_.Parked(), 5);
  clock_.Advance(std::chrono::milliseconds(200));
  EXPECT_EQ(service_.Parked(), 0);
  for (Pulling& pull : pulls) EXPECT_TRUE(pull.Join());
}

TEST_F(FakeImageServiceTest, ANodeWideLimitServesTheFirstPullFirst) {
  FakeClock clock;
  FakeImageService service(clock, Persona::kContainerd23);
  auto six = [](const std::string& name) {
    std::vector<LayerOf> layers;
    for (int i = 0; i < 6; i++) layers.push_back({name + std::to_string(i), 1'000'000});
    return MakeImage(name, layers);
  };
  service.Push(six("reg.example/one:v1"));
  service.Push(six("reg.example/two:v1"));
  service.SetBandwidth(1'000'000);
  Pulling one(service, "reg.example/one:v1");
  while (service.Parked() != 1) std::this_thread::yield();
  Pulling two(service, "reg.example/two:v1");
  while (service.Parked() != 2) std::this_thread::yield();
  clock.Advance(std::chrono::milliseconds(8000));
  EXPECT_EQ(service.Parked(), 1);
  EXPECT_TRUE(one.Join());
  clock.Advance(std::chrono::milliseconds(4100));
  EXPECT_TRUE(two.Join());
}

TEST_F(FakeImageServiceTest, AStalledRegistryHoldsAPullUntilItIsBack) {
  service_.Push(MakeImage("reg.example/app:v1", 10'000'000));
  service_.SetBandwidth(1'000'000);
  Pulling pull(service_, "reg.example/app:v1");
  WaitForParked(1);
  clock_.Advance(std::chrono::seconds(4));
  service_.SetRegistry(RegistryState::kStalled);
  EXPECT_EQ(service_.NextEvent(), base::TimePoint::max());
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(service_.Parked(), 1);
  service_.SetRegistry(RegistryState::kUp);
  clock_.Advance(std::chrono::seconds(7));
  EXPECT_TRUE(pull.Join());
}

TEST_F(FakeImageServiceTest, AFullDiskEndsPullsThatNeedBytes) {
  FakeImage present = MakeImage("reg.example/present:v1", 1'000'000);
  service_.Push(present);
  service_.Preload(present);
  service_.Push(MakeImage("reg.example/app:v1", 10'000'000));
  service_.SetBandwidth(1'000'000);
  Pulling pull(service_, "reg.example/app:v1");
  WaitForParked(1);
  service_.SetDiskFull(true);
  const auto error = tests::MustFail(pull.Join());
  EXPECT_EQ(error.error_class, ErrorClass::kDiskFull);
  EXPECT_TRUE(service_.PullImage({}, {present.name, std::nullopt, ""}));
}

TEST_F(FakeImageServiceTest, ARefusedPasswordIsCountedAsOftenAsTheRuntimeSendsIt) {
  FakeImage app = MakeImage("reg.example/app:v1", 1000);
  app.username = "robot";
  app.password = "right";
  service_.Push(app);
  image::AuthConfig wrong{"robot", base::Secret("wrong")};
  EXPECT_FALSE(service_.PullImage({}, {app.name, wrong, ""}));
  EXPECT_EQ(service_.counters().refused_passwords, 5);
  EXPECT_EQ(service_.counters().pull_calls, 1);
}

TEST_F(FakeImageServiceTest, ARestartEndsPullsAndKeepsLeasesAndBytes) {
  service_.Push(MakeImage("reg.example/app:v1", 10'000'000));
  service_.SetBandwidth(1'000'000);
  ASSERT_TRUE(service_.EnsureLease({}, "prefetchd-1", std::chrono::hours(1)));
  Pulling pull(service_, "reg.example/app:v1", "prefetchd-1");
  WaitForParked(1);
  clock_.Advance(std::chrono::seconds(6));
  service_.Restart();
  const auto error = tests::MustFail(pull.Join());
  EXPECT_EQ(error.error_class, ErrorClass::kRuntimeDown);
  EXPECT_EQ(*service_.ListLeases({}), std::vector<std::string>{"prefetchd-1"});
  EXPECT_GT(service_.BytesStored(), 5'900'000u);
}

TEST_F(FakeImageServiceTest, AnArtifactLeavesItsTagBehind) {
  FakeImage chart = MakeImage("reg.example/chart:v1", 1000);
  chart.unpackable = false;
  service_.Push(chart);
  const auto error = tests::MustFail(service_.PullImage({}, {chart.name, std::nullopt, ""}));
  EXPECT_EQ(error.error_class, ErrorClass::kUnsupportedImage);
  auto images = service_.ListImages({});
  ASSERT_EQ(images->size(), 1u);
  EXPECT_EQ(images->front().repo_tags, std::vector<std::string>{chart.name});
  EXPECT_EQ(images->front().repo_digests, std::vector<std::string>{});
}

}  // namespace
}  // namespace prefetch::tests::fake_image_service_test
