// Reads single fields of a document and of the merge patches (RFC 7396) above it. It does not build the
// merged document, so that every value keeps its file and line. Pure. Internal to kubelet/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"
#include "doc/problems.h"
#include "doc/reader.h"

namespace prefetch::kubelet {

// One document. Not a mapping, or not readable at all: it says nothing, and its problems say why.
struct MergeLayer {
  doc::Node root;
  doc::Problems problems;  // with the file's name
  bool is_patch = false;
};

struct MergedField {
  std::optional<doc::Reader> value;  // nullopt: never said, or taken back; its mistakes go to its own layer
  std::string from;                  // the file that spoke last; else the document below the patches; else ""
  bool by_patch = false;             // it was a patch that spoke last
};

// The layers, lowest first, outlive it.
class MergedFields {
 public:
  explicit MergedFields(std::vector<MergeLayer>& layers) : layers_(&layers) {}

  // A top-level field. Lists and scalars replace each other whole.
  MergedField Find(std::string_view key) const;
  // A field of a top-level object, whose fields merge one by one.
  MergedField FindIn(std::string_view object, std::string_view key) const;

 private:
  MergedField AbsentField() const;

  std::vector<MergeLayer>* layers_;
};

}  // namespace prefetch::kubelet
