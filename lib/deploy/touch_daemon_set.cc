#include "deploy/generate.h"

#include <algorithm>
#include <utility>

#include "deploy/node_choice.h"
#include "deploy/patches.h"
#include "deploy/words.h"
#include "doc/edit.h"
#include "doc/path.h"
#include "doc/yaml.h"

namespace prefetch::deploy {
namespace {

constexpr std::size_t kImagesOfAPod = 20;  // as the agent's own touch pods (plan/touch.h)
// A hundred pods more on every node would leave no room for anybody's.
constexpr std::size_t kMostImages = 2000;
constexpr const char* kInstanceLabel = "app.kubernetes.io/instance";

base::Result<std::vector<doc::Node>> Documents(const Files& files, const std::string& path) {
  auto text = files.find(path);
  if (text == files.end()) return base::InvalidArgument(path + ": there is no such file");
  doc::Problems problems(path);
  auto documents = doc::ParseYamlDocuments(text->second, problems);
  if (!documents || documents->empty()) return base::InvalidArgument(path + ": is no manifest");
  return *std::move(documents);
}

// As the component changes the agent's DaemonSet.
base::Status AddControlPlane(const Files& files, doc::Node& daemon_set) {
  const std::string path = "components/" + std::string(kControlPlane) + "/kustomization.yaml";
  auto text = files.find(path);
  if (text == files.end()) return base::InvalidArgument(path + ": there is no such file");
  auto component = DecodeKustomization(path, text->second);
  if (!component) return component.error();
  for (const Patch& patch : component->patches) {
    doc::Problems problems(path);
    auto operations = doc::ParseYaml(patch.content, problems);
    if (!operations) return problems.ToStatus();
    if (auto patched = JsonPatch(*operations, daemon_set); !patched) return patched;
  }
  return {};
}

base::Status ForNodes(const Files& files, const NodeChoice& nodes, doc::Node& daemon_set) {
  if (auto checked = CheckNodeChoice(nodes); !checked) return checked;
  ChooseNodes(nodes, Sub(Sub(Sub(daemon_set, "spec"), "template"), "spec"));
  return nodes.control_plane ? AddControlPlane(files, daemon_set) : base::Status();
}

// The template, made one for `images`.
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
  auto space = Documents(files, "touch/namespace.yaml");
  if (!space) return space.error();
  auto made = Documents(files, "touch-daemonset/daemonset.yaml");
  if (!made) return made.error();
  if (auto chosen = ForNodes(files, nodes, made->front()); !chosen) return chosen.error();
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
      "every pod of a node may use these images from then on, with or without credentials: see Touching in "
      "deploy/docs/touch.md");
  return out;
}

}  // namespace prefetch::deploy
