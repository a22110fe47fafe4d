#include "credentials/plugin_protocol.h"

#include "base/log.h"
#include "base/redactor.h"
#include "base/text.h"
#include "credentials/auth_field.h"
#include "credentials/version_rules.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/reader.h"
#include "doc/secret_node.h"

namespace prefetch::credentials {
namespace {

constexpr std::string_view kResponseKind = "CredentialProviderResponse";

// Returns a JSON string as Go's encoder writes it, which also escapes the characters of HTML. So the request
// has the same bytes as kubelet's.
std::string Quoted(std::string_view text) {
  std::string out;
  base::AppendJsonEscaped(out, text);
  out = base::ReplaceAll(out, "<", "\\u003c");
  out = base::ReplaceAll(out, ">", "\\u003e");
  out = base::ReplaceAll(out, "&", "\\u0026");
  return "\"" + out + "\"";
}

image::AuthConfig DecodeEntry(const doc::Reader& value, doc::UnknownKeys unknown) {
  image::AuthConfig auth;
  if (value.IsNull()) return auth;
  doc::ObjectReader entry(value);
  auth.username = entry.String("username").value_or("");
  auth.password = base::Secret(entry.String("password").value_or(""));
  base::RememberSecret(auth.password, base::SecretOrigin::kHandedOut);
  entry.Finish(unknown);
  return auth;
}

std::vector<KeyedAuth> DecodeAuth(doc::ObjectReader& object, doc::UnknownKeys unknown) {
  object.Ignore("auth");
  std::vector<KeyedAuth> auths;
  for (const auto& [name, value] : object.reader().Members()) {
    if (name != "auth") continue;
    DecodeGoMap(value, auths, [&](const std::string& key, const doc::Reader& entry) {
      return std::optional(KeyedAuth{key, DecodeEntry(entry, unknown)});
    });
  }
  return auths;
}

// k8s.io/kubelet/pkg/apis/credentialprovider/v1/types.go
constexpr doc::GoField kAuth[] = {{"username", doc::GoType::kText}, {"password", doc::GoType::kText}};
constexpr doc::GoField kResponse[] = {{"cacheKeyType", doc::GoType::kText},
                                      {"cacheDuration", doc::GoType::kDuration},
                                      {"auth", doc::GoType::kObjectMap, kAuth}};

std::optional<CacheKeyType> ParseCacheKeyType(std::string_view text) {
  if (text == "Image") return CacheKeyType::kImage;
  if (text == "Registry") return CacheKeyType::kRegistry;
  if (text == "Global") return CacheKeyType::kGlobal;
  return std::nullopt;
}

}  // namespace

// The result is a secret, since the token of a service account is a credential.
base::Secret EncodeRequest(const PluginRequest& request) {
  std::string out = R"({"kind":"CredentialProviderRequest","apiVersion":)" + Quoted(request.api_version) +
                    R"(,"image":)" + Quoted(request.image);
  if (!request.service_account_token.empty()) {
    out += R"(,"serviceAccountToken":)" + Quoted(request.service_account_token.Reveal());
  }
  std::string annotations;
  for (const auto& [key, value] : request.service_account_annotations) {
    annotations += (annotations.empty() ? "" : ",") + Quoted(key) + ":" + Quoted(value);
  }
  if (!annotations.empty()) out += R"(,"serviceAccountAnnotations":{)" + annotations + "}";
  return base::Secret(out + "}\n");
}

base::Result<PluginResponse> DecodeResponse(std::string_view text, std::string_view api_version,
                                            image::KubeletVersion version) {
  bool strict = DecodesStrictly(version);
  doc::Problems problems("response");
  std::optional<doc::Node> tree =
      doc::ParseJson(text, problems, strict ? doc::JsonRules::kGoStrict : doc::JsonRules::kGo);
  if (!tree) return base::InvalidArgument("the response is not JSON");
  doc::SecretNode root(std::move(*tree));
  // Version and kind come first: in an answer of another version, each further complaint would mislead.
  const doc::Reader reader(root.node, problems);
  if (doc::TypeMeta(reader, "apiVersion", doc::KeyOrder::kText) != api_version) {
    return base::InvalidArgument("the response's apiVersion is not " + std::string(api_version));
  }
  if (doc::TypeMeta(reader, "kind", doc::KeyOrder::kText) != kResponseKind) {
    return base::InvalidArgument("the response's kind is not " + std::string(kResponseKind));
  }
  doc::UnknownKeys unknown = strict ? doc::UnknownKeys::kProblem : doc::UnknownKeys::kIgnored;
  doc::CheckGoTypes(reader, kResponse);
  doc::ObjectReader object(reader);
  object.Ignore("apiVersion");
  object.Ignore("kind");
  PluginResponse response;
  std::optional<CacheKeyType> type = ParseCacheKeyType(object.String("cacheKeyType").value_or(""));
  response.cache_duration = object.Duration("cacheDuration", {.least = std::chrono::nanoseconds::min()});
  response.auth = DecodeAuth(object, unknown);
  object.Finish(unknown);
  if (!problems.empty()) {
    // No detail: a problem could quote a part of the answer, which holds passwords (A11).
    return base::InvalidArgument(
        "the response does not decode: a field is unknown, twice there or of a wrong type");
  }
  if (!type) return base::InvalidArgument("the response's cacheKeyType is not Image, Registry or Global");
  response.cache_key_type = *type;
  return response;
}

}  // namespace prefetch::credentials
