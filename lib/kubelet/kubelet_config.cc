#include "kubelet/kubelet_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/text.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/kubernetes_yaml.h"
#include "doc/node.h"
#include "doc/problems.h"
#include "doc/reader.h"
#include "doc/write.h"

namespace prefetch::kubelet {

namespace {

// Reads single fields of a document and of the merge patches (RFC 7396) above it. It does not build the
// merged document, so that every value keeps its file and line. Pure.

// One document. Not a mapping, or not readable at all: it says nothing, and its problems say why.
struct MergeLayer {
  doc::Node root;
  doc::Problems problems;  // with the file's name
  bool is_patch = false;
};
using Layers = std::vector<MergeLayer>;  // lowest first

struct MergedField {
  std::optional<doc::Reader> value;  // nullopt: never said, or taken back; its mistakes go to its own layer
  std::string from;                  // the file that spoke last; else the document below the patches; else ""
  bool by_patch = false;             // it was a patch that spoke last
};

constexpr char kPolicyField[] = "imagePullCredentialsVerificationPolicy";
constexpr char kKind[] = "KubeletConfiguration";
constexpr char kApiVersion[] = "kubelet.config.k8s.io/v1beta1";
constexpr std::string_view kWithoutDefault[] = {"preloadedImagesVerificationAllowlist", "featureGates",
                                                "imageServiceEndpoint"};

constexpr doc::IntRange kPercent{.least = 0, .most = 100};
constexpr doc::DurationRange kAnyAge{.least = std::chrono::nanoseconds::min()};
constexpr doc::IntRange kCount{.least = 0, .most = std::numeric_limits<std::int32_t>::max()};

constexpr doc::GoField kFields[] = {
    {kPolicyField, doc::GoType::kText},
    {"preloadedImagesVerificationAllowlist", doc::GoType::kTexts},
    {"featureGates", doc::GoType::kBoolMap},
    {"imageGCHighThresholdPercent", doc::GoType::kInt32},
    {"imageGCLowThresholdPercent", doc::GoType::kInt32},
    {"imageMinimumGCAge", doc::GoType::kDurationValue},
    {"imageMaximumGCAge", doc::GoType::kDurationValue},
    {"maxPods", doc::GoType::kInt32},
    {"containerRuntimeEndpoint", doc::GoType::kText},
    {"imageServiceEndpoint", doc::GoType::kText},
};

// kubelet decodes its main file by itself first. Wrong types count even if a drop-in replaces the fields;
// values are validated when all files are merged.
void CheckMain(doc::Node& root, doc::Problems& problems, doc::KeyOrder order) {
  const doc::Reader reader(root, problems);
  if (root.kind != doc::Node::Kind::kMapping) {
    problems.Add(root.at, "", std::string("must be a mapping, not ") + doc::KindName(root.kind));
    return;
  }
  for (const auto& [name, value] : {std::pair{"kind", kKind}, std::pair{"apiVersion", kApiVersion}}) {
    const std::string found = doc::TypeMeta(reader, name, order);
    const doc::Node* member = root.Find(name);
    const doc::Position at = member == nullptr ? root.at : member->at;
    if (found != value)
      problems.Add(at, name, found.empty() ? "is required" : "must be " + std::string(value));
  }
  doc::CheckGoTypes(reader, kFields);
  // Go's decoder takes null for false in a map of booleans.
  for (doc::Member& member : root.members) {
    if (member.key != "featureGates") continue;
    for (doc::Member& gate : member.value.members) {
      if (gate.value.kind == doc::Node::Kind::kNull) gate.value.kind = doc::Node::Kind::kBool;
    }
  }
}

// Every file must name its kind and apiVersion, drop-ins as well (K47).
void CheckDropIn(doc::Node& root, doc::Problems& problems) {
  doc::ObjectReader object(doc::Reader(root, problems));
  if (root.kind == doc::Node::Kind::kMapping) {
    object.Expect("kind", kKind);
    object.Expect("apiVersion", kApiVersion);
  }
  // kubelet decodes it without types and encodes it again, which makes 110 of JSON's 110.0.
  for (doc::Member& member : root.members) {
    doc::Node& value = member.value;
    const bool whole = value.kind == doc::Node::Kind::kDouble && std::trunc(value.number) == value.number;
    if (!whole || std::abs(value.number) > std::numeric_limits<std::int32_t>::max()) continue;
    value.kind = doc::Node::Kind::kInt;
    value.integer = static_cast<std::int64_t>(value.number);
  }
}

// Reads one file as one layer of the merge. `is_patch`: a drop-in, for which kubelet has stricter rules.
MergeLayer Layer(const ConfigDocument& document, bool is_patch) {
  MergeLayer layer{.problems = doc::Problems(document.name), .is_patch = is_patch};
  // kubelet decodes its main file leniently if strict decoding fails; in a drop-in, a duplicate key is an
  // error (K47).
  auto object = doc::ReadKubernetesObject(
      document.text, layer.problems, is_patch ? doc::RepeatedKeys::kProblem : doc::RepeatedKeys::kLastCounts);
  if (!object) return layer;
  if (is_patch) {
    CheckDropIn(object->root, layer.problems);
  } else {
    CheckMain(object->root, layer.problems, object->order);
  }
  layer.root = std::move(object->root);
  return layer;
}

// Returns the field `key`, or the field `key` of the object `within`. Lists and scalars replace each other
// whole; objects merge field by field.
MergedField FindAsWritten(Layers& layers, const std::string& key, const std::string& within,
                          bool of_main = true) {
  // If no file has the field, kubelet's default counts. Its source is the main file, which could have said
  // otherwise.
  MergedField field;
  if (!layers.empty() && !layers.front().is_patch) field.from = layers.front().problems.source();
  for (MergeLayer& layer : layers) {
    if (!layer.is_patch && !of_main) continue;
    const doc::Node* parent = within.empty() ? &layer.root : layer.root.Find(within);
    if (parent == nullptr) continue;
    const doc::Node* value = parent->Find(key);
    // A patch with null, or with a value that is no object, replaces the whole object (RFC 7396), and so all
    // fields in it.
    const bool replaces = !within.empty() && parent->kind != doc::Node::Kind::kMapping;
    if (value == nullptr && !(replaces && (layer.is_patch || field.value))) continue;
    field = {.from = layer.problems.source(), .by_patch = layer.is_patch};
    // null takes a field back, so the field has a source but no value.
    if (value == nullptr || value->kind == doc::Node::Kind::kNull) continue;
    field.value = doc::Reader(*value, layer.problems, within.empty() ? key : within + "." + key);
  }
  return field;
}

// Returns the other spellings of a top-level key in drop-ins, in the order of their bytes. The reader of the
// merged files, unlike that of the main file, takes keys in any case, and the last one counts.
std::set<std::string> OtherSpellings(const Layers& layers, const std::string& key) {
  std::set<std::string> spellings;
  for (const MergeLayer& layer : layers) {
    if (!layer.is_patch) continue;
    for (const doc::Member& member : layer.root.members) {
      if (member.key != key && base::EqualsIgnoreCase(member.key, key)) spellings.insert(member.key);
    }
  }
  return spellings;
}

MergedField Find(Layers& layers, const std::string& key, const std::string& within = "") {
  const std::string& top = within.empty() ? key : within;
  const bool has_default = std::ranges::find(kWithoutDefault, top) == std::end(kWithoutDefault);
  MergedField found = FindAsWritten(layers, key, within);
  for (const std::string& spelling : OtherSpellings(layers, top)) {
    // The main file's value, or a default in its place, comes behind spellings with more capitals.
    if (spelling < top && (has_default || found.value)) continue;
    MergedField field =
        FindAsWritten(layers, within.empty() ? spelling : key, within.empty() ? "" : spelling, false);
    if (field.value) found = std::move(field);
  }
  return found;
}

template <typename T, typename Read>
SourcedValue<T> Field(Layers& layers, const std::string& key, Read read) {
  MergedField field = Find(layers, key);
  SourcedValue<T> stated{.from = field.from};
  if (field.value) stated.value = read(*field.value);
  return stated;
}

SourcedValue<std::string> Text(Layers& layers, const std::string& key) {
  SourcedValue<std::string> text =
      Field<std::string>(layers, key, [](const doc::Reader& reader) { return reader.String(); });
  if (text.value && text.value->empty()) text.value.reset();
  return text;
}

SourcedValue<int> Int(Layers& layers, const std::string& key, doc::IntRange range) {
  return Field<int>(layers, key, [&](const doc::Reader& reader) -> std::optional<int> {
    std::optional<std::int64_t> value = reader.Int(range);
    return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
  });
}

SourcedValue<std::chrono::nanoseconds> Age(Layers& layers, const std::string& key, doc::DurationRange range) {
  return Field<std::chrono::nanoseconds>(layers, key,
                                         [&](const doc::Reader& reader) { return reader.Duration(range); });
}

void DecodePolicy(Layers& layers, KubeletConfig& config) {
  MergedField field = Find(layers, kPolicyField);
  config.policy.from = field.from;
  std::optional<std::string> name = field.value ? field.value->String() : std::nullopt;
  // Whether a patch emptied the field decides whether kubelet starts: the default was filled in before (K49).
  bool empty = !field.value || (name && name->empty());
  config.policy_cleared = empty && field.by_patch;
  if (empty || !name) return;
  config.policy.value = base::EnumNamed<kubelet::VerificationPolicy>(*name);
  if (!config.policy.value) field.value->Fail("is not a verification policy");
}

// Only three gates decide about verification. CheckGates examines the others.
void DecodeGates(Layers& layers, SourcedValue<FeatureGates>& gates) {
  FeatureGates found;
  bool any = false;
  for (const GateName& known : kGateNames) {
    std::optional<bool>& gate = found.*known.gate;
    MergedField field = Find(layers, known.name, "featureGates");
    // CheckGates reports a value that is no boolean.
    if (field.value && field.value->node().kind == doc::Node::Kind::kBool) {
      gate = field.value->node().boolean;
    }
    // The source that is reported is that of the gate itself, or of a stage's gate if only that one is set.
    if (gates.from.empty() || (!any && gate.has_value())) gates.from = field.from;
    any = any || gate.has_value();
  }
  if (any) gates.value = found;
}

// kubelet rejects every gate that is no boolean, so gates that do not matter here are checked as well.
void CheckGates(Layers& layers) {
  MergedField gates = Find(layers, "featureGates");
  if (gates.value) (void)gates.value->Members();
  std::set<std::string> names;
  std::set<std::string> spellings = OtherSpellings(layers, "featureGates");
  spellings.insert("featureGates");
  for (const MergeLayer& layer : layers) {
    for (const std::string& spelling : spellings) {
      const doc::Node* member = layer.root.Find(spelling);
      if (member == nullptr) continue;
      for (const doc::Member& gate : member->members) names.insert(gate.key);
    }
  }
  for (const std::string& name : names) {
    MergedField gate = Find(layers, name, "featureGates");
    if (gate.value) (void)gate.value->Bool();
  }
}

// Types count of every spelling, also of one that another overrides.
void CheckOtherSpellings(Layers& layers) {
  for (const doc::GoField& field : kFields) {
    const std::string key(field.key);
    const MergedField counts = Find(layers, key);
    for (const std::string& spelling : OtherSpellings(layers, key)) {
      const MergedField written = FindAsWritten(layers, spelling, "", false);
      if (!written.value || (counts.value && &counts.value->node() == &written.value->node())) continue;
      const doc::Node named = doc::Node::Mapping({{key.c_str(), written.value->node()}});
      doc::CheckGoTypes(doc::Reader(named, written.value->problems()), kFields);
    }
  }
}

// For imageMinimumGCAge and maxPods, zero means the default, as in kubelet.
KubeletConfig Decode(Layers& layers) {
  KubeletConfig config;
  DecodePolicy(layers, config);
  config.allowlist = Field<std::vector<std::string>>(
      layers, "preloadedImagesVerificationAllowlist",
      [](const doc::Reader& reader) { return std::optional(doc::GoTexts(reader)); });
  DecodeGates(layers, config.gates);
  config.gc_high_percent = Int(layers, "imageGCHighThresholdPercent", kPercent);
  config.gc_low_percent = Int(layers, "imageGCLowThresholdPercent", kPercent);
  config.gc_minimum_age = Age(layers, "imageMinimumGCAge", kAnyAge);
  if (config.gc_minimum_age.value == std::chrono::nanoseconds(0)) config.gc_minimum_age.value.reset();
  config.gc_maximum_age = Age(layers, "imageMaximumGCAge", {});
  config.container_runtime_endpoint = Text(layers, "containerRuntimeEndpoint");
  config.image_service_endpoint = Text(layers, "imageServiceEndpoint");
  config.max_pods = Int(layers, "maxPods", kCount);
  if (config.max_pods.value == 0) config.max_pods.value.reset();
  return config;
}

std::vector<std::string> Mistakes(const Layers& layers) {
  std::vector<std::string> lines;
  for (const MergeLayer& layer : layers) {
    for (std::string& line : layer.problems.Lines()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

// Any mistake makes the result an error: kubelet would not start with such files, so a kubelet that runs has
// other settings.
base::Result<KubeletConfig> MergeKubeletConfigs(const ConfigDocuments& documents) {
  Layers layers;
  if (documents.main) layers.push_back(Layer(*documents.main, false));
  FeatureGates main_gates;
  if (documents.main) {
    // Its gates decide which default policy is filled in (K49).
    SourcedValue<FeatureGates> gates;
    DecodeGates(layers, gates);
    main_gates = gates.value.value_or(FeatureGates{});
  }
  bool main_is_good = Mistakes(layers).empty();
  if (documents.drop_ins) {
    for (const ConfigDocument& drop_in : *documents.drop_ins) layers.push_back(Layer(drop_in, true));
  }
  KubeletConfig config;
  // A main file with mistakes would repeat them for every field that is read from the merged layers.
  if (main_is_good) {
    CheckGates(layers);
    CheckOtherSpellings(layers);
    config = Decode(layers);
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
  const auto object = doc::ReadKubernetesObject(text, ignored);
  return object && doc::TypeMeta(doc::Reader(object->root, ignored), "kind", object->order) == kKind;
}

SettingsFacts ToSettingsFacts(const KubeletConfig& config) {
  return {.configuration_known = true,
          .gates = config.gates.value.value_or(FeatureGates{}),
          .policy = config.policy.value,
          .allowlist = config.allowlist.value.value_or(std::vector<std::string>{})};
}

base::Result<SettingsFacts> DecodeKubeletConfig(std::string_view text, const std::string& source) {
  auto config = MergeKubeletConfigs({.main = ConfigDocument{source, std::string(text)}});
  if (!config) return std::move(config).error();
  return ToSettingsFacts(*config);
}

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
