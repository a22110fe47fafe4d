// Do the parts work that all system tests stand on?

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "must.h"
#include "rig/containerd.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/port.h"
#include "rig/process.h"
#include "rig/proxy.h"
#include "rig/registry.h"
#include "rig/scratch.h"

namespace prefetch::rig::rig_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kImage = "registry.example.test/team/app:v1";
constexpr std::uint64_t kMegabyte = 1'000'000;

// A registry for one user, behind the proxy, known to containerd as registry.example.test.
class RigTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(registry_.Start());
    proxy_ = std::make_unique<Proxy>(registry_.port());
    ASSERT_OK(proxy_->Start());
    ASSERT_OK(containerd_.Start());
    ASSERT_OK(containerd_.Route("registry.example.test", proxy_->port()));
  }

  PushedImage Push(std::vector<Layer> layers) {
    Pusher pusher(registry_.address(), "ann", base::Secret("secret-a"));
    auto pushed = pusher.Push({"team/app", "v1", std::move(layers)});
    EXPECT_OK(pushed);
    return pushed ? *pushed : PushedImage{};
  }

  std::vector<std::string> PullWords(const std::string& user) const {
    return {"images", "pull", "--hosts-dir", containerd_.hosts_dir(), "--user", user, kImage};
  }
  base::Result<std::string> Pull(const std::string& user = "ann:secret-a") {
    return containerd_.Ctr(PullWords(user));
  }

  Scratch scratch_;
  Registry registry_{scratch_, "registry", {{"ann", "secret-a"}, {"bob", "secret-b"}}};
  std::unique_ptr<Proxy> proxy_;
  Containerd containerd_{scratch_};
};

TEST_F(RigTest, PullsOverTheProxyWhichCountsIt) {
  PushedImage image = Push({{1, 3 * kMegabyte}, {2, kMegabyte}});
  ASSERT_OK(Pull());
  auto listed = tests::Must(containerd_.Ctr({"images", "ls"}));
  EXPECT_NE(listed->find(image.digest), std::string::npos) << *listed;
  EXPECT_GE(proxy_->BytesToClients(), image.bytes);
  EXPECT_EQ(proxy_->Count("GET", "/blobs/"), 3U);  // two layers and the config
  for (const Passed& request : proxy_->Requests()) {
    if (request.path.find(image.layers[0]) == std::string::npos) continue;
    EXPECT_EQ(request.status, 200);
    EXPECT_GE(request.bytes, 3 * kMegabyte - 2048);
    EXPECT_EQ(request.authorization.substr(0, 6), "Basic ");
  }
}

TEST_F(RigTest, RefusalAndCannedAnswersReachTheClient) {
  Push({{1, 10'000}});
  proxy_->Answer("/manifests/",
                 "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
  const auto error = tests::MustFail(Pull());
  EXPECT_NE(error.message().find("429"), std::string::npos);
  proxy_->Answer("/manifests/", "");
  ASSERT_OK(proxy_->Refuse(true));
  auto refused = Pull();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("connection refused"), std::string::npos);
  ASSERT_OK(proxy_->Refuse(false));
  EXPECT_OK(Pull());
}

TEST_F(RigTest, MoreRequestsThanALinkAllowsAreAnsweredWith429) {
  Push({{1, 10'000}});
  proxy_->Shape({.requests_per_second = 0.001, .request_burst = 2});
  const auto error = tests::MustFail(Pull());
  EXPECT_NE(error.message().find("429"), std::string::npos);
  const std::vector<Passed> requests = proxy_->Requests();
  ASSERT_GE(requests.size(), 3U);
  for (std::size_t i = 0; i < requests.size(); i++) EXPECT_EQ(requests[i].status == 429, i >= 2) << i;
  proxy_->Shape({});
  EXPECT_OK(Pull());
}

TEST(Scratch, TakesProcessesAndFilesWithIt) {
  std::string path;
  Process shim;
  {
    Scratch scratch;
    path = scratch.path();
    std::string script = scratch.Write("bin/linger", "#!/bin/sh\nread x </dev/zero\n", 0755);
    ASSERT_OK(shim.Start({{script}, {}}, scratch / "out.log"));
  }
  EXPECT_EQ(shim.Wait(seconds(5)), (Exit{0, SIGKILL}));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RunProgram, GivesExitAndBothOutputsAndKeepsTheDeadline) {
  auto ran = tests::Must(
      RunProgram({{"sh", "-c", "echo $WORD; echo no >&2; exit 3"}, {{"WORD", "yes"}}}, seconds(5)));
  EXPECT_EQ(ran->exit, (Exit{3, 0}));
  EXPECT_EQ(ran->out, "yes\n");
  EXPECT_EQ(ran->err, "no\n");
  EXPECT_EQ(RunProgram({{"sleep", "60"}, {}}, milliseconds(50)).error().code(),
            base::Code::kDeadlineExceeded);
  EXPECT_EQ(RunProgram({{"/no/such/program"}, {}}, seconds(5)).error().code(), base::Code::kNotFound);
}

// Otherwise the registry of one test answers for that of another while it is down.
TEST(FreePortTest, OfTwoProcessesAreNeverTheSame) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_OK(FreePort());
  const pid_t child = ::fork();  // with the same next port as this process
  if (child == 0) {
    auto port = FreePort();
    const int number = port ? *port : 0;
    const bool written = ::write(ends[1], &number, sizeof number) == sizeof number;
    ::pause();
    ::_exit(written ? 0 : 1);
  }
  int of_child = 0;
  ASSERT_EQ(::read(ends[0], &of_child, sizeof of_child), static_cast<ssize_t>(sizeof of_child));
  auto ours = tests::Must(FreePort());
  EXPECT_GT(of_child, 0);
  EXPECT_NE(*ours, of_child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace prefetch::rig::rig_test
