#include "kube/patches.h"

#include "base/text.h"
#include "doc/secret_node.h"
#include "doc/write.h"

namespace prefetch::kube {
namespace {

constexpr std::string_view kReporter = "prefetchd";
constexpr std::size_t kLongestEventMessage = 1024;  // the server refuses longer ones

doc::Node Text(std::string_view text) {
  return doc::Node::String(std::string(text));
}

doc::Node Under(const char* key, doc::Node value) {
  doc::Node outer = doc::Node::Mapping();
  outer.Set(key, std::move(value));
  return outer;
}

doc::Node Time(base::WallTime time) {
  return Text(base::Rfc3339(time));
}

// The list has one element. A strategic patch merges it by its type, and leaves kubelet's conditions alone.
std::string ConditionsPatch(doc::Node condition) {
  std::vector<doc::Node> conditions;
  conditions.push_back(std::move(condition));
  return doc::WriteJson(Under("status", Under("conditions", doc::Node::Sequence(std::move(conditions)))));
}

doc::Node InvolvedNode(const NodeEvent& event) {
  doc::Node node = doc::Node::Mapping();
  node.Set("kind", Text("Node")).Set("name", Text(event.node));
  // kubelet's own events name the Node by its name here, so that is a value that tools know.
  node.Set("uid", Text(event.node_uid.empty() ? event.node : event.node_uid));
  return node;
}

}  // namespace

std::string LabelPatch(const std::string& key, const std::optional<std::string>& value) {
  // A default Node is null, which removes the label (RFC 7386).
  doc::Node label = value ? Text(*value) : doc::Node();
  return doc::WriteJson(Under("metadata", Under("labels", Under(key.c_str(), std::move(label)))));
}

std::string ConfigMapPatch(const std::string& key, const std::string& text) {
  return doc::WriteJson(Under("data", Under(key.c_str(), Text(text))));
}

std::string TaintsPatch(const std::string& resource_version, const std::vector<Taint>& taints) {
  std::vector<doc::Node> list;
  for (const Taint& taint : taints) {
    doc::Node item = doc::Node::Mapping();
    item.Set("key", Text(taint.key));
    if (!taint.value.empty()) item.Set("value", Text(taint.value));
    item.Set("effect", Text(taint.effect));
    // The list is replaced as a whole, so every field of other parties' taints has to be sent back.
    if (!taint.time_added.empty()) item.Set("timeAdded", Text(taint.time_added));
    list.push_back(std::move(item));
  }
  // With this version in it, the server refuses the patch (409) if the Node has changed since it was read.
  doc::Node patch = Under("metadata", Under("resourceVersion", Text(resource_version)));
  patch.Set("spec", Under("taints", doc::Node::Sequence(std::move(list))));
  return doc::WriteJson(patch);
}

std::string ConditionPatch(const NodeCondition& condition) {
  doc::Node item = doc::Node::Mapping();
  item.Set("type", Text(condition.type)).Set("status", Text(condition.status));
  item.Set("reason", Text(condition.reason)).Set("message", Text(condition.message));
  if (condition.last_heartbeat) item.Set("lastHeartbeatTime", Time(*condition.last_heartbeat));
  if (condition.last_transition) item.Set("lastTransitionTime", Time(*condition.last_transition));
  return ConditionsPatch(std::move(item));
}

std::string ConditionRemoval(const std::string& type) {
  doc::Node item = doc::Node::Mapping();
  // A strategic patch removes an element of a list by this directive.
  item.Set("$patch", Text("delete")).Set("type", Text(type));
  return ConditionsPatch(std::move(item));
}

std::string EventBody(const NodeEvent& event) {
  doc::Node metadata = doc::Node::Mapping();
  // The server completes the name, so two agents of one node never collide.
  metadata.Set("generateName", Text(event.node + ".")).Set("namespace", Text(kNodeEventNamespace));
  doc::Node source = doc::Node::Mapping();
  source.Set("component", Text(kReporter)).Set("host", Text(event.node));
  doc::Node body = doc::Node::Mapping();
  body.Set("apiVersion", Text("v1")).Set("kind", Text("Event")).Set("metadata", std::move(metadata));
  body.Set("involvedObject", InvolvedNode(event));
  body.Set("type", Text(event.warning ? "Warning" : "Normal")).Set("reason", Text(event.reason));
  // The server would refuse the whole event for a longer message.
  body.Set("message", Text(base::Truncate(event.message, kLongestEventMessage - 3)));  // for the "…"
  body.Set("count", doc::Node::Int(event.count));
  body.Set("firstTimestamp", Time(event.first)).Set("lastTimestamp", Time(event.last));
  body.Set("source", std::move(source));
  body.Set("reportingComponent", Text(kReporter)).Set("reportingInstance", Text(event.node));
  return doc::WriteJson(body);
}

std::string EventPatch(const NodeEvent& event) {
  doc::Node patch = doc::Node::Mapping();
  patch.Set("count", doc::Node::Int(event.count)).Set("lastTimestamp", Time(event.last));
  patch.Set("message", Text(base::Truncate(event.message, kLongestEventMessage - 3)));
  return doc::WriteJson(patch);
}

std::string TokenRequestBody(const std::string& audience, std::int64_t expiration_seconds) {
  doc::Node spec = doc::Node::Mapping();
  std::vector<doc::Node> audiences;
  audiences.push_back(Text(audience));
  spec.Set("audiences", doc::Node::Sequence(std::move(audiences)));
  spec.Set("expirationSeconds", doc::Node::Int(expiration_seconds));
  doc::Node body = doc::Node::Mapping();
  body.Set("apiVersion", Text("authentication.k8s.io/v1")).Set("kind", Text("TokenRequest"));
  body.Set("spec", std::move(spec));
  return doc::WriteJson(body);
}

std::string TokenReviewBody(const base::Secret& token, const std::string& audience) {
  doc::Node spec = doc::Node::Mapping();
  std::vector<doc::Node> audiences;
  audiences.push_back(Text(audience));
  spec.Set("token", Text(std::string(token.Reveal())));
  spec.Set("audiences", doc::Node::Sequence(std::move(audiences)));
  doc::Node body = doc::Node::Mapping();
  body.Set("apiVersion", Text("authentication.k8s.io/v1")).Set("kind", Text("TokenReview"));
  body.Set("spec", std::move(spec));
  // The tree holds the token, and is wiped.
  const doc::SecretNode tree(std::move(body));
  return doc::WriteJson(tree.node);
}

std::string DeleteBody(const std::string& uid) {
  doc::Node body = doc::Node::Mapping();
  body.Set("apiVersion", Text("v1")).Set("kind", Text("DeleteOptions"));
  // The next agent may have made a pod of the same name since. That pod stays.
  if (!uid.empty()) body.Set("preconditions", Under("uid", Text(uid)));
  return doc::WriteJson(body);
}

}  // namespace prefetch::kube
