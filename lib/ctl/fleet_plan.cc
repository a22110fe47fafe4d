#include "ctl/commands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/saturating.h"
#include "base/text.h"
#include "doc/duration.h"
#include "doc/image_manifest.h"
#include "doc/write.h"
#include "image/platform.h"
#include "plan/fleet_load.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kMostNodes = 100'000;
constexpr std::size_t kLayersOfAnAssumedImage = 8;

// Returns false if the manifest cannot be read.
bool AddManifest(const image::ImageManifest& answer, plan::LoadImage& image) {
  const auto manifest = doc::ParseImageManifest(answer.manifest);
  if (!manifest) return false;
  image.manifests = answer.index.empty() ? 2 : 3;
  for (const doc::Blob& blob : manifest->blobs) image.blobs.push_back({blob.digest, blob.size_bytes});
  return true;
}

// The layers of an assumed image have no digests, so they are shared with no other image.
void AssumeSize(std::uint64_t bytes, plan::LoadImage& image) {
  image.manifests = 3;
  for (std::size_t i = 0; i < kLayersOfAnAssumedImage; i++) {
    image.blobs.push_back({.digest = "", .bytes = bytes / kLayersOfAnAssumedImage});
  }
}

// The tables go from the whole load to its parts: registries, priorities, pull windows, and a rollout of the
// DaemonSet.
void Print(const plan::FleetLoad& load, const plan::FleetOptions& options, std::ostream& out) {
  out << base::Plural(load.images, "image", "images") << ", " << base::HumanBytes(load.bytes)
      << " for each node; " << base::Plural(options.nodes, "node", "nodes") << ", "
      << base::HumanBytes(base::SaturatingMul(load.bytes, options.nodes)) << " in all\n";
  std::vector<base::TableRow> rows = {{"REGISTRY", "IMAGES", "A NODE", "ALL NODES", "PULLS", "REQUESTS"}};
  for (const plan::RegistryLoad& one : load.registries) {
    rows.push_back({one.registry, std::to_string(one.images), base::HumanBytes(one.bytes),
                    base::HumanBytes(base::SaturatingMul(one.bytes, options.nodes)),
                    std::to_string(one.pulls), std::to_string(one.requests)});
  }
  out << "\n" << base::Table(std::move(rows));
  rows = {{"PRIORITY", "IMAGES", "A NODE", "ON A NODE AFTER", "ON ALL NODES AFTER"}};
  for (const plan::LoadPriority& one : load.priorities) {
    rows.push_back({std::to_string(one.priority), std::to_string(one.images), base::HumanBytes(one.bytes),
                    plan::HumanSeconds(one.node_seconds), plan::HumanSeconds(one.fleet_seconds)});
  }
  out << "\n" << base::Table(std::move(rows));
  rows = {{"PULLWINDOW", "IMAGES", "A NODE", "OPEN FOR", "ON ALL NODES AFTER"}};
  for (const plan::LoadWindow& one : load.windows) {
    rows.push_back({one.text, std::to_string(one.images), base::HumanBytes(one.bytes),
                    base::HumanTime(one.open), plan::HumanSeconds(one.fleet_seconds)});
  }
  if (!load.windows.empty()) out << "\n" << base::Table(std::move(rows));
  const plan::LoadRollout& rollout = load.rollout;
  out << "\nBy a rollout of the DaemonSet: " << base::Plural(rollout.waves, "wave", "waves") << " of "
      << base::Plural(rollout.nodes, "node", "nodes") << ", " << plan::HumanSeconds(rollout.wave_seconds)
      << " each, " << plan::HumanSeconds(rollout.wave_seconds * static_cast<double>(rollout.waves))
      << " in all\n";
  rows = {{"START JITTER", "IN THE FIRST SECOND", "REQUESTS/S THEN", "ALL NODES READY AFTER"}};
  for (const plan::LoadSpread& one : load.spreads) {
    rows.push_back({base::HumanTime(one.start_jitter), std::to_string(std::llround(one.first_second)),
                    std::to_string(std::llround(one.mean)), plan::HumanSeconds(one.ready_seconds)});
  }
  out << "\n" << base::Table(std::move(rows));
}

// The members are the figures of Print, in bytes and seconds without rounding to units.
void PrintJson(const plan::FleetLoad& load, const plan::FleetOptions& options, std::ostream& out) {
  doc::JsonWriter json;
  const auto number = [&](const char* name, std::uint64_t value) {
    // JSON of this program has signed numbers. Larger ones are cut, which only sums over huge fleets reach.
    json.MemberNumber(name, std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
  };
  const auto ceiling = [&](const char* name, double value) {
    json.MemberNumber(name, static_cast<std::uint64_t>(std::ceil(value)));
  };
  json.Object([&] {
    number("nodes", options.nodes);
    number("images", load.images);
    number("nodeBytes", load.bytes);
    json.Objects("registries", load.registries, [&](const plan::RegistryLoad& one) {
      json.Member("registry", one.registry);
      number("images", one.images);
      number("nodeBytes", one.bytes);
      number("pulls", one.pulls);
      number("requests", one.requests);
    });
    json.Objects("priorities", load.priorities, [&](const plan::LoadPriority& one) {
      json.Key("priority");
      json.Integer(one.priority);
      number("images", one.images);
      number("nodeBytes", one.bytes);
      ceiling("nodeSeconds", one.node_seconds);
      ceiling("fleetSeconds", one.fleet_seconds);
    });
    json.Objects("windows", load.windows, [&](const plan::LoadWindow& one) {
      json.Member("pullWindow", one.text);
      number("images", one.images);
      number("nodeBytes", one.bytes);
      json.MemberNumber("openSeconds", static_cast<std::uint64_t>(seconds(one.open).count()));
      ceiling("fleetSeconds", one.fleet_seconds);
    });
    json.Object("rollout", [&] {
      number("waves", load.rollout.waves);
      number("nodes", load.rollout.nodes);
      ceiling("waveSeconds", load.rollout.wave_seconds);
    });
    json.Objects("spreads", load.spreads, [&](const plan::LoadSpread& one) {
      json.MemberNumber("startJitterSeconds", static_cast<std::uint64_t>(one.start_jitter.count()));
      ceiling("firstSecondRequests", one.first_second);
      ceiling("requestsPerSecond", one.mean);
      ceiling("readySeconds", one.ready_seconds);
    });
    json.MemberStrings("warnings", load.warnings);
  });
  out << json.Take() << "\n";
}

// With a mistake, this and PlatformOf still return a value, so that the other options are checked as well.
seconds JitterOf(const std::string& text, Mistakes& mistakes) {
  auto jitter = doc::ParseDuration(text);
  if (jitter && jitter->count() >= 0) return std::chrono::ceil<seconds>(*jitter);
  mistakes.emplace_back("--start-jitter must be a duration such as 90s or 10m");
  return seconds(0);
}

image::Platform PlatformOf(const std::string& text, Mistakes& mistakes) {
  if (text.empty()) return image::Platform::Host();
  auto platform = image::Platform::Parse(text);
  if (platform) return *platform;
  mistakes.push_back("--platform: " + platform.error().message());
  return image::Platform::Host();
}

}  // namespace

int PlanFleet(const base::Call& call, const PlanOptions& options, const config::GetEnv& get_env,
              std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  if (options.nodes == 0 || options.nodes > kMostNodes) {
    mistakes.push_back("--nodes must be a number from 1 to " + std::to_string(kMostNodes));
  }
  if (options.node_rate == 0) mistakes.emplace_back("--node-rate must be at least 1, in MB a second");
  if (options.image_size == 0U) mistakes.emplace_back("--image-size must be at least 1, in MB");
  if (options.hub_pulls == 0) mistakes.emplace_back("--hub-pulls must be at least 1");
  const std::chrono::nanoseconds timeout = ParseTimeout(options.timeout, mistakes);
  plan::FleetOptions fleet{.nodes = options.nodes,
                           .node_rate = base::SaturatingMul(options.node_rate, kMegabyte),
                           .registry_rate = base::SaturatingMul(options.registry_rate, kMegabyte),
                           .hub_pulls = options.hub_pulls,
                           .start_jitter = JitterOf(options.start_jitter, mistakes)};
  const image::Platform platform = PlatformOf(options.platform, mistakes);
  const ListFiles files = ReadListFiles(options.lists, mistakes);
  auto keyring = ToKeyringOptions(LoadCredentialConfig(options.credentials, get_env, mistakes), mistakes);
  // All mistakes are reported together, before the first request.
  if (!mistakes.empty()) return RejectInput(mistakes, err);

  std::vector<TagQuery> questions;
  for (const plan::DesiredImage& image : files.list.images) {
    questions.push_back({.reference = image.reference, .sources = image.sources});
    if (image.nodes == plan::NodeScope()) continue;
    err << "note: " << image.reference.written() << " is for some nodes only, and is counted for all\n";
  }
  std::vector<ManifestAnswer> answers(questions.size());
  if (!options.image_size) {
    answers = FetchManifests(call.Within(timeout), keyring, get_env, questions, platform, err);
    if (call.Stopped()) return kInterrupted;
  }
  std::vector<plan::LoadImage> images;
  bool complete = true;
  for (std::size_t i = 0; i < questions.size(); i++) {
    plan::LoadImage image{.registry = questions[i].reference.domain(),
                          .priority = files.list.images[i].priority,
                          .windows = files.list.images[i].pull_windows};
    if (options.image_size) {
      AssumeSize(base::SaturatingMul(*options.image_size, kMegabyte), image);
    } else if (!answers[i].manifest || !AddManifest(*answers[i].manifest, image)) {
      complete = false;
      const std::string why = answers[i].manifest ? "its manifest cannot be read" : answers[i].error;
      err << "prefetchctl: " << questions[i].reference.written() << " counts with size 0: " << why << "\n";
    }
    images.push_back(std::move(image));
  }
  // An image without a manifest counts with size 0. The other figures are printed all the same, and the exit
  // code shows that they are not complete.
  const plan::FleetLoad load = plan::LoadOf(images, fleet);
  options.json ? PrintJson(load, fleet, out) : Print(load, fleet, out);
  for (const std::string& warning : load.warnings) err << "warning: " << warning << "\n";
  return complete ? kOk : kNegative;
}

}  // namespace prefetch::ctl
