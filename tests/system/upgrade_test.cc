// containerd is replaced by another release under a running agent, over the same data. Where
// PREFETCH_CONTAINERD names a folder, that is the release after; else it is the same one again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "rig/expect_ok.h"
#include "system/node.h"

namespace prefetch::system::upgrade_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr const char* kFolder = "PREFETCH_CONTAINERD";

// Takes the folder away until Restore(), so that what starts in between is what PATH has.
class WithoutFolder {
 public:
  WithoutFolder() {
    if (const char* folder = std::getenv(kFolder)) folder_ = folder;
    ::unsetenv(kFolder);
  }
  ~WithoutFolder() { Restore(); }
  WithoutFolder(const WithoutFolder&) = delete;
  WithoutFolder& operator=(const WithoutFolder&) = delete;

  void Restore() const {
    if (!folder_.empty()) ::setenv(kFolder, folder_.c_str(), 1);
  }
  bool had_one() const { return !folder_.empty(); }

 private:
  std::string folder_;
};

class Upgrade : public testing::Test {
 protected:
  std::string VersionTold() {
    const std::string status = node_.Get("/v1/status").body;
    const std::string key = R"("runtime":{"name":"containerd","version":")";
    std::size_t at = status.find(key);
    if (at == std::string::npos) return "";
    at += key.size();
    return status.substr(at, status.find('"', at) - at);
  }
  // Does the agent know it, from containerd itself or from its file?
  bool KnowsWhereItAsks() {
    const std::string path = R"("registries":{"configPath":")" + node_.containerd().hosts_dir() + "\"";
    return rig::Eventually(seconds(10),
                           [&] { return node_.Get("/v1/status").body.find(path) != std::string::npos; });
  }
  // The bytes of blobs that containerd has, whole or begun.
  std::uint64_t Stored() {
    namespace fs = std::filesystem;
    std::uint64_t sum = 0;
    std::error_code error;  // files come and go
    const std::string content = node_.containerd().root() + "/" + rig::Containerd::kContent;
    for (fs::recursive_directory_iterator at(content, error), end; !error && at != end; at.increment(error)) {
      std::error_code gone;
      const std::uintmax_t size = at->is_regular_file(gone) ? at->file_size(gone) : 0;
      if (!gone) sum += size;
    }
    return sum;
  }
  bool BecomesReady() { return node_.BecomesReady(seconds(30)); }

  WithoutFolder newer_;
  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string image_ = registry_->Push("app", "v1", {{1, kMegabyte}});
};

TEST_F(Upgrade, WhatWasPulledServesOnAndWhatIsAskedIsAskedOfTheNewOne) {
  node_.HasList({image_});
  node_.StartAgent({"--registry-containerd-config", node_.containerd().config_file()});
  ASSERT_TRUE(BecomesReady()) << node_.AgentLog();
  EXPECT_TRUE(KnowsWhereItAsks()) << node_.Get("/v1/status").body;
  const std::string before = VersionTold();
  ASSERT_OK(node_.containerd().Stop());
  ASSERT_TRUE(rig::Eventually(seconds(10), [&] { return !node_.Status().runtime.up; }));
  registry_->proxy().Forget();

  newer_.Restore();
  ASSERT_OK(node_.containerd().Start());
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return node_.Status().runtime.up; })) << node_.AgentLog();
  EXPECT_EQ(node_.Get("/readyz").status, 200) << node_.AgentLog();
  EXPECT_TRUE(registry_->proxy().Requests().empty());  // all of it was here
  EXPECT_EQ(VersionTold() != before, newer_.had_one()) << before << ", then " << VersionTold();

  EXPECT_TRUE(KnowsWhereItAsks()) << node_.Get("/v1/status").body;

  std::string other = registry_->Push("other", "v1", {{2, kMegabyte}});
  node_.HasList({image_, other});
  ASSERT_TRUE(rig::Eventually(seconds(20), [&] { return node_.StatusOf(other).ready; })) << node_.AgentLog();
  ASSERT_TRUE(BecomesReady()) << node_.AgentLog();
  EXPECT_TRUE(node_.Has(image_));
  EXPECT_TRUE(node_.Has(other));
}

// The new containerd need not fetch again what the old one had stored of an image.
TEST_F(Upgrade, AmidAPullLosesNoByte) {
  constexpr std::uint64_t kBytes = 12 * kMegabyte;
  constexpr std::uint64_t kDocuments = 20'000;  // headers, manifest and config, stored or asked for again
  // The proxy may count what it still sends to the runtime that has gone.
  constexpr std::uint64_t kInFlight = 256'000;
  std::string big = registry_->Push("big", "v1", {{3, kBytes / 2}, {4, kBytes / 2}});
  node_.HasList({big});
  registry_->proxy().LimitBandwidth(6 * kMegabyte);
  node_.StartAgent();
  ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return Stored() > 5 * kMegabyte; })) << node_.AgentLog();
  ASSERT_OK(node_.containerd().Stop());
  const std::uint64_t stored = Stored(), before = registry_->proxy().BytesToClients();
  ASSERT_LT(stored, kBytes) << "it was too late";
  newer_.Restore();
  ASSERT_OK(node_.containerd().Start());
  ASSERT_TRUE(BecomesReady()) << node_.AgentLog();
  EXPECT_TRUE(node_.Has(big));
  EXPECT_LE(registry_->proxy().BytesToClients() - before, kBytes - stored + kDocuments + kInFlight);
}

}  // namespace
}  // namespace prefetch::system::upgrade_test
