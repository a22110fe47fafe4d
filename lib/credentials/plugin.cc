#include "credentials/plugin.h"

#include <algorithm>

#include "base/enum_name.h"
#include "base/fs.h"
#include "base/redactor.h"
#include "base/sha256.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "credentials/docker_config.h"
#include "doc/duration.h"
#include "doc/go_types.h"
#include "doc/json.h"
#include "doc/reader.h"

namespace prefetch::credentials {

namespace {

constexpr std::size_t kLongestResponse = 1 << 20;
constexpr std::size_t kMaxStderr = 4096;
constexpr std::size_t kMaxQuotedBytes = 1024;

base::Command CommandOf(const Provider& provider, const PluginContext& context) {
  base::Command command;
  // No shell and no search in PATH, as with kubelet (A8).
  command.argv = {base::JoinPath(context.bin_dir, provider.name)};
  command.argv.insert(command.argv.end(), provider.args.begin(), provider.args.end());
  std::map<std::string, std::string> environment = context.environment;
  // A8: the provider's variables win over those of the context.
  for (const auto& [name, value] : provider.env) environment[name] = value;
  for (const auto& [name, value] : environment) command.environment.push_back(name + "=" + value);
  command.directory = context.working_directory;
  // A plugin that writes without end is stopped here, and cannot exhaust the agent's memory.
  command.max_output = kLongestResponse;
  command.max_errors = kMaxStderr;
  return command;
}

// Returns the secrets of one run: strings in its stdout, also in an answer that does not decode, and values
// of the provider's own environment.
std::vector<base::Secret> SecretsOf(const base::ProcessResult& result, const Provider& provider) {
  std::vector<base::Secret> secrets = doc::SecretStrings(result.output.Reveal());
  for (const auto& [name, value] : provider.env) {
    if (base::MayBeSecret(name, value)) secrets.emplace_back(value);
  }
  return secrets;
}

// Returns ": " and the plugin's message without secrets (A11); empty if it wrote none.
std::string StderrText(const base::ProcessResult& result, const Provider& provider,
                       const base::Secret& token) {
  const std::vector<base::Secret> secrets = SecretsOf(result, provider);
  std::vector<const base::Secret*> all = {&token};
  for (const base::Secret& secret : secrets) all.push_back(&secret);
  const std::string text = base::PluginText(result.errors, kMaxQuotedBytes, all);
  return text.empty() ? "" : ": " + text;
}

}  // namespace

base::Result<PluginResponse> RunPlugin(const base::Call& call, const Provider& provider,
                                       const PluginContext& context, const std::string& image,
                                       const PluginIdentity& identity) {
  base::Secret request = EncodeRequest(provider.api_version, image, identity);
  // The request may carry a token. It goes through stdin, never into arguments or variables, which other
  // processes can read.
  const base::Call limited = call.Within(context.timeout);
  base::Result<base::ProcessResult> result =
      base::RunProcess(limited, CommandOf(provider, context), request.Reveal());
  if (!result) return std::move(result).error();
  if (result->end != base::ProcessEnd::kExited || result->code != 0) {
    // A deadline of the caller says nothing about the plugin, so the words differ.
    const std::string timeout = limited.deadline == call.deadline
                                    ? "did not answer in the time that was left"
                                    : "did not answer within " + doc::FormatDuration(context.timeout);
    return base::ProcessFailure(*result, timeout, StderrText(*result, provider, identity.token));
  }
  auto response = DecodeResponse(result->output.Reveal(), provider.api_version, context.kubelet_version);
  // A26.
  if (response && provider.token_attributes && EchoesToken(*response, *provider.token_attributes, identity)) {
    return base::InvalidArgument(
        "the response gives the service account's token back as a password, which only cacheType Token "
        "allows");
  }
  return response;
}

namespace {

constexpr std::string_view kResponseKind = "CredentialProviderResponse";

image::AuthConfig DecodeEntry(const doc::Reader& value, doc::UnknownKeys unknown) {
  image::AuthConfig auth;
  if (value.IsNull()) return auth;
  doc::ObjectReader entry(value);
  auth.username = entry.String("username").value_or("");
  auth.password = base::Secret(entry.String("password").value_or(""));
  base::RememberSecret(auth.password, base::SecretOrigin::kReceived);
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

}  // namespace

// The request has the same bytes as kubelet's. It is a secret, since the token of a service account is a
// credential.
base::Secret EncodeRequest(std::string_view api_version, std::string_view image,
                           const PluginIdentity& identity) {
  std::string out = R"({"kind":"CredentialProviderRequest","apiVersion":)" + doc::GoString(api_version) +
                    R"(,"image":)" + doc::GoString(image);
  if (!identity.token.empty()) {
    out += R"(,"serviceAccountToken":)" + doc::GoString(identity.token.Reveal());
  }
  std::string annotations;
  for (const auto& [key, value] : identity.annotations) {
    annotations += (annotations.empty() ? "" : ",") + doc::GoString(key) + ":" + doc::GoString(value);
  }
  if (!annotations.empty()) out += R"(,"serviceAccountAnnotations":{)" + annotations + "}";
  return base::Secret(out + "}\n");
}

base::Result<PluginResponse> DecodeResponse(std::string_view text, std::string_view api_version,
                                            image::KubeletVersion version) {
  bool strict = version >= kFirstStrict;
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
  const auto type = base::EnumNamed<CacheKeyType>(object.String("cacheKeyType").value_or(""));
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

namespace {

// Appends length and bytes, as kubelet joins them: no two lists of texts give the same key.
void AppendWithLength(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

std::string CacheKey(const TokenAttributes& attributes, const ServiceAccountName& account,
                     const std::string& uid, const PluginIdentity& identity) {
  std::string key;
  for (const std::string* text : {&account.name_space, &account.name, &uid}) AppendWithLength(key, *text);
  for (const auto& [name, value] : identity.annotations) {
    AppendWithLength(key, name);
    AppendWithLength(key, value);
  }
  // A27. The hash stands for the token, so that no secret is in the key.
  if (attributes.cache_type == TokenCacheType::kToken) {
    AppendWithLength(key, "token");
    AppendWithLength(key, "sha256:" + base::Sha256Hex(identity.token.Reveal()));
  }
  return key;
}

}  // namespace

base::Result<PluginIdentity> IdentityFor(const TokenAttributes& attributes, const ServiceAccountName& account,
                                         const ServiceAccountGrant& grant) {
  PluginIdentity identity;
  for (const std::string& key : attributes.required_annotation_keys) {
    auto found = grant.annotations.find(key);
    if (found == grant.annotations.end()) {
      return base::NotFound("service account " + account.ToString() + " has no annotation " + key +
                            ", which the provider requires");
    }
    identity.annotations.insert(*found);
  }
  for (const std::string& key : attributes.optional_annotation_keys) {
    auto found = grant.annotations.find(key);
    if (found != grant.annotations.end()) identity.annotations.insert(*found);
  }
  identity.token = grant.token;
  identity.cache_key = CacheKey(attributes, account, grant.uid, identity);
  return identity;
}

bool EchoesToken(const PluginResponse& response, const TokenAttributes& attributes,
                 const PluginIdentity& identity) {
  // A26: with cacheType Token, the answer expires with the token, so it may contain it.
  if (attributes.cache_type == TokenCacheType::kToken || identity.token.empty()) return false;
  return std::any_of(response.auth.begin(), response.auth.end(), [&](const KeyedAuth& keyed) {
    return keyed.auth.password.Reveal() == identity.token.Reveal();
  });
}

}  // namespace prefetch::credentials
