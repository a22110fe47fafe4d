#include "deploy/policy.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "deploy/config_map.h"
#include "doc/edit.h"
#include "doc/path.h"

namespace prefetch::deploy {
namespace {

constexpr const char* kPolicyObject = "prefetchd-policy";
// The binding selects the ConfigMap by this label. An instance has its own value, since others may share its
// namespace.
constexpr const char* kPolicyLabel = "prefetchd.dev/policy";
constexpr const char* kImagesLabelValue = "images";

const char* ActionWord(PolicyAction action) {
  switch (action) {
    case PolicyAction::kWarn:
      return "Warn";
    case PolicyAction::kAudit:
      return "Audit";
    case PolicyAction::kDeny:
      return "Deny";
  }
  std::abort();
}

}  // namespace

base::Result<doc::Node> PolicyConfigMap(const std::vector<std::string>& images) {
  const std::string lines = images.empty() ? "" : base::Join(images, "\n") + "\n";
  doc::Node made = MakeConfigMap(kPolicyObject, {{"images", lines}});
  if (images.size() > kMostPolicyImages || ConfigMapBytes(made) > kMostConfigMapBytes) {
    return base::InvalidArgument("the policy takes up to " + std::to_string(kMostPolicyImages) +
                                 " spellings of images and 1 MiB, not " + std::to_string(images.size()) +
                                 " spellings and " + std::to_string(ConfigMapBytes(made)) +
                                 " bytes: install several instances with a part of the list each");
  }
  doc::Node& meta = Sub(made, "metadata");
  // The namespace and label of the component itself, for operators who apply the ConfigMap alone.
  Put(meta, "namespace", doc::Node::String("prefetchd"));
  Put(Sub(meta, "labels"), kPolicyLabel, doc::Node::String(kImagesLabelValue));
  return made;
}

base::Status SetPolicy(const std::vector<std::string>& images, PolicyAction action,
                       const std::string& instance, Objects& objects) {
  auto made = PolicyConfigMap(images);
  if (!made) return made.error();
  Object* map = FindObject(objects, "ConfigMap", kPolicyObject);
  Object* binding = FindObject(objects, "ValidatingAdmissionPolicyBinding", kPolicyObject);
  if (map == nullptr || binding == nullptr) return base::Internal("components/policy: objects are missing");
  Put(map->body, "data", *doc::ValueAt(*made, {"data"}));
  Put(Sub(binding->body, "spec"), "validationActions",
      doc::Node::Sequence({doc::Node::String(ActionWord(action))}));
  if (!instance.empty()) {
    const std::string value = std::string(kImagesLabelValue) + "-" + instance;
    Put(Sub(Sub(map->body, "metadata"), "labels"), kPolicyLabel, doc::Node::String(value));
    doc::Node& selector = Sub(Sub(Sub(binding->body, "spec"), "paramRef"), "selector");
    Put(Sub(selector, "matchLabels"), kPolicyLabel, doc::Node::String(value));
  }
  return {};
}

}  // namespace prefetch::deploy
