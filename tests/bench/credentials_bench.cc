// How long the agent's own look-up of credentials takes once the plugins have answered: 1,000 images, 10
// providers of 15 patterns each.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "credentials/plugin_folder.h"

namespace prefetch::bench {
namespace {

constexpr int kImages = 1000;
constexpr int kProviders = 10;
constexpr int kPatterns = 15;

std::string Host(int provider) {
  return "registry" + std::to_string(provider) + ".example.com";
}

// The last pattern is the one that matches.
std::string Patterns(int provider) {
  std::string patterns = "[";
  for (int i = 1; i < kPatterns; i++) {
    patterns += "\"*.region" + std::to_string(i) + "." + Host(provider) + "\",";
  }
  return patterns + "\"" + Host(provider) + "\"]";
}

void FillFolder(const credentials::PluginFolder& folder) {
  using Folder = credentials::PluginFolder;
  std::string providers;
  for (int i = 0; i < kProviders; i++) {
    std::string name = "p" + std::to_string(i);
    folder.AddPlugin(name, Folder::Answer("Registry", Host(i), "u", "p"));
    providers += Folder::Provider(name, Patterns(i), "12h");
  }
  folder.WriteConfig(providers);
}

std::vector<image::Reference> Images() {
  std::vector<image::Reference> images;
  for (int i = 0; i < kImages; i++) {
    images.push_back(credentials::Ref(Host(i % kProviders) + "/team/app-" + std::to_string(i) + ":v1"));
  }
  return images;
}

void WarmLookup(benchmark::State& state) {
  credentials::PluginFolder folder;
  FillFolder(folder);
  base::SystemClock clock;
  credentials::Keyring keyring(folder.Options(), clock);
  std::vector<image::Reference> images = Images();
  for (int i = 0; i < kProviders; i++) keyring.Find({}, {images[static_cast<std::size_t>(i)]});
  for (auto _ : state) {
    std::size_t found = 0;
    for (const image::Reference& image : images) found += keyring.Find({}, {image}).credentials.size();
    if (found != kImages) state.SkipWithError("not every image has its credential");
  }
  for (int i = 0; i < kProviders; i++) {
    if (folder.Runs("p" + std::to_string(i)) != 1) state.SkipWithError("a plugin was run again");
  }
}
BENCHMARK(WarmLookup)->Unit(benchmark::kMillisecond)->MinTime(0.5)->Repetitions(5);

// Keeps each repetition's time.
class Times final : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      failed = failed || run.error_occurred;
      if (run.run_type == Run::RT_Iteration && !run.error_occurred && run.iterations > 0) {
        real.push_back(run.real_accumulated_time / static_cast<double>(run.iterations));
        cpu.push_back(run.cpu_accumulated_time / static_cast<double>(run.iterations));
      }
    }
  }

  std::vector<double> real, cpu;  // seconds
  bool failed = false;
};

int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Times times;
  benchmark::RunSpecifiedBenchmarks(&times);
  if (times.failed || times.cpu.empty()) return EXIT_FAILURE;
  Print("credentials: warm lookup of 1,000 images, 10 providers of 15 patterns",
        Milliseconds(Median(times.cpu)) + " of CPU, " + Milliseconds(Median(times.real)) + " by the clock",
        "<= 5 ms");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace prefetch::bench

int main(int argc, char** argv) {
  return prefetch::bench::Main(argc, argv);
}
