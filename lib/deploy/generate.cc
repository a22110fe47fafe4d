#include "deploy/generate.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/enum_name.h"
#include "base/label_syntax.h"
#include "base/text.h"
#include "deploy/build.h"
#include "deploy/daemon_set.h"
#include "deploy/words.h"
#include "doc/write.h"
#include "doc/yaml.h"

namespace prefetch::deploy {

namespace {

constexpr std::string_view kList = "prefetchd-list";
constexpr std::string_view kOwnImageList = "agent-image.yaml";
constexpr std::string_view kNamespace = "prefetchd";
constexpr std::string_view kPullSecretVolume = "pull-secret-";
// A volume's name has at most 63 characters.
constexpr std::size_t kLongestMountedSecret = 63 - kPullSecretVolume.size();
// Our longest name and a hash must fit beside it in 63 characters.
constexpr std::size_t kLongestInstance = 40;

constexpr const char* kPolicyObject = "prefetchd-policy";
// The binding selects the ConfigMap by this label. An instance has its own value, since others may share its
// namespace.
constexpr const char* kPolicyLabel = "prefetchd.dev/policy";
constexpr const char* kImagesLabelValue = "images";
// The API server looks through the whole list for each use with Always, and CEL's budget for one expression
// is a million: at this limit, an object may have 90 such containers (tests/admission).
constexpr std::size_t kMostPolicyImages = 10000;

// Returns the folders directly below `above` that have a kustomization. Only these can be platforms or
// components.
std::vector<std::string> Folders(const Files& files, std::string_view above) {
  std::set<std::string> found;
  for (const auto& [path, text] : files) {
    std::string_view rest = path;
    if (!rest.starts_with(above)) continue;
    rest.remove_prefix(above.size());
    std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos && rest.substr(slash) == "/kustomization.yaml") {
      found.emplace(rest.substr(0, slash));
    }
  }
  return {found.begin(), found.end()};
}

bool IsConfigMapKey(std::string_view text) {
  auto allowed = [](char c) { return base::IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !text.empty() && text.size() <= 253 && text.front() != '.' && std::ranges::all_of(text, allowed);
}

// Returns the parts of node-gate that are chosen. An empty list means all parts.
std::vector<GatePart> GateOf(const GenerateOptions& options) {
  // Condition and taint exist once per node. Two instances would overwrite each other's; labels have the
  // instance's name in them.
  if (options.gate.empty() && !options.instance.empty()) return {GatePart::kLabel};
  return options.gate;
}

bool HasGate(const std::vector<GatePart>& gate, GatePart part) {
  return gate.empty() || std::ranges::find(gate, part) != gate.end();
}

base::Status CheckStartupTaintKey(const GenerateOptions& options) {
  if (options.startup_taint_key.empty()) return {};
  if (!base::IsStartupTaintKey(options.startup_taint_key)) {
    return base::InvalidArgument(std::string("--startup-taint-key ") + base::kStartupTaintKeyRule);
  }
  if (!Contains(options.components, kNodeGate) || !HasGate(GateOf(options), GatePart::kTaint)) {
    return base::InvalidArgument("--startup-taint-key needs --component node-gate with --gate taint");
  }
  return {};
}

base::Status CheckOptions(const Files& files, const GenerateOptions& options) {
  if (auto common = CheckCommon(files, options); !common) return common;
  if (!options.instance.empty() && !base::IsDnsLabel(options.instance, kLongestInstance)) {
    return base::InvalidArgument("--instance must be at most " + std::to_string(kLongestInstance) +
                                 " small letters, digits and dashes, such as team-a");
  }
  // Agents recognise component fleet by the name of its ServiceAccount. An instance with such a name would be
  // allowed to read the full status of all agents.
  const bool reads_as_fleet = options.instance == "fleet" || options.instance.starts_with("fleet-") ||
                              options.instance.find("prefetchd-fleet") != std::string::npos;
  if (reads_as_fleet) {
    return base::InvalidArgument("--instance " + options.instance +
                                 ": its agents' ServiceAccount would be named like that of component fleet "
                                 "(prefetchd-fleet), whose tokens read the full status; choose another name");
  }
  for (const std::string& secret : options.mounted_pull_secrets) {
    if (base::IsDnsLabel(secret, kLongestMountedSecret)) continue;
    return base::InvalidArgument("--mount-pull-secret must be the name of a Secret of at most " +
                                 std::to_string(kLongestMountedSecret) +
                                 " small letters, digits and dashes, such as team-a");
  }
  if (!options.gate.empty() && !Contains(options.components, kNodeGate)) {
    return base::InvalidArgument("--gate needs --component node-gate");
  }
  if (auto checked = CheckStartupTaintKey(options); !checked) return checked;
  if (options.policy_action && !Contains(options.components, kPolicy)) {
    return base::InvalidArgument("--policy-action needs --component policy");
  }
  return {};
}

// Returns "team-b" for "Team_B.yaml": a name of a ConfigMap allows fewer characters than a file name.
std::string Stem(const std::string& name) {
  std::string stem;
  for (char c : base::ToLower(name.substr(0, name.rfind('.')))) stem += base::IsLowerOrDigit(c) ? c : '-';
  std::size_t first = stem.find_first_not_of('-');
  if (first == std::string::npos) return "list";
  stem = stem.substr(first, kLongestInstance);
  return stem.substr(0, stem.find_last_not_of('-') + 1);
}

// Returns a ConfigMap for each list. The first replaces the one of the tree, so that an installation with one
// list has the same objects as the tree.
std::vector<ConfigMapSource> ListMaps(const GenerateOptions& options) {
  bool live = Contains(options.components, kLiveReload);
  std::vector<ConfigMapSource> maps;
  std::set<std::string> names;
  for (const ListFile& list : options.lists) {
    // Without live-reload, ConfigMaps are immutable: a change makes a new one, and the rollout brings it to
    // the nodes. With it, kubelet must see changes in place.
    ConfigMapSource map{.name = std::string(kList), .data = {{list.name, list.text}}, .immutable = !live};
    if (maps.empty()) {
      map.behavior = Behavior::kReplace;
    } else {
      map.name += "-" + Stem(list.name);
      map.name_space = std::string(kNamespace);
      map.keeps_name = live;
    }
    std::string wanted = map.name;
    // Two file names may give the same name, such as a.yaml and A.yaml.
    for (int i = 2; !names.insert(map.name).second; i++) map.name = wanted + "-" + std::to_string(i);
    maps.push_back(std::move(map));
  }
  return maps;
}

// Returns a list with the agent's own image, which the init containers for preflights run. Status and
// preflights then report on it. It is not required, so no node waits for it.
ListFile ListOfOwnImage(const std::string& image) {
  const doc::Node entry =
      doc::Node::Mapping({{"image", doc::Node::String(image)}, {"required", doc::Node::Bool(false)}});
  const doc::Node list = doc::Node::Mapping({{"apiVersion", doc::Node::String("prefetchd.dev/v1alpha1")},
                                             {"kind", doc::Node::String("ImageList")},
                                             {"images", doc::Node::Sequence({entry})}});
  return {std::string(kOwnImageList), doc::WriteYaml(list)};
}

// Describes the chosen installation as a kustomization over the embedded tree.
Kustomization TopKustomization(const GenerateOptions& options) {
  Kustomization top;
  top.resources = {"overlays/" + options.platform};
  top.components = ComponentFolders(options);
  if (Contains(options.components, kTouch) && options.instance.empty() && options.name_space.empty()) {
    top.resources.emplace_back(
        // The names in touch/ are fixed, so only the default installation of a cluster includes it.
        "touch");
  }
  top.config_maps = ListMaps(options);
  top.name_space = options.name_space;
  if (!options.instance.empty()) {
    top.name_suffix = "-" + options.instance;
    // Unless the operator chooses a namespace, each instance has its own.
    if (top.name_space.empty()) top.name_space = std::string(kNamespace) + top.name_suffix;
  }
  return top;
}

base::Status SetAgentConfig(const std::string& text, Objects& objects) {
  if (text.empty()) return {};
  Object* config = FindObject(objects, "ConfigMap", "prefetchd-agent");
  doc::Node* value = config == nullptr ? nullptr : doc::ValueAt(config->body, {"data", "agent.yaml"});
  if (value == nullptr) return base::Internal("the manifests have no agent.yaml");
  *value = doc::Node::String(text);
  return {};
}

// The component has all parts. Those that were not chosen are removed from the agent's arguments.
void ApplyGate(const GenerateOptions& options, AgentDaemonSet& agent) {
  if (!Contains(options.components, kNodeGate)) return;
  const std::vector<GatePart> gate = GateOf(options);
  if (!HasGate(gate, GatePart::kLabel)) agent.RemoveArg("--node-label");
  if (!HasGate(gate, GatePart::kCondition)) agent.RemoveArg("--node-condition");
  if (!HasGate(gate, GatePart::kTaint)) agent.RemoveArg("--startup-taint");
  if (!options.startup_taint_key.empty()) agent.SetArg("--startup-taint-key", options.startup_taint_key);
}

// Lets agents take the other startup taint away, too. The policy has the keys as a variable of its own.
base::Status SetStartupTaintKey(const std::string& key, Objects& objects) {
  if (key.empty()) return {};
  Object* policy = FindObject(objects, "ValidatingAdmissionPolicy", "prefetchd-node-gate");
  doc::Node* variables = policy == nullptr ? nullptr : doc::ValueAt(policy->body, {"spec", "variables"});
  if (variables == nullptr) return base::Internal("components/node-gate: the policy has no variables");
  for (doc::Node& one : variables->items) {
    if (doc::TextAt(one, {"name"}) != "startupTaints") continue;
    Put(one, "expression",
        doc::Node::String("['" + std::string(base::kStartupTaintKey) + "', '" + key + "']"));
    return {};
  }
  return base::Internal("components/node-gate: the policy has no variable startupTaints");
}

// Puts images and action into the objects of the component. An `instance` that is not empty gets a label of
// its own, by which its binding selects its ConfigMap alone.
base::Status SetPolicy(const std::vector<std::string>& images, PolicyAction action,
                       const std::string& instance, Objects& objects) {
  auto made = PolicyConfigMap(images);
  if (!made) return made.error();
  Object* map = FindObject(objects, "ConfigMap", kPolicyObject);
  Object* binding = FindObject(objects, "ValidatingAdmissionPolicyBinding", kPolicyObject);
  if (map == nullptr || binding == nullptr) return base::Internal("components/policy: objects are missing");
  Put(map->body, "data", *doc::ValueAt(*made, {"data"}));
  Put(Sub(binding->body, "spec"), "validationActions",
      doc::Node::Sequence({doc::Node::String(std::string(base::EnumName(action)))}));
  if (!instance.empty()) {
    const std::string value = std::string(kImagesLabelValue) + "-" + instance;
    Put(Sub(Sub(map->body, "metadata"), "labels"), kPolicyLabel, doc::Node::String(value));
    doc::Node& selector = Sub(Sub(Sub(binding->body, "spec"), "paramRef"), "selector");
    Put(Sub(selector, "matchLabels"), kPolicyLabel, doc::Node::String(value));
  }
  return {};
}

// Returns InvalidArgument, with what to do, if one of them cannot be a file of a ConfigMap beside the others.
base::Status CheckLists(const std::vector<ListFile>& lists) {
  std::set<std::string> names;
  for (const ListFile& list : lists) {
    if (!IsConfigMapKey(list.name)) {
      return base::InvalidArgument(list.name +
                                   ": a file of a ConfigMap has a name of letters, digits, -, _ and .");
    }
    if (!names.insert(list.name).second) {
      return base::InvalidArgument(
          list.name + ": several files have this name, and would be one file on the nodes: rename one");
    }
    if (list.name.size() + list.text.size() > kMostConfigMapBytes) {
      return base::InvalidArgument(list.name +
                                   ": is larger than a ConfigMap may be (1 MiB): split it into several "
                                   "files, and give --list for each");
    }
  }
  return {};
}

void ApplyOptions(const GenerateOptions& options, const std::vector<ConfigMapSource>& lists,
                  AgentDaemonSet& agent) {
  agent.SetCommon(options);
  const std::vector<std::string>& secrets = options.mounted_pull_secrets;
  // Each one is inserted at the front, so the reverse order keeps the order of the options.
  for (auto secret = secrets.rbegin(); secret != secrets.rend(); ++secret) {
    agent.MountSecret(std::string(kPullSecretVolume) + *secret, *secret, FolderOfPullSecret(*secret));
  }
  NodeChoice nodes = options.nodes;
  // An agent that is limited to some taints runs on new nodes, too.
  if (!nodes.tolerations.empty() && !options.startup_taint_key.empty()) {
    nodes.tolerations.push_back(options.startup_taint_key);
  }
  ChooseNodes(nodes, agent.pod_spec());
  if (!options.instance.empty()) agent.SetInstance(options.instance);
  ApplyGate(options, agent);
  std::vector<std::string> names;
  for (const ConfigMapSource& list : lists) names.push_back(list.name);
  if (names.size() > 1) agent.SetListMaps(names);
}

}  // namespace

std::vector<std::string> Platforms(const Files& files) {
  return Folders(files, "overlays/");
}

std::vector<std::string> Components(const Files& files) {
  return Folders(files, "components/");
}

std::string FolderOfPullSecret(const std::string& name) {
  return "/etc/prefetchd/secrets/" + name;
}

bool ListsOwnImage(const GenerateOptions& options) {
  return Contains(options.components, kPreflight) && !options.image.empty();
}

// The order is: check the options, build the tree, change the agent, and then finish names. Changes find
// objects by the names of the tree, so suffixes and hashes come last.
base::Result<Generated> Generate(const Files& files, const GenerateOptions& given) {
  GenerateOptions options = given;
  if (ListsOwnImage(options)) {
    for (const ListFile& list : options.lists) {
      if (list.name != kOwnImageList) continue;
      return base::InvalidArgument(list.name +
                                   ": this is the name of the list with the agent's own image: rename yours");
    }
    options.lists.push_back(ListOfOwnImage(options.image));
  }
  for (const base::Status& checked : {CheckOptions(files, options), CheckLists(options.lists)}) {
    if (!checked) return checked.error();
  }
  Kustomization top = TopKustomization(options);
  auto objects = Build(files, top);
  if (!objects) return objects.error();
  AgentDaemonSet agent(*objects);
  ApplyOptions(options, top.config_maps, agent);
  for (const base::Status& set : {SetAgentConfig(options.agent_config, *objects),
                                  SetStartupTaintKey(options.startup_taint_key, *objects)}) {
    if (!set) return set.error();
  }
  if (Contains(options.components, kPolicy)) {
    const PolicyAction action = options.policy_action.value_or(PolicyAction::kWarn);
    if (auto set = SetPolicy(options.policy_images, action, options.instance, *objects); !set)
      return set.error();
  }
  LabelMonitors(options.monitor_labels, *objects);
  if (!options.instance.empty()) AlertOnLabelOf(options.instance, *objects);
  Generated out;
  // The notes need the agent's DaemonSet and the ConfigMaps, which are moved into the documents below.
  out.notes = NotesFor(options, *objects, agent);
  const bool shares_namespace = !options.instance.empty() && !options.name_space.empty() &&
                                options.name_space.find(options.instance) == std::string::npos;
  if (shares_namespace) {
    out.notes.push_back(
        "in the namespace " + options.name_space +
        ", commands with --fleet do not tell the agents of several instances apart: give each "
        "instance a namespace of its own");
  }
  FinishNames(*objects);
  SortForCreation(*objects);
  for (Object& object : objects->all) out.documents.push_back(std::move(object.body));
  return out;
}

namespace {

constexpr std::size_t kImagesOfAPod = 20;  // as the agent's own touch pods (plan/touch.h)
// 2000 images are 100 pods. More of them on every node would leave no room for other pods.
constexpr std::size_t kMostImages = 2000;
constexpr const char* kInstanceLabel = "app.kubernetes.io/instance";

// Applies the patches of component control-plane, as for the agent's DaemonSet.
base::Status AddControlPlane(const Files& files, doc::Node& daemon_set) {
  const std::string path = "components/" + std::string(kControlPlane) + "/kustomization.yaml";
  auto component = ReadKustomization(files, path);
  if (!component) return component.error();
  for (const Patch& patch : component->patches) {
    doc::Problems problems(path);
    auto operations = doc::ParseYaml(patch.content, problems);
    if (!operations) return problems.ToStatus();
    if (auto patched = JsonPatch(*operations, daemon_set); !patched) return patched;
  }
  return {};
}

base::Status ApplyNodeChoice(const Files& files, const NodeChoice& nodes, doc::Node& daemon_set) {
  if (auto checked = CheckNodeChoice(nodes); !checked) return checked;
  ChooseNodes(nodes, Sub(Sub(Sub(daemon_set, "spec"), "template"), "spec"));
  return nodes.control_plane ? AddControlPlane(files, daemon_set) : base::Status();
}

// Makes a DaemonSet for `images` from the template. Each needs its own label in the selector: DaemonSets with
// equal selectors would claim each other's pods.
doc::Node DaemonSetOf(doc::Node made, std::size_t number, const std::vector<std::string>& images) {
  std::string name = "prefetchd-touch-" + std::to_string(number);
  Put(Sub(made, "metadata"), "name", doc::Node::String(name));
  doc::Node& spec = Sub(made, "spec");
  Put(Sub(Sub(spec, "selector"), "matchLabels"), kInstanceLabel, doc::Node::String(name));
  doc::Node& pod = Sub(spec, "template");
  Put(Sub(Sub(pod, "metadata"), "labels"), kInstanceLabel, doc::Node::String(name));
  doc::Node& containers = Sub(Sub(pod, "spec"), "containers");
  const doc::Node one = containers.items.front();
  containers.items.clear();
  for (const std::string& image : images) {
    doc::Node container = one;
    Put(container, "name", doc::Node::String("image-" + std::to_string(containers.items.size())));
    Put(container, "image", doc::Node::String(image));
    containers.items.push_back(std::move(container));
  }
  return made;
}

}  // namespace

base::Result<Generated> GenerateTouchDaemonSets(const Files& files, const std::vector<std::string>& images,
                                                const NodeChoice& nodes) {
  if (images.empty()) return base::InvalidArgument("the list has no image that may be touched");
  if (images.size() > kMostImages) {
    return base::InvalidArgument(
        "more than 2000 images would be more than 100 pods on every node: use the "
        "agent's own touch (--touch), which deletes its pods");
  }
  auto space = ReadDocuments(files, "touch/namespace.yaml");
  if (!space) return space.error();
  auto made = ReadDocuments(files, "touch-daemonset/daemonset.yaml");
  if (!made) return made.error();
  if (auto chosen = ApplyNodeChoice(files, nodes, made->front()); !chosen) return chosen.error();
  Generated out;
  out.notes = NotesOnNodes(nodes, *doc::ValueAt(made->front(), {"spec", "template", "spec"}));
  out.documents = *std::move(space);
  for (std::size_t from = 0, number = 0; from < images.size(); from += kImagesOfAPod, number++) {
    std::size_t to = std::min(from + kImagesOfAPod, images.size());
    out.documents.push_back(DaemonSetOf(made->front(), number,
                                        {images.begin() + static_cast<std::ptrdiff_t>(from),
                                         images.begin() + static_cast<std::ptrdiff_t>(to)}));
  }
  out.notes.emplace_back(
      "every pod of a node may use these images from then on, with or without credentials: see "
      "deploy/docs/touch.md");
  return out;
}

base::Result<doc::Node> PolicyConfigMap(const std::vector<std::string>& images) {
  const std::string lines = images.empty() ? "" : base::Join(images, "\n") + "\n";
  doc::Node made = MakeConfigMap(kPolicyObject, {{"images", lines}});
  if (images.size() > kMostPolicyImages || ConfigMapBytes(made) > kMostConfigMapBytes) {
    return base::InvalidArgument("the policy takes up to " + std::to_string(kMostPolicyImages) +
                                 " spellings of images and 1 MiB, not " + std::to_string(images.size()) +
                                 " spellings and " + std::to_string(ConfigMapBytes(made)) +
                                 " bytes: install several instances with a part of the list each");
  }
  doc::Node& meta = Sub(made, "metadata");
  // The namespace and label of the component itself, for operators who apply the ConfigMap alone.
  Put(meta, "namespace", doc::Node::String("prefetchd"));
  Put(Sub(meta, "labels"), kPolicyLabel, doc::Node::String(kImagesLabelValue));
  return made;
}

}  // namespace prefetch::deploy
