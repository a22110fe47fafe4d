#include "plan/fleet_load.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/saturating.h"
#include "base/text.h"
#include "image/reference.h"
#include "plan/limits.h"

namespace prefetch::plan {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr hours kHubTime{6};
constexpr std::uint64_t kWaves = 10;  // maxUnavailable of the DaemonSet (deploy/base) is 10 %
constexpr std::uint64_t kPublicEcrBytes = 500'000'000'000;  // a month, without an account (AWS' quota)
// A region's default quotas a second for an account: BatchGetImage, for manifests.
constexpr std::uint64_t kEcrManifests = 2000;

bool IsEcr(const std::string& registry) {
  return registry.find(".dkr.ecr.") != std::string::npos || registry.find(".dkr-ecr.") != std::string::npos;
}

// Returns the seconds in which one node receives `bytes`, if its own link is the limit.
double NodeSeconds(std::uint64_t bytes, const FleetOptions& options) {
  return static_cast<double>(bytes) / static_cast<double>(options.node_rate);
}

// Returns the seconds in which all nodes receive `bytes` each. The slower one counts: the link of a node, or
// the registry that serves all of them.
double TransferSeconds(std::uint64_t bytes, const FleetOptions& options) {
  const double node = NodeSeconds(bytes, options);
  if (options.registry_rate == 0) return node;
  const double all = static_cast<double>(bytes) * static_cast<double>(options.nodes);
  return std::max(node, all / static_cast<double>(options.registry_rate));
}

// With jitter, the last node begins at its end; meanwhile the others have been served.
double FleetSeconds(std::uint64_t bytes, seconds jitter, const FleetOptions& options) {
  return std::max(static_cast<double>(jitter.count()) + NodeSeconds(bytes, options),
                  TransferSeconds(bytes, options));
}

// Requests for documents that a node sends a registry at once when it begins; empty: all registries together.
double BurstOfNode(const std::vector<LoadImage>& images, const std::string& registry) {
  double most = 0;
  int count = 0;
  for (const LoadImage& image : images) {
    if (!registry.empty() && image.registry != registry) continue;
    most = std::max(most, static_cast<double>(image.manifests));
    count++;
  }
  return most * static_cast<double>(std::min(Limits().parallel_pulls, count));
}

// Returns the requests of all nodes in the first second. Jitter spreads the nodes evenly over its time.
// Without it, all nodes begin in the same second.
double FirstSecond(double burst_of_node, seconds jitter, const FleetOptions& options) {
  const double beginners =
      static_cast<double>(options.nodes) / std::max(1.0, static_cast<double>(jitter.count()));
  return burst_of_node * std::max(1.0, beginners);
}

void WarnOfHub(const RegistryLoad& load, const FleetOptions& options, std::vector<std::string>& warnings) {
  const auto allowed = static_cast<double>(options.hub_pulls);
  if (static_cast<double>(load.pulls) <= allowed) return;
  const double needs =
      static_cast<double>(load.pulls) / allowed * static_cast<double>(seconds(kHubTime).count());
  std::string text = "docker.io: " + std::to_string(load.pulls) + " pulls, and Docker Hub allows " +
                     std::to_string(options.hub_pulls) + " in " + base::HumanTime(kHubTime) +
                     ": the last node is served after " + HumanSeconds(needs) +
                     "; use a paid account, or a pull-through cache";
  if (needs <= static_cast<double>(kLongestLimit.count()))
    text += ", or set limits.startJitter to " + HumanSeconds(needs);
  warnings.push_back(std::move(text));
}

void WarnOfEcr(const RegistryLoad& load, double burst_of_node, const FleetOptions& options,
               std::vector<std::string>& warnings) {
  const double first = FirstSecond(burst_of_node, options.start_jitter, options);
  const auto allowed = static_cast<double>(kEcrManifests);
  if (first <= allowed) return;
  const double needs = std::ceil(burst_of_node * static_cast<double>(options.nodes) / allowed);
  warnings.push_back(
      load.registry + ": " + std::to_string(static_cast<std::uint64_t>(first)) +
      " requests for manifests in one second, and ECR allows " + std::to_string(kEcrManifests) +
      " (BatchGetImage, an account's default in a region): set limits.startJitter to at least " +
      std::to_string(static_cast<std::uint64_t>(needs)) + "s, or have the quota raised");
}

void WarnOfPublicEcr(const RegistryLoad& load, const FleetOptions& options,
                     std::vector<std::string>& warnings) {
  const std::uint64_t bytes = base::SaturatingMul(load.bytes, options.nodes);
  if (bytes <= kPublicEcrBytes) return;
  warnings.push_back("public.ecr.aws: " + base::HumanBytes(bytes) + ", and ECR Public sends " +
                     base::HumanBytes(kPublicEcrBytes) +
                     " a month to clients without an account: log in, or copy the images "
                     "to a registry of yours");
}

// Completes a window whose images are counted.
void CompareWithWindow(const std::vector<PullWindow>& windows, const FleetOptions& options, LoadWindow& load,
                       std::vector<std::string>& warnings) {
  load.open = LengthOf(windows.front());
  for (const PullWindow& window : windows) {
    load.text += (load.text.empty() ? "" : "; ") + TextOf(window);
    load.open = std::min(load.open, LengthOf(window));
  }
  // The agents spread their pulls over half of a window at most: see DelayOfOpening.
  const seconds jitter = std::min<seconds>(options.start_jitter, seconds(load.open) / 2);
  load.fleet_seconds = FleetSeconds(load.bytes, jitter, options);
  if (load.fleet_seconds <= static_cast<double>(seconds(load.open).count())) return;
  warnings.push_back(
      "pullWindow " + load.text + ": " + base::Plural(load.images, "image needs ", "images need ") +
      HumanSeconds(load.fleet_seconds) + ", and it is open for " + base::HumanTime(load.open) +
      ": pulls that have not started wait for the next one; open it for longer, or shorten the list");
}

}  // namespace

std::string HumanSeconds(double count) {
  return base::HumanTime(seconds(static_cast<std::int64_t>(std::ceil(count))));
}

// Adds what several start jitters would cost and bring.
static void AddSpreads(double burst, std::uint64_t requests, const FleetOptions& options, FleetLoad& load) {
  const std::set<seconds> jitters = {seconds(0), minutes(1), minutes(10), hours(1), options.start_jitter};
  for (seconds jitter : jitters) {
    const double ready = FleetSeconds(load.bytes, jitter, options);
    load.spreads.push_back({.start_jitter = jitter,
                            .first_second = FirstSecond(burst, jitter, options),
                            .mean = static_cast<double>(requests) / std::max(1.0, ready),
                            .ready_seconds = ready});
  }
}

// Goes through the images in the order of their priorities, since the agents pull in this order. So the times
// of a priority include the bytes of all higher ones. A blob counts for the first image that has it.
FleetLoad LoadOf(const std::vector<LoadImage>& images, const FleetOptions& options) {
  FleetLoad load;
  std::vector<const LoadImage*> order;
  for (const LoadImage& image : images) order.push_back(&image);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->priority > b->priority; });

  std::map<std::string, RegistryLoad> registries;
  std::set<std::string> fetched;  // a node has each blob once, whatever image it belongs to
  std::map<std::vector<PullWindow>, LoadWindow> windows;
  std::uint64_t requests = 0;
  for (const LoadImage* image : order) {
    if (load.priorities.empty() || load.priorities.back().priority != image->priority)
      load.priorities.push_back({.priority = image->priority});
    RegistryLoad& registry = registries[image->registry];
    registry.registry = image->registry;
    std::uint64_t bytes = 0, asked = image->manifests;
    for (const LoadBlob& blob : image->blobs) {
      if (!blob.digest.empty() && !fetched.insert(blob.digest).second) continue;
      bytes = base::SaturatingAdd(bytes, blob.bytes);
      asked++;
    }
    load.images++;
    load.bytes = base::SaturatingAdd(load.bytes, bytes);
    registry.images++;
    registry.bytes = base::SaturatingAdd(registry.bytes, bytes);
    registry.pulls = base::SaturatingAdd(registry.pulls, options.nodes);
    registry.requests = base::SaturatingAdd(registry.requests, base::SaturatingMul(asked, options.nodes));
    requests = base::SaturatingAdd(requests, base::SaturatingMul(asked, options.nodes));
    if (!image->windows.empty()) {
      LoadWindow& window = windows[image->windows];
      window.images++;
      window.bytes = base::SaturatingAdd(window.bytes, bytes);
    }
    LoadPriority& reached = load.priorities.back();
    reached.images++;
    reached.bytes = base::SaturatingAdd(reached.bytes, bytes);
    reached.node_seconds = NodeSeconds(load.bytes, options);
    reached.fleet_seconds = FleetSeconds(load.bytes, options.start_jitter, options);
  }

  FleetOptions wave = options;
  wave.nodes = (options.nodes + kWaves - 1) / kWaves;
  load.rollout = {.waves = (options.nodes + wave.nodes - 1) / wave.nodes,
                  .nodes = wave.nodes,
                  // Each agent of a wave is a new process, which waits at random as for a new list.
                  .wave_seconds = FleetSeconds(load.bytes, options.start_jitter, wave)};
  AddSpreads(BurstOfNode(images, ""), requests, options, load);
  for (auto& [name, registry] : registries) {
    if (name == image::kDockerHub) WarnOfHub(registry, options, load.warnings);
    if (IsEcr(name)) WarnOfEcr(registry, BurstOfNode(images, name), options, load.warnings);
    if (name == "public.ecr.aws") WarnOfPublicEcr(registry, options, load.warnings);
    load.registries.push_back(std::move(registry));
  }
  for (auto& [key, window] : windows) {
    CompareWithWindow(key, options, window, load.warnings);
    load.windows.push_back(std::move(window));
  }
  return load;
}

}  // namespace prefetch::plan
