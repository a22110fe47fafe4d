#include "kube/kubeconfig_types.h"

#include "doc/go_types.h"

namespace prefetch::kube {
namespace {

// k8s.io/client-go/tools/clientcmd/api/v1/types.go. Members that may be anything are not here.
constexpr doc::GoField kExtension[] = {{"name", doc::GoType::kText}};
constexpr doc::GoField kCluster[] = {{"server", doc::GoType::kText},
                                     {"tls-server-name", doc::GoType::kText},
                                     {"insecure-skip-tls-verify", doc::GoType::kBool},
                                     {"certificate-authority", doc::GoType::kText},
                                     {"certificate-authority-data", doc::GoType::kBase64},
                                     {"proxy-url", doc::GoType::kText},
                                     {"disable-compression", doc::GoType::kBool},
                                     {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kVariable[] = {{"name", doc::GoType::kText}, {"value", doc::GoType::kText}};
constexpr doc::GoField kExec[] = {
    {"command", doc::GoType::kText},           {"args", doc::GoType::kTexts},
    {"env", doc::GoType::kObjects, kVariable}, {"apiVersion", doc::GoType::kText},
    {"installHint", doc::GoType::kText},       {"provideClusterInfo", doc::GoType::kBool},
    {"interactiveMode", doc::GoType::kText}};
constexpr doc::GoField kAuthProvider[] = {{"name", doc::GoType::kText}, {"config", doc::GoType::kTextMap}};
constexpr doc::GoField kUser[] = {{"client-certificate", doc::GoType::kText},
                                  {"client-certificate-data", doc::GoType::kBase64},
                                  {"client-key", doc::GoType::kText},
                                  {"client-key-data", doc::GoType::kBase64},
                                  {"token", doc::GoType::kText},
                                  {"tokenFile", doc::GoType::kText},
                                  {"as", doc::GoType::kText},
                                  {"as-uid", doc::GoType::kText},
                                  {"as-groups", doc::GoType::kTexts},
                                  {"as-user-extra", doc::GoType::kTextsMap},
                                  {"username", doc::GoType::kText},
                                  {"password", doc::GoType::kText},
                                  {"auth-provider", doc::GoType::kObject, kAuthProvider},
                                  {"exec", doc::GoType::kObject, kExec},
                                  {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kContext[] = {{"cluster", doc::GoType::kText},
                                     {"user", doc::GoType::kText},
                                     {"namespace", doc::GoType::kText},
                                     {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kNamedCluster[] = {{"name", doc::GoType::kText},
                                          {"cluster", doc::GoType::kObject, kCluster}};
constexpr doc::GoField kNamedUser[] = {{"name", doc::GoType::kText}, {"user", doc::GoType::kObject, kUser}};
constexpr doc::GoField kNamedContext[] = {{"name", doc::GoType::kText},
                                          {"context", doc::GoType::kObject, kContext}};
constexpr doc::GoField kPreferences[] = {{"colors", doc::GoType::kBool},
                                         {"extensions", doc::GoType::kExtensions, kExtension}};
constexpr doc::GoField kConfig[] = {{"apiVersion", doc::GoType::kText},
                                    {"kind", doc::GoType::kText},
                                    {"preferences", doc::GoType::kObject, kPreferences},
                                    {"clusters", doc::GoType::kNamedObjects, kNamedCluster},
                                    {"users", doc::GoType::kNamedObjects, kNamedUser},
                                    {"contexts", doc::GoType::kNamedObjects, kNamedContext},
                                    {"current-context", doc::GoType::kText},
                                    {"extensions", doc::GoType::kExtensions, kExtension}};

// k8s.io/client-go/pkg/apis/clientauthentication/v1/types.go
constexpr doc::GoField kPluginCluster[] = {{"server", doc::GoType::kText},
                                           {"tls-server-name", doc::GoType::kText},
                                           {"insecure-skip-tls-verify", doc::GoType::kBool},
                                           {"certificate-authority-data", doc::GoType::kBase64},
                                           {"proxy-url", doc::GoType::kText},
                                           {"disable-compression", doc::GoType::kBool}};
constexpr doc::GoField kSpec[] = {{"cluster", doc::GoType::kObject, kPluginCluster},
                                  {"interactive", doc::GoType::kBool}};
constexpr doc::GoField kStatus[] = {{"expirationTimestamp", doc::GoType::kText},
                                    {"token", doc::GoType::kText},
                                    {"clientCertificateData", doc::GoType::kText},
                                    {"clientKeyData", doc::GoType::kText}};
constexpr doc::GoField kExecCredential[] = {{"apiVersion", doc::GoType::kText},
                                            {"kind", doc::GoType::kText},
                                            {"spec", doc::GoType::kObject, kSpec},
                                            {"status", doc::GoType::kObject, kStatus}};

}  // namespace

void CheckKubeconfig(const doc::Reader& root) {
  doc::ObjectReader object(root);
  std::string version = doc::TypeMeta(root, "apiVersion", doc::KeyOrder::kAlphabet);
  // The group before the "/" is empty here.
  if (version.starts_with('/')) version.erase(0, 1);
  if (!version.empty() && version != "v1") object.Fail("apiVersion", "must be v1");
  const std::string kind = doc::TypeMeta(root, "kind", doc::KeyOrder::kAlphabet);
  if (!kind.empty() && kind != "Config") object.Fail("kind", "must be Config");
  doc::CheckGoTypes(root, kConfig);
}

void CheckExecCredentialTypes(const doc::Reader& root) {
  doc::CheckGoTypes(root, kExecCredential);
}

}  // namespace prefetch::kube
