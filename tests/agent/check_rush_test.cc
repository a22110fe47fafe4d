// 200 jobs that start at once: real clients, a real server, the agent's own endpoints.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/answers/endpoints.h"
#include "base/clock.h"
#include "ctl/check.h"
#include "ctl/exit_code.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "http/curl_client.h"
#include "http/server.h"
#include "status/sample.h"
#include "temp_dir.h"

namespace prefetch::agent::check_rush_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kJobs = 200;
const std::string kListed = "ghcr.io/acme/runner:v3";

// A runtime that needs a moment for its list, as containerd with hundreds of images does.
class SlowRuntime final : public cri::ImageService {
 public:
  explicit SlowRuntime(cri::ImageService& images) : images_(images) {}

  cri::CallResult<cri::RuntimeInfo> Connect(const base::Call& call) override { return images_.Connect(call); }
  std::uint64_t Generation() override { return images_.Generation(); }
  cri::CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override {
    base::Pause(call, milliseconds(10));
    return images_.ListImages(call);
  }
  cri::CallResult<std::optional<cri::ImageDetails>> ImageStatus(const base::Call& call,
                                                                const std::string& name) override {
    return images_.ImageStatus(call, name);
  }
  cri::CallResult<std::string> PullImage(const base::Call& call, const cri::PullRequest& request) override {
    return images_.PullImage(call, request);
  }
  cri::CallResult<std::vector<cri::ImageFilesystem>> ImageFsInfo(const base::Call& call) override {
    return images_.ImageFsInfo(call);
  }

 private:
  cri::ImageService& images_;
};

class CheckRush : public testing::Test {
 protected:
  CheckRush() {
    board_.Publish(std::make_shared<const plan::Snapshot>(sample::PeacefulNode()));
    board_.RecordTurn(clock_.Now());
  }

  // How many were told within 5 s, of jobs that all ask at the same moment.
  int ToldInTime(base::Result<http::Listener> listener, Audience audience, const std::string& address) {
    EXPECT_TRUE(listener);
    http::ServerLimits limits;
    if (audience == Audience::kPodNetwork) limits.deferred_queue = kPodNetworkQueueLimit;
    auto server =
        http::Server::Start(std::move(*listener), limits,
                            Endpoints(board_, metrics_, image_queries_, retries_, clock_, audience));
    EXPECT_TRUE(server);
    const std::string at = address.empty() ? "http://" + (*server)->address() : address;
    std::atomic<int> told = 0;
    std::barrier start(kJobs);
    std::vector<std::jthread> jobs;
    for (int i = 0; i < kJobs; i++) {
      jobs.emplace_back([&] {
        http::CurlClient client;
        auto agent = ctl::AgentClient::Make(client, at);
        std::ostringstream out, err;
        start.arrive_and_wait();
        const auto began = steady_clock::now();
        const int exit = ctl::Check({}, *agent, {.images = {{kListed, "Never"}}, .timeout = "30s"}, out, err);
        if (exit != ctl::kTimedOut && out.str().find(kListed) != std::string::npos &&
            steady_clock::now() - began < seconds(5)) {
          told++;
        }
      });
    }
    jobs.clear();
    return told;
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  Metrics metrics_;
  tests::FakeClock runtime_clock_;
  tests::FakeImageService fake_{runtime_clock_, tests::Persona::kContainerd16};
  SlowRuntime runtime_{fake_};
  credentials::Keyring keyring_{{.docker_configs = {"/absent"}}, clock_};
  Board board_;
  ImageQueryService image_queries_{board_, runtime_, fake_, keyring_, clock_};
  Retries retries_{board_, clock_, [](const std::vector<std::string>&) {}};
};

TEST_F(CheckRush, NeighboursAreAllTold) {
  EXPECT_EQ(ToldInTime(http::Listener::Tcp("127.0.0.1:0"), Audience::kPodNetwork, ""), kJobs);
}

TEST_F(CheckRush, UsersOfTheSocketAreAllTold) {
  const std::string path = dir_ / "a.sock";
  EXPECT_EQ(ToldInTime(http::Listener::Unix(path, 0600), Audience::kLocal, "unix://" + path), kJobs);
}

}  // namespace
}  // namespace prefetch::agent::check_rush_test
