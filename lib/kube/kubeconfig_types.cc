#include "kube/kubeconfig_types.h"

#include <set>
#include <span>

#include "base/secret.h"
#include "base/text.h"

namespace prefetch::kube {
namespace {

enum class Type { kText, kBool, kBase64, kTexts, kTextMap, kTextsMap, kObject, kNamedObjects, kObjects };

struct Field {
  std::string_view key;
  Type type;
  std::span<const Field> fields = {};  // of an object
};

// k8s.io/client-go/tools/clientcmd/api/v1/types.go. Members that may be anything are not here.
constexpr Field kExtension[] = {{"name", Type::kText}};
constexpr Field kCluster[] = {{"server", Type::kText},
                              {"tls-server-name", Type::kText},
                              {"insecure-skip-tls-verify", Type::kBool},
                              {"certificate-authority", Type::kText},
                              {"certificate-authority-data", Type::kBase64},
                              {"proxy-url", Type::kText},
                              {"disable-compression", Type::kBool},
                              {"extensions", Type::kNamedObjects, kExtension}};
constexpr Field kVariable[] = {{"name", Type::kText}, {"value", Type::kText}};
constexpr Field kExec[] = {{"command", Type::kText},           {"args", Type::kTexts},
                           {"env", Type::kObjects, kVariable}, {"apiVersion", Type::kText},
                           {"installHint", Type::kText},       {"provideClusterInfo", Type::kBool},
                           {"interactiveMode", Type::kText}};
constexpr Field kAuthProvider[] = {{"name", Type::kText}, {"config", Type::kTextMap}};
constexpr Field kUser[] = {{"client-certificate", Type::kText},
                           {"client-certificate-data", Type::kBase64},
                           {"client-key", Type::kText},
                           {"client-key-data", Type::kBase64},
                           {"token", Type::kText},
                           {"tokenFile", Type::kText},
                           {"as", Type::kText},
                           {"as-uid", Type::kText},
                           {"as-groups", Type::kTexts},
                           {"as-user-extra", Type::kTextsMap},
                           {"username", Type::kText},
                           {"password", Type::kText},
                           {"auth-provider", Type::kObject, kAuthProvider},
                           {"exec", Type::kObject, kExec},
                           {"extensions", Type::kNamedObjects, kExtension}};
constexpr Field kContext[] = {{"cluster", Type::kText},
                              {"user", Type::kText},
                              {"namespace", Type::kText},
                              {"extensions", Type::kNamedObjects, kExtension}};
constexpr Field kNamedCluster[] = {{"name", Type::kText}, {"cluster", Type::kObject, kCluster}};
constexpr Field kNamedUser[] = {{"name", Type::kText}, {"user", Type::kObject, kUser}};
constexpr Field kNamedContext[] = {{"name", Type::kText}, {"context", Type::kObject, kContext}};
constexpr Field kPreferences[] = {{"colors", Type::kBool}, {"extensions", Type::kNamedObjects, kExtension}};
constexpr Field kConfig[] = {{"apiVersion", Type::kText},
                             {"kind", Type::kText},
                             {"preferences", Type::kObject, kPreferences},
                             {"clusters", Type::kNamedObjects, kNamedCluster},
                             {"users", Type::kNamedObjects, kNamedUser},
                             {"contexts", Type::kNamedObjects, kNamedContext},
                             {"current-context", Type::kText},
                             {"extensions", Type::kNamedObjects, kExtension}};

void CheckObject(const doc::Reader& value, std::span<const Field> fields);

void CheckText(const doc::Reader& value) {
  if (!value.IsNull()) value.String();
}

// Names may stand once. An extension without content is none.
void CheckNames(const std::vector<doc::Reader>& items, std::span<const Field> fields) {
  std::set<std::string> names;
  for (const doc::Reader& item : items) {
    const doc::Node* name = item.node().Find("name");
    const doc::Node* content = item.node().Find("extension");
    const bool is_extension = fields.data() == kExtension;
    if (is_extension && (content == nullptr || content->kind == doc::Node::Kind::kNull)) continue;
    const std::string text = name != nullptr && name->kind == doc::Node::Kind::kString ? name->text : "";
    if (!names.insert(text).second) item.Fail("has a name that stands before in this list");
  }
}

void CheckValue(const doc::Reader& value, const Field& field) {
  if (value.IsNull()) return;
  switch (field.type) {
    case Type::kText:
      value.String();
      return;
    case Type::kBool:
      value.Bool();
      return;
    case Type::kBase64:
      if (auto text = value.String(); text && !DecodeBase64(*std::move(text))) value.Fail("must be base64");
      return;
    case Type::kTexts:
      for (const doc::Reader& item : value.Items()) CheckText(item);
      return;
    case Type::kTextMap:
      for (const auto& [key, item] : value.Members()) CheckText(item);
      return;
    case Type::kTextsMap:
      for (const auto& [key, items] : value.Members()) {
        for (const doc::Reader& item : items.Items()) CheckText(item);
      }
      return;
    case Type::kObject:
      CheckObject(value, field.fields);
      return;
    case Type::kNamedObjects:
    case Type::kObjects: {
      const std::vector<doc::Reader> items = value.Items();
      for (const doc::Reader& item : items) CheckObject(item, field.fields);
      if (field.type == Type::kNamedObjects) CheckNames(items, field.fields);
      return;
    }
  }
}

void CheckObject(const doc::Reader& value, std::span<const Field> fields) {
  if (value.IsNull()) return;
  doc::ObjectReader object(value);
  for (const Field& field : fields) {
    if (auto member = object.Find(field.key)) CheckValue(*member, field);
  }
}

}  // namespace

void CheckKubeconfigTypes(const doc::Reader& root) {
  CheckObject(root, kConfig);
}

std::optional<std::string> DecodeBase64(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  auto data = base::Base64Decode(text);
  base::WipeString(text);
  return data;
}

std::vector<std::string> Texts(const doc::Reader& sequence) {
  std::vector<std::string> texts;
  for (const doc::Reader& item : sequence.Items()) {
    texts.push_back(item.IsNull() ? "" : item.String().value_or(""));
  }
  return texts;
}

}  // namespace prefetch::kube
