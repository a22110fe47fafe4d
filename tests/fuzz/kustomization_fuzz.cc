// kustomizations, their resources and their patches: "kustomization.yaml", "a.yaml" and "b.yaml", apart by
// lines
// "%%". Each ends with objects that can be written and read, or with a sentence, and the same text gives the
// same.

#include "deploy/build.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

std::string_view Cut(std::string_view& text) {
  constexpr std::string_view kEnd = "\n%%\n";
  const std::size_t at = text.find(kEnd);
  const std::string_view before = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + kEnd.size());
  return before;
}

// All objects, as `prefetchctl generate` prints them.
std::string Rendered(const deploy::Files& files, const deploy::Kustomization& top) {
  auto objects = deploy::Build(files, top);
  if (!objects) {
    if (objects.error().message().empty()) std::abort();
    return objects.error().message();
  }
  deploy::FinishNames(*objects);
  deploy::SortForCreation(*objects);
  std::string all;
  for (const deploy::Object& object : objects->all) {
    const std::string text = doc::WriteYaml(object.body);
    doc::Problems problems("rendered.yaml");
    const auto again = doc::ParseYaml(text, problems);
    if (!again || !problems.empty() || !doc::SameContent(*again, object.body)) std::abort();
    for (const auto& [name, value] : top.labels) {
      const doc::Node* metadata = again->Find("metadata");
      const doc::Node* labels = metadata == nullptr ? nullptr : metadata->Find("labels");
      if (labels == nullptr || labels->Find(name) == nullptr) std::abort();
    }
    all += text + "---\n";
  }
  return all;
}

}  // namespace

FUZZ_TARGET(text) {
  const std::string_view top_text = Cut(text);
  const auto top = deploy::DecodeKustomization("kustomization.yaml", top_text);
  if (!top) {
    if (top.error().message().empty()) std::abort();
    return;
  }
  deploy::Files files;
  files["a.yaml"] = Cut(text);
  files["b.yaml"] = Cut(text);
  if (Rendered(files, *top) != Rendered(files, *top)) std::abort();
}
