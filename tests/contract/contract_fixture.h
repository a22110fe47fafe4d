// The fixture of all suites of the contract: a world, and pulls in it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/call.h"
#include "contract/image_service_contract.h"
#include "image/local_image.h"
#include "image/pull_error.h"
#include "image/reference.h"
#include "image/registry_question.h"

namespace prefetch::tests {

inline constexpr std::uint64_t kMegabyte = 1'000'000;

inline base::Call Soon() {
  return base::Call{}.Within(std::chrono::seconds(20));
}

// One PullImage on a thread of its own.
class RunningPull {
 public:
  RunningPull(World& world, cri::PullRequest request) : world_(world) {
    thread_ = std::jthread([this, request = std::move(request)](const std::stop_token& stop) {
      base::Call call = base::Call{}.Within(world_.PullLimit());
      call.stop = stop;
      result_.emplace(world_.images().PullImage(call, request));
      done_ = true;
    });
  }

  void Stop() { thread_.request_stop(); }
  bool done() const { return done_; }
  cri::CallResult<std::string> Wait() {
    EXPECT_TRUE(world_.Until([this] { return done(); })) << "the pull does not end";
    thread_.request_stop();
    thread_.join();
    return *result_;
  }

 private:
  World& world_;
  std::atomic<bool> done_{false};
  std::optional<cri::CallResult<std::string>> result_;
  std::jthread thread_;
};

template <typename T>
testing::AssertionResult Failed(const cri::CallResult<T>& result, image::ErrorClass expected) {
  if (result) return testing::AssertionFailure() << "it went well";
  if (result.error().error_class == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure() << base::EnumName(result.error().error_class) << " instead of "
                                     << base::EnumName(expected) << ": " << result.error().message;
}

enum class Runtime { kContainerd, kCrio };

// Those of this runtime. containerd's have its own API beside CRI.
inline std::vector<WorldKind> Worlds(Runtime runtime) {
  std::vector<WorldKind> kinds = Worlds();
  std::erase_if(kinds, [=](const WorldKind& kind) {
    return (kind.name.find("Crio") == std::string::npos) != (runtime == Runtime::kContainerd);
  });
  return kinds;
}

class ImageServiceContract : public testing::TestWithParam<WorldKind> {
 protected:
  ImageServiceContract() : world_(GetParam().make()) {}

  cri::CallResult<std::string> Pull(const std::string& image,
                                    std::optional<image::AuthConfig> auth = std::nullopt,
                                    const std::string& lease = "") {
    return RunningPull(*world_, {image, std::move(auth), lease}).Wait();
  }
  image::AuthConfig Credential() const { return {world_->user(), base::Secret(world_->password())}; }

  bool Present(const std::string& name) {
    auto images = world_->images().ListImages(Soon());
    EXPECT_TRUE(images) << images.error().message;
    auto reference = image::Reference::Parse(name);
    return images && reference && image::LocalImageIndex(*images).Find(*reference) != nullptr;
  }
  // By the question that kubelet asks.
  bool Found(const std::string& name) {
    auto status = world_->images().ImageStatus(Soon(), name);
    EXPECT_TRUE(status) << status.error().message;
    return status && status->has_value();
  }
  // Two of the same name are under way, ours first, when ours is stopped: what becomes of another's.
  cri::CallResult<std::string> TheirsWhenOursIsStopped(const cri::PullRequest& request) {
    world_->SetBandwidth(2 * kMegabyte);
    const std::uint64_t before = world_->BytesServed();
    auto served = [&](std::uint64_t bytes) {
      return world_->Until([&] { return world_->BytesServed() - before > bytes; });
    };
    RunningPull ours(*world_, request);
    EXPECT_TRUE(served(kMegabyte));
    RunningPull theirs(*world_, {request.image, std::nullopt, ""});
    while (!world_->HasArrived(2)) std::this_thread::yield();
    EXPECT_TRUE(served(4 * kMegabyte));
    ours.Stop();
    EXPECT_TRUE(Failed(ours.Wait(), image::ErrorClass::kCancelled));
    return theirs.Wait();
  }
  image::PullProgress ProgressOf(const std::string& lease) {
    auto progress = world_->content().Progress(Soon(), lease);
    EXPECT_TRUE(progress) << progress.error().message;
    return progress ? *progress : image::PullProgress{};
  }

  std::unique_ptr<World> world_;
};

}  // namespace prefetch::tests
