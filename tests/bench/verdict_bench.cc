// Measures verdicts for 1,000 entries of a list. The node's kubelet keeps 5,000 records, and each entry has
// one of them.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "bench/measure.h"
#include "kubelet/record_text.h"
#include "kubelet/records.h"
#include "kubelet/verdict_reader.h"

namespace prefetch::bench {
namespace {

using kubelet::FileChanges;
using kubelet::ImageOnNode;
using kubelet::KubeletSettings;
using kubelet::VerdictReader;
using kubelet::VerdictReading;
using kubelet::VerdictReason;
using std::chrono::steady_clock;

constexpr int kEntries = 1000;
constexpr int kRecords = 5000;
constexpr int kTimes = 15;

// Kubelet's root directory, in memory if there is such a place: what is measured is ours and the kernel's,
// not a disk.
class Root {
 public:
  Root() : place_(std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : testing::TempDir()) {
    path_ = place_ + "/prefetch-bench-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    std::filesystem::create_directories(path_ + "/image_manager/pulled");
    std::filesystem::create_directories(path_ + "/image_manager/pulling");
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() { std::filesystem::remove_all(path_); }

  const std::string& place() const { return place_; }
  const std::string& path() const { return path_; }
  // As kubelet writes: beside it, then renamed.
  void Record(const std::string& id, const std::string& repository, const std::string& entry) const {
    std::string file = path_ + "/image_manager/pulled/" + kubelet::FileNameFor(id);
    std::ofstream(file + ".tmp") << tests::RecordText(id, repository, entry);
    std::filesystem::rename(file + ".tmp", file);
  }

 private:
  std::string place_, path_;
};

// Counts this thread alone.
double CpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string Repository(int i) {
  return "registry.example.com/team-" + std::to_string(i % 20) + "/app-" + std::to_string(i);
}

std::string IdOf(int i) {
  return "sha256:" + base::Sha256Hex(Repository(i));
}

// An entry with three secrets, as a node of several teams has them.
std::string ClosedEntry() {
  std::string secrets;
  for (const char* team : {"red", "green", "blue"}) {
    secrets += (secrets.empty() ? "" : ",") +
               (R"({"uid":"b6a4c3a1-6f4e-4a0c-8d0f-1c5b7a90e2d1","namespace":")" + std::string(team)) +
               R"(","name":"pull","credentialHash":")" + base::Sha256Hex(team) + R"("})";
  }
  return R"({"kubernetesSecrets":[)" + secrets + "]}";
}

class Verdicts : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < kRecords; i++) {
      root_.Record(IdOf(i), Repository(i), i % 2 == 0 ? tests::kOpenEntry : closed_);
    }
    for (int i = 0; i < kEntries; i++) images_.push_back({Repository(i) + ":v1", IdOf(i)});
  }

  VerdictReading Read(VerdictReader& reader, FileChanges changes, bool same) {
    return reader.Read(images_, possible_, std::move(changes), same);
  }
  // Files that were written a moment ago are read once more, since their stamps may not tell the next write.
  void Learn(VerdictReader& reader) {
    while (Read(reader, {.all = true}, false).files_read > 0) continue;
  }
  // How long `work` takes; what `before` does is not counted.
  void Measure(const std::string& what, const std::string& target, const std::function<void()>& before,
               const std::function<void()>& work) {
    std::vector<double> cpu, real;
    for (int i = 0; i < kTimes; i++) {
      before();
      auto start = steady_clock::now();
      double spent = CpuSeconds();
      work();
      cpu.push_back(CpuSeconds() - spent);
      real.push_back(std::chrono::duration<double>(steady_clock::now() - start).count());
    }
    Print("verdicts of 1,000 entries, 5,000 records in " + root_.place() + ", " + what,
          Milliseconds(Median(cpu)) + " of CPU, " + Milliseconds(Median(real)) + " by the clock", target);
  }

  Root root_;
  const std::string closed_ = ClosedEntry();
  std::vector<ImageOnNode> images_;
  std::vector<KubeletSettings> possible_ = {{.version = {1, 36}}};
};

TEST_F(Verdicts, Cold) {
  std::optional<VerdictReader> reader;
  VerdictReading reading;
  auto forget = [&] { reader.emplace(root_.path()); };
  auto read = [&] { reading = Read(*reader, {}, false); };
  Measure("cold", "<= 20 ms", forget, read);
  EXPECT_EQ(reading.files_read, static_cast<std::size_t>(kEntries));
  EXPECT_EQ(reading.verdicts[0]->never.reason, VerdictReason::kOpenToNode);
  EXPECT_EQ(reading.verdicts[1]->never.reason, VerdictReason::kRecordedForOthers);

  possible_ = *kubelet::PossibleSettings({});
  Measure("cold, nothing is known of kubelet", "none of its own", forget, read);
  EXPECT_EQ(reading.verdicts[1]->never.reason, VerdictReason::kFactsUnknown);
}

TEST_F(Verdicts, NothingChanged) {
  VerdictReader reader(root_.path());
  Learn(reader);
  VerdictReading reading;
  Measure(
      "nothing changed", "<= 2 ms", [] {}, [&] { reading = Read(reader, {}, true); });
  EXPECT_TRUE(reading.unchanged);
  Measure(
      "nothing changed, another list", "<= 2 ms", [] {}, [&] { reading = Read(reader, {}, false); });
  EXPECT_EQ(reading.files_read, 0U);
  EXPECT_EQ(reading.verdicts.size(), images_.size());
}

TEST_F(Verdicts, OneRecordChanged) {
  VerdictReader reader(root_.path());
  Learn(reader);
  VerdictReading reading;
  int times = 0;
  auto rewrite = [&] {
    root_.Record(IdOf(7), Repository(7), times++ % 2 == 0 ? tests::kOpenEntry : closed_);
  };
  Measure("one record changed", "none of its own", rewrite,
          [&] { reading = Read(reader, {.names = {kubelet::FileNameFor(IdOf(7))}}, true); });
  EXPECT_EQ(reading.files_read, 1U);
  EXPECT_EQ(reading.verdicts[7]->never.reason, VerdictReason::kOpenToNode);
}

TEST_F(Verdicts, Memory) {
  ::malloc_trim(0);
  std::uint64_t before = MemoryOf(::getpid()).private_bytes;
  VerdictReader reader(root_.path());
  VerdictReading reading = Read(reader, {}, false);
  std::uint64_t after = MemoryOf(::getpid()).private_bytes;
  EXPECT_EQ(reading.verdicts.size(), images_.size());
  Print("verdicts of 1,000 entries: memory of the reader and its answer",
        "+" + MiB(after - std::min(after, before)), "<= +4 MiB with all else of 1,000 entries");
}

}  // namespace
}  // namespace prefetch::bench
