#include "list/draft.h"

#include <algorithm>
#include <array>

#include "base/scrub.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/kubernetes_stream.h"
#include "doc/reader.h"
#include "doc/write.h"
#include "list/canonical.h"
#include "list/image_list.h"

namespace prefetch::list {

namespace {

// Maximum number of places in the comment of an image. An image of a large repository may be named in
// hundreds of files.
constexpr std::size_t kMostPlaces = 2;

// "image: nginx:1.27", quoted where YAML wants it.
std::string ImageMember(const std::string& name) {
  std::string yaml = doc::WriteYaml(doc::Node::Mapping().Set("image", doc::Node::String(name)));
  return std::string(base::TrimSpace(yaml));
}

}  // namespace

void ListDraft::Add(const image::Reference& reference, const std::string& from) {
  if (image::MatchesAny(exclude_, reference.Normalized())) return;
  std::pair name(reference.Normalized(), reference.written());
  Image& image = images_.try_emplace(std::move(name), Image{reference, {}, {}}).first->second;
  if (from.empty() || !image.places.insert(from).second) return;
  if (image.from.size() < kMostPlaces)
    image.from.push_back(base::InOneLine(from));  // a line break would end the comment
}

std::string ListDraft::Comment(const Image& image) {
  return base::JoinFirst(image.from, kMostPlaces, image.places.size() - image.from.size());
}

std::string ListDraft::Write(DraftOutput output, const std::vector<std::string>& notes) const {
  std::string text;
  std::vector<doc::Node> nodes;
  // JSON has no comments, so its notes are left out.
  if (!notes.empty() && output != DraftOutput::kJson) {
    text = "# Not in this list:\n";
    for (const std::string& note : notes) text += "# " + base::InOneLine(note) + "\n";
  }
  if (output == DraftOutput::kYaml) {
    text += "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:" +
            std::string(images_.empty() ? " []\n" : "\n");
  }
  for (const auto& known : images_) {
    const Image& image = known.second;
    const std::string& name = image.reference.written();
    std::string comment = Comment(image);
    switch (output) {
      case DraftOutput::kYaml:
        text += "- " + ImageMember(name) + (comment.empty() ? "" : "  # " + comment) + "\n";
        break;
      case DraftOutput::kTxt:
        text += (comment.empty() ? "" : "# " + comment + "\n") + name + "\n";
        break;
      case DraftOutput::kJson:
        nodes.push_back(doc::Node::Mapping().Set("image", doc::Node::String(name)));
        break;
    }
  }
  if (output != DraftOutput::kJson) return text;
  return doc::WritePrettyJson(ListDocument(kListKind, std::move(nodes)));
}

namespace {

// Characters that separate words. They cover quoting and lists in the common file formats, so that no parser
// for any of them is necessary.
constexpr std::string_view kSeparators = " \t\r\"'`()[]{}<>,;=";
constexpr std::string_view kTransport = "docker://";  // as skopeo and podman write it

struct Word {
  std::string_view text;
  std::size_t offset = 0;  // in its line
};

std::vector<Word> WordsOf(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = line.find_first_not_of(kSeparators); at != std::string_view::npos;) {
    std::size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = line.find_first_not_of(kSeparators, end);
  }
  return words;
}

// Accepts "nginx:1.27" and "acme/app@sha256:…", but not "12:30", "std::string" or "a:b:c". Almost every word
// is a valid image name, so a word without a registry needs a tag or a digest to count as one.
bool LooksLikeImage(const image::Reference& reference) {
  const std::string_view word = reference.written();
  bool letter = false;
  for (char c : word.substr(0, word.find(':'))) letter = letter || (c >= 'a' && c <= 'z');
  return letter && reference.has_tag_or_digest();
}

// Returns the first word that begins with a registry, or else the first one with a tag or digest: a word that
// names its registry is hardly anything but an image.
std::optional<NamedImage> ImageIn(std::string_view line, std::uint32_t number) {
  std::optional<NamedImage> found;
  for (Word word : WordsOf(line)) {
    if (word.text.starts_with(kTransport)) {
      word.text.remove_prefix(kTransport.size());
      word.offset += kTransport.size();
    }
    bool registry = image::NamesRegistry(word.text);
    auto reference = image::Reference::Parse(word.text);
    if (!reference || (!registry && (found || !LooksLikeImage(*reference)))) continue;
    found = NamedImage{*reference, {number, static_cast<std::uint32_t>(word.offset + 1)}};
    if (registry) break;
  }
  return found;
}

// Returns the image between a marker, which ends at `from`, and the next one, whose place `next` becomes. A
// marker's text within the name is a part of it: "-image=q.io/my-image:v1".
std::optional<NamedImage> ImageBehind(std::string_view line, std::uint32_t number, std::string_view marker,
                                      std::size_t from, std::size_t& next) {
  const auto before = [&](std::size_t end) {
    std::optional<NamedImage> image = ImageIn(line.substr(from, end - from), number);
    if (image) image->at.column += static_cast<std::uint32_t>(from);
    return image;
  };
  for (next = line.find(marker, from);; next = line.find(marker, next + 1)) {
    const std::optional<NamedImage> image = before(line.find_first_of(kSeparators, next));
    const std::size_t start = image ? image->at.column - 1 : next;
    if (start >= next || start + image->reference.written().size() <= next) return before(next);
  }
}

}  // namespace

std::vector<NamedImage> ReadMarkedImages(std::string_view text, std::string_view marker,
                                         doc::Problems& problems) {
  std::vector<NamedImage> images;
  if (marker.empty() || text.find(marker) == std::string_view::npos) return images;
  std::vector<std::string_view> lines = base::Split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); i++) {
    std::size_t at = lines[i].find(marker);
    if (at == std::string_view::npos) continue;
    auto number = static_cast<std::uint32_t>(i + 1);
    const std::size_t known = images.size();
    std::vector<std::size_t> without;  // places of markers with no image behind them
    for (std::size_t marked = at, next = 0; marked != std::string_view::npos; marked = next) {
      auto image = ImageBehind(lines[i], number, marker, marked + marker.size(), next);
      if (image) {
        images.push_back(*std::move(image));
      } else {
        without.push_back(marked);
      }
    }
    if (images.size() > known) {
      for (std::size_t marked : without) {
        problems.Add({number, static_cast<std::uint32_t>(marked + 1)}, "",
                     "no image name stands behind this marker, as behind others of its line");
      }
      continue;
    }
    // The marker itself may look like an image name. Blanks of equal length keep the columns right.
    std::string blanked(lines[i]);
    blanked.replace(at, marker.size(), marker.size(), ' ');
    std::optional<NamedImage> image = ImageIn(blanked, number);
    std::size_t next = i + 1;
    // A marker may stand in a comment line above the image, with blank lines between.
    while (!image && next < lines.size() && base::TrimSpace(lines[next]).empty()) next++;
    if (!image && next < lines.size()) image = ImageIn(lines[next], static_cast<std::uint32_t>(next + 1));
    if (image) {
      images.push_back(*std::move(image));
    } else {
      problems.Add({number, static_cast<std::uint32_t>(at + 1)}, "",
                   "no image name stands in the line of this marker, nor in the next one");
    }
  }
  return images;
}

// Lists of other tools. To support another tool, add a row to kKinds.

namespace {

using doc::Node;

// The output of crictl comes from the runtime of a node, whose number of images nothing limits. Therefore the
// limits are larger than those of a list.
constexpr doc::Limits kCrictlLimits{.bytes = 32 << 20, .depth = 16, .nodes = 2'000'000};
constexpr doc::Limits kForeignLimits{.bytes = 10 << 20, .depth = 64, .nodes = 2'000'000};

enum class Spelling {
  kName,   // an image, or a mapping that has it in `name` or `image`
  kPairs,  // "a=image;b=image"
  kTags,   // {repository: {tags: [{tag: v1}]}}
  kOwn,    // images that only the tool itself can name
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
    {"Images", "output.kubeadm.k8s.io", "images"},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.additionalImages"},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.operators.catalog"},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.operators", Spelling::kOwn},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.platform", Spelling::kOwn},
    {"ImageSetConfiguration", "mirror.openshift.io", "mirror.helm", Spelling::kOwn},
};
constexpr ForeignKind kCompose{"", "", "services.*.image"};

// Returns an empty text for a null, which these tools take for an absent member.
std::string TextOf(const Node& node) {
  return node.kind == Node::Kind::kNull ? "" : node.text;
}

// Returns an empty text for an absent member.
std::string TextAt(const Node& node, const char* key) {
  const Node* value = node.Find(key);
  return value == nullptr ? "" : TextOf(*value);
}

constexpr const char* kReadConfig = "read the output of docker compose config";

std::vector<image::Reference> NamesOf(const std::vector<std::string>& texts) {
  std::vector<image::Reference> names;
  for (const std::string& text : texts) {
    // crictl prints "<none>" for an image without repository or tag. No pod can name such an image.
    if (text.find("<none>") != std::string::npos) continue;
    if (auto reference = image::Reference::Parse(text)) names.push_back(*std::move(reference));
  }
  return names;
}

// Returns the images of `crictl images` in JSON or YAML.
std::vector<image::Reference> ImagesOf(const doc::Reader& root) {
  std::vector<image::Reference> images;
  doc::ObjectReader document(root);
  for (const doc::Reader& item : document.Items("images", doc::Need::kRequired)) {
    doc::ObjectReader image(item);
    std::vector<image::Reference> names = NamesOf(image.Strings("repoTags"));
    // A digest is only used for images without any tag: pods nearly always name images by tag, and both names
    // of one image would list it twice.
    if (names.empty()) names = NamesOf(image.Strings("repoDigests"));
    for (image::Reference& name : names) images.push_back(std::move(name));
  }
  return images;
}

class ForeignReader {
 public:
  explicit ForeignReader(doc::Problems& problems) : problems_(problems), notes_(problems.source()) {}

  void Add(std::string_view text, doc::Position at) {
    std::string_view name = base::TrimSpace(text);
    if (name.starts_with(kTransport)) name.remove_prefix(kTransport.size());
    if (name.empty()) return;
    // crictl images -q prints ids, and oc-mirror takes folders.
    if (image::IsDigest(name) || name.starts_with("oci://"))
      return notes_.Add(at, "", "no registry has " + base::Truncate(name, 200));
    auto reference = image::Reference::Parse(name);
    if (reference) {
      images_.push_back({*std::move(reference), at});
      return;
    }
    const bool variable = compose_ && name.find('$') != std::string_view::npos;
    problems_.Add(at, "",
                  reference.error().message() +
                      (variable ? std::string(": give its variable a value: ") + kReadConfig : ""));
  }

  // Adds a tag, or a digest where the tool writes tags.
  void AddTag(const std::string& repository, const Node& tag) {
    const std::string text = TextOf(tag);
    if (!text.empty()) Add(repository + (text.find(':') == std::string::npos ? ":" : "@") + text, tag.at);
  }

  void Pairs(const Node& node) {
    for (std::string_view pair : base::Split(node.text, ';')) {
      // A pair is NAME=IMAGE; the name has no meaning outside that tool.
      const std::size_t equals = pair.find('=');
      if (equals != std::string_view::npos) Add(pair.substr(equals + 1), node.at);
    }
  }

  // Returns true if the document has the place of the row.
  bool Row(const ForeignKind& row, const Node& document) {
    bool found = false;
    doc::ForEachAt(document, base::Split(row.path, '.'), 0, [&](const Node& node) {
      found = true;
      switch (row.spelling) {
        case Spelling::kName: {
          const std::string named = TextAt(node, "name");
          Add(node.kind == Node::Kind::kMapping ? (named.empty() ? TextAt(node, "image") : named)
                                                : TextOf(node),
              node.at);
          break;
        }
        case Spelling::kPairs:
          Pairs(node);
          break;
        case Spelling::kTags:
          for (const doc::Member& image : node.members) {
            doc::ForEachAt(image.value, std::array{"tags", "tag"}, 0,
                           [&](const Node& tag) { AddTag(image.key, tag); });
          }
          break;
        case Spelling::kOwn:
          if (!node.members.empty()) notes_.Add(node.at, row.path, "only oc-mirror can name its images");
          break;
      }
    });
    return found;
  }

  void Compose(const Node& document) {
    compose_ = true;
    Row(kCompose, document);
    doc::ForEachAt(document, std::array{"services", "*", "volumes"}, 0, [&](const Node& volume) {
      if (TextAt(volume, "type") == "image") Add(TextAt(volume, "source"), volume.at);
    });
    compose_ = false;
    const auto refuse = [&](const Node& node) {
      if (node.kind != Node::Kind::kNull)
        problems_.Add(node.at, "", std::string("another file has images: ") + kReadConfig);
    };
    doc::ForEachAt(document, std::array{"include"}, 0, refuse);
    doc::ForEachAt(document, std::array{"services", "*", "extends", "file"}, 0, refuse);
  }

  // Reads `skopeo sync --src yaml`: {registry: {images: {repository: [tag]}}}. Returns false for other texts.
  bool Skopeo(const Node& document) {
    bool found = false;
    for (const doc::Member& registry : document.members) {
      for (const char* by : {"images", "images-by-tag-regex", "images-by-semver"}) {
        for (const doc::Member& repository : doc::MembersAt(registry.value, {by})) {
          // Under `images`, skopeo has sequences, and Helm's values have texts.
          if (by == std::string_view("images") && !repository.value.text.empty()) continue;
          found = true;
          for (const Node& tag : repository.value.items) AddTag(registry.key + "/" + repository.key, tag);
          if (!repository.value.items.empty()) continue;
          problems_.Add(repository.at, "",
                        "only the registry knows which tags of " + repository.key +
                            " are meant: name each tag under images");
        }
      }
    }
    return found;
  }

  // Reads the table of `crictl images`: the header "IMAGE TAG IMAGE ID SIZE", then a row for each image. The
  // table does not have the digest of an image that was pulled by digest. A pod can name this image.
  void Table(std::string_view text) {
    std::uint32_t number = 0;
    std::size_t by_digest = 0;
    for (std::string_view line : base::Split(text, '\n')) {
      number++;
      std::vector<std::string> words;
      const std::string blanks = base::ReplaceAll(line, "\t", " ");
      for (std::string_view word : base::Split(blanks, ' ')) {
        if (!base::TrimSpace(word).empty()) words.emplace_back(base::TrimSpace(word));
      }
      if (words.size() < 3 || words[0] == "IMAGE" || words[0] == "<none>") continue;
      if (words[1] == "<none>") by_digest++;
      if (words[1] != "<none>") Add(words[0] + ":" + words[1], {number, 1});
    }
    if (by_digest == 0) return;
    notes_.Add({}, "",
               base::Plural(by_digest, "image has", "images have") +
                   " no tag but a digest: give the output of crictl images -o json");
  }

  void Lines(std::string_view text) {
    std::uint32_t number = 0;
    for (std::string_view line : base::Split(text, '\n')) {
      number++;
      line = base::TrimSpace(line);
      if (!line.starts_with('#')) Add(line, {number, 1});
    }
  }

  ForeignList Take(bool has_other_objects = false) {
    // Without this, a file of the wrong kind would become an empty list, and nobody would notice.
    if (images_.empty() && problems_.empty() && !has_other_objects) {
      problems_.Add({}, "", "no image was found in it");
      problems_.Append(notes_);
    }
    return {std::move(images_), has_other_objects, notes_.Lines()};
  }

 private:
  doc::Problems& problems_;
  doc::Problems notes_;
  std::vector<NamedImage> images_;
  bool compose_ = false;
};

struct TypedNode {
  const Node* node = nullptr;
  std::string version, kind;
};

// Appends the objects of a document: the items of a List, at any depth, or itself. Items of a typed list may
// lack their type.
void AddObjects(const Node& node, const TypedNode& implied, std::vector<TypedNode>& objects) {
  TypedNode object{&node, TextAt(node, "apiVersion"), TextAt(node, "kind")};
  if (object.version.empty() && object.kind.empty()) object = {&node, implied.version, implied.kind};
  const Node* items = node.Find("items");
  if (items == nullptr || !object.kind.ends_with("List")) return objects.push_back(object);
  object.kind = doc::KindOfItems(object.kind);
  if (object.kind.empty()) object.version.clear();
  for (const Node& item : items->items) AddObjects(item, object, objects);
}

// Plain lists have only names, so the first line that is no comment decides.
bool IsPlain(std::string_view text) {
  for (std::string_view line : base::Split(text, '\n')) {
    line = base::TrimSpace(line);
    if (!line.empty() && !line.starts_with('#')) return image::Reference::Parse(line).ok();
  }
  return true;
}

}  // namespace

bool IsForeignList(std::string_view type) {
  return std::ranges::any_of(kKinds, [&](const ForeignKind& row) {
    return !row.group.empty() && type == std::string(row.kind) + "." + std::string(row.group);
  });
}

std::optional<ForeignList> ReadForeignList(std::string_view text, doc::Problems& problems) {
  ForeignReader reader(problems);
  if (text.starts_with(doc::kByteOrderMark)) text.remove_prefix(doc::kByteOrderMark.size());
  const std::string_view begin = base::TrimSpace(text);
  if (begin.starts_with("IMAGE ")) {
    reader.Table(text);
    return reader.Take();
  }
  // This must come before YAML: a single image name is a valid YAML document, too.
  if (IsPlain(text)) {
    reader.Lines(text);
    return reader.Take();
  }
  // Only manifests are longer.
  if (text.size() > kForeignLimits.bytes) return std::nullopt;
  const auto documents = doc::ReadKubernetesDocuments(text, problems, kForeignLimits);
  if (!documents || !problems.empty()) return reader.Take();
  std::vector<TypedNode> objects;
  for (const Node& document : *documents) AddObjects(document, {}, objects);
  bool known = false, others = false;
  for (const auto& [node, version, kind] : objects) {
    const Node& document = *node;
    const std::string_view group(version.data(),
                                 version.find('/') == std::string::npos ? 0 : version.find('/'));
    bool is_list = false;
    for (const ForeignKind& row : kKinds) {
      if (row.kind != kind || row.group != group) continue;
      // Kubernetes' own kinds are lists only if they have the place of one: most ConfigMaps are none.
      is_list = reader.Row(row, document) || !row.group.empty() || is_list;
    }
    known = known || is_list;
    others = others || (!is_list && !kind.empty());
    // Documents with a kind are Kubernetes objects. crictl and compose write documents without one, so their
    // members identify them.
    if (!kind.empty()) continue;
    const std::vector<Node>& images = doc::ItemsAt(document, {"images"});
    const bool crictl = !images.empty() && images.front().Find("repoTags") != nullptr;
    if (crictl || (document.Find("images") != nullptr && begin.starts_with("{"))) {
      for (const image::Reference& reference : ImagesOf(doc::Reader(document, problems)))
        reader.Add(reference.written(), document.at);
      known = true;
    } else if (document.Find("services") != nullptr) {
      reader.Compose(document);
      known = true;
    } else if (version.empty()) {
      known = reader.Skopeo(document) || known;
    }
  }
  if (!known) return std::nullopt;
  return reader.Take(others);
}

std::vector<image::Reference> ReadCrictlImages(std::string_view json, doc::Problems& problems) {
  const auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient, kCrictlLimits);
  return root ? ImagesOf(doc::Reader(*root, problems)) : std::vector<image::Reference>();
}

}  // namespace prefetch::list
