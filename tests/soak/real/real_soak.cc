// An agent on real parts for hours: lists change, images go, tags move, tokens expire, plugins fail,
// containerd restarts, or is another release. Once a minute its use of the node is measured, at rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "base/text.h"
#include "faults/real/world.h"
#include "rig/expect_ok.h"
#include "soak/growth.h"
#include "soak/metric_lines.h"

namespace prefetch::tests::soak {
namespace {

using real_faults::RealWorld;
using std::chrono::seconds;
using std::chrono::steady_clock;

struct Flags {
  seconds time{7200};
  seconds between_samples{60};
  seconds between_happenings{6};
  std::uint64_t seed = 1;
  // The agent downloads from far registries by itself where the runtime lets it.
  real_faults::Distance distance = real_faults::Distance::kFar;
  std::string other_containerd;  // a folder with containerd's programs; empty: the one that PATH has
  bool downloads = false;        // disturbances of downloads alone, and larger layers
};
Flags flags;

// After a fault and the cure of its entries: back-off of passing failures starts anew, and pulls take
// seconds.
constexpr seconds kRecovers{120};
constexpr const char* kFolder = "PREFETCH_CONTAINERD";
constexpr std::size_t kPlugins = 1;  // that RealWorld configures

// Small layers: what is soaked is the agent, not the disk.
std::vector<rig::Layer> Layers(std::uint64_t seed) {
  return {{seed, 50'000}};
}
// A download takes half a second. The small disk has room for those of a minute.
std::vector<rig::Layer> LargeLayers(std::uint64_t seed) {
  return {{2 * seed, real_faults::kLink / 4}, {2 * seed + 1, real_faults::kLink / 4}};
}

// The least part of all bytes that the agent itself has to download where downloads are disturbed.
constexpr double kLeastShare = 0.5;

class Soak {
 public:
  Soak() : random_(flags.seed) {
    good_plugin_ = PluginAnswering("password-of-the-real-faults");
    world_.PluginIs(good_plugin_);
    WriteOwnList();
  }

  void DoSomething() {
    static const std::vector<void (Soak::*)()> all = {
        &Soak::Evict,        &Soak::MoveTag,     &Soak::ChangeList,   &Soak::ChangeList,
        &Soak::TokenExpires, &Soak::PluginFails, &Soak::PluginHangs,  &Soak::Restart,
        &Soak::Kill,         &Soak::Upgrade,     &Soak::BreakTheList, &Soak::StrangerComes,
    };
    static const std::vector<void (Soak::*)()> of_downloads = {
        &Soak::Evict, &Soak::MoveTag,         &Soak::Restart,
        &Soak::Kill,  &Soak::RestartRegistry, &Soak::LimitRequests,
    };
    const auto& these = flags.downloads ? of_downloads : all;
    // Each happens while bytes come that no image had before.
    if (flags.downloads) {
      ChangeList();
      rig::Eventually(seconds(2), [&] { return Leases() > 0; });
    }
    (this->*these[random_() % these.size()])();
    happened_++;
  }

  // Undoes each fault, and waits until the agent has done its work.
  void Rest() {
    world_.RuntimeIsBack();
    world_.PluginIs(good_plugin_);
    world_.WriteList();
    WriteOwnList();
    for (const std::string& name : std::exchange(strangers_, {})) {
      if (flags.downloads) RemoveWithContent(name);
      EXPECT_OK(world_.node().runtime().Remove(name));
    }
    // Denied images wait for minutes, and so do those that failed again and again. Entries that come anew do
    // not.
    if (!rig::Eventually(seconds(10), [&] { return IsReady(); })) {
      world_.node().HasListFile("soak.yaml", kHeader + std::string("images: []\n"));
      const std::set<std::string> listed = world_.listed();
      for (const std::string& image : listed) world_.Unlist(image);
      rig::Eventually(seconds(10), [&] { return world_.node().Status().images.empty(); });
      for (const std::string& image : listed) world_.Relist(image);
      WriteOwnList();
    }
    ASSERT_TRUE(rig::Eventually(kRecovers, [&] { return IsReady(); }))
        << world_.node().Ctl({"status"}).out
        << world_.node().AgentLog().substr(LogSize() - std::min<std::size_t>(LogSize(), 20'000));
    // Leases go with the pulls' ends.
    rig::Eventually(seconds(10), [&] { return Leases() == 0; });
  }

  Sample Measure() {
    const std::string process = "/proc/" + std::to_string(world_.node().agent().pid());
    Sample sample{.private_bytes = KiB(process, "RssAnon:") << 10,
                  .resident_bytes = KiB(process, "VmRSS:") << 10,
                  .descriptors = Count(process + "/fd"),
                  .threads = Count(process + "/task"),
                  .children = Children(process),
                  .leases = Leases()};
    const std::size_t log = LogSize();
    sample.log_bytes = log - std::exchange(log_, log);
    const std::string metrics = world_.node().Get("/metrics").body;
    const MetricLines lines = LinesOf(metrics);
    sample.gauge_lines = lines.present;
    counted_lines_ = lines.counted;
    EXPECT_LE(counted_lines_, MostCounted(kPlugins)) << metrics;
    return sample;
  }

  // Bytes that the agent downloaded itself, by all that the registries sent.
  double Share() {
    return system::FetchedBytes(world_.node().Get("/metrics").body) /
           static_cast<double>(std::max<std::uint64_t>(1, world_.BytesSent()));
  }

  int happened() const { return happened_; }
  // Lines of counters and histograms in the newest sample.
  std::size_t counted_lines() const { return counted_lines_; }

 private:
  static constexpr const char* kHeader = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\n";

  static std::string PluginAnswering(const std::string& password) {
    return "cat >/dev/null\nprintf '%s' '{\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\","
           "\"kind\":\"CredentialProviderResponse\",\"cacheKeyType\":\"Registry\",\"cacheDuration\":\"5s\","
           "\"auth\":{\"closed.example.test\":{\"username\":\"puller\",\"password\":\"" +
           password + "\"}}}'";
  }

  void WriteOwnList() {
    std::string text =
        kHeader + std::string("defaults: {refresh: IfDigestChanged, refreshInterval: 1m}\nimages:\n");
    text += "- {image: " + Moving() + "}\n";
    if (!newest_.empty()) text += "- {image: " + newest_ + "}\n";
    world_.node().HasListFile("soak.yaml", text);
  }
  std::string Moving() {
    if (moving_.empty()) moving_ = OpenHost().Push("moving", "v1", Layers(100));
    return moving_;
  }
  system::Host& OpenHost() { return world_.HostOf("open.example.test/"); }
  const std::string& Any() { return world_.images()[random_() % world_.images().size()]; }
  // An image that has gone a moment ago may not be missed yet.
  bool IsReady() {
    const std::set<std::string> listed = world_.listed();
    return std::all_of(listed.begin(), listed.end(),
                       [&](const std::string& image) { return world_.node().Has(image); }) &&
           world_.node().Get("/readyz").status == 200;
  }

  void Evict() {
    const std::string& image = Any();
    if (flags.downloads) RemoveWithContent(image);
    world_.Remove(image);
  }
  // Its digest and its id are names of their own, which hold the content.
  void RemoveWithContent(const std::string& image) {
    auto listed = world_.node().containerd().Ctr({"images", "ls"});
    if (!listed) return;
    std::map<std::string, std::vector<std::string>> names;  // by digest
    std::string digest;
    for (std::string_view line : base::Split(*listed, '\n')) {
      std::istringstream words{std::string(line)};
      std::string name, type, of;
      if (!(words >> name >> type >> of)) continue;
      names[of].push_back(name);
      if (name == image) digest = of;
    }
    if (digest.empty()) return;
    std::vector<std::string> words = {"images", "rm", "--sync"};
    words.insert(words.end(), names[digest].begin(), names[digest].end());
    EXPECT_OK(world_.node().containerd().Ctr(words));
  }
  void MoveTag() { OpenHost().Push("moving", "v1", Layers(100 + random_() % 4)); }
  // Replaces the newest image on the list by one with a new name.
  void ChangeList() {
    const std::string old = newest_;
    const std::uint64_t number = changes_++;
    newest_ = OpenHost().Push("job", "run-" + std::to_string(number),
                              flags.downloads ? LargeLayers(1000 + number) : Layers(200 + random_() % 4));
    WriteOwnList();
    // The small disk has no room for all of them.
    if (flags.downloads && !old.empty()) RemoveWithContent(old);
    if (!old.empty()) strangers_.push_back(old);
  }
  void TokenExpires() {
    world_.PluginIs(PluginAnswering("expired-" + std::to_string(happened_)));
    world_.Remove(world_.images().front());
  }
  void PluginFails() {
    world_.PluginIs("echo broken >&2; exit 1");
    world_.Remove(world_.images().front());
  }
  void PluginHangs() {
    world_.PluginIs("sleep 8");
    world_.Remove(world_.images().front());
  }
  void Restart() {
    world_.StopRuntime();
    world_.RuntimeIsBack();
  }
  void Kill() {
    world_.Remove(Any());
    world_.KillRuntime();
    world_.RuntimeIsBack();
  }
  void RestartRegistry() {
    rig::Registry& registry = OpenHost().registry();
    registry.Kill();
    EXPECT_OK(registry.Start());
  }
  void LimitRequests() {
    OpenHost().proxy().Answer(
        "/v2/", "HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    ChangeList();
    const auto until = steady_clock::now() + seconds(3);
    while (steady_clock::now() < until) rig::Pause();
    OpenHost().proxy().Answer("/v2/", "");
  }
  void Upgrade() {
    world_.StopRuntime();
    if (!flags.other_containerd.empty()) {
      if (std::getenv(kFolder) == nullptr) {
        ::setenv(kFolder, flags.other_containerd.c_str(), 1);
      } else {
        ::unsetenv(kFolder);
      }
    }
    world_.RuntimeIsBack();
  }
  void BreakTheList() { world_.BreakList(); }
  void StrangerComes() {
    if (!world_.node().Has(moving_)) return;
    const std::string name = "stranger" + std::to_string(happened_) + ".example.test/app:v1";
    EXPECT_OK(world_.node().containerd().Ctr({"images", "tag", moving_, name}));
    strangers_.push_back(name);
  }

  std::size_t LogSize() {
    std::error_code error;
    const auto size = std::filesystem::file_size(world_.node().scratch() / "agent.log", error);
    return error ? 0 : size;
  }
  std::size_t Leases() {
    auto listed = world_.node().containerd().Ctr({"leases", "ls"});
    if (!listed) return 0;
    std::size_t count = 0;
    for (std::string_view line : base::Split(*listed, '\n'))
      count += line.starts_with("prefetchd-") ? 1U : 0U;
    return count;
  }
  static std::size_t Count(const std::string& folder) {
    std::error_code error;
    std::size_t count = 0;
    for (auto at = std::filesystem::directory_iterator(folder, error);
         !error && at != std::filesystem::directory_iterator(); at.increment(error))
      count++;
    return count;
  }
  static std::size_t Children(const std::string& process) {
    std::size_t count = 0;
    std::error_code error;
    for (auto at = std::filesystem::directory_iterator(process + "/task", error);
         !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
      std::ifstream in(at->path() / "children");
      for (std::string word; in >> word;) count++;
    }
    return count;
  }
  static std::size_t KiB(const std::string& process, const std::string& name) {
    std::ifstream in(process + "/status");
    for (std::string word; in >> word;) {
      std::size_t value = 0;
      if (word == name && in >> value) return value;
    }
    ADD_FAILURE() << process << "/status has no " << name;
    return 0;
  }

  RealWorld world_{flags.distance};
  std::mt19937_64 random_;
  std::string good_plugin_, moving_, newest_;
  std::vector<std::string> strangers_;
  std::size_t log_ = 0, counted_lines_ = 0;
  std::uint64_t changes_ = 0;
  int happened_ = 0;
};

TEST(RealSoak, NothingGrows) {
  Soak soak;
  soak.Rest();
  const auto start = steady_clock::now();
  std::vector<Sample> samples;
  std::puts(
      "minute  happened  private KiB  resident KiB  descriptors  threads  children  leases  log bytes  "
      "counters  gauges  by the agent");
  while (steady_clock::now() - start < flags.time && !HasFailure()) {
    const auto sample_at = steady_clock::now() + flags.between_samples;
    while (steady_clock::now() < sample_at) {
      soak.DoSomething();
      const auto next = steady_clock::now() + flags.between_happenings;
      while (steady_clock::now() < std::min(next, sample_at)) rig::Pause();
    }
    soak.Rest();
    samples.push_back(soak.Measure());
    const Sample& s = samples.back();
    const double minutes = std::chrono::duration<double>(steady_clock::now() - start).count() / 60;
    std::printf("%6.1f %9d %12zu %13zu %12zu %8zu %9zu %7zu %10zu %9zu %7zu %13.2f\n", minutes,
                soak.happened(), s.private_bytes >> 10, s.resident_bytes >> 10, s.descriptors, s.threads,
                s.children, s.leases, s.log_bytes, soak.counted_lines(), s.gauge_lines, soak.Share());
    std::fflush(stdout);
  }
  ASSERT_FALSE(samples.empty());
  for (const std::string& sentence : Growth(samples)) ADD_FAILURE() << sentence;
  if (flags.downloads) {
    EXPECT_GE(soak.Share(), kLeastShare);
  }
}

constexpr const char* kHelp =
    R"(Runs an agent on containerd, two registries and a credential plugin for hours, and fails if it grows.

Usage: real_soak [--minutes N] [--sample SECONDS] [--pause SECONDS] [--seed N]
                 [--registries near|far] [--containerd DIR] [--disturb all|downloads]

  --minutes N      how long; 120 by default
  --sample SECONDS the time between two samples; 60 by default
  --pause SECONDS  the time between two disturbances; 6 by default, 15 after --disturb downloads
  --seed N         another order of disturbances; 1 by default
  --registries D   near or far; far by default: there, the agent downloads by itself with containerd 2.1 or later
  --containerd DIR programs of another release of containerd: upgrades go from PATH's to this one, and back
  --disturb WHAT   downloads: images go, tags move, registries restart or answer 429, and containerd restarts or is
                   killed, each during a download; the agent has to download half of all bytes. Needs registries that
                   are far and, by PREFETCH_CONTAINERD, containerd 2.1. all, the default: everything but that

The environment names the programs, as for every system test: PREFETCHD, PREFETCHCTL and PREFETCH_CLOCK_SHIM
(build/tests/faults/libclock_shim.so).

Example: real_soak --minutes 120 --containerd build-tools/containerd-2.1
)";

bool Parse(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[++i] : "";
    const auto number = base::ParseUint(value);
    if (name == "--containerd" && !value.empty()) {
      flags.other_containerd = std::filesystem::absolute(value);
    } else if (name == "--minutes" && number) {
      flags.time = std::chrono::minutes(*number);
    } else if (name == "--sample" && number) {
      flags.between_samples = seconds(*number);
    } else if (name == "--pause" && number) {
      flags.between_happenings = seconds(*number);
    } else if (name == "--seed" && number) {
      flags.seed = *number;
    } else if (name == "--registries" && (value == "near" || value == "far")) {
      flags.distance = value == "far" ? real_faults::Distance::kFar : real_faults::Distance::kNear;
    } else if (name == "--disturb" && (value == "all" || value == "downloads")) {
      flags.downloads = value == "downloads";
      // A registry that restarts is left to the runtime for half a minute.
      if (flags.downloads) flags.between_happenings = seconds(15);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace prefetch::tests::soak

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(prefetch::tests::soak::kHelp, stdout);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  if (!prefetch::tests::soak::Parse(argc, argv)) {
    std::fputs("unknown or incomplete option; run real_soak --help for the options\n", stderr);
    return 2;
  }
  return RUN_ALL_TESTS();
}
