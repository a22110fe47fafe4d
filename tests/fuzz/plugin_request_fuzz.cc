// Writes requests to a credential plugin. A request is one line of JSON that keeps image, token and
// annotations as they are. A plugin that sends it back has not answered.

#include "base/text.h"
#include "credentials/plugin.h"
#include "doc/json.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

constexpr const char* kVersion = "credentialprovider.kubelet.k8s.io/v1";

bool Says(const doc::Node* node, std::string_view text) {
  return node != nullptr && node->text == text;
}

}  // namespace

FUZZ_TARGET(text) {
  if (!base::IsUtf8(text)) return;  // all of it comes from JSON and YAML
  // image, token, key and value of an annotation, with NULs between them
  std::vector<std::string_view> parts = base::Split(text, '\0');
  parts.resize(4);
  credentials::PluginIdentity identity;
  identity.token = base::Secret(std::string(parts[1]));
  identity.annotations = {{std::string(parts[2]), std::string(parts[3])}};
  base::Secret line = credentials::EncodeRequest(kVersion, parts[0], identity);
  if (line.Reveal().find('\n') != line.Reveal().size() - 1) std::abort();
  doc::Problems problems("request");
  auto root = doc::ParseJson(line.Reveal(), problems, doc::JsonRules::kGo);
  if (!root || !Says(root->Find("image"), parts[0])) std::abort();
  if (!identity.token.empty()) {
    const doc::Node* annotations = root->Find("serviceAccountAnnotations");
    if (!Says(root->Find("serviceAccountToken"), identity.token.Reveal())) std::abort();
    if (annotations == nullptr || !Says(annotations->Find(std::string(parts[2])), parts[3])) std::abort();
  }
  if (credentials::DecodeResponse(line.Reveal(), kVersion, {})) std::abort();
}
