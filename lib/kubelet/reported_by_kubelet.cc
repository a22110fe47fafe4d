#include "kubelet/reported_by_kubelet.h"

#include "doc/json.h"
#include "doc/write.h"

namespace prefetch::kubelet {

base::Result<KubeletConfig> DecodeConfigz(std::string_view json) {
  doc::Problems problems(kConfigzSource);
  std::optional<doc::Node> config = doc::ParseJson(json, problems, doc::JsonRules::kLenient);
  if (!config || config->kind != doc::Node::Kind::kMapping) {
    return base::InvalidArgument("configz: is no KubeletConfiguration");
  }
  // /configz sends the bare object. With the two fields, the decoder of files reads it, too.
  if (config->Find("apiVersion") == nullptr) {
    config->Set("apiVersion", doc::Node::String("kubelet.config.k8s.io/v1beta1"));
  }
  if (config->Find("kind") == nullptr) config->Set("kind", doc::Node::String("KubeletConfiguration"));
  return MergeKubeletConfigs({.main = ConfigDocument{kConfigzSource, doc::WriteJson(*config)}});
}

}  // namespace prefetch::kubelet
