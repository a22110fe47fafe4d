// ListDraft: collects images that are named anywhere, and writes a list of them.
// ReadCrictlImages, ReadForeignList, ReadMarkedImages: read such images from the files of other tools.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doc/problems.h"
#include "image/reference.h"

namespace prefetch::list {

enum class DraftOutput { kYaml, kTxt, kJson };

// Not thread-safe. Each spelling of a name appears once, since pods are judged by their spelling.
class ListDraft {
 public:
  // Leaves out images whose normalised names match one of `exclude` (image::MatchesAny).
  explicit ListDraft(std::vector<std::string> exclude = {}) : exclude_(std::move(exclude)) {}

  // `from` is the place where the image is named, for readers of the list: "deploy/app.yaml:22".
  void Add(const image::Reference& reference, const std::string& from);

  std::size_t size() const { return images_.size(); }
  // A list file, sorted by name, that DecodeSource reads; in YAML and plain text with a comment of where
  // each image is from. `notes` are comments in front of it, about what the list lacks. JSON has no comments.
  std::string Write(DraftOutput output, const std::vector<std::string>& notes = {}) const;

 private:
  struct Image {
    image::Reference reference;
    std::vector<std::string> from;  // the first few
    std::set<std::string> places;   // all of them
  };
  static std::string Comment(const Image& image);

  std::vector<std::string> exclude_;
  std::map<std::pair<std::string, std::string>, Image> images_;  // by normalised name, then as written
};

// Reads the output of `crictl images -o json`: the images of a node, by all their tags, or by digest if an
// image has no tag left. Skips names without content ("<none>:<none>"). `problems` gets every reason why the
// text is no such document. Pure.
std::vector<image::Reference> ReadCrictlImages(std::string_view json, doc::Problems& problems);

// An image that is named in a file.
struct NamedImage {
  image::Reference reference;
  doc::Position at;
};

struct ForeignList {
  std::vector<NamedImage> images;
  bool has_other_objects = false;  // Kubernetes objects beside the lists, such as workloads
  std::vector<std::string> notes;  // of images that only the tool itself can name
};
// Reads the list of another tool: ImageCache, ImagePullJob, ImageListPullJob, NodeImage, PinnedImageSet,
// Knative's Image, KubernetesImagePuller and its IMAGES, ImageSetConfiguration, also in a List; a compose
// file, skopeo sync's YAML, `crictl images` as a table or as JSON, or kubeadm's images in any form. Pure.
// nullopt: it is none of these, but Kubernetes manifests. `problems` gets what cannot be read, and a text
// without any image.
std::optional<ForeignList> ReadForeignList(std::string_view text, doc::Problems& problems);
// Returns true for the type of an object that ReadForeignList reads: "ImageCache.kubefledged.io".
bool IsForeignList(std::string_view type);

// Reads the images that are named in a file of any kind, found by a marker that its author has put beside
// them:
//
//   FROM quay.io/acme/builder:v3      # prefetch
//
//   // prefetch
//   const helper = "quay.io/acme/helper:v1"
//
// Returns the first image name behind each `marker` of a line. Where there is none, the first one in the
// line, or else in the next line that is not blank. A name is a word (between blanks, quotes, brackets,
// commas, semicolons and equals signs) that begins with a registry, or has a tag or digest; names with a
// registry go first. A marker that has none is a mistake, since an image would be forgotten silently.
std::vector<NamedImage> ReadMarkedImages(std::string_view text, std::string_view marker,
                                         doc::Problems& problems);

}  // namespace prefetch::list
