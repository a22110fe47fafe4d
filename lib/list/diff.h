// The changes from one list to another, image by image. Pure.
#pragma once

#include <string>
#include <vector>

#include "plan/desired.h"

namespace prefetch::list {

struct FieldChange {
  std::string field;     // "refreshInterval"
  std::string from, to;  // as written in a list; "default" for an absent field

  friend bool operator==(const FieldChange&, const FieldChange&) = default;
};

struct ListChange {
  enum class Kind { kRemoved, kAdded, kChanged };
  Kind kind = Kind::kChanged;
  std::string image;                // as the list spells it that has it; the new one, if both have
  std::vector<FieldChange> fields;  // of kChanged, never empty
  std::string place;                // "images.yaml:12", in the list that has it; the new one, if both have

  friend bool operator==(const ListChange&, const ListChange&) = default;
};

// Returns the changed images, sorted by normalised name; empty if the lists ask for the same. Order,
// comments, files and the spelling of an image that both lists spell in one way make no difference; what an
// agent would do does.
std::vector<ListChange> DiffLists(const plan::ImageList& from, const plan::ImageList& to);

}  // namespace prefetch::list
