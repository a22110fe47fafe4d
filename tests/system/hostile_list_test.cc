// Lists that nobody can read: the agent says why, and stays small. No runtime is there, so it only reads.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/fs.h"
#include "doc/hostile_texts.h"
#include "rig/expect_ok.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::system::hostile_list_test {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMiB = 1 << 20;
const char kHead[] = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages: ";

class HostileList : public testing::Test {
 protected:
  // As a ConfigMap's volume does it: the new version takes the place of the old one at once.
  void HasList(const std::string& text) {
    scratch_.Write("new", text);
    std::filesystem::create_directories(scratch_ / "lists");
    std::filesystem::rename(scratch_ / "new", scratch_ / "lists/a.yaml");
  }
  void StartAgent() {
    ASSERT_OK(
        process_.Start({.argv = {std::getenv("PREFETCHD"), "--kubelet=none", "--list", scratch_ / "lists",
                                 "--listen", "127.0.0.1:0", "--local", scratch_ / "agent.sock",
                                 "--runtime-endpoint", "unix://" + (scratch_ / "no-runtime.sock")},
                        .env = {rig::kNoMallocPerturb}},
                       scratch_ / "log"));
    ASSERT_TRUE(Says("/livez", "ok")) << Log();
  }
  std::string Log() {
    auto log = base::ReadFile(scratch_ / "log", 64 << 20);
    return log ? *log : "";
  }
  std::string Get(const std::string& path) {
    auto ran = rig::RunProgram({{"curl", "-s", "-w", " %{http_code}", "--unix-socket",
                                 scratch_ / "agent.sock", "http://agent" + path},
                                {}},
                               seconds(10));
    return ran ? ran->out : "";
  }
  bool Says(const std::string& path, const std::string& words) {
    return rig::Eventually(seconds(30), [&] { return Get(path).find(words) != std::string::npos; });
  }
  // Each new mistake is logged once.
  std::size_t Refusals() {
    std::size_t count = 0;
    const std::string log = Log();
    for (std::size_t at = log.find("is not valid"); at != std::string::npos;
         at = log.find("is not valid", at + 1)) {
      count++;
    }
    return count;
  }

  rig::Scratch scratch_;
  rig::Process process_;
};

TEST_F(HostileList, AStartingAgentServesTheReason) {
  HasList(kHead + std::string(600'000, '['));
  StartAgent();
  EXPECT_TRUE(Says("/readyz", "a.yaml:3:24: is nested deeper than 16 levels")) << Get("/readyz") << Log();
  EXPECT_TRUE(Says("/readyz", " 503"));
  EXPECT_LT(process_.PeakBytes(), 96 * kMiB);
  std::printf("most resident: %llu KiB\n", static_cast<unsigned long long>(process_.PeakBytes() / 1024));
}

TEST_F(HostileList, NeverReplacesTheLastValidOne) {
  HasList(kHead + std::string("[{image: registry.example.test/a:v1}]\n"));
  StartAgent();
  EXPECT_TRUE(Says("/v1/status", "registry.example.test/a:v1")) << Log();
  std::size_t refused = 0;
  for (std::string_view unit : {"[", "{", "&a [", "- {},\n", "[],", "---\n", "- *a\n", "\"", "0,"}) {
    refused++;
    // Each mistake stands in another line, since the same one is not logged again.
    const std::string begin = kHead + std::string(refused, '\n') + "[\n";
    HasList(begin + tests::Repeat(unit, kMiB - begin.size()));
    EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return Refusals() >= refused; })) << unit << Log();
    EXPECT_TRUE(Says("/v1/status", "registry.example.test/a:v1")) << unit;
  }
  EXPECT_LT(process_.PeakBytes(), 96 * kMiB);
  std::printf("most resident: %llu KiB\n", static_cast<unsigned long long>(process_.PeakBytes() / 1024));
}

}  // namespace
}  // namespace prefetch::system::hostile_list_test
