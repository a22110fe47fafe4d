// Makespan of a cold node over links: the agent, the agent with --fetch=auto, everything at once through CRI,
// and image-prefetcher's way. Each contender has a containerd of its own, and goes first in turn.
//
// Runs one cell. PREFETCH_BENCH_CELLS names others ("c/slow", "a", "all"), PREFETCH_BENCH_ROUNDS repeats
// them, PREFETCH_BENCH_JSON=FILE gets all figures. PREFETCH_BENCH_SIZE=whole takes lists as long as those of
// real nodes, instead of a quarter of that. PREFETCH_BENCH_LIMITS=", parallelPulls: 8" adds limits of the
// agent, and peers.h names programs of peers. tests/bench/run does that for the whole table.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stop_token>
#include <thread>

#include "bench/measure.h"
#include "bench/peers.h"
#include "cri/image_service.h"
#include "image/local_image.h"
#include "rig/containerd.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/proxy.h"
#include "rig/registry.h"

namespace prefetch::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The registries of a network; the first one has the bad names, too.
constexpr const char* kHosts[] = {"registry.example.test", "second.example.test", "third.example.test"};
constexpr std::uint64_t kMB = 1'000'000;

struct Mix {
  std::string name;
  std::vector<std::vector<rig::Layer>> good;
  int bad = 0;  // images that fail; they take every fourth place in the list
};

// A layer whose seed no other has.
rig::Layer Unique(std::uint64_t megabytes) {
  static std::uint64_t seed = 1000;
  return {++seed, megabytes * kMB};
}

std::vector<Mix> Mixes() {
  const int quarters = Quarters();
  Mix same{"a"}, large{"b"}, shared{"c"}, bad{"d", {}, quarters == 1 ? 2 : 3}, quick{"q"};
  for (int i = 0; i < 10 * quarters; i++) same.good.push_back({Unique(8), Unique(5), Unique(3)});
  for (int i = 0; i < 7 * quarters; i++) large.good.push_back({Unique(4)});
  large.good.push_back({Unique(quarters == 1 ? 100 : 800)});
  for (int i = 0; i < 15 * quarters; i++) shared.good.push_back({{1, 60 * kMB}, Unique(4)});
  for (int i = 0; i < (quarters == 1 ? 6 : 17); i++) bad.good.push_back({Unique(8), Unique(5), Unique(3)});
  for (int i = 0; i < 8; i++) quick.good.push_back({{2, 4 * kMB}, Unique(1)});
  return {same, large, shared, bad, quick};
}

// Images are spread over the registries at the ends of `links`, in turn. Nobody waits for those of the last
// registry if it drips.
struct Network {
  std::string name;
  std::vector<rig::Link> links;
  bool last_drips = false;
  bool runtime_may_fail = false;
  seconds limit{480};
};

const std::vector<Network>& Networks() {
  static const std::vector<Network> networks = [] {
    const rig::Link far{.bytes_per_second = 20 * kMB, .one_way = milliseconds(50), .slow_start = true};
    rig::Link slow = far, limited = far, drips = far;
    slow.connection_bytes_per_second = 2 * kMB;
    limited.requests_per_second = 10;
    limited.request_burst = 20;
    drips.connection_bytes_per_second = 2000;
    return std::vector<Network>{{"loopback", {{}}},
                                {"far", {far}},
                                {"slow", {slow}},
                                {.name = "limited", .links = {limited}, .runtime_may_fail = true},
                                {.name = "mixed",
                                 .links = {far, far, drips},
                                 .last_drips = true,
                                 .runtime_may_fail = true,
                                 .limit = seconds(90)}};
  }();
  return networks;
}

struct Took {
  double all = 0;      // until the last good image was there; the limit if it did not come
  double median = 0;   // until half of them were
  double bytes = 0;    // that the registries sent, in relation to the size of all layers
  double missing = 0;  // good images
};

// prefetchd --once; its exit code tells whether there were bad images.
void RunAgent(Lane& lane, const std::vector<std::string>& images, const std::string& fetch,
              const std::stop_token& enough) {
  std::string list;
  for (const std::string& image : images) list += image + "\n";
  const std::string config =
      lane.scratch.Write("config.yaml",
                         "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                         "limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000000" +
                             FromEnvironment("PREFETCH_BENCH_LIMITS") + "}\n");
  rig::Process agent;
  ASSERT_OK(
      agent.Start({{std::getenv("PREFETCHD"), "--kubelet=none", "--once", "--config", config, "--list",
                    lane.scratch.Write("images.txt", list), "--runtime-endpoint", lane.containerd.endpoint(),
                    "--listen", "127.0.0.1:0", "--local", lane.scratch / "agent.sock", "--timeout", "400s",
                    "--fetch", fetch, "--registry-containerd-config", lane.containerd.config_file()},
                   {}},
                  lane.scratch / "agent.log"));
  EXPECT_TRUE(
      rig::Eventually(std::chrono::minutes(8), [&] { return enough.stop_requested() || !agent.Running(); }));
  if (const auto exit = agent.Wait(milliseconds(500))) {
    EXPECT_LE(exit->code, 1) << "prefetchd --once";
  }
}

Pulls Agent(const std::string& fetch) {
  return [fetch](Lane& lane, const std::vector<std::string>& images, const std::stop_token& enough) {
    RunAgent(lane, images, fetch, enough);
  };
}

const std::vector<Contender>& Contenders() {
  static const std::vector<Contender> contenders = [] {
    std::vector<Contender> all = Peers();
    all.insert(all.begin(), {"agent", Agent("runtime")});
    all.push_back({"agent auto", Agent("auto")});
    return all;
  }();
  return contenders;
}

class PullBench : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(registry_.Start());
    for (std::size_t i = 0; i < std::size(kHosts); i++)
      ASSERT_OK(proxies_.emplace_back(std::make_unique<rig::Proxy>(registry_.port()))->Start());
    proxies_.front()->Answer(
        "/v2/denied",
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n");
  }

  void Shape(const Network& network) {
    for (std::size_t i = 0; i < network.links.size(); i++) proxies_[i]->Shape(network.links[i]);
  }

  // Makes the mix's images.
  void Push(const Mix& mix) {
    rig::Pusher pusher(registry_.address());
    pushed_.clear();
    for (std::size_t i = 0; i < mix.good.size(); i++) {
      auto pushed = pusher.Push({mix.name + "/app" + std::to_string(i), "v1", mix.good[i]});
      ASSERT_OK(pushed);
      pushed_.push_back(pushed->layers);
    }
  }

  // Sets the list of the mix in this network.
  void List(const Mix& mix, const Network& network) {
    std::set<std::string> counted;  // shared layers once
    list_.clear();
    good_.clear();
    content_ = 0;
    for (std::size_t i = 0; i < mix.good.size(); i++) {
      const std::size_t at = i % network.links.size();
      list_.push_back(std::string(kHosts[at]) + "/" + mix.name + "/app" + std::to_string(i) + ":v1");
      if (network.last_drips && at + 1 == network.links.size()) continue;
      good_.push_back(list_.back());
      for (std::size_t layer = 0; layer < mix.good[i].size(); layer++)
        if (counted.insert(pushed_[i][layer]).second) content_ += mix.good[i][layer].size;
    }
    for (int i = 0; i < mix.bad; i++) {
      const std::string name = (i % 2 == 0 ? "gone" : "denied") + std::to_string(i);
      list_.insert(list_.begin() + i * 4, std::string(kHosts[0]) + "/" + name + ":v1");
    }
  }

  Took Measure(const Contender& contender, const Network& network) {
    std::vector<std::pair<std::string, int>> hosts;
    for (std::size_t i = 0; i < std::size(kHosts); i++) hosts.emplace_back(kHosts[i], proxies_[i]->port());
    Lane lane(hosts);
    Shape(network);
    for (auto& proxy : proxies_) proxy->Forget();
    ::sync();
    std::atomic<bool> over{false};
    std::stop_source enough;
    const double limit = static_cast<double>(network.limit.count());
    auto start = steady_clock::now();
    std::vector<double> came;
    std::thread watch([&] {
      const auto runtime = cri::MakeImageService({lane.containerd.socket()});
      while (came.size() < good_.size() && SecondsSince(start) < limit) {
        const bool last = over;
        if (auto listed = runtime->ListImages({})) {
          const image::LocalImageIndex index(*std::move(listed));
          const auto there = std::count_if(good_.begin(), good_.end(), [&](const std::string& image) {
            return index.Find(image::Reference::Parse(image).value()) != nullptr;
          });
          came.resize(std::max(came.size(), static_cast<std::size_t>(there)), SecondsSince(start));
        }
        if (last) break;
        base::Pause({}, milliseconds(25));
      }
      enough.request_stop();
    });
    contender.run(lane, list_, enough.get_token());
    over = true;
    watch.join();
    Took took{limit, limit, 0, static_cast<double>(good_.size() - came.size())};
    if (took.missing == 0) took.all = came.back();
    if (came.size() > good_.size() / 2) took.median = came[good_.size() / 2];
    EXPECT_TRUE(took.missing == 0 || (network.runtime_may_fail && contender.name != "agent auto"))
        << contender.name << ": " << took.missing << " images did not come";
    for (const auto& proxy : proxies_) took.bytes += static_cast<double>(proxy->BytesToClients());
    took.bytes /= static_cast<double>(content_);
    return took;
  }

  rig::Scratch scratch_;
  rig::Registry registry_{scratch_, "registry"};
  std::vector<std::unique_ptr<rig::Proxy>> proxies_;  // one for each of kHosts
  std::vector<std::vector<std::string>> pushed_;      // digests of the layers of each image of the mix
  std::vector<std::string> list_, good_;
  std::uint64_t content_ = 0;  // of the layers of good_, each once
};

// Does `cells` ("c/slow,a") name that cell?
bool Named(const std::string& cells, const std::string& mix, const std::string& link) {
  std::istringstream words(cells);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == mix || word == link || word == mix + "/" + link || (word == "all" && mix != "q")) return true;
  }
  return false;
}

using Figures = std::map<std::string, std::vector<Took>>;

double MedianOf(const std::vector<Took>& took, double Took::*which) {
  std::vector<double> values;
  for (const Took& one : took) values.push_back(one.*which);
  return Median(values);
}

void Report(const std::string& cell, const Figures& figures) {
  std::string text, json = "{\"cell\":\"" + cell + "\"";
  char part[200];
  for (const auto& [name, run] : Contenders()) {
    const double all = MedianOf(figures.at(name), &Took::all);
    const double median = MedianOf(figures.at(name), &Took::median);
    std::snprintf(part, sizeof part, "%s%s %.1f s (half %.1f s)", text.empty() ? "" : ", ", name.c_str(), all,
                  median);
    text += part;
    std::snprintf(part, sizeof part,
                  ",\"%s\":{\"seconds\":%.2f,\"half\":%.2f,\"bytes\":%.3f,\"missing\":%.0f}", name.c_str(),
                  all, median, MedianOf(figures.at(name), &Took::bytes),
                  MedianOf(figures.at(name), &Took::missing));
    json += part;
  }
  const double ours = MedianOf(figures.at("agent"), &Took::all);
  const double best = std::min(MedianOf(figures.at("at once"), &Took::all),
                               MedianOf(figures.at("image-prefetcher"), &Took::all));
  std::snprintf(part, sizeof part, "; agent %.2f x the best peer, with auto %.2f x", ours / best,
                MedianOf(figures.at("agent auto"), &Took::all) / best);
  // PullImage found every blob; the rest are manifests, retried ranges and headers.
  EXPECT_LE(MedianOf(figures.at("agent auto"), &Took::bytes), 1.02);
  Print("pull " + cell, text + part, "agent <= 1.03 x");
  if (const char* file = std::getenv("PREFETCH_BENCH_JSON"))
    std::ofstream(file, std::ios::app) << json << "}\n";
}

TEST_F(PullBench, Makespan) {
  const char* wanted = std::getenv("PREFETCH_BENCH_CELLS");
  const char* repeat = std::getenv("PREFETCH_BENCH_ROUNDS");
  const std::string cells = wanted == nullptr ? "q/far" : wanted;
  const std::size_t rounds = repeat == nullptr ? 1 : std::max(1UL, std::strtoul(repeat, nullptr, 10));
  int measured = 0;
  for (const Mix& mix : Mixes()) {
    bool pushed = false;
    for (const Network& network : Networks()) {
      if (!Named(cells, mix.name, network.name)) continue;
      if (!std::exchange(pushed, true)) Push(mix);
      List(mix, network);
      Figures figures;
      // Not counted: files that nobody has read yet make the first one slower by a quarter.
      Measure(Contenders().back(), network);
      for (std::size_t turn = 0; turn < rounds * Contenders().size(); turn++) {
        // Each round begins with the next contender.
        const std::size_t round = turn / Contenders().size();
        const Contender& contender = Contenders()[(turn + round) % Contenders().size()];
        figures[contender.name].push_back(Measure(contender, network));
      }
      Report(mix.name + "/" + network.name, figures);
      measured++;
    }
  }
  EXPECT_GT(measured, 0) << "PREFETCH_BENCH_CELLS names no cell: " << cells;
}

}  // namespace
}  // namespace prefetch::bench
