#include "kubelet/kubelet_config.h"

#include <limits>
#include <utility>

#include "base/text.h"
#include "doc/kubernetes_yaml.h"
#include "doc/reader.h"
#include "kubelet/config_merge.h"

namespace prefetch::kubelet {
namespace {

const char kPolicyField[] = "imagePullCredentialsVerificationPolicy";
const char kKind[] = "KubeletConfiguration";
const char kApiVersion[] = "kubelet.config.k8s.io/v1beta1";

constexpr doc::IntRange kPercent{.least = 0, .most = 100};
constexpr doc::IntRange kCount{.least = 0, .most = std::numeric_limits<std::int32_t>::max()};

// Kubelet decodes its main file leniently if strict decoding fails; in a drop-in, a duplicate key is an error
// (K47).
std::optional<doc::Node> ReadConfig(std::string_view text, doc::Problems& problems, bool is_patch) {
  return doc::ReadKubernetesObject(text, problems,
                                   is_patch ? doc::RepeatedKeys::kProblem : doc::RepeatedKeys::kLastCounts);
}

// kubelet rejects every gate that is no boolean, so gates that do not matter here are checked as well. In a
// drop-in, null takes a gate back.
void CheckGates(const doc::Reader& gates, bool is_patch) {
  if (gates.node().kind == doc::Node::Kind::kNull) return;
  for (const auto& [name, gate] : gates.Members()) {
    if (!is_patch || !gate.IsNull()) (void)gate.Bool();
  }
}

MergeLayer Layer(const ConfigDocument& document, bool is_patch) {
  MergeLayer layer{.problems = doc::Problems(document.name), .is_patch = is_patch};
  std::optional<doc::Node> root = ReadConfig(document.text, layer.problems, is_patch);
  if (!root) return layer;
  doc::ObjectReader object(doc::Reader(*root, layer.problems));
  if (root->kind == doc::Node::Kind::kMapping) {
    // K47: every file must name its kind and apiVersion, drop-ins as well.
    object.Expect("kind", kKind);
    object.Expect("apiVersion", kApiVersion);
  }
  if (const doc::Node* gates = root->Find("featureGates")) {
    CheckGates(doc::Reader(*gates, layer.problems, "featureGates"), is_patch);
  }
  layer.root = *std::move(root);
  return layer;
}

template <typename T, typename Read>
SourcedValue<T> Field(MergedFields& fields, std::string_view key, Read read) {
  MergedField field = fields.Find(key);
  SourcedValue<T> stated{.value = std::nullopt, .from = field.from};
  if (field.value) stated.value = read(*field.value);
  return stated;
}

SourcedValue<std::string> Text(MergedFields& fields, std::string_view key) {
  SourcedValue<std::string> text =
      Field<std::string>(fields, key, [](const doc::Reader& reader) { return reader.String(); });
  if (text.value && text.value->empty()) text.value.reset();
  return text;
}

SourcedValue<int> Int(MergedFields& fields, std::string_view key, doc::IntRange range) {
  return Field<int>(fields, key, [&](const doc::Reader& reader) -> std::optional<int> {
    std::optional<std::int64_t> value = reader.Int(range);
    return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
  });
}

SourcedValue<std::chrono::nanoseconds> Age(MergedFields& fields, std::string_view key) {
  return Field<std::chrono::nanoseconds>(fields, key,
                                         [](const doc::Reader& reader) { return reader.Duration(); });
}

void DecodePolicy(MergedFields& fields, KubeletConfig& config) {
  MergedField field = fields.Find(kPolicyField);
  config.policy.from = field.from;
  std::optional<std::string> name = field.value ? field.value->String() : std::nullopt;
  // Whether a patch emptied the field decides whether kubelet starts: the default was filled in before (K49).
  bool empty = !field.value || (name && name->empty());
  config.policy_emptied = empty && field.by_patch;
  if (empty || !name) return;
  config.policy.value = ParseVerificationPolicy(*name);
  if (!config.policy.value) field.value->Fail("is not a verification policy");
}

void DecodeGates(MergedFields& fields, SourcedValue<FeatureGates>& gates) {
  FeatureGates found;
  bool any = false;
  for (auto [name, gate] : {std::pair{"KubeletEnsureSecretPulledImages", &found.ensure_secret_pulled_images},
                            std::pair{"AllAlpha", &found.all_alpha}, std::pair{"AllBeta", &found.all_beta}}) {
    MergedField field = fields.FindIn("featureGates", name);
    // Layer has reported a value that is no boolean, with its file.
    if (field.value && field.value->node().kind == doc::Node::Kind::kBool) {
      *gate = field.value->node().boolean;
    }
    // The source that is reported is that of the gate itself, or of a stage's gate if only that one is set.
    if (gates.from.empty() || (!any && gate->has_value())) gates.from = field.from;
    any = any || gate->has_value();
  }
  if (any) gates.value = found;
}

KubeletConfig Decode(MergedFields& fields) {
  KubeletConfig config;
  DecodePolicy(fields, config);
  config.allowlist = Field<std::vector<std::string>>(
      fields, "preloadedImagesVerificationAllowlist",
      [](const doc::Reader& reader) { return std::optional(reader.Strings()); });
  DecodeGates(fields, config.gates);
  config.gc_high_percent = Int(fields, "imageGCHighThresholdPercent", kPercent);
  config.gc_low_percent = Int(fields, "imageGCLowThresholdPercent", kPercent);
  config.gc_minimum_age = Age(fields, "imageMinimumGCAge");
  if (config.gc_minimum_age.value == std::chrono::nanoseconds(0)) config.gc_minimum_age.value.reset();
  config.gc_maximum_age = Age(fields, "imageMaximumGCAge");
  config.container_runtime_endpoint = Text(fields, "containerRuntimeEndpoint");
  config.image_service_endpoint = Text(fields, "imageServiceEndpoint");
  config.max_pods = Int(fields, "maxPods", kCount);
  return config;
}

std::vector<std::string> Mistakes(const std::vector<MergeLayer>& layers) {
  std::vector<std::string> lines;
  for (const MergeLayer& layer : layers) {
    for (std::string& line : layer.problems.Lines()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

base::Result<KubeletConfig> MergeKubeletConfigs(const ConfigDocuments& documents) {
  std::vector<MergeLayer> layers;
  if (documents.main) layers.push_back(Layer(*documents.main, false));
  FeatureGates main_gates;
  if (documents.main) {
    // kubelet decodes the main file by itself first. Its mistakes count even if a drop-in replaces the wrong
    // fields, and its gates decide which default policy is filled in (K49).
    MergedFields alone(layers);
    main_gates = Decode(alone).gates.value.value_or(FeatureGates{});
  }
  bool main_is_good = Mistakes(layers).empty();
  if (documents.drop_ins) {
    for (const ConfigDocument& drop_in : *documents.drop_ins) layers.push_back(Layer(drop_in, true));
  }
  KubeletConfig config;
  // A main file with mistakes would repeat them for every field that is read from the merged layers.
  if (main_is_good) {
    MergedFields all(layers);
    config = Decode(all);
  }
  std::vector<std::string> mistakes = Mistakes(layers);
  if (!mistakes.empty()) return base::InvalidArgument(base::Join(mistakes, "\n"));
  config.main_file = documents.main ? documents.main->name : "";
  config.drop_ins = documents.drop_ins.has_value();
  config.main_gates = main_gates;
  return config;
}

bool IsKubeletConfig(std::string_view text) {
  doc::Problems ignored("");
  std::optional<doc::Node> root = ReadConfig(text, ignored, false);
  const doc::Node* kind = root ? root->Find("kind") : nullptr;
  return kind != nullptr && kind->text == kKind;
}

SettingsFacts ToSettingsFacts(const KubeletConfig& config) {
  FeatureGates gates = config.gates.value.value_or(FeatureGates{});
  return {.configuration_known = true,
          .gate = gates.ensure_secret_pulled_images,
          .policy = config.policy.value,
          .allowlist = config.allowlist.value.value_or(std::vector<std::string>{}),
          .all_alpha = gates.all_alpha,
          .all_beta = gates.all_beta};
}

base::Result<SettingsFacts> DecodeKubeletConfig(std::string_view text, const std::string& source) {
  auto config = MergeKubeletConfigs({.main = ConfigDocument{source, std::string(text)}});
  if (!config) return std::move(config).error();
  return ToSettingsFacts(*config);
}

}  // namespace prefetch::kubelet
