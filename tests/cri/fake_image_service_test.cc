// Promises of the fake beyond the contract suite: words of each persona, and who is served first.
#include "fakes/fake_image_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>
#include <thread>

#include "rows.h"

namespace prefetch::tests::fake_image_service_test {
namespace {

using image::ErrorClass;

TEST_TABLE(PersonaTest, SaysWhatTheClassifierUnderstands, std::tuple<Persona, ErrorClass>) {
  auto [persona, error_class] = row;
  cri::CallError error = Say(persona, error_class, "reg.example/x/denied:toomanyrequests");
  EXPECT_EQ(base::EnumName(error.error_class), base::EnumName(error_class)) << error.message;
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

TEST(FakeImageServiceTest, ANodeWideLimitServesTheFirstPullFirst) {
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
  std::atomic<int> pulled = 0;
  std::list<std::jthread> pulls;
  for (const char* name : {"reg.example/one:v1", "reg.example/two:v1"}) {
    pulls.emplace_back([&, name] { pulled += service.PullImage({}, {name, std::nullopt, ""}) ? 1 : 0; });
    while (service.Parked() != static_cast<int>(pulls.size())) std::this_thread::yield();
  }
  clock.Advance(std::chrono::milliseconds(8000));
  EXPECT_EQ(service.Parked(), 1);
  pulls.front().join();
  EXPECT_EQ(pulled, 1);
  clock.Advance(std::chrono::milliseconds(4100));
  pulls.back().join();
  EXPECT_EQ(pulled, 2);
}

}  // namespace
}  // namespace prefetch::tests::fake_image_service_test
