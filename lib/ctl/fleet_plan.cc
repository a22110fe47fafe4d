#include "ctl/fleet_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "ctl/exit_code.h"
#include "ctl/list_files.h"
#include "ctl/node_credentials.h"
#include "ctl/tag_digests.h"
#include "doc/duration.h"
#include "doc/loose_json.h"
#include "doc/node.h"
#include "doc/write.h"
#include "image/platform.h"
#include "plan/fleet_load.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kMostNodes = 100'000;
constexpr std::size_t kLayersOfAnAssumedImage = 8;

std::string Time(double count) {
  return base::HumanTime(seconds(static_cast<std::int64_t>(std::ceil(count))));
}

plan::LoadBlob BlobOf(const doc::LooseJson& descriptor) {
  return {descriptor.Text("digest"), descriptor.Number("size").value_or(0)};
}

void AddManifest(const image::ImageManifest& answer, plan::LoadImage& image) {
  image.manifests = answer.index.empty() ? 2 : 3;
  const doc::LooseJson manifest = doc::LooseJson::Parse(answer.manifest);
  image.blobs.push_back(BlobOf(manifest.Member("config")));
  for (const doc::LooseJson& layer : manifest.Member("layers").Items()) image.blobs.push_back(BlobOf(layer));
}

void AssumeSize(std::uint64_t bytes, plan::LoadImage& image) {
  image.manifests = 3;
  for (std::size_t i = 0; i < kLayersOfAnAssumedImage; i++) {
    image.blobs.push_back({.digest = "", .bytes = bytes / kLayersOfAnAssumedImage});
  }
}

std::string Column(std::string text, std::size_t width, bool last = false) {
  const std::size_t gap = text.size() < width ? width - text.size() : 0;
  return last ? text : text + std::string(gap, ' ') + "  ";
}

// Prints rows in columns as wide as their widest cell.
void PrintTable(const std::vector<std::vector<std::string>>& rows, std::ostream& out) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  out << "\n";
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); i++) out << Column(row[i], widths[i], i + 1 == row.size());
    out << "\n";
  }
}

void Print(const plan::FleetLoad& load, const plan::FleetOptions& options, std::ostream& out) {
  out << base::Counted(load.images, "image", "images") << ", " << base::HumanBytes(load.bytes)
      << " for each node; " << base::Counted(options.nodes, "node", "nodes") << ", "
      << base::HumanBytes(load.bytes * options.nodes) << " in all\n";
  std::vector<std::vector<std::string>> rows = {
      {"REGISTRY", "IMAGES", "A NODE", "ALL NODES", "PULLS", "REQUESTS"}};
  for (const plan::RegistryLoad& one : load.registries) {
    rows.push_back({one.registry, std::to_string(one.images), base::HumanBytes(one.bytes),
                    base::HumanBytes(one.bytes * options.nodes), std::to_string(one.pulls),
                    std::to_string(one.requests)});
  }
  PrintTable(rows, out);
  rows = {{"PRIORITY", "IMAGES", "A NODE", "ON A NODE AFTER", "ON ALL NODES AFTER"}};
  for (const plan::LoadPriority& one : load.priorities) {
    rows.push_back({std::to_string(one.priority), std::to_string(one.images), base::HumanBytes(one.bytes),
                    Time(one.node_seconds), Time(one.fleet_seconds)});
  }
  PrintTable(rows, out);
  const plan::LoadRollout& rollout = load.rollout;
  out << "\nBy a rollout of the DaemonSet: " << base::Counted(rollout.waves, "wave", "waves") << " of "
      << base::Counted(rollout.nodes, "node", "nodes") << ", " << Time(rollout.wave_seconds) << " each, "
      << Time(rollout.wave_seconds * static_cast<double>(rollout.waves)) << " in all\n";
  rows = {{"START JITTER", "IN THE FIRST SECOND", "REQUESTS/S THEN", "ALL NODES READY AFTER"}};
  for (const plan::LoadSpread& one : load.spreads) {
    rows.push_back({base::HumanTime(one.start_jitter), std::to_string(std::llround(one.first_second)),
                    std::to_string(std::llround(one.mean)), Time(one.ready_seconds)});
  }
  PrintTable(rows, out);
}

doc::Node Int(std::uint64_t number) {
  return doc::Node::Int(static_cast<std::int64_t>(number));
}
doc::Node Int(double number) {
  return doc::Node::Int(std::llround(std::ceil(number)));
}

void PrintJson(const plan::FleetLoad& load, const plan::FleetOptions& options, std::ostream& out) {
  std::vector<doc::Node> registries, priorities, spreads, warnings;
  for (const plan::RegistryLoad& one : load.registries) {
    registries.push_back(doc::Node::Mapping()
                             .Set("registry", doc::Node::String(one.registry))
                             .Set("images", Int(one.images))
                             .Set("nodeBytes", Int(one.bytes))
                             .Set("pulls", Int(one.pulls))
                             .Set("requests", Int(one.requests)));
  }
  for (const plan::LoadPriority& one : load.priorities) {
    priorities.push_back(doc::Node::Mapping()
                             .Set("priority", doc::Node::Int(one.priority))
                             .Set("images", Int(one.images))
                             .Set("nodeBytes", Int(one.bytes))
                             .Set("nodeSeconds", Int(one.node_seconds))
                             .Set("fleetSeconds", Int(one.fleet_seconds)));
  }
  for (const plan::LoadSpread& one : load.spreads) {
    spreads.push_back(doc::Node::Mapping()
                          .Set("startJitterSeconds", doc::Node::Int(one.start_jitter.count()))
                          .Set("firstSecondRequests", Int(one.first_second))
                          .Set("requestsPerSecond", Int(one.mean))
                          .Set("readySeconds", Int(one.ready_seconds)));
  }
  for (const std::string& one : load.warnings) warnings.push_back(doc::Node::String(one));
  out << doc::WriteJson(doc::Node::Mapping()
                            .Set("nodes", Int(options.nodes))
                            .Set("images", Int(load.images))
                            .Set("nodeBytes", Int(load.bytes))
                            .Set("registries", doc::Node::Sequence(std::move(registries)))
                            .Set("priorities", doc::Node::Sequence(std::move(priorities)))
                            .Set("rollout", doc::Node::Mapping()
                                                .Set("waves", Int(load.rollout.waves))
                                                .Set("nodes", Int(load.rollout.nodes))
                                                .Set("waveSeconds", Int(load.rollout.wave_seconds)))
                            .Set("spreads", doc::Node::Sequence(std::move(spreads)))
                            .Set("warnings", doc::Node::Sequence(std::move(warnings))))
      << "\n";
}

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
  if (options.hub_pulls == 0) mistakes.emplace_back("--hub-pulls must be at least 1");
  auto timeout = doc::ParseDuration(options.timeout);
  if (!timeout || timeout->count() <= 0)
    mistakes.emplace_back("--timeout must be a duration such as 90s or 5m");
  plan::FleetOptions fleet{.nodes = options.nodes,
                           .node_rate = options.node_rate * kMegabyte,
                           .registry_rate = options.registry_rate * kMegabyte,
                           .hub_pulls = options.hub_pulls,

                           .start_jitter = JitterOf(options.start_jitter, mistakes)};
  const image::Platform platform = PlatformOf(options.platform, mistakes);
  const ListFiles files = ReadListFiles(options.lists, mistakes);
  auto keyring = ToKeyringOptions(GatherCredentials(options.credentials, get_env, mistakes), mistakes);
  if (!mistakes.empty()) return Refuse(mistakes, err);

  std::vector<TagQuestion> questions;
  for (const plan::DesiredImage& image : files.list.images) {
    questions.push_back({image.reference, image.sources.empty() ? "" : image.sources.front(), ""});
    if (image.nodes == plan::NodeScope()) continue;
    err << "note: " << image.reference.written() << " is for some nodes only, and is counted for all\n";
  }
  std::vector<ManifestAnswer> answers(questions.size());
  if (options.image_size == 0) {
    answers = AskManifests(call.Within(*timeout), keyring, get_env, questions, platform, err);
    if (call.Stopped()) return kInterrupted;
  }
  std::vector<plan::LoadImage> images;
  bool complete = true;
  for (std::size_t i = 0; i < questions.size(); i++) {
    plan::LoadImage image{.registry = questions[i].reference.domain(),
                          .priority = files.list.images[i].priority};
    if (options.image_size > 0) {
      AssumeSize(options.image_size * kMegabyte, image);
    } else if (answers[i].manifest) {
      AddManifest(*answers[i].manifest, image);
    } else {
      complete = false;
      err << "prefetchctl: " << questions[i].reference.written()
          << " counts with size 0: " << answers[i].error << "\n";
    }
    images.push_back(std::move(image));
  }
  const plan::FleetLoad load = plan::LoadOf(images, fleet);
  options.json ? PrintJson(load, fleet, out) : Print(load, fleet, out);
  for (const std::string& warning : load.warnings) err << "warning: " << warning << "\n";
  return complete ? kOk : kNo;
}

}  // namespace prefetch::ctl
