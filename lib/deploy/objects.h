// Objects: what kustomizations add to and change, before names are final. Internal to deploy/.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "deploy/kustomization.h"
#include "doc/node.h"

namespace prefetch::deploy {

struct Object {
  doc::Node body;
  std::string first_name;  // as others refer to it; its final name may have a suffix and a hash
  std::string name_space;  // as others refer to it; empty: none
  bool hashed = false;     // its name ends with a hash of its content

  std::string Kind() const;
  std::string Name() const;
};

// Where one kind's names stand in objects of another kind.
struct Reference {
  std::string kind;               // of the referenced object; empty: a namespace
  std::string in;                 // the kind that refers; empty: any
  std::vector<std::string> path;  // sequences on the way are gone through
};

struct Objects {
  std::vector<Object> all;
  // Of `configurations`, beside those that every cluster has.
  std::vector<Reference> references, namespaces;
};

// By kind and first name; nullptr: there is none.
Object* FindObject(Objects& objects, std::string_view kind, std::string_view first_name);
bool Matches(const Target& target, const Object& object);
// Has no namespace: of the kinds that this tree ships.
bool IsClusterWide(const std::string& kind);

void SetNamespace(Objects& objects, const std::string& name_space);
void AddNameSuffix(Objects& objects, const std::string& suffix);
void AddLabels(Objects& objects, const std::vector<std::pair<std::string, std::string>>& labels);
// Ends the names of `hashed` ConfigMaps with their hash, and then mends every reference to a name that
// changed on the way.
void FinishNames(Objects& objects);
// In the order in which they can be created: namespaces first, what uses others last.
void SortForCreation(Objects& objects);

}  // namespace prefetch::deploy
