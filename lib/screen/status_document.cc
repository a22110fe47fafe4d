#include "screen/status_document.h"

#include "base/text.h"
#include "doc/json.h"
#include "status/members.h"

namespace prefetch::screen {
namespace {

// 5,000 images are 5 MB and 300,000 nodes.
constexpr doc::Limits kLimits{.bytes = 32 << 20, .depth = 16, .nodes = 4'000'000};

void ReadList(const status::Members& in, StatusDocument& document) {
  in.Read("hash", document.list_hash);
  in.Read("warnings", document.warnings);
  in.Objects("sources", [&](const status::Members& members) {
    StatusSource source;
    members.Read("name", source.name);
    members.Read("hash", source.hash);
    members.Read("error", source.error);
    members.Read("entries", source.entries);
    members.Read("loadedAt", source.loaded_at);
    document.sources.push_back(std::move(source));
  });
}

void ReadSurroundings(const status::Members& in, StatusDocument& document) {
  in.Object("runtime", [&](const status::Members& runtime) {
    runtime.Read("name", document.runtime_name);
    runtime.Read("version", document.runtime_version);
    runtime.Read("endpoint", document.runtime_endpoint);
    runtime.Read("error", document.runtime_error);
    runtime.Read("up", document.runtime_up);
  });
  in.Object("kubelet",
            [&](const status::Members& kubelet) { document.kubelet = ReadStatusKubelet(kubelet); });
  in.Object("disk", [&](const status::Members& members) {
    StatusDisk disk;
    members.Read("path", disk.path);
    members.Read("capacityBytes", disk.capacity_bytes);
    members.Read("availableBytes", disk.available_bytes);
    members.Read("keptFreeBytes", disk.kept_free_bytes);
    members.Read("neededBytes", disk.needed_bytes);
    members.Read("pressure", disk.pressure);
    document.disk = disk;
  });
  in.Objects("registries", [&](const status::Members& members) {
    StatusRegistryServer registry;
    members.Read("name", registry.name);
    members.Read("trouble", registry.trouble);
    members.Read("message", registry.message);
    members.Read("entries", registry.entries);
    members.Read("unreachableSince", registry.unreachable_since);
    members.Read("heldUntil", registry.held_until);
    document.registries.push_back(std::move(registry));
  });
}

}  // namespace

base::Result<StatusDocument> ParseStatusDocument(std::string_view json) {
  doc::Problems problems("status document");
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kLimits);
  if (!root) return base::Error(problems.ToStatus().error());
  std::string error, api_version, kind;
  StatusDocument document;
  status::Members in(*root, "", error);
  in.Read("apiVersion", api_version);
  in.Read("kind", kind);
  if (error.empty() && (api_version != "prefetchd.dev/v1" || kind != "NodeStatus")) {
    error = "it is no NodeStatus of prefetchd.dev/v1";
  }
  if (!error.empty()) return base::InvalidArgument("status document: " + error);
  in.Read("hidden", document.hidden);
  in.Read("node", document.node);
  in.Read("ready", document.ready);
  in.Read("phase", document.phase);
  in.Read("reason", document.reason);
  in.Read("message", document.message);
  in.Read("required", document.required);
  in.Read("requiredReady", document.required_ready);
  in.Read("time", document.time);
  in.Object("list", [&](const status::Members& list) { ReadList(list, document); });
  ReadSurroundings(in, document);
  in.Read("problems", document.problems);
  in.Objects("images",
             [&](const status::Members& members) { document.images.push_back(ReadStatusImage(members)); });
  in.Read("unlistedSince", document.unlisted_since);
  in.Read("unlistedLeftOut", document.unlisted_left_out);
  in.Objects("unlisted", [&](const status::Members& members) {
    StatusUnlisted image;
    members.Read("image", image.image);
    members.Read("imageID", image.image_id);
    members.Read("sizeBytes", image.size_bytes);
    members.Read("firstSeen", image.first_seen);
    members.Read("arrivedAt", image.arrived_at);
    members.Read("present", image.present);
    document.unlisted.push_back(std::move(image));
  });
  if (!error.empty()) return base::InvalidArgument("status document: " + error);
  return document;
}

}  // namespace prefetch::screen
