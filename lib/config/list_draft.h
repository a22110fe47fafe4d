// ListDraft: a list in the making, from wherever images are named. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "image/reference.h"

namespace prefetch::config {

enum class DraftOutput { kYaml, kText, kJson };

// One owner, one thread. Each spelling of a name once: pods are judged by what they write.
class ListDraft {
 public:
  // `from` is where it is named, for people: "deploy/app.yaml:22".
  void Add(const image::Reference& reference, std::string from);

  std::size_t size() const { return images_.size(); }
  // A list file, sorted by name, that DecodeSource reads; in YAML and plain text with a comment of where
  // each image is from. JSON has no comments.
  std::string Write(DraftOutput output) const;

 private:
  struct Image {
    image::Reference reference;
    std::vector<std::string> from;  // the first few
    std::size_t uses = 0;
  };
  static std::string Comment(const Image& image);

  std::map<std::pair<std::string, std::string>, Image> images_;  // by normalised name, then as written
};

}  // namespace prefetch::config
