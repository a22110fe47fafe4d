// Finds pods, objects and images in custom resources by their shape.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "image/reference.h"
#include "image/written_name.h"
#include "manifest/pod_template.h"

namespace prefetch::manifest {
namespace {

using doc::Node;
using doc::Reader;

constexpr std::string_view kListsOfPods[] = {"containers", "initContainers", "ephemeralContainers",
                                             "volumes"};
// Of files and disks, which have images of another kind.
constexpr std::string_view kOtherImages[] = {".png", ".svg", ".jpg", ".jpeg", ".gif",
                                             ".ico", ".iso", ".img", ".qcow2"};

const Node* StringAt(const Node& value, const char* key) {
  const Node* found = value.Find(key);
  return found != nullptr && found->kind == Node::Kind::kString && !found->text.empty() ? found : nullptr;
}

bool IsPartOfPod(std::string_view key) {
  return std::find(std::begin(kListsOfPods), std::end(kListsOfPods), key) != std::end(kListsOfPods);
}

// A tag may look like a number: `tag: 1.27`.
std::string WordAt(const Node& value, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Node* found = value.Find(key);
    if (found != nullptr && found->items.empty() && found->members.empty() && !found->text.empty()) {
      return found->text;
    }
  }
  return "";
}

// An object, and no reference to one (ownerReferences, scaleTargetRef).
bool IsObject(const Node& value) {
  if (StringAt(value, "apiVersion") == nullptr || StringAt(value, "kind") == nullptr) return false;
  for (const char* key : {"metadata", "spec", "template", "items"}) {
    const Node* found = value.Find(key);
    if (found != nullptr && found->kind != Node::Kind::kString && found->kind != Node::Kind::kNull)
      return true;
  }
  return false;
}

bool IsImageKey(std::string_view key) {
  return key == "image" || key == "imageName" || key == "image_name" || key.ends_with("Image") ||
         key.ends_with("_image") || key == "imageRef" || key == "imageURI" || key == "dockerImageReference";
}

bool HasVariable(std::string_view text) {
  return text.find("$(") != std::string_view::npos || text.find("{{") != std::string_view::npos ||
         text.find("${") != std::string_view::npos;
}

// True if a field of this name with this text names an image. The name `image` is enough; with other names,
// the text has to show it.
bool NamesImage(std::string_view key, const std::string& text) {
  const auto reference = image::Reference::Parse(text);
  if (!reference) return false;
  const bool tagged =
      reference->has_digest() || text.substr(text.rfind('/') + 1).find(':') != std::string::npos;
  if (tagged) return true;
  for (const std::string_view ending : kOtherImages) {
    if (text.ends_with(ending)) return false;
  }
  return key == "image" || image::NamesRegistry(text);
}

class ShapeFinder {
 public:
  ShapeFinder(const Claimed& claimed, Shapes& found) : claimed_(claimed), found_(found) {}

  void Root(const Reader& object) {
    const Node* containers = object.node().Find("containers");
    const bool pod = containers != nullptr && IsContainerList(*containers);
    if (pod) found_.pods.push_back({.value = object, .origin = Origin::kShape});
    for (const auto& [key, value] : object.Members()) {
      if (key != "metadata" && key != "status" && !(pod && IsPartOfPod(key))) Member(object, key, value);
    }
  }

 private:
  void Value(const Reader& value) {
    if (claimed_.contains(&value.node())) return;
    if (value.node().kind == Node::Kind::kSequence) {
      for (const Reader& item : value.Items()) Value(item);
    } else if (value.node().kind == Node::Kind::kMapping) {
      Mapping(value);
    }
  }

  void Mapping(const Reader& value) {
    const Node& node = value.node();
    if (IsObject(node)) return found_.objects.push_back(value);
    const Node* containers = node.Find("containers");
    const bool pod = containers != nullptr && IsContainerList(*containers);
    if (pod) found_.pods.push_back({.value = value, .origin = Origin::kShape});
    const Node* kind = StringAt(node, "kind");
    for (const auto& [key, member] : value.Members()) {
      if (pod && IsPartOfPod(key)) continue;
      // OpenShift's builds refer to the builder's image so.
      const bool docker = kind != nullptr && kind->text == "DockerImage" && key == "name";
      if (docker && member.node().kind == Node::Kind::kString) {
        Text(value, key, member, member.node().text);
      } else {
        Member(value, key, member);
      }
    }
  }

  void Member(const Reader& holder, const std::string& key, const Reader& value) {
    if (claimed_.contains(&value.node())) return;
    if (!IsImageKey(key)) return Value(value);
    const Node& node = value.node();
    if (node.kind == Node::Kind::kString)
      return Text(holder, key, value, Tagged(holder.node(), key, node.text));
    if (node.kind != Node::Kind::kMapping) return Value(value);
    std::string name = WordAt(node, {"repository", "repo", "name"});
    const std::string registry = WordAt(node, {"registry"});
    if (!registry.empty() && !name.empty()) name.insert(0, registry + "/");
    if (name.empty()) return Value(value);
    const std::string tag = WordAt(node, {"tag"}), digest = WordAt(node, {"digest"});
    if (!tag.empty()) name += ":" + tag;
    if (!digest.empty()) name += "@" + digest;
    Text(value, "image", value, name);
  }

  // `baseImage: quay.io/prometheus/prometheus` has its tag in another field.
  static std::string Tagged(const Node& holder, const std::string& key, const std::string& text) {
    const auto reference = image::Reference::Parse(text);
    const bool tagged = text.substr(text.rfind('/') + 1).find(':') != std::string::npos;
    if (!reference || reference->has_digest() || tagged) return text;
    const std::string tag =
        key == "baseImage" ? WordAt(holder, {"tag", "version"}) : WordAt(holder, {"tag", "imageTag"});
    return tag.empty() ? text : text + ":" + tag;
  }

  void Text(const Reader& holder, const std::string& key, const Reader& value, const std::string& text) {
    const bool open = HasVariable(text);
    if (!open && !NamesImage(key, text)) return;
    ImageField field{.image = text, .path = value.path(), .at = value.node().at, .open = open};
    const auto& members = holder.node().members;
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const doc::Member& one) { return &one.value == &value.node(); });
    field.key_at = member == members.end() ? field.at : member->at;
    field.holder_at = holder.node().at;
    for (const char* policy : {"imagePullPolicy", "pullPolicy"}) {
      if (field.policy == nullptr) field.policy = StringAt(holder.node(), policy);
    }
    found_.fields.push_back(std::move(field));
  }

  const Claimed& claimed_;
  Shapes& found_;
};

}  // namespace

bool IsContainerList(const Node& value) {
  if (value.kind != Node::Kind::kSequence || value.items.empty()) return false;
  bool image = false;
  for (const Node& item : value.items) {
    if (StringAt(item, "name") == nullptr) return false;
    image = image || StringAt(item, "image") != nullptr;
  }
  return image;
}

std::optional<Reader> FirstContainerList(const Reader& value) {
  if (IsContainerList(value.node())) return value;
  if (value.node().kind == Node::Kind::kSequence) {
    for (const Reader& item : value.Items()) {
      if (auto found = FirstContainerList(item)) return found;
    }
  } else if (value.node().kind == Node::Kind::kMapping) {
    for (const auto& member : value.Members()) {
      if (auto found = FirstContainerList(member.second)) return found;
    }
  }
  return std::nullopt;
}

std::vector<ImageField> FindDataImages(const Reader& data) {
  std::vector<ImageField> found;
  for (const auto& [key, value] : data.Members()) {
    const Node& node = value.node();
    const bool image = key != "image" && base::ToLower(key).ends_with("image");
    if (!image || node.kind != Node::Kind::kString || !NamesImage(key, node.text)) continue;
    found.push_back(
        {.image = node.text, .path = value.path(), .at = node.at, .key_at = node.at, .holder_at = node.at});
  }
  return found;
}

Shapes FindShapes(const Reader& object, const Claimed& claimed) {
  Shapes found;
  ShapeFinder(claimed, found).Root(object);
  return found;
}

}  // namespace prefetch::manifest
