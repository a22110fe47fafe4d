#include "deploy/installed.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "base/text.h"
#include "deploy/objects.h"

namespace prefetch::deploy {
namespace {

using doc::ItemsAt;
using doc::Node;
using doc::TextAt;
using Parts = std::set<std::string>;

constexpr std::string_view kAgentConfig = "prefetchd-agent";

const Node& PodSpec(const Node& daemon_set) {
  static const Node kNothing = Node::Mapping();
  const Node* spec = doc::ValueAt(daemon_set, {"spec", "template", "spec"});
  return spec == nullptr ? kNothing : *spec;
}

// A manifest that was edited may have named its container otherwise. The first one then counts.
const Node& AgentContainer(const Node& daemon_set) {
  static const Node kNothing = Node::Mapping();
  const std::vector<Node>& containers = ItemsAt(PodSpec(daemon_set), {"containers"});
  for (const Node& one : containers) {
    if (TextAt(one, {"name"}) == "prefetchd") return one;
  }
  return containers.empty() ? kNothing : containers.front();
}

// Adds the ConfigMap or Secret of a volume. The hash in a ConfigMap's name is left out, since it changes with
// each content.
void AddSource(const Node& source, bool same_config, Parts& words) {
  const std::string map = TextAt(source, {"configMap", "name"});
  const bool config = map.starts_with(kAgentConfig);
  if (config && same_config) words.insert("the configuration in the ConfigMap " + map + " (--agent-config)");
  if (!map.empty() && !config) words.insert("the ConfigMap " + WithoutHash(map));
  for (const char* key : {"secretName", "name"}) {
    if (const std::string secret = TextAt(source, {"secret", key}); !secret.empty())
      words.insert("the Secret " + secret);
  }
}

// Returns the expressions of the node affinity as one text. They are sorted, since their order has no
// meaning.
std::string Affinity(const Node& pod) {
  std::vector<std::string> expressions;
  doc::ForEachAt(pod, kNodeAffinity, 0, [&](const Node& one) {
    std::string text = TextAt(one, {"key"}) + " " + TextAt(one, {"operator"});
    for (const Node& value : ItemsAt(one, {"values"})) text += " " + value.text;
    expressions.push_back(text);
  });
  std::ranges::sort(expressions);
  return base::Join(expressions, "\n");
}

// Returns the settings that an operator chooses by options, each in the words of a message. The words are
// compared, so equal settings have equal words.
Parts PartsOf(const Node& daemon_set, bool same_config) {
  const Node& pod = PodSpec(daemon_set);
  const Node& agent = AgentContainer(daemon_set);
  Parts words;
  for (const Node& arg : ItemsAt(agent, {"args"})) words.insert(arg.text);
  for (const Node& one : ItemsAt(agent, {"env"})) {
    const std::string value = TextAt(one, {"value"});
    words.insert("the variable " + TextAt(one, {"name"}) + (value.empty() ? "" : "=" + value));
  }
  for (const Node& volume : ItemsAt(pod, {"volumes"})) {
    AddSource(volume, same_config, words);
    for (const Node& source : ItemsAt(volume, {"projected", "sources"}))
      AddSource(source, same_config, words);
  }
  if (const Node* labels = pod.Find("nodeSelector")) {
    for (const doc::Member& one : labels->members)
      words.insert("the node selector " + one.key + "=" + one.value.text);
  }
  for (const Node& one : ItemsAt(pod, {"tolerations"})) {
    const std::string key = TextAt(one, {"key"});
    words.insert("the toleration of " + (key.empty() ? "all taints" : key));
  }
  for (const Node& one : ItemsAt(pod, {"imagePullSecrets"}))
    words.insert("the pull secret " + TextAt(one, {"name"}));
  return words;
}

}  // namespace

std::string ImageOfAgent(const Node& daemon_set) {
  return TextAt(AgentContainer(daemon_set), {"image"});
}

// Compares with each DaemonSet that is generated now. The affinity is compared as a whole, since its parts
// have no names that a message could use.
std::vector<std::string> RemovedSettings(const Node& installed, const std::vector<Node>& documents,
                                         bool same_config) {
  std::vector<std::string> removed;
  for (const Node& one : documents) {
    if (TextAt(one, {"kind"}) != "DaemonSet") continue;
    const Parts before = PartsOf(installed, same_config), after = PartsOf(one, same_config);
    std::ranges::set_difference(before, after, std::back_inserter(removed));
    if (Affinity(PodSpec(installed)) != Affinity(PodSpec(one)))
      removed.emplace_back("the choice of nodes (--include-control-plane)");
  }
  return removed;
}

}  // namespace prefetch::deploy
