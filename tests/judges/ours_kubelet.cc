#include <map>
#include <vector>

#include "base/text.h"
#include "image/kubelet_version.h"
#include "judges/ours.h"
#include "kubelet/kubelet_config.h"
#include "kubelet/node_facts.h"

namespace prefetch::judges {
namespace {

constexpr std::string_view kDropIn = "\n=== drop-in\n";

kubelet::ConfigDocuments DocumentsOf(std::string_view text) {
  const std::string all = "\n" + std::string(text);
  kubelet::ConfigDocuments documents;
  std::size_t end = all.find(kDropIn);
  const std::string main = all.substr(0, end);
  if (main.size() > 1 || end == std::string::npos) {
    documents.main = kubelet::ConfigDocument{"main", main.substr(std::min<std::size_t>(main.size(), 1))};
  }
  if (end != std::string::npos) documents.drop_ins.emplace();
  while (end != std::string::npos) {
    const std::size_t begin = end + kDropIn.size();
    end = all.find(kDropIn, begin);
    documents.drop_ins->push_back({"drop-in", all.substr(begin, end - begin)});
  }
  return documents;
}

// Describes the settings that kubelet starts with, with its defaults filled in.
std::string Describe(const kubelet::KubeletConfig& config, const kubelet::KubeletSettings& settings,
                     const std::vector<std::string>& allowlist) {
  const kubelet::GcRules rules = kubelet::GcRulesOf(config, {});
  std::string out =
      std::string("{\"gate\":") + (settings.gate ? "true" : "false") +
      ",\"high\":" + std::to_string(rules.high_percent) + ",\"low\":" + std::to_string(rules.low_percent) +
      ",\"youngest\":" + std::to_string(rules.minimum_age.count()) +
      ",\"oldest\":" + std::to_string(rules.maximum_age.count()) +
      ",\"pods\":" + std::to_string(config.max_pods.value.value_or(110)) + ",\"runtime\":" +
      Quoted(config.container_runtime_endpoint.value.value_or("unix:///run/containerd/containerd.sock")) +
      ",\"imageService\":" + Quoted(config.image_service_endpoint.value.value_or(""));
  if (settings.gate) {
    std::vector<std::string> quoted;
    for (const std::string& pattern : allowlist) quoted.push_back(Quoted(pattern));
    out += ",\"policy\":" + Quoted(base::EnumName(settings.policy)) + ",\"allowlist\":[" +
           base::Join(quoted, ",") + "]";
  }
  return out + "}";
}

// kubelet-config RELEASE
std::string ReadKubeletConfig(std::string_view text, const std::vector<std::string>& arguments) {
  const image::KubeletVersion version{1, static_cast<unsigned>(std::stoul(arguments[0].substr(2)))};
  const auto config = kubelet::MergeKubeletConfigs(DocumentsOf(text));
  if (!config) return Error(config.error().message());
  const auto reasons = kubelet::StartupErrors(*config, {}, version);
  if (!reasons.empty()) return Error(reasons.front());
  kubelet::SettingsFacts facts = kubelet::ToSettingsFacts(*config);
  facts.version = version;
  const std::vector<std::string> allowlist = facts.allowlist;
  // The patterns are not judged here.
  if (!allowlist.empty()) facts.allowlist = {"registry.example.test/base"};
  const auto settings = kubelet::PossibleSettings(facts);
  if (!settings) return Error(settings.error().message());
  return Value(Describe(*config, settings->front(), allowlist));
}

}  // namespace

std::map<std::string, Family> KubeletFamilies() {
  return {{"kubelet-config", ReadKubeletConfig}};
}

}  // namespace prefetch::judges
