// Lists of other tools: a new one is a row.
#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"
#include "doc/yaml.h"
#include "list/draft.h"

namespace prefetch::list {
namespace {

using doc::Node;

constexpr doc::Limits kForeignLimits{.bytes = 32 << 20, .depth = 64, .nodes = 1'000'000};

enum class Spelling {
  kName,   // an image, or a mapping that has it in `name` or `image`
  kPairs,  // "a=image;b=image"
  kTags,   // {repository: {tags: [{tag: v1}]}}
};

struct ForeignKind {
  std::string_view kind, group;
  std::string_view path;  // names with dots between them; sequences are walked through; "*" is every key
  Spelling spelling = Spelling::kName;
};

constexpr ForeignKind kKinds[] = {
    {"ImageCache", "kubefledged.io", "spec.cacheSpec.images"},
    {"ImagePullJob", "apps.kruise.io", "spec.image"},
    {"ImageListPullJob", "apps.kruise.io", "spec.images"},
    {"NodeImage", "apps.kruise.io", "spec.images", Spelling::kTags},
    {"PinnedImageSet", "machineconfiguration.openshift.io", "spec.pinnedImages"},
    {"Image", "caching.internal.knative.dev", "spec.image"},
    {"KubernetesImagePuller", "che.eclipse.org", "spec.images", Spelling::kPairs},
    {"ConfigMap", "", "data.IMAGES", Spelling::kPairs},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.additionalImages"},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.operators.catalog"},
};
constexpr ForeignKind kCompose{"", "", "services.*.image"};

void Walk(const Node& node, const std::vector<std::string_view>& steps, std::size_t done,
          std::vector<const Node*>& found) {
  if (node.kind == Node::Kind::kSequence) {
    for (const Node& item : node.items) Walk(item, steps, done, found);
  } else if (done == steps.size()) {
    found.push_back(&node);
  } else {
    for (const doc::Member& member : node.members) {
      if (steps[done] == "*" || steps[done] == member.key) Walk(member.value, steps, done + 1, found);
    }
  }
}

std::string TextAt(const Node& node, const char* key) {
  const Node* value = node.Find(key);
  return value == nullptr ? "" : value->text;
}

class ForeignReader {
 public:
  explicit ForeignReader(doc::Problems& problems) : problems_(problems) {}

  void Add(std::string_view text, doc::Position at) {
    const std::string_view name = base::TrimSpace(text);
    if (name.empty()) return;
    auto reference = image::Reference::Parse(name);
    if (reference) images_.push_back({*std::move(reference), at});
    if (!reference) problems_.Add(at, "", reference.error().message());
  }

  void Pairs(const Node& node) {
    for (std::string_view pair : base::Split(node.text, ';')) {
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos) Add(pair.substr(equals + 1), node.at);
    }
  }

  void Row(const ForeignKind& row, const Node& document) {
    std::vector<const Node*> found;
    Walk(document, row.path.empty() ? std::vector<std::string_view>() : base::Split(row.path, '.'), 0, found);
    for (const Node* node : found) {
      switch (row.spelling) {
        case Spelling::kName: {
          const std::string named = TextAt(*node, "name");
          Add(node->kind == Node::Kind::kMapping ? (named.empty() ? TextAt(*node, "image") : named)
                                                 : node->text,
              node->at);
          break;
        }
        case Spelling::kPairs:
          Pairs(*node);
          break;
        case Spelling::kTags:
          for (const doc::Member& image : node->members) {
            std::vector<const Node*> tags;
            Walk(image.value, {"tags", "tag"}, 0, tags);
            for (const Node* tag : tags) Add(image.key + ":" + tag->text, tag->at);
          }
          break;
      }
    }
  }

  // "IMAGE  TAG  IMAGE ID  SIZE", and a row an image.
  void Table(std::string_view text) {
    std::uint32_t number = 0;
    for (std::string_view line : base::Split(text, '\n')) {
      number++;
      std::vector<std::string> words;
      const std::string blanks = base::ReplaceAll(line, "\t", " ");
      for (std::string_view word : base::Split(blanks, ' ')) {
        if (!base::TrimSpace(word).empty()) words.emplace_back(base::TrimSpace(word));
      }
      if (words.size() < 3 || words[0] == "IMAGE" || words[0] == "<none>" || words[1] == "<none>") continue;
      Add(words[0] + ":" + words[1], {number, 1});
    }
  }

  void Lines(std::string_view text) {
    std::uint32_t number = 0;
    for (std::string_view line : base::Split(text, '\n')) {
      number++;
      line = base::TrimSpace(line);
      if (!line.starts_with('#')) Add(line, {number, 1});
    }
  }

  std::vector<ForeignImage> Take() {
    if (images_.empty() && problems_.empty()) problems_.Add({}, "", "no image was found in it");
    return std::move(images_);
  }

 private:
  doc::Problems& problems_;
  std::vector<ForeignImage> images_;
};

// A list with nothing but names: its first line is one.
bool IsPlain(std::string_view text) {
  for (std::string_view line : base::Split(text, '\n')) {
    line = base::TrimSpace(line);
    if (!line.empty() && !line.starts_with('#')) return image::Reference::Parse(line).ok();
  }
  return true;
}

}  // namespace

std::optional<std::vector<ForeignImage>> ReadForeignList(std::string_view text, doc::Problems& problems) {
  ForeignReader reader(problems);
  const std::string_view begin = base::TrimSpace(text);
  if (begin.starts_with("IMAGE ")) {
    reader.Table(text);
    return reader.Take();
  }
  if (IsPlain(text)) {
    reader.Lines(text);
    return reader.Take();
  }
  const auto documents =
      doc::ParseYamlDocuments(text, problems, kForeignLimits, doc::YamlRules::kAsKubernetes);
  if (!documents || !problems.empty()) return reader.Take();
  bool known = false;
  for (const Node& document : *documents) {
    const std::string version = TextAt(document, "apiVersion"), kind = TextAt(document, "kind");
    const std::string_view group(version.data(),
                                 version.find('/') == std::string::npos ? 0 : version.find('/'));
    for (const ForeignKind& row : kKinds) {
      if (row.kind != kind || row.group != group) continue;
      known = true;
      reader.Row(row, document);
    }
    if (!kind.empty()) continue;
    if (document.Find("images") != nullptr && begin.starts_with("{")) {
      for (image::Reference& reference : ReadCrictlImages(text, problems))
        reader.Add(reference.written(), document.at);
      known = true;
    } else if (document.Find("services") != nullptr) {
      reader.Row(kCompose, document);
      known = true;
    }
  }
  if (!known) return std::nullopt;
  return reader.Take();
}

}  // namespace prefetch::list
