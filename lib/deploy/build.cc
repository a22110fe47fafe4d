#include "deploy/build.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doc/yaml.h"

namespace prefetch::deploy {

namespace {

using base::Status;

// The tree has a few levels. The limit catches kustomizations that include each other.
constexpr int kMaxDepth = 8;  // kustomizations inside each other

// Resolves a path of a kustomization: "overlays/kind" and "../generic" give "overlays/generic". The files are
// embedded, so no file system does this.
std::string Join(const std::string& folder, const std::string& path) {
  std::vector<std::string> parts;
  const std::string whole = folder + "/" + path;
  for (std::string_view part : base::Split(whole, '/')) {
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return base::Join(parts, "/");
}

base::Result<std::string_view> Read(const Files& files, const std::string& path) {
  auto file = files.find(path);
  if (file == files.end()) return base::InvalidArgument(path + ": there is no such file");
  return file->second;
}

// Builds as kustomize does, with the features that the embedded tree uses.
class Builder {
 public:
  explicit Builder(const Files& files) : files_(files) {}

  // Applies the kustomization, in kustomize's order: resources, components, generated ConfigMaps, patches,
  // namespace, suffix, labels.
  Status Apply(const Kustomization& top, const std::string& folder, Objects& objects, int depth) {
    for (const std::string& path : top.resources) {
      if (Status done = AddResource(Join(folder, path), objects, depth); !done) return done;
    }
    for (const std::string& path : top.components) {
      if (Status done = ApplyFolder(Join(folder, path), objects, depth); !done) return done;
    }
    for (const std::string& path : top.configurations) {
      if (Status done = AddReferences(Join(folder, path), objects); !done) return done;
    }
    for (const ConfigMapSource& source : top.config_maps) {
      if (Status done = Generate(source, folder, objects); !done) return done;
    }
    for (const Patch& patch : top.patches) {
      if (Status done = ApplyPatch(patch, folder, objects); !done) return done;
    }
    // These come after the patches: patches select objects by the names that the files have.
    if (!top.name_space.empty()) SetNamespace(objects, top.name_space);
    if (!top.name_suffix.empty()) AddNameSuffix(objects, top.name_suffix);
    AddLabels(objects, top.labels);
    return {};
  }

 private:
  Status ApplyFolder(const std::string& folder, Objects& objects, int depth) {
    if (depth >= kMaxDepth) return base::InvalidArgument(folder + ": is too deep");
    auto kustomization = ReadKustomization(files_, folder + "/kustomization.yaml");
    if (!kustomization) return kustomization.error();
    return Apply(*kustomization, folder, objects, depth + 1);
  }

  Status AddResource(const std::string& path, Objects& objects, int depth) {
    if (!path.ends_with(".yaml")) {
      // A resource folder changes only its own objects, so it is built apart. A component changes all of
      // them.
      Objects own;
      auto applied = ApplyFolder(path, own, depth);
      if (!applied) return applied;
      std::ranges::move(own.all, std::back_inserter(objects.all));
      std::ranges::move(own.references, std::back_inserter(objects.references));
      std::ranges::move(own.namespaces, std::back_inserter(objects.namespaces));
      return {};
    }
    auto documents = ReadDocuments(files_, path);
    if (!documents) return documents.error();
    for (doc::Node& body : *documents) {
      // These names stay in original_name: references and patches use them, whatever suffix the object gets
      // later.
      std::string name = TextAt(body, {"metadata", "name"});
      std::string name_space = TextAt(body, {"metadata", "namespace"});
      objects.all.push_back({std::move(body), std::move(name), std::move(name_space), false});
    }
    return {};
  }

  // Reads the fields that a `configurations` file adds to the usual ones: `nameReference` for names of a
  // kind, `namespace` for namespaces.
  Status AddReferences(const std::string& path, Objects& objects) {
    auto documents = ReadDocuments(files_, path);
    if (!documents) return documents.error();
    for (const doc::Node& document : *documents) {
      for (const doc::Node& reference : ItemsAt(document, {"nameReference"})) {
        for (const doc::Node& spec : ItemsAt(reference, {"fieldSpecs"})) {
          objects.references.push_back(FieldOf(spec, TextAt(reference, {"kind"})));
        }
      }
      for (const doc::Node& spec : ItemsAt(document, {"namespace"})) {
        objects.namespaces.push_back(FieldOf(spec, ""));
      }
    }
    return {};
  }

  // Converts a field of a `configurations` file, whose path has slashes.
  static Reference FieldOf(const doc::Node& spec, std::string kind) {
    const std::string path = TextAt(spec, {"path"});
    std::vector<std::string_view> parts = base::Split(path, '/');
    return {std::move(kind), TextAt(spec, {"kind"}), {parts.begin(), parts.end()}};
  }

  Status Generate(const ConfigMapSource& source, const std::string& folder, Objects& objects) {
    std::vector<std::pair<std::string, std::string>> data = source.data;
    for (const auto& [key, path] : source.files) {
      auto text = Read(files_, Join(folder, path));
      if (!text) return text.error();
      data.emplace_back(key, std::string(*text));
    }
    doc::Node made = MakeConfigMap(source.name, data);
    doc::Node& meta = Sub(made, "metadata");
    if (!source.name_space.empty()) meta.Set("namespace", doc::Node::String(source.name_space));
    for (const auto& [key, value] : source.labels) Put(Sub(meta, "labels"), key, doc::Node::String(value));
    if (source.immutable) made.Set("immutable", doc::Node::Bool(true));
    // The name of a new ConfigMap ends with a hash of its content, unless disableNameSuffixHash is set. A
    // changed list is then a new ConfigMap, which triggers a rollout.
    if (source.behavior == Behavior::kCreate) {
      objects.all.push_back({std::move(made), source.name, source.name_space, !source.keeps_name});
      return {};
    }
    Object* object = FindObject(objects, "ConfigMap", source.name);
    if (object == nullptr)
      return base::InvalidArgument("there is no ConfigMap " + source.name + " to change");
    Change(source, made, *object);
    return {};
  }

  // Merge and replace both keep labels, annotations and namespace. A name without hash stays without one, and
  // a ConfigMap that may be changed in place is never immutable.
  static void Change(const ConfigMapSource& source, const doc::Node& made, Object& object) {
    doc::Node& old = object.body;
    if (source.behavior == Behavior::kReplace) Remove(old, "data");
    if (const doc::Node* data = made.Find("data")) {
      for (const doc::Member& one : data->members) Put(Sub(old, "data"), one.key, one.value);
    }
    for (const auto& [key, value] : source.labels) {
      Put(Sub(Sub(old, "metadata"), "labels"), key, doc::Node::String(value));
    }
    object.hashed = object.hashed && !source.keeps_name;
    Remove(old, "immutable");
    if (source.immutable && object.hashed) old.Set("immutable", doc::Node::Bool(true));
  }

  Status ApplyPatch(const Patch& patch, const std::string& folder, Objects& objects) {
    std::string_view text = patch.content;
    std::string path = Join(folder, patch.path.empty() ? "kustomization.yaml" : patch.path);
    if (!patch.path.empty()) {
      auto file = Read(files_, path);
      if (!file) return file.error();
      text = *file;
    }
    doc::Problems problems(path);
    std::optional<doc::Node> content = doc::ParseYaml(text, problems);
    if (!content || !problems.empty()) return problems.ToStatus().error();
    return ApplyToMatches(*content, patch.target, path, objects);
  }

  static Status ApplyToMatches(const doc::Node& content, Target target, const std::string& path,
                               Objects& objects) {
    bool operations = content.kind == doc::Node::Kind::kSequence;
    // A strategic patch without a target applies to the object that it names itself.
    if (!operations && target.kind.empty() && target.name.empty()) {
      target.kind = TextAt(content, {"kind"});
      target.name = TextAt(content, {"metadata", "name"});
    }
    if (!operations && TextAt(content, {"$patch"}) == "delete") {
      // A patch without any object is an error, so that a renamed object in the tree does not leave a patch
      // without effect.
      const auto taken = std::erase_if(objects.all, [&](const Object& one) { return Matches(target, one); });
      if (taken == 0) return base::InvalidArgument(path + ": a patch has no object to remove");
      return {};
    }
    bool found = false;
    for (Object& object : objects.all) {
      if (!Matches(target, object)) continue;
      found = true;
      if (operations) {
        auto done = JsonPatch(content, object.body);
        if (!done) return std::move(done).error().Wrap(path);
      } else {
        MergePatch(content, object.body);
      }
    }
    // Operations on all objects of a kind may find none, as with kustomize.
    if (!found && !(operations && target.name.empty())) {
      return base::InvalidArgument(path + ": a patch has no object to change");
    }
    return {};
  }

  const Files& files_;
};

}  // namespace

base::Result<Objects> Build(const Files& files, const Kustomization& top) {
  Objects objects;
  auto applied = Builder(files).Apply(top, "", objects, 0);
  if (!applied) return applied.error();
  return objects;
}

namespace {

using Kind = doc::Node::Kind;

// Returns the member that identifies the items of a list (patchMergeKey of the Kubernetes API); empty if a
// patch replaces the list.
std::string_view MergeKey(std::string_view list) {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"containers", "name"},        {"env", "name"},
      {"initContainers", "name"},    {"ports", "containerPort"},
      {"volumeMounts", "mountPath"}, {"volumes", "name"}};
  for (const auto& [name, key] : kKeys) {
    if (name == list) return key;
  }
  return {};
}

bool IsDelete(const doc::Node& item) {
  return TextAt(item, {"$patch"}) == "delete";
}

void MergeLists(const doc::Node& patch, const std::string& key, doc::Node& list) {
  // The items of the patch come first, in its order; kustomize does so, and the tests compare with it.
  std::vector<doc::Node> merged;
  for (const doc::Node& item : patch.items) {
    auto same = std::ranges::find_if(list.items, [&](const doc::Node& old) {
      const doc::Node* a = old.Find(key);
      const doc::Node* b = item.Find(key);
      return a != nullptr && b != nullptr && doc::SameContent(*a, *b);
    });
    doc::Node result = doc::Node::Mapping();
    if (same != list.items.end()) {
      result = std::move(*same);
      list.items.erase(same);
    }
    // The old item was removed above and is not added again.
    if (IsDelete(item)) continue;
    MergePatch(item, result);
    merged.push_back(std::move(result));
  }
  std::ranges::move(list.items, std::back_inserter(merged));
  list.items = std::move(merged);
}

// Unescapes a part of a JSON pointer (RFC 6901): "~1" first, since "~01" is "~1" and not "/".
std::string Unescaped(std::string_view part) {
  return base::ReplaceAll(base::ReplaceAll(part, "~1", "/"), "~0", "~");
}

struct Place {
  doc::Node* parent = nullptr;
  std::string key;
};

// Returns the place to which a pointer leads. Its parent must exist.
base::Result<Place> ResolvePointer(doc::Node& object, std::string_view pointer) {
  auto none = [whole = std::string(pointer)] {
    return base::InvalidArgument("there is nothing at " + whole);
  };
  // RFC 6901: a pointer begins with "/". The empty pointer, which is the whole object, is not supported.
  if (!pointer.starts_with('/')) return none();
  doc::Node* at = &object;
  while (true) {
    pointer.remove_prefix(1);
    std::size_t slash = pointer.find('/');
    std::string key = Unescaped(pointer.substr(0, slash));
    if (slash == std::string_view::npos) return Place{at, std::move(key)};
    if (at->kind == Kind::kSequence) {
      auto index = base::ParseUint(key);
      if (!index || *index >= at->items.size()) return none();
      at = &at->items[*index];
    } else if (at = Find(*at, key); at == nullptr) {
      return none();
    }
    pointer.remove_prefix(slash);
  }
}

base::Status ApplyOperation(const std::string& operation, const Place& place, const doc::Node* value) {
  auto impossible = [&] { return base::InvalidArgument("cannot " + operation + " " + place.key); };
  doc::Node& parent = *place.parent;
  bool add = operation == "add", remove = operation == "remove";
  if ((!add && !remove && operation != "replace") || (!remove && value == nullptr)) return impossible();
  // RFC 6902: "replace" and "remove" need an existing member, "add" replaces one silently.
  if (parent.kind == Kind::kMapping) {
    if (!add && Find(parent, place.key) == nullptr) return impossible();
    remove ? Remove(parent, place.key) : Put(parent, place.key, *value);
    return {};
  }
  if (parent.kind != Kind::kSequence) return impossible();
  // "-" is the place after the last item.
  auto index = place.key == "-" && add ? parent.items.size() : base::ParseUint(place.key);
  if (!index || *index > parent.items.size() || (!add && *index == parent.items.size())) return impossible();
  auto at = parent.items.begin() + static_cast<std::ptrdiff_t>(*index);
  if (add) {
    parent.items.insert(at, *value);
  } else if (remove) {
    parent.items.erase(at);
  } else {
    *at = *value;
  }
  return {};
}

}  // namespace

base::Result<std::vector<doc::Node>> ReadDocuments(const Files& files, const std::string& path) {
  auto text = Read(files, path);
  if (!text) return text.error();
  doc::Problems problems(path);
  auto documents = doc::ParseYamlDocuments(*text, problems);
  if (!documents || !problems.empty()) return problems.ToStatus().error();
  if (documents->empty()) return base::InvalidArgument(path + ": is no manifest");
  return *std::move(documents);
}

base::Result<Kustomization> ReadKustomization(const Files& files, const std::string& path) {
  auto text = Read(files, path);
  if (!text) return text.error();
  return DecodeKustomization(path, *text);
}

void MergePatch(const doc::Node& patch, doc::Node& object) {
  for (const doc::Member& member : patch.members) {
    const doc::Node& value = member.value;
    doc::Node* old = Find(object, member.key);
    std::string_view key = MergeKey(member.key);
    // A list of plain values has no merge key, and is replaced.
    bool items_are_objects = !value.items.empty() && value.items.front().kind == Kind::kMapping;
    if (value.kind == Kind::kNull) {
      Remove(object, member.key);
    } else if (value.kind == Kind::kMapping) {
      if (old == nullptr || old->kind != Kind::kMapping) Put(object, member.key, doc::Node::Mapping());
      MergePatch(value, *Find(object, member.key));
    } else if (value.kind == Kind::kSequence && !key.empty() && items_are_objects) {
      if (old == nullptr || old->kind != Kind::kSequence) Put(object, member.key, doc::Node::Sequence({}));
      MergeLists(value, std::string(key), *Find(object, member.key));
    } else {
      Put(object, member.key, value);
    }
  }
}

base::Status JsonPatch(const doc::Node& operations, doc::Node& object) {
  for (const doc::Node& one : operations.items) {
    auto place = ResolvePointer(object, TextAt(one, {"path"}));
    if (!place) return place.error();
    auto done = ApplyOperation(TextAt(one, {"op"}), *place, one.Find("value"));
    if (!done) return done;
  }
  return {};
}

}  // namespace prefetch::deploy
