// ObjectVisitor: visits the objects of parsed manifests, and collects the images that their pods use.
// Internal to manifest/.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/reader.h"
#include "manifest/pod_template.h"
#include "manifest/read.h"

namespace prefetch::manifest {

// The type that the items of a list have if they name none: a PodList from the API server holds such Pods.
struct Implied {
  std::string api_version, kind;
};

// Jenkins' configuration as code, which has no kind.
constexpr const char* kJenkins = "Jenkins configuration";

// Not thread-safe. The documents must outlive it.
class ObjectVisitor {
 public:
  // `pods` may be null.
  ObjectVisitor(const ReadOptions& options, Manifests& manifests, std::vector<PodInTree>* pods)
      : options_(options), manifests_(manifests), pods_(pods) {}

  // Visits an object, or a sequence of objects.
  void Visit(const doc::Reader& value, const Implied& implied);

  // Returns the type of the items of a list, which come one by one.
  Implied TypeOfItems(const doc::Reader& list) const;

 private:
  // Folders contain YAML that is no manifest, which is passed over there.
  bool IsPassedOver(const doc::Node& value, const Implied& implied) const;

  // Returns nullopt, with the problem added, if there is no good type.
  static std::optional<Implied> ReadType(doc::ObjectReader& object, const Implied& implied);

  static std::string TypeField(doc::ObjectReader& object, std::string_view key, const std::string& implied);

  void VisitObject(doc::ObjectReader& object, const ObjectType& type);

  // Visits the objects of OpenShift's Template, with the values of its parameters.
  void VisitTemplate(doc::ObjectReader& object);

  static void SetParameters(const doc::Reader& holder, std::string_view path, const char* key,
                            const std::string& prefix, Variables& variables);

  void VisitBuiltIn(doc::ObjectReader& object, const ObjectType& type, const BuiltInKind& kind);

  // A template for the pods of ARC's container hooks has the pod in `spec`, and names like "$job".
  static bool IsHookTemplate(const doc::Node& object, const ObjectType& type);

  void VisitCustom(doc::ObjectReader& object, const ObjectType& type);

  // Records an object whose pods are those of another object that it names.
  void AddReferring(doc::ObjectReader& object, const Pod& pod);

  void VisitPlace(const KnownPlace& place, const Pod& pod, const doc::Reader& object, Claimed& claimed);

  void VisitWorkflow(const Workflow& workflow, const Pod& pod, const doc::Reader& object, Claimed& claimed);

  void VisitShapes(const doc::Reader& object, const ObjectType& type, const Pod& pod, Claimed& claimed);

  // Visits a document of an embedded text: an object, or what looks like none.
  void VisitPart(const doc::Reader& value, const Pod& pod);

  // Visits a part of an object. Its images show by their shape, and it need not have any.
  void VisitPatch(const doc::Reader& value, const Pod& pod);

  // Adds an image whose pod a controller makes. Its policy is known only if it stands beside it.
  void AddField(const ImageField& field, const Pod& owner);

  // Visits manifests in texts of a ConfigMap, a Secret or Jenkins' templates.
  void VisitTexts(const doc::Reader& object, const ObjectType& type, const Pod& pod);

  // Returns true for a text with the marker, for a hook template of ARC, and for Jenkins' configuration as
  // code.
  static bool HoldsManifests(std::string_view text);

  // Gives everything in an embedded text the position of that text.
  static void MoveTo(doc::Position at, doc::Node& node);

  // Passes on each document of a text. A text that cannot be read counts as an image that is not known.
  using TakeDocument = std::function<void(const doc::Reader&)>;
  void VisitText(const FoundTemplate& found, const Pod& pod, const TakeDocument& take);

  // Returns true if there is a pod. Adds its nodes to `claimed`, so that no other search looks at them.
  bool ReadTemplate(const FoundTemplate& found, const Pod& pod, const doc::Reader& object, Claimed* claimed);

  static void Claim(const FoundTemplate& found, const doc::Node* spec, const doc::Node* image,
                    Claimed& claimed);

  void AddUnread(doc::ObjectReader& object, const ObjectType& type, const Pod& pod, const std::string& why);

  std::size_t Seen() const;

  Pod Describe(doc::ObjectReader& object, const ObjectType& type) const;

  const ReadOptions& options_;
  Manifests& manifests_;
  std::vector<PodInTree>* pods_;
  std::shared_ptr<const Variables> variables_;  // of the object around; nullptr: there are none
  std::deque<std::vector<doc::Node>> texts_;    // documents in texts, which Readers point to
  std::size_t visited_ = 0;                     // objects within objects
};

}  // namespace prefetch::manifest
