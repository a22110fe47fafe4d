#include "kubelet/config_merge.h"

namespace prefetch::kubelet {
namespace {

// null takes a field back (RFC 7396), so the field has a source but no value.
MergedField MakeField(MergeLayer& layer, const doc::Node& value, std::string path) {
  MergedField field{.value = std::nullopt, .from = layer.problems.source(), .by_patch = layer.is_patch};
  if (value.kind != doc::Node::Kind::kNull) {
    field.value = doc::Reader(value, layer.problems, std::move(path));
  }
  return field;
}

}  // namespace

MergedField MergedFields::AbsentField() const {
  // kubelet's default counts then. Its source is the main file, which could have said otherwise.
  bool base = !layers_->empty() && !layers_->front().is_patch;
  return {.value = std::nullopt, .from = base ? layers_->front().problems.source() : "", .by_patch = false};
}

MergedField MergedFields::Find(std::string_view key) const {
  MergedField field = AbsentField();
  for (MergeLayer& layer : *layers_) {
    const doc::Node* value = layer.root.Find(std::string(key));
    if (value != nullptr) field = MakeField(layer, *value, std::string(key));
  }
  return field;
}

MergedField MergedFields::FindIn(std::string_view object, std::string_view key) const {
  MergedField field = AbsentField();
  for (MergeLayer& layer : *layers_) {
    const doc::Node* parent = layer.root.Find(std::string(object));
    if (parent == nullptr) continue;
    const doc::Node* value = parent->Find(std::string(key));
    std::string path = std::string(object) + "." + std::string(key);
    if (value != nullptr) {
      field = MakeField(layer, *value, path);
    } else if (parent->kind != doc::Node::Kind::kMapping && (layer.is_patch || field.value)) {
      // A patch with null, or with a value that is no object, replaces the whole object (RFC 7396), and so
      // all fields in it.
      field = {.value = std::nullopt, .from = layer.problems.source(), .by_patch = layer.is_patch};
    }
  }
  return field;
}

}  // namespace prefetch::kubelet
