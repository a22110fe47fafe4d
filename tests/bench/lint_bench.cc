// Measures `prefetchctl lint` of 10,000 manifests against a list of 500 images, and how its memory grows with
// their number. A manifest has a kilobyte and more: a workload and its Service.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "rig/binary.h"
#include "rig/scratch.h"

namespace prefetch::bench {
namespace {

using std::chrono::steady_clock;

constexpr int kManifests = 10'000;
constexpr int kImages = 500;
constexpr int kTimes = 3;

std::string Manifest(int i) {
  std::string image = "quay.io/acme/app-" + std::to_string(i % kImages) + ":v1";
  std::string name = "web-" + std::to_string(i);
  return "# made for a benchmark\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name +
         "\n  namespace: shop\n  labels: {app: web, tier: front}\nspec:\n  replicas: 3\n  selector:\n"
         "    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    "
         "spec:\n"
         "      serviceAccountName: web\n      nodeSelector: {kubernetes.io/arch: amd64}\n      "
         "initContainers:\n"
         "      - name: migrate\n        image: " +
         image +
         "\n        command: [\"/bin/migrate\", \"--up\"]\n"
         "      containers:\n      - name: app\n        image: " +
         image +
         "\n        imagePullPolicy: IfNotPresent\n"
         "        ports:\n        - containerPort: 8080\n          name: http\n        env:\n        - name: "
         "A\n"
         "          value: \"1\"\n        - name: B\n          valueFrom:\n            secretKeyRef: {name: "
         "x, key: y}\n"
         "        resources:\n          requests: {cpu: 100m, memory: 128Mi}\n          limits: {memory: "
         "256Mi}\n"
         "        readinessProbe:\n          httpGet: {path: /healthz, port: http}\n---\napiVersion: "
         "v1\nkind: Service\n"
         "metadata: {name: " +
         name + "}\nspec:\n  selector: {app: web}\n  ports: [{port: 80, targetPort: http}]\n";
}

struct Cost {
  int exit = -1;
  double seconds = 0, cpu = 0;
  std::uint64_t peak_bytes = 0;
};

Cost CostOf(const std::vector<std::string>& argv) {
  Cost cost;
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  auto started = steady_clock::now();
  pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr) ::_exit(127);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
  cost.seconds = std::chrono::duration<double>(steady_clock::now() - started).count();
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  cost.cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  cost.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  if (WIFEXITED(status)) cost.exit = WEXITSTATUS(status);
  return cost;
}

class LintCost : public testing::Test {
 protected:
  LintCost() {
    std::string list;
    for (int i = 0; i < kImages; i++) list += "quay.io/acme/app-" + std::to_string(i) + ":v1\n";
    scratch_.Write("images.txt", list);
    for (int i = 0; i < kManifests; i++) {
      std::string folder = i < kManifests / 10 ? "few" : "more";
      scratch_.Write("all/" + folder + "/" + std::to_string(i % 100) + "/" + std::to_string(i) + ".yaml",
                     Manifest(i));
    }
  }
  Cost Lint(const std::string& folder) {
    Cost cost =
        CostOf({rig::Prefetchctl(), "lint", "-f", scratch_ / folder, "--list", scratch_ / "images.txt"});
    EXPECT_EQ(cost.exit, 0) << "all images are listed, and nothing is wrong with them";
    return cost;
  }

  rig::Scratch scratch_;
};

TEST_F(LintCost, OfTenThousandManifests) {
  Cost few = Lint("all/few");
  std::vector<double> seconds, cpu;
  std::uint64_t peak = 0;
  for (int i = 0; i < kTimes; i++) {
    Cost cost = Lint("all");
    seconds.push_back(cost.seconds);
    cpu.push_back(cost.cpu);
    peak = std::max(peak, cost.peak_bytes);
  }
  Print("lint: 10,000 manifests against 500 entries",
        Milliseconds(Median(seconds)) + " by the clock, " + Milliseconds(Median(cpu)) + " of CPU", "<= 3 s");
  Print("lint: memory at its peak, 1,000 manifests and 10,000", MiB(few.peak_bytes) + " and " + MiB(peak),
        "bounded: grows with names and findings, not with manifests");
}

TEST_F(LintCost, OfManyIgnoreComments) {
  std::vector<double> ratios;
  for (int i = 0; i < kTimes; i++) {
    std::vector<double> cpu;
    for (int comments : {10'000, 40'000}) {
      std::string text = Manifest(0);
      for (int line = 0; line < comments; line++)
        text += "# prefetchctl: ignore=PF201 made for a benchmark\n";
      scratch_.Write("comments.yaml", text);
      const Cost cost = Lint("comments.yaml");
      cpu.push_back(cost.cpu);
    }
    ratios.push_back(cpu[1] / cpu[0]);
  }
  Print("lint: 40,000 ignore comments against 10,000", std::to_string(Median(ratios)) + " times the CPU",
        "<= 4");
}

}  // namespace
}  // namespace prefetch::bench
