#include "deploy/kustomization.h"

#include <optional>

#include "doc/reader.h"
#include "doc/yaml.h"

namespace prefetch::deploy {

namespace {

Target DecodeTarget(doc::ObjectReader object) {
  Target target;
  target.kind = object.String("kind").value_or("");
  target.name = object.String("name").value_or("");
  std::string selector = object.String("labelSelector").value_or("");
  // The tree uses only this simplest form of a selector.
  if (!selector.empty()) {
    std::size_t equals = selector.find('=');
    if (equals == std::string::npos) object.Fail("labelSelector", "must be KEY=VALUE");
    target.label_key = selector.substr(0, equals);
    target.label_value = equals == std::string::npos ? "" : selector.substr(equals + 1);
  }
  object.Finish();
  return target;
}

Patch DecodePatch(doc::ObjectReader object) {
  Patch patch;
  patch.path = object.String("path").value_or("");
  patch.content = object.String("patch").value_or("");
  // kustomize rejects both and neither, too.
  if (patch.path.empty() == patch.content.empty()) object.Fail("must have either path or patch");
  if (auto target = object.Object("target")) patch.target = DecodeTarget(*target);
  if (auto options = object.Object("options")) {
    // Only read: our patches always may change the kind, while kustomize would restore the old one without
    // this option.
    options->Bool("allowKindChange");
    options->Finish();
  }
  object.Finish();
  return patch;
}

// Splits an item of `files`: "images.yaml", or "prefetchd.json=dashboard.json" with its own key.
std::pair<std::string, std::string> KeyAndPath(const std::string& text) {
  std::size_t equals = text.find('=');
  if (equals != std::string::npos) return {text.substr(0, equals), text.substr(equals + 1)};
  std::size_t slash = text.rfind('/');
  return {slash == std::string::npos ? text : text.substr(slash + 1), text};
}

ConfigMapSource DecodeConfigMap(doc::ObjectReader object) {
  ConfigMapSource source;
  source.name = object.String("name", doc::Need::kRequired).value_or("");
  source.name_space = object.String("namespace").value_or("");
  source.behavior = object
                        .Enum<Behavior>("behavior", {{"create", Behavior::kCreate},
                                                     {"merge", Behavior::kMerge},
                                                     {"replace", Behavior::kReplace}})
                        .value_or(Behavior::kCreate);
  for (const std::string& file : object.Strings("files")) source.files.push_back(KeyAndPath(file));
  if (auto options = object.Object("options")) {
    source.immutable = options->Bool("immutable").value_or(false);
    source.keeps_name = options->Bool("disableNameSuffixHash").value_or(false);
    source.labels = options->StringMap("labels");
    options->Finish();
  }
  object.Finish();
  return source;
}

void DecodeLabels(doc::ObjectReader object, Kustomization& out) {
  auto pairs = object.StringMap("pairs");
  // Build always puts labels into selectors, too. Anything else would be rendered differently from kustomize.
  if (!object.Bool("includeSelectors").value_or(false)) object.Fail("must have includeSelectors: true");
  out.labels.insert(out.labels.end(), pairs.begin(), pairs.end());
  object.Finish();
}

}  // namespace

base::Result<Kustomization> DecodeKustomization(const std::string& path, std::string_view text) {
  doc::Problems problems(path);
  std::optional<doc::Node> root = doc::ParseYaml(text, problems);
  if (!root) return problems.ToStatus().error();
  Kustomization out;
  doc::ObjectReader object(doc::Reader(*root, problems));
  std::string kind = object.String("kind", doc::Need::kRequired).value_or("");
  bool component = kind == "Component";
  if (!component && kind != "Kustomization") object.Fail("kind", "must be Kustomization or Component");
  object.Expect("apiVersion",
                component ? "kustomize.config.k8s.io/v1alpha1" : "kustomize.config.k8s.io/v1beta1");
  out.resources = object.Strings("resources");
  out.components = object.Strings("components");
  out.configurations = object.Strings("configurations");
  out.name_space = object.String("namespace").value_or("");
  out.name_suffix = object.String("nameSuffix").value_or("");
  for (const doc::Reader& item : object.Items("labels")) DecodeLabels(doc::ObjectReader(item), out);
  for (const doc::Reader& item : object.Items("configMapGenerator")) {
    out.config_maps.push_back(DecodeConfigMap(doc::ObjectReader(item)));
  }
  for (const doc::Reader& item : object.Items("patches")) {
    out.patches.push_back(DecodePatch(doc::ObjectReader(item)));
  }
  object.Finish();
  if (!problems.empty()) return problems.ToStatus().error();
  return out;
}

}  // namespace prefetch::deploy
