#include "deploy/compat.h"

#include <string_view>
#include <utility>

#include "base/label_syntax.h"
#include "base/text.h"
#include "deploy/build.h"
#include "deploy/daemon_set.h"
#include "deploy/words.h"
#include "doc/node.h"

namespace prefetch::deploy {
namespace {

constexpr std::size_t kLongestName = 50;  // "prefetchd-NAME" must be a valid name of a Service.
constexpr std::string_view kLabelPrefix = "image-prefetcher.stackrox.io/";
constexpr std::string_view kSecretFolder = "/etc/prefetchd/pull-secret";
// The longest domain of a registry: 123.dkr.ecr.cn-north-1.amazonaws.com.cn.
constexpr int kMostDomainParts = 7;

base::Status Check(const Files& files, const CompatOptions& options) {
  if (auto common = CheckCommon(files, options.common); !common) return common;
  if (!base::IsDnsLabel(options.name, kLongestName)) {
    return base::InvalidArgument("NAME must be at most " + std::to_string(kLongestName) +
                                 " small letters, digits and dashes, as that of your ConfigMap");
  }
  // Policies and agents find prefetchd's own ServiceAccounts by this word, and NAME becomes a part of one.
  if (!base::EndsOfWord(options.name, "prefetchd").empty()) {
    return base::InvalidArgument(
        "NAME must not contain the word prefetchd, by which prefetchd's own accounts are known: give your "
        "ConfigMap another name");
  }
  if (options.common.name_space.empty()) {
    return base::InvalidArgument("--namespace is required: where the ConfigMap " + options.name + " is");
  }
  // Both components would do a second time what migrate does itself.
  if (Contains(options.common.components, kNodeGate) || Contains(options.common.components, kLiveReload)) {
    return base::InvalidArgument(
        "migrate takes neither node-gate nor live-reload: the ConfigMap is read live, and --result-label "
        "labels the nodes");
  }
  // Both find agents by the word "prefetchd" in the name of their ServiceAccount, which migrate replaces. The
  // policy of touch would not bind this agent, and agents would not know its fleet.
  if (Contains(options.common.components, kTouch) || Contains(options.common.components, kFleet)) {
    return base::InvalidArgument(
        "migrate takes neither touch nor fleet, since both know agents by the ServiceAccount prefetchd: use "
        "prefetchctl generate");
  }
  if (Contains(options.common.components, kPolicy)) {
    return base::InvalidArgument(
        "migrate does not take policy, since the list stays in your ConfigMap: export it with prefetchctl "
        "list "
        "export --for policy, and use deploy/components/policy in a kustomization");
  }
  if (options.secret.empty() && !options.secret_repositories.empty()) {
    return base::InvalidArgument("--secret-repository needs --secret");
  }
  if (!options.secret.empty() && !base::IsDnsSubdomain(options.secret)) {
    return base::InvalidArgument("--secret must be the name of a Secret, such as registry-login, not " +
                                 options.secret);
  }
  return {};
}

void RemoveObject(Objects& objects, std::string_view kind, std::string_view original_name) {
  std::erase_if(objects.all,
                [&](const Object& one) { return one.Kind() == kind && one.original_name == original_name; });
}

// A DaemonSet's selector is immutable. The new manifests can only replace the old DaemonSet if their selector
// equals the old one exactly.
void SelectByApp(Objects& objects, const std::string& name) {
  const doc::Node app = doc::Node::Mapping({{"app", doc::Node::String(name)}});
  for (Object& object : objects.all) {
    doc::Node& body = object.body;
    std::string kind = object.Kind();
    if (kind == "DaemonSet") {
      Put(Sub(Sub(body, "spec"), "selector"), "matchLabels", app);
      Put(Sub(Sub(body, "metadata"), "labels"), "app", doc::Node::String(name));
      Put(Sub(Sub(Sub(Sub(body, "spec"), "template"), "metadata"), "labels"), "app", doc::Node::String(name));
      Put(Sub(body, "metadata"), "name", doc::Node::String(name));
    }
    if (kind == "Service") Put(Sub(body, "spec"), "selector", app);
    if (kind == "NetworkPolicy") Put(Sub(Sub(body, "spec"), "podSelector"), "matchLabels", app);
  }
}

std::vector<std::string> Repositories(const CompatOptions& options) {
  if (!options.secret_repositories.empty()) return options.secret_repositories;
  std::vector<std::string> any;
  std::string pattern = "*";
  // In matchImages, a host must have as many labels as the pattern (A15), so each number of labels needs its
  // own pattern.
  for (int parts = 2; parts <= kMostDomainParts; parts++) any.push_back(pattern += ".*");
  return any;
}

// Mounts the Secret, and declares it as a pull secret in the agent's configuration. It may be used for the
// list of this ConfigMap only.
void UseSecret(const CompatOptions& options, Objects& objects, AgentDaemonSet& agent) {
  if (options.secret.empty()) return;
  agent.MountSecret("pull-secret", options.secret, std::string(kSecretFolder));
  Object* config = FindObject(objects, "ConfigMap", "prefetchd-agent");
  doc::Node* text = config == nullptr ? nullptr : ValueAt(config->body, {"data", "agent.yaml"});
  if (text == nullptr) return;
  text->text += "pullSecrets:\n- name: \"" + options.secret + "\"\n  path: " + std::string(kSecretFolder) +
                "\n  sources: [images.txt]\n  allowRepositories: [\"" +
                base::Join(Repositories(options), "\", \"") + "\"]\n";
}

base::Error UnexpectedPolicyError() {
  return base::InvalidArgument("components/node-gate: the policy is another one than migrate knows");
}

// Limits the policy to the ServiceAccount of this agent.
base::Status LimitToAccount(const std::string& user, std::string_view name, Objects& objects) {
  Object* policy = FindObject(objects, "ValidatingAdmissionPolicy", name);
  doc::Node* conditions = policy == nullptr ? nullptr : ValueAt(policy->body, {"spec", "matchConditions"});
  if (conditions == nullptr || conditions->items.size() != 1) return UnexpectedPolicyError();
  Put(conditions->items[0], "expression", doc::Node::String("request.userInfo.username == '" + user + "'"));
  return {};
}

// Limits both policies to this agent, and the label that it may set to the one for results.
base::Status LimitToLabel(const CompatOptions& options, const std::string& account, Objects& objects) {
  std::string user = "system:serviceaccount:" + options.common.name_space + ":" + account;
  for (const char* name : {"prefetchd-node-gate", "prefetchd-node-gate-events"}) {
    if (auto limited = LimitToAccount(user, name, objects); !limited) return limited;
  }
  Object* policy = FindObject(objects, "ValidatingAdmissionPolicy", "prefetchd-node-gate");
  doc::Node* validations = ValueAt(policy->body, {"spec", "validations"});
  if (validations == nullptr) return UnexpectedPolicyError();
  std::string key = std::string(kLabelPrefix) + options.name;
  std::size_t changed = 0;
  for (doc::Node& validation : validations->items) {
    for (doc::Member& member : validation.members) {
      std::string text =
          base::ReplaceAll(member.value.text, "k.startsWith('prefetchd.dev/')", "k == '" + key + "'");
      text = base::ReplaceAll(text, "those below prefetchd.dev/", key);
      changed += text != member.value.text ? 1 : 0;
      member.value.text = std::move(text);
    }
  }
  // The rule and its message must both have been found. Otherwise the policy would reject each label of the
  // agent, or allow labels that it must not set.
  if (changed == 2) return {};
  return base::InvalidArgument("components/node-gate: the policy's labels are others than migrate knows");
}

base::Status LabelNodes(const CompatOptions& options, const std::string& account, Objects& objects,
                        AgentDaemonSet& agent) {
  if (!options.result_label) return {};
  // The former installation only set its result label, so the other signs of node-gate are switched off.
  for (const char* flag : {"--node-label", "--node-condition", "--startup-taint"}) agent.RemoveArg(flag);
  agent.SetEnv("PREFETCHD_NODE_RESULT_LABEL", std::string(kLabelPrefix) + options.name);
  return LimitToLabel(options, account, objects);
}

std::vector<std::string> Notes(const CompatOptions& options, const Objects& objects,
                               const AgentDaemonSet& agent) {
  std::vector<std::string> notes = NotesFor(options.common, objects, agent);
  notes.emplace_back(
      "the namespace is yours: where Pod Security is enforced, label it "
      "pod-security.kubernetes.io/enforce=privileged");
  if (!options.secret.empty()) {
    std::string which = options.secret_repositories.empty()
                            ? "every image of images.txt (--secret-repository narrows that)"
                            : base::Join(options.secret_repositories, ", ");
    notes.push_back("the Secret " + options.secret + " serves " + which +
                    "; every pod of the node can use its images");
  }
  AddPortNote(options.common, agent, notes);
  return notes;
}

}  // namespace

base::Result<Generated> GenerateCompat(const Files& files, const CompatOptions& options) {
  if (auto checked = Check(files, options); !checked) return checked.error();
  const GenerateOptions& common = options.common;
  Kustomization top;
  top.resources = {"overlays/" + common.platform};
  top.components = ComponentFolders(common);
  if (options.result_label) top.components.push_back("components/" + std::string(kNodeGate));
  top.name_space = common.name_space;
  top.name_suffix = "-" + options.name;
  auto objects = Build(files, top);
  if (!objects) return objects.error();
  // The namespace exists already, and so does the ConfigMap in it.
  RemoveObject(*objects, "Namespace", "prefetchd");
  RemoveObject(*objects, "ConfigMap", "prefetchd-list");
  // The ServiceAccount's name does not begin with "prefetchd": the policy of a node-gate that is installed
  // beside it must not apply to this agent.
  std::string account = "image-prefetcher-" + options.name;
  if (Object* object = FindObject(*objects, "ServiceAccount", "prefetchd")) {
    Put(Sub(object->body, "metadata"), "name", doc::Node::String(account));
  }
  SelectByApp(*objects, options.name);
  AgentDaemonSet agent(*objects);
  Put(agent.container(), "name", doc::Node::String("prefetch"));  // Users run `kubectl logs -c prefetch`.
  Put(*ValueAt(agent.body(), {"spec", "template", "metadata", "annotations"}),
      "kubectl.kubernetes.io/default-container", doc::Node::String("prefetch"));
  agent.SetCommon(common);
  LabelMonitors(common.monitor_labels, *objects);
  AlertOnDaemonSet(options.name, *objects);
  ChooseNodes(common.nodes, agent.pod_spec());
  agent.SetInstance(options.name);
  UseSecret(options, *objects, agent);
  if (auto done = LabelNodes(options, account, *objects, agent); !done) return done.error();
  Generated out;
  out.notes = Notes(options, *objects, agent);
  FinishNames(*objects);
  // The operator's ConfigMap gets no suffix, so its name is set after FinishNames.
  agent.SetListMaps({options.name});
  SortForCreation(*objects);
  for (Object& object : objects->all) out.documents.push_back(std::move(object.body));
  return out;
}

}  // namespace prefetch::deploy
