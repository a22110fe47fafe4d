// Objects of other kinds than Kubernetes' own, and manifests in texts.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "manifest/object_visitor.h"

namespace prefetch::manifest {

using doc::Node;
using doc::ObjectReader;
using doc::Reader;

void ObjectVisitor::VisitPlace(const KnownPlace& place, const Pod& pod, const Reader& object,
                               Claimed& claimed) {
  for (const Reader& value : AtPath(object, place.path)) {
    FoundTemplate found{
        .value = value, .origin = Origin::kKnownKind, .place = &place, .variables = variables_};
    if (place.form == PlaceForm::kImage) found.shape = TemplateShape::kImage;
    ReadTemplate(found, pod, object, &claimed);
  }
}

void ObjectVisitor::VisitWorkflow(const Workflow& workflow, const Pod& pod, const Reader& object,
                                  Claimed& claimed) {
  for (const FoundTemplate& found : workflow.templates) ReadTemplate(found, pod, object, &claimed);
  for (const FoundTemplate& text : workflow.texts)
    VisitText(text, pod, [&](const Reader& value) { Visit(value, {}); });
  for (const FoundTemplate& text : workflow.patches) {
    VisitText(text, pod, [&](const Reader& value) {
      ReadTemplate({.value = value, .origin = Origin::kShape, .variables = text.variables}, pod, object,
                   nullptr);
    });
  }
}

void ObjectVisitor::VisitShapes(const Reader& object, const ObjectType& type, const Pod& pod,
                                Claimed& claimed) {
  const Shapes shapes = FindShapes(object, claimed);
  for (FoundTemplate found : shapes.pods) {
    found.variables = variables_;
    if (type.kind == kJenkins) found.shape = TemplateShape::kJenkins;
    ReadTemplate(found, pod, object, &claimed);
  }
  for (const ImageField& field : shapes.fields) AddField(field, pod);
  if (shapes.objects.empty()) return;
  Variables inner = variables_ ? *variables_ : Variables();
  if (type.kind == "TriggerTemplate") SetParameters(object, "spec.params", "default", "tt.params.", inner);
  const auto outer = std::exchange(variables_, std::make_shared<const Variables>(std::move(inner)));
  for (const Reader& value : shapes.objects) {
    visited_++;
    Visit(value, {});
  }
  variables_ = outer;
}

void ObjectVisitor::AddField(const ImageField& field, const Pod& owner) {
  auto pod = std::make_shared<Pod>(owner);
  pod->identity_elsewhere = true;
  Variables::Resolved resolved{field.image, false};
  if (field.open)
    resolved = variables_ ? variables_->Resolve(field.image) : Variables::Resolved{field.image, true};
  auto reference = image::Reference::Parse(resolved.text);
  if (resolved.open || !reference) {
    manifests_.open.push_back({.why = field.path + " of " + PodTitle(owner) +
                                      " has a variable for its image: " + base::Truncate(field.image, 200),
                               .at = field.key_at,
                               .holder_at = field.holder_at,
                               .pod = pod});
    return;
  }
  ImageUse use{.image = resolved.text, .kind = UseKind::kField, .name = field.path};
  use.reference = *std::move(reference);
  if (field.policy != nullptr) use.explicit_policy = image::ParsePullPolicy(field.policy->text);
  use.policy_known = use.explicit_policy.has_value() || options_.policy.assume_always_pull;
  use.policy = EffectivePolicy(use.explicit_policy, use.reference, options_.policy);
  if (field.policy != nullptr) use.policy_at = field.policy->at;
  use.at = field.at;
  use.key_at = field.key_at;
  use.holder_at = field.holder_at;
  use.path = field.path;
  use.pod = std::move(pod);
  manifests_.uses.push_back(std::move(use));
}

void ObjectVisitor::VisitTexts(const Reader& object, const ObjectType& type, const Pod& pod) {
  if (type.kind != "ConfigMap" && type.kind != "Secret" && type.kind != kJenkins) return;
  std::vector<Reader> texts;
  if (type.kind == kJenkins) {
    for (const Reader& value : AtPath(object, "jenkins.clouds.kubernetes.templates")) {
      if (auto text = ObjectReader(value).Find("yaml")) texts.push_back(*text);
    }
  } else {
    for (const char* key : {"data", "stringData"}) {
      for (const Reader& data : AtPath(object, key)) {
        for (const auto& member : data.Members()) texts.push_back(member.second);
        if (type.kind == "Secret") continue;
        for (const ImageField& field : FindDataImages(data)) AddField(field, pod);
      }
    }
  }
  for (const Reader& text : texts) {
    if (text.node().kind != Node::Kind::kString) continue;
    if (IsRunnerConfig(text.node().text)) {
      ReadRunnerConfig(text.node().text, text.node().at, pod, options_.policy, manifests_);
    } else if (type.kind == kJenkins || HoldsManifests(text.node().text)) {
      VisitText({.value = text, .variables = variables_}, pod,
                [&](const Reader& value) { Visit(value, {}); });
    }
  }
}

bool ObjectVisitor::HoldsManifests(std::string_view text) {
  if (text.find("# prefetchctl: manifest") != std::string_view::npos || text.starts_with("jenkins:"))
    return true;
  return text.find("kind: PodTemplate") != std::string_view::npos &&
         text.find("$job") != std::string_view::npos;
}

void ObjectVisitor::MoveTo(doc::Position at, Node& node) {
  node.at = at;
  for (Node& item : node.items) MoveTo(at, item);
  for (doc::Member& member : node.members) {
    member.at = at;
    MoveTo(at, member.value);
  }
}

void ObjectVisitor::VisitText(const FoundTemplate& found, const Pod& pod, const TakeDocument& take) {
  const Node& node = found.value.node();
  if (node.kind != Node::Kind::kString) return;
  doc::Problems problems(found.value.problems().source());
  const std::string text = found.variables ? found.variables->Resolve(node.text).text : node.text;
  texts_.push_back(ParseManifests(text, problems, options_.limits));
  if (!problems.empty()) {
    manifests_.open.push_back({.why = "the text in " + found.value.path() + " of " + PodTitle(pod) +
                                      " cannot be read as a manifest",
                               .at = node.at,
                               .holder_at = node.at,
                               .pod = std::make_shared<const Pod>(pod)});
    return;
  }
  const auto outer = std::exchange(variables_, found.variables);
  for (Node& document : texts_.back()) {
    MoveTo(node.at, document);
    take(Reader(document, found.value.problems(), found.value.path()));
  }
  variables_ = outer;
}

}  // namespace prefetch::manifest
