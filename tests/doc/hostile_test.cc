// Tests the limits of readers on memory and time, whatever the bytes.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <string>

#include "base/process_stat.h"
#include "doc/hostile_texts.h"
#include "doc/json.h"
#include "doc/kubernetes_stream.h"
#include "doc/yaml.h"

namespace prefetch::doc::hostile_test {
namespace {

using tests::HostileText;

constexpr std::size_t kMiB = 1 << 20;

// Sanitizers have memory of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t kShadow = 8;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr std::size_t kShadow = 8;
#else
constexpr std::size_t kShadow = 1;
#endif
#else
constexpr std::size_t kShadow = 1;
#endif

std::size_t StatusOfProcess(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kilobytes = 0;
    if (word == field && status >> kilobytes) return kilobytes * 1024;
  }
  ADD_FAILURE() << "no " << field;
  return 0;
}

// The most memory that `work` had at one time beside what was there before.
std::size_t PeakOf(const std::function<void()>& work) {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins again
  const std::size_t before = StatusOfProcess("VmRSS:");
  work();
  return std::max(StatusOfProcess("VmHWM:"), before) - before;
}

void ExpectOnePlace(const Problems& problems, const std::string& name) {
  ASSERT_FALSE(problems.empty()) << name;
  const std::string line = problems.Lines().front();
  std::size_t colons = 0;
  for (std::size_t at = std::string("x").size(); at < line.size() && line[at] == ':'; colons++) {
    at = line.find_first_not_of("0123456789", at + 1);
  }
  EXPECT_GE(colons, 3U) << name << ": " << line;
}

struct NamedReader {
  const char* name;
  std::function<bool(std::string_view, Problems&, const Limits&)> read;
};

const NamedReader kReaders[] = {
    {"strict",
     [](auto text, auto& problems, auto& limits) { return ParseYaml(text, problems, limits).has_value(); }},
    {"strict documents", [](auto text, auto& problems,
                            auto& limits) { return ParseYamlDocuments(text, problems, limits).has_value(); }},
    {"as kubectl", [](auto text, auto& problems,
                      auto& limits) { return ReadKubernetesDocuments(text, problems, limits).has_value(); }},
    {"as kubelet",
     [](auto text, auto& problems, auto& limits) {
       return ReadKubernetesYaml(text, problems, RepeatedKeys::kLastCounts, limits).has_value();
     }},
    {"JSON", [](auto text, auto& problems,
                auto& limits) { return ParseJson(text, problems, JsonRules::kStrict, limits).has_value(); }},
};

constexpr std::size_t kEveryReader = std::size(kReaders);

// Returns the most memory that the reader, or one of all, took.
std::size_t Read(const HostileText& hostile, const Limits& limits, std::size_t which) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < kEveryReader; i++) {
    if (which != kEveryReader && which != i) continue;
    const NamedReader& reader = kReaders[i];
    const std::string name = std::string(reader.name) + ": " + hostile.name;
    Problems problems("x");
    bool read = false;
    const std::size_t peak = PeakOf([&] { read = reader.read(hostile.text, problems, limits); });
    if (!read) ExpectOnePlace(problems, name);
    EXPECT_LE(peak, kShadow * (hostile.nests ? 8 : 48) * kMiB) << name;
    most = std::max(most, peak);
  }
  return most;
}

constexpr Limits kOfManifests{.bytes = 10 << 20, .depth = 100, .nodes = 2'000'000};

// The number of soups; far more than a run's own stand for all combinations, too.
std::uint32_t Wanted() {
  const char* wanted = std::getenv("PREFETCH_HOSTILE_TEXTS");
  return wanted == nullptr ? 1'000 : static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10));
}

// The heap is limited as the agent limits its own.
class HostileTexts : public testing::Test {
 protected:
  static void SetUpTestSuite() { base::LimitHeap(); }
};

TEST_F(HostileTexts, TakeFortyEightMebibytesAtMost) {
  const bool all = Wanted() > 10'000;
  std::size_t most = 0, count = 0;
  auto read = [&](const HostileText& hostile, std::size_t which) {
    most = std::max(most, Read(hostile, count++ % 2 == 0 ? Limits{} : kOfManifests, which));
  };
  // Most nodes for their bytes.
  for (std::string_view unit :
       {"- \n", "0,", "[a],", "{\"a\":0},", "a\n---\n", "a: b\n", "? a\n", "\"a\":0,"}) {
    const char* opening = unit.starts_with('"') ? "{" : unit.ends_with(',') ? "[" : "";
    read({std::string(unit), opening + tests::Repeat(unit, kMiB - 1), false}, kEveryReader);
  }
  tests::ForEachHostileText(all ? kMiB : kMiB / 4, all, [&](const HostileText& hostile) {
    read(hostile, all ? kEveryReader : count % kEveryReader);
  });
  std::cout << count << " texts, at most " << most / 1024 << " KiB\n";
}

TEST_F(HostileTexts, SoupsTakeNoMore) {
  for (std::uint32_t seed = 0; seed < Wanted() && !testing::Test::HasFailure(); seed++) {
    const std::size_t size = seed % 500 == 499 ? kMiB : seed % 20 == 19 ? kMiB / 16 : kMiB / 512;
    Read(tests::SoupOf(seed, size), seed % 2 == 0 ? Limits{} : kOfManifests, kEveryReader);
  }
}

// Ten times the text takes no more than ten times the memory, and a manifest's own limit ends it.
TEST_F(HostileTexts, LargerOnesGrowByTheirLength) {
  for (std::string_view unit : {"[", "0,", "- abc\n"}) {
    const char* opening = unit.ends_with('\n') ? "" : "[";
    const HostileText hostile{std::string(unit), opening + tests::Repeat(unit, 10 * kMiB - 1)};
    Problems problems("x");
    const std::size_t peak = PeakOf([&] { ReadKubernetesDocuments(hostile.text, problems, kOfManifests); });
    EXPECT_LE(peak, kShadow * 480 * kMiB) << unit;
  }
}

}  // namespace
}  // namespace prefetch::doc::hostile_test
