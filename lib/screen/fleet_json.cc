#include "screen/fleet_text.h"

#include "doc/json_writer.h"

namespace prefetch::screen {
namespace {

void WriteGroup(doc::JsonWriter& out, const FleetGroup& group) {
  out.BeginObject();
  out.Member("state", NodeStateName(group.state));
  out.MemberBool("detail", group.detail);
  out.Member("reason", group.reason);
  out.MemberOrNull("image", group.image);
  out.Member("message", group.message);
  out.MemberNumber("otherMessages", group.other_messages);
  out.MemberNumber("count", group.nodes.size());
  out.Key("nodes");
  out.Strings(group.nodes);
  out.MemberOrNull("slowest", group.slowest);
  out.MemberNumber("mostBytesLeft", group.most_bytes_left);
  out.EndObject();
}

// `hidden`: the agent showed its public fields only.
void WriteMissing(doc::JsonWriter& out, const FleetMissing& image, bool hidden) {
  out.BeginObject();
  out.Member("image", image.image);
  out.Member("phase", image.phase);
  out.Member("reason", image.reason);
  out.Member("message", image.message);
  out.MemberBool("settled", image.settled);
  if (hidden) {
    out.MemberNull("attempts");
  } else {
    out.MemberNumber("attempts", image.attempts);
  }
  out.MemberNumber("bytesLeft", image.bytes_left);
  out.EndObject();
}

void WriteNode(doc::JsonWriter& out, const FleetNode& node) {
  out.BeginObject();
  out.Member("node", node.name);
  out.Member("state", NodeStateName(node.state));
  out.MemberBool("ready", node.state == NodeState::kReady);
  out.MemberBool("detail", node.detail);
  out.MemberBool("publicOnly", node.public_only);
  out.Member("reason", node.reason);
  out.Member("message", node.message);
  out.MemberOrNull("leaving", node.leaving);
  out.MemberBool("failedForGood", node.for_good);
  out.MemberNumber("required", node.required);
  out.MemberNumber("requiredReady", node.required_ready);
  out.MemberOrNull("listHash", node.list_hash);
  out.Key("missing");
  out.BeginArray();
  for (const FleetMissing& image : node.missing) WriteMissing(out, image, node.public_only);
  out.EndArray();
  out.EndObject();
}

}  // namespace

std::string FleetJson(const Fleet& fleet, base::WallTime time, bool not_ready) {
  doc::JsonWriter out;
  out.BeginObject();
  out.Member("apiVersion", "prefetchd.dev/v1");
  out.Member("kind", "FleetStatus");
  out.Member("time", base::Rfc3339(time));
  out.MemberNumber("count", fleet.nodes.size());
  out.MemberNumber("ready", fleet.ready);
  out.MemberNumber("progressing", fleet.progressing);
  out.MemberNumber("failing", fleet.failing);
  out.MemberNumber("notHeard", fleet.not_heard);
  out.MemberNumber("leaving", fleet.leaving);
  out.MemberNumber("noDetail", fleet.no_detail);
  out.MemberNumber("publicOnly", fleet.public_only);
  out.MemberNumber("bytesLeft", fleet.bytes_left);
  if (fleet.time_left) {
    out.MemberNumber("secondsLeft", static_cast<std::uint64_t>(fleet.time_left->count()));
  } else {
    out.MemberNull("secondsLeft");
  }
  out.Key("causes");
  out.BeginArray();
  for (const FleetGroup& group : fleet.groups) WriteGroup(out, group);
  out.EndArray();
  out.Key("nodes");
  out.BeginArray();
  for (const FleetNode& node : fleet.nodes) {
    if (!not_ready || node.state != NodeState::kReady) WriteNode(out, node);
  }
  out.EndArray();
  out.EndObject();
  return out.Take() + "\n";
}

}  // namespace prefetch::screen
