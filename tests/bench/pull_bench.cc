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
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "bench/measure.h"
#include "bench/peers.h"
#include "cri/grpc_image_service.h"
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

constexpr const char* kHost = "registry.example.test";
constexpr std::uint64_t kMB = 1'000'000;

struct Mix {
  std::string name;
  std::vector<std::vector<rig::Layer>> good;
  int bad = 0;  // every fourth place in the list, until there are so many
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

const std::vector<std::pair<std::string, rig::Link>>& Links() {
  static const std::vector<std::pair<std::string, rig::Link>> links = {
      {"loopback", {}},
      {"far", {.bytes_per_second = 20 * kMB, .one_way = milliseconds(50), .slow_start = true}},
      {"slow",
       {.bytes_per_second = 20 * kMB,
        .connection_bytes_per_second = 2 * kMB,
        .one_way = milliseconds(50),
        .slow_start = true}}};
  return links;
}

struct Took {
  double all = 0;     // until the last good image was there
  double median = 0;  // until half of them were
  double bytes = 0;   // that the registry sent, in relation to the size of all layers
};

// prefetchd --once; its exit code tells whether there were bad images.
void RunAgent(Lane& lane, const std::vector<std::string>& images, const std::string& fetch) {
  std::string list;
  for (const std::string& image : images) list += image + "\n";
  const std::string config =
      lane.scratch.Write("config.yaml",
                         "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n"
                         "limits: {diskHighPercent: 99, diskMinFreeBytes: 1000000000" +
                             FromEnvironment("PREFETCH_BENCH_LIMITS") + "}\n");
  auto ran = rig::RunProgram(
      {{std::getenv("PREFETCHD"), "--kubelet=none", "--once", "--config", config, "--list",
        lane.scratch.Write("images.txt", list), "--runtime-endpoint", lane.containerd.endpoint(), "--listen",
        "127.0.0.1:0", "--local", lane.scratch / "agent.sock", "--timeout", "400s", "--fetch", fetch,
        "--registry-containerd-config", lane.containerd.config_file()},
       {}},
      std::chrono::minutes(8));
  EXPECT_OK(ran);
  if (ran) {
    EXPECT_LE(ran->exit.code, 1) << ran->out << ran->err;
  }
}

Pulls Agent(const std::string& fetch) {
  return [fetch](Lane& lane, const std::vector<std::string>& images, const std::atomic<bool>&) {
    RunAgent(lane, images, fetch);
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
    ASSERT_OK(proxy_.emplace(registry_.port()).Start());
    proxy_->Answer("/v2/denied",
                   "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: "
                   "0\r\n\r\n");
  }

  // Makes the mix's images; returns its list, and the good ones of it.
  void Push(const Mix& mix, std::vector<std::string>& list, std::vector<std::string>& good) {
    rig::Pusher pusher(registry_.address());
    const std::string prefix = std::string(kHost) + "/";
    std::set<std::string> counted;  // shared layers once
    content_ = 0;
    for (std::size_t i = 0; i < mix.good.size(); i++) {
      const std::string repository = mix.name + "/app" + std::to_string(i);
      auto pushed = pusher.Push({repository, "v1", mix.good[i]});
      ASSERT_OK(pushed);
      for (std::size_t layer = 0; layer < mix.good[i].size(); layer++)
        if (counted.insert(pushed->layers[layer]).second) content_ += mix.good[i][layer].size;
      good.push_back(prefix + repository + ":v1");
    }
    list = good;
    for (int i = 0; i < mix.bad; i++) {
      const std::string name = (i % 2 == 0 ? "gone" : "denied") + std::to_string(i);
      list.insert(list.begin() + i * 4, prefix + name + ":v1");
    }
  }

  Took Measure(const Pulls& pull, const std::vector<std::string>& list,
               const std::vector<std::string>& good) {
    Lane lane(kHost, proxy_->port());
    proxy_->Forget();
    ::sync();
    std::atomic<bool> over{false}, all_there{false};
    auto start = steady_clock::now();
    std::vector<double> came;
    std::thread watch([&] {
      cri::GrpcImageService runtime({lane.containerd.socket()});
      while (came.size() < good.size()) {
        const bool last = over;
        if (auto listed = runtime.ListImages({})) {
          const auto there = std::count_if(good.begin(), good.end(), [&](const std::string& image) {
            return image::FindByName(*listed, image::Reference::Parse(image).value()) != nullptr;
          });
          came.resize(std::max(came.size(), static_cast<std::size_t>(there)), SecondsSince(start));
        }
        all_there = came.size() == good.size();
        if (last) break;
        base::Pause({}, milliseconds(25));
      }
    });
    pull(lane, list, all_there);
    over = true;
    watch.join();
    EXPECT_EQ(came.size(), good.size());
    const double bytes = static_cast<double>(proxy_->BytesToClients()) / static_cast<double>(content_);
    return came.empty() ? Took{} : Took{came.back(), came[came.size() / 2], bytes};
  }

  rig::Scratch scratch_;
  rig::Registry registry_{scratch_, "registry"};
  std::optional<rig::Proxy> proxy_;
  std::uint64_t content_ = 0;  // of the layers of the mix at hand, each once
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
  char part[160];
  for (const auto& [name, run] : Contenders()) {
    const double all = MedianOf(figures.at(name), &Took::all);
    const double median = MedianOf(figures.at(name), &Took::median);
    std::snprintf(part, sizeof part, "%s%s %.1f s (half %.1f s)", text.empty() ? "" : ", ", name.c_str(), all,
                  median);
    text += part;
    std::snprintf(part, sizeof part, ",\"%s\":{\"seconds\":%.2f,\"half\":%.2f,\"bytes\":%.3f}", name.c_str(),
                  all, median, MedianOf(figures.at(name), &Took::bytes));
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
    std::vector<std::string> list, good;
    for (const auto& [name, link] : Links()) {
      if (!Named(cells, mix.name, name)) continue;
      proxy_->Shape({});
      if (list.empty()) Push(mix, list, good);
      proxy_->Shape(link);
      Figures figures;
      // Not counted: files that nobody has read yet make the first one slower by a quarter.
      Measure(Peers().front().run, list, good);
      for (std::size_t turn = 0; turn < rounds * Contenders().size(); turn++) {
        // Each round begins with the next contender.
        const std::size_t round = turn / Contenders().size();
        const auto& [contender, run] = Contenders()[(turn + round) % Contenders().size()];
        figures[contender].push_back(Measure(run, list, good));
      }
      Report(mix.name + "/" + name, figures);
      measured++;
    }
  }
  EXPECT_GT(measured, 0) << "PREFETCH_BENCH_CELLS names no cell: " << cells;
}

}  // namespace
}  // namespace prefetch::bench
