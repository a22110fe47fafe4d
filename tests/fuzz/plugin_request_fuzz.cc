// Writes requests to a credential plugin. A request is one line of JSON that keeps image, token and
// annotations as they are. A plugin that sends it back has not answered.

#include "base/text.h"
#include "credentials/plugin.h"
#include "doc/json.h"
#include "fuzz/target.h"

namespace {

using namespace prefetch;

constexpr const char* kVersion = "credentialprovider.kubelet.k8s.io/v1";

// image, token, key and value of an annotation, with NULs between them
credentials::PluginRequest RequestOf(std::string_view text) {
  std::vector<std::string_view> parts = base::Split(text, '\0');
  parts.resize(4);
  credentials::PluginRequest request{.api_version = kVersion, .image = std::string(parts[0])};
  request.service_account_token = base::Secret(std::string(parts[1]));
  request.service_account_annotations = {{std::string(parts[2]), std::string(parts[3])}};
  return request;
}

bool Says(const doc::Node* node, std::string_view text) {
  return node != nullptr && node->text == text;
}

}  // namespace

FUZZ_TARGET(text) {
  if (!base::IsUtf8(text)) return;  // all of it comes from JSON and YAML
  credentials::PluginRequest request = RequestOf(text);
  base::Secret line = credentials::EncodeRequest(request);
  if (line.Reveal().find('\n') != line.Reveal().size() - 1) std::abort();
  doc::Problems problems("request");
  auto root = doc::ParseJson(line.Reveal(), problems, doc::JsonRules::kGo);
  if (!root || !Says(root->Find("image"), request.image)) std::abort();
  if (!request.service_account_token.empty()) {
    const auto& [key, value] = *request.service_account_annotations.begin();
    const doc::Node* annotations = root->Find("serviceAccountAnnotations");
    if (!Says(root->Find("serviceAccountToken"), request.service_account_token.Reveal())) std::abort();
    if (annotations == nullptr || !Says(annotations->Find(key), value)) std::abort();
  }
  if (credentials::DecodeResponse(line.Reveal(), kVersion, {})) std::abort();
}
