#include "deploy/node_choice.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/label_syntax.h"
#include "deploy/words.h"
#include "doc/edit.h"
#include "doc/path.h"

namespace prefetch::deploy {
namespace {

constexpr std::string_view kOs = "kubernetes.io/os";
constexpr std::string_view kRole = "node-role.kubernetes.io/";

struct Label {
  std::string key, value;
};

// Parses "K=V"; the value in "K=" is empty.
std::optional<Label> LabelOf(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return std::nullopt;
  Label label{text.substr(0, equals), text.substr(equals + 1)};
  if (!base::IsLabelKey(label.key) || (!label.value.empty() && !base::IsLabelPart(label.value)))
    return std::nullopt;
  return label;
}

struct Toleration {
  std::string key;
  std::optional<std::string> value;  // none: any
  std::string effect;                // empty: any
};

// Parses "KEY[=V][:EFFECT]".
std::optional<Toleration> TolerationOf(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string taint = text.substr(0, colon);
  const std::size_t equals = taint.find('=');
  Toleration made{.key = taint.substr(0, equals), .value = std::nullopt, .effect = ""};
  if (equals != std::string::npos) made.value = taint.substr(equals + 1);
  if (colon != std::string::npos) made.effect = text.substr(colon + 1);
  const std::set<std::string_view> effects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  if (colon != std::string::npos && !effects.contains(made.effect)) return std::nullopt;
  if (!base::IsLabelKey(made.key)) return std::nullopt;
  if (made.value && !made.value->empty() && !base::IsLabelPart(*made.value)) return std::nullopt;
  return made;
}

// Kubernetes takes a missing value or effect for any value or effect.
doc::Node NodeOf(const Toleration& toleration) {
  doc::Node node = doc::Node::Mapping();
  node.Set("key", doc::Node::String(toleration.key));
  node.Set("operator", doc::Node::String(toleration.value ? "Equal" : "Exists"));
  if (toleration.value) node.Set("value", doc::Node::String(*toleration.value));
  if (!toleration.effect.empty()) node.Set("effect", doc::Node::String(toleration.effect));
  return node;
}

// Returns whether the affinity keeps pods off nodes with this label. A node must match only one of the terms,
// so a term that asks for the label outweighs those that exclude it.
bool KeepsOff(const doc::Node& pod_spec, const std::string& key) {
  const doc::Node* terms = doc::ValueAt(
      pod_spec,
      {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  bool against = false;
  for (const doc::Node& term : terms != nullptr ? terms->items : std::vector<doc::Node>()) {
    const doc::Node* expressions = term.Find("matchExpressions");
    for (const doc::Node& one : expressions != nullptr ? expressions->items : std::vector<doc::Node>()) {
      if (doc::TextAt(one, {"key"}) != key) continue;
      if (doc::TextAt(one, {"operator"}) == "Exists") return false;
      against = against || doc::TextAt(one, {"operator"}) == "DoesNotExist";
    }
  }
  return against;
}

}  // namespace

base::Status CheckNodeChoice(const NodeChoice& choice) {
  std::set<std::string> keys;
  for (const std::string& text : choice.selectors) {
    auto label = LabelOf(text);
    if (!label) {
      return base::InvalidArgument("--node-selector " + text +
                                   ": must be KEY=VALUE, a label of nodes, such as pool=ci");
    }
    // The manifests select Linux nodes already, so another value would leave no node.
    if (label->key == kOs && label->value != "linux") {
      return base::InvalidArgument("--node-selector " + text + ": the agent runs on Linux only");
    }
    if (!keys.insert(label->key).second) {
      return base::InvalidArgument("--node-selector " + text + ": " + label->key +
                                   " is given twice, and no node has two values of it");
    }
  }
  for (const std::string& text : choice.tolerations) {
    if (!TolerationOf(text)) {
      return base::InvalidArgument("--toleration " + text +
                                   ": must be KEY, KEY=VALUE or one of these with :NoSchedule, "
                                   ":PreferNoSchedule or :NoExecute behind it");
    }
  }
  return {};
}

void ChooseNodes(const NodeChoice& choice, doc::Node& pod_spec) {
  for (const std::string& text : choice.selectors) {
    if (auto label = LabelOf(text)) {
      doc::Put(doc::Sub(pod_spec, "nodeSelector"), label->key, doc::Node::String(label->value));
    }
  }
  if (choice.tolerations.empty()) return;
  std::vector<doc::Node> tolerations;
  for (const std::string& text : choice.tolerations) {
    if (auto toleration = TolerationOf(text)) tolerations.push_back(NodeOf(*toleration));
  }
  // Agents always tolerate the startup taint, since it is only removed once the agent runs there.
  tolerations.push_back(
      NodeOf({.key = std::string(base::kStartupTaintKey), .value = std::nullopt, .effect = ""}));
  doc::Put(pod_spec, "tolerations", doc::Node::Sequence(std::move(tolerations)));
}

// A selector of control planes together with an affinity that excludes them leaves no node, and the API
// server accepts both.
std::vector<std::string> NotesOnNodes(const NodeChoice& choice, const doc::Node& pod_spec) {
  std::vector<std::string> notes;
  for (const std::string& text : choice.selectors) {
    auto label = LabelOf(text);
    if (!label || !label->key.starts_with(kRole) || !KeepsOff(pod_spec, label->key)) continue;
    notes.push_back("--node-selector " + text +
                    " selects control planes, and the agent runs there only with --include-control-plane");
  }
  return notes;
}

}  // namespace prefetch::deploy
