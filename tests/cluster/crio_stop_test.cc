// How a real CRI-O ends (C35). Only where the folder of programs has one: main.cc.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "cluster/crio.h"
#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/proxy.h"
#include "rig/registry.h"

namespace prefetch::cluster::crio_stop_test {
namespace {

constexpr std::uint64_t kMB = 1'000'000;
constexpr std::chrono::seconds kLimit{20};

TEST(CrioStops, APullEndsWellAfterItsSocketHasGone) {
  rig::Scratch scratch;
  rig::Registry registry(scratch, "registry", {});
  ASSERT_OK(registry.Start());
  rig::Proxy proxy(registry.port());
  ASSERT_OK(proxy.Start());
  rig::Pusher pusher(registry.address());
  ASSERT_OK(pusher.Push({.repository = "team/app", .tag = "v1", .layers = {{1, 12 * kMB}}}));
  const std::string name = proxy.address() + "/team/app:v1";
  Crio crio(scratch);
  crio.MayUseHttp(proxy.port());
  ASSERT_OK(crio.Start());
  const auto images = cri::MakeImageService(*cri::ParseEndpoint(crio.endpoint()));
  proxy.LimitBandwidth(2 * kMB);

  std::atomic<bool> done{false};
  std::optional<cri::CallResult<std::string>> pulled;
  std::jthread pull([&] {
    pulled.emplace(
        images->PullImage(base::Call{}.Within(kLimit), {name, std::nullopt, "", cri::kOwnPullCgroup}));
    done = true;
  });
  ASSERT_TRUE(rig::Eventually(kLimit, [&] { return proxy.BytesToClients() > kMB; }));
  std::jthread stop([&] { EXPECT_OK(crio.Stop()); });
  auto away = [&] {
    // One that meets the very moment waits for a connection as long as it may.
    auto listed = images->ListImages(base::Call{}.Within(std::chrono::milliseconds(500)));
    return !listed && listed.error().error_class == image::ErrorClass::kRuntimeDown;
  };
  EXPECT_TRUE(rig::Eventually(kLimit, away));
  EXPECT_FALSE(done) << "it takes no call while the pull goes on";
  pull.join();
  EXPECT_TRUE(*pulled) << pulled->error().message;
  stop.join();
  ASSERT_OK(crio.Start());
  auto listed = images->ListImages(base::Call{}.Within(kLimit));
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_NE(image::LocalImageIndex(*listed).Find(*image::Reference::Parse(name)), nullptr);
}

}  // namespace
}  // namespace prefetch::cluster::crio_stop_test
