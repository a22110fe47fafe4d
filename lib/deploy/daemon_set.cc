#include "deploy/daemon_set.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "base/label_syntax.h"
#include "base/text.h"
#include "deploy/words.h"

namespace prefetch::deploy {

namespace {

doc::Node* ItemNamed(doc::Node& list, std::string_view key, std::string_view name) {
  for (doc::Node& item : list.items) {
    if (TextAt(item, {key}) == name) return &item;
  }
  return nullptr;
}

bool IsFlag(const doc::Node& arg, std::string_view flag) {
  std::string_view text = arg.text;
  return text.substr(0, text.find('=')) == flag;
}

// Returns "name: NAME", as ConfigMaps and Secrets are named.
doc::Node Named(const std::string& name) {
  return doc::Node::Mapping({{"name", doc::Node::String(name)}});
}

}  // namespace

AgentDaemonSet::AgentDaemonSet(Objects& objects) : body_(nullptr), pod_spec_(nullptr), container_(nullptr) {
  for (Object& object : objects.all) {
    if (object.Kind() == "DaemonSet") body_ = &object.body;
  }
  if (body_ != nullptr) pod_spec_ = ValueAt(*body_, {"spec", "template", "spec"});
  doc::Node* containers = pod_spec_ == nullptr ? nullptr : Find(*pod_spec_, "containers");
  // Only a broken tree has no such container, and it is part of the program.
  if (containers == nullptr || containers->items.empty()) std::abort();
  container_ = &containers->items.front();
}

bool AgentDaemonSet::OnHostNetwork() const {
  const doc::Node* host = pod_spec_->Find("hostNetwork");
  return host != nullptr && host->boolean;
}

std::string AgentDaemonSet::NameSpace() const {
  return TextAt(*body_, {"metadata", "namespace"});
}

void AgentDaemonSet::SetArg(const std::string& flag, const std::string& value) {
  // A flag that is given twice could mean either value, so the existing one is replaced.
  doc::Node& args = *Find(*container_, "args");
  doc::Node arg = doc::Node::String(flag + "=" + value);
  for (doc::Node& old : args.items) {
    if (IsFlag(old, flag)) {
      old = std::move(arg);
      return;
    }
  }
  args.items.push_back(std::move(arg));
}

void AgentDaemonSet::RemoveArg(std::string_view flag) {
  std::erase_if(Find(*container_, "args")->items, [&](const doc::Node& arg) { return IsFlag(arg, flag); });
}

void AgentDaemonSet::SetEnv(const std::string& name, const std::string& value) {
  doc::Node& env = *Find(*container_, "env");
  doc::Node* variable = ItemNamed(env, "name", name);
  if (variable == nullptr) {
    env.items.push_back(Named(name));
    variable = &env.items.back();
  }
  Put(*variable, "value", doc::Node::String(value));
}

void AgentDaemonSet::MountSecret(const std::string& volume, const std::string& secret,
                                 const std::string& folder) {
  doc::Node source = Named(volume);
  source.Set("secret", doc::Node::Mapping({{"secretName", doc::Node::String(secret)}}));
  doc::Node mount = Named(volume);
  mount.Set("mountPath", doc::Node::String(folder)).Set("readOnly", doc::Node::Bool(true));
  std::vector<doc::Node>& volumes = Find(*pod_spec_, "volumes")->items;
  // Placed first, since kustomize puts the items of a patch before existing ones; the tests compare with its
  // output.
  volumes.insert(volumes.begin(), std::move(source));
  std::vector<doc::Node>& mounts = Find(*container_, "volumeMounts")->items;
  mounts.insert(mounts.begin(), std::move(mount));
}

void AgentDaemonSet::SetPort(std::uint16_t port) {
  SetArg("--listen", "[$(POD_IP)]:" + std::to_string(port));
  for (doc::Node& one : Find(*container_, "ports")->items) {
    Put(one, "containerPort", doc::Node::Int(port));
    if (one.Find("hostPort") != nullptr) Put(one, "hostPort", doc::Node::Int(port));
  }
}

void AgentDaemonSet::SetCommon(const GenerateOptions& options) {
  if (!options.image.empty()) Put(*container_, "image", doc::Node::String(options.image));
  if (!options.kubelet_version.empty()) SetEnv("PREFETCHD_KUBELET_VERSION", options.kubelet_version);
  if (options.port) SetPort(*options.port);
  if (options.image_pull_secrets.empty()) return;
  std::vector<doc::Node> secrets;
  for (const std::string& name : options.image_pull_secrets) secrets.push_back(Named(name));
  Put(*pod_spec_, "imagePullSecrets", doc::Node::Sequence(std::move(secrets)));
}

void AgentDaemonSet::SetInstance(const std::string& name) {
  const std::string folder = "/run/prefetchd-" + name;
  SetArg("--local", folder + "/prefetchd.sock");
  if (doc::Node* volume = ItemNamed(*Find(*pod_spec_, "volumes"), "name", "run")) {
    Put(Sub(*volume, "hostPath"), "path", doc::Node::String(folder));
  }
  if (doc::Node* mount = ItemNamed(*Find(*container_, "volumeMounts"), "name", "run")) {
    Put(*mount, "mountPath", doc::Node::String(folder));
  }
  SetArg("--instance", name);
}

void AgentDaemonSet::SetListMaps(const std::vector<std::string>& config_maps) {
  doc::Node* volume = ItemNamed(*Find(*pod_spec_, "volumes"), "name", "list");
  if (volume == nullptr) return;
  // A volume has exactly one source.
  Remove(*volume, "configMap");
  Remove(*volume, "projected");
  if (config_maps.size() == 1) {
    volume->Set("configMap", Named(config_maps.front()));
    return;
  }
  std::vector<doc::Node> sources;
  for (const std::string& name : config_maps) {
    sources.push_back(doc::Node::Mapping({{"configMap", Named(name)}}));
  }
  volume->Set("projected", doc::Node::Mapping({{"sources", doc::Node::Sequence(std::move(sources))}}));
}

namespace {

constexpr std::string_view kOperator = "monitoring.coreos.com/";

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

// Alerts are expressions of PromQL, so their names are replaced as text.
void ReplaceInAlerts(std::string_view from, const std::string& to, Objects& objects) {
  constexpr std::array kExpressions = {"spec", "groups", "rules", "expr"};
  for (Object& object : objects.all) {
    ForEachAt(object.body, kExpressions, 0,
              [&](doc::Node& expression) { expression.text = base::ReplaceAll(expression.text, from, to); });
  }
}

}  // namespace

base::Status CheckMonitors(const GenerateOptions& options) {
  const bool monitoring = Contains(options.components, kMonitoring);
  if (monitoring && Contains(options.components, kMonitoringGke)) {
    return base::InvalidArgument(
        "--component: monitoring and monitoring-gke are alternatives: leave out one");
  }
  for (const std::string& label : options.monitor_labels) {
    if (!LabelOf(label)) {
      return base::InvalidArgument(
          "--monitoring-label must be KEY=VALUE, such as release=kube-prometheus-stack");
    }
  }
  if (!monitoring && !options.monitor_labels.empty()) {
    return base::InvalidArgument("--monitoring-label needs --component monitoring");
  }
  return {};
}

void LabelMonitors(const std::vector<std::string>& labels, Objects& objects) {
  for (Object& object : objects.all) {
    if (!TextAt(object.body, {"apiVersion"}).starts_with(kOperator)) continue;
    for (const std::string& text : labels) {
      // CheckMonitors has rejected all others.
      if (auto label = LabelOf(text)) {
        Put(Sub(Sub(object.body, "metadata"), "labels"), label->key, doc::Node::String(label->value));
      }
    }
  }
}

void AlertOnLabelOf(const std::string& instance, Objects& objects) {
  // kube-state-metrics replaces the characters of a label's name that Prometheus does not allow.
  ReplaceInAlerts("label_prefetchd_dev_prefetchd",
                  "label_prefetchd_dev_" + base::ReplaceAll(instance, "-", "_"), objects);
}

void AlertOnDaemonSet(const std::string& name, Objects& objects) {
  ReplaceInAlerts("daemonset=~\".*prefetchd.*\"", "daemonset=\"" + name + "\"", objects);
}

namespace {

constexpr std::string_view kOs = "kubernetes.io/os";
constexpr std::string_view kRole = "node-role.kubernetes.io/";

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
bool ExcludesNodesWith(const doc::Node& pod_spec, const std::string& key) {
  bool demanded = false, excluded = false;
  ForEachAt(pod_spec, kNodeAffinity, 0, [&](const doc::Node& one) {
    if (TextAt(one, {"key"}) != key) return;
    demanded = demanded || TextAt(one, {"operator"}) == "Exists";
    excluded = excluded || TextAt(one, {"operator"}) == "DoesNotExist";
  });
  return excluded && !demanded;
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
    if (!label || !label->key.starts_with(kRole) || !ExcludesNodesWith(pod_spec, label->key)) continue;
    notes.push_back("--node-selector " + text +
                    " selects control planes, and the agent runs there only with --include-control-plane");
  }
  return notes;
}

}  // namespace prefetch::deploy
