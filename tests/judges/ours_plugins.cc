#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text.h"
#include "credentials/plugin.h"
#include "credentials/provider_config.h"
#include "image/kubelet_version.h"
#include "judges/ours.h"
#include "kube/exec_plugin.h"

namespace prefetch::judges {
namespace {

std::string QuotedTexts(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quoted(text));
  return "[" + base::Join(quoted, ",") + "]";
}

// exec-answer VERSION
std::string ReadExecAnswer(std::string_view text, const std::vector<std::string>& arguments) {
  const auto read = kube::DecodeExecCredential(text, "client.authentication.k8s.io/" + arguments[0]);
  if (!read) return Error(read.error().message());
  std::string out = "{\"token\":" + Quoted(read->token.Reveal()) +
                    ",\"certificate\":" + Quoted(read->certificate_pem) +
                    ",\"key\":" + Quoted(read->key_pem.Reveal());
  if (read->expires) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(read->expires->time_since_epoch()).count();
    // Years that no clock shows are cut here.
    out += ",\"expires\":" + std::to_string(std::clamp<std::int64_t>(seconds, 0, 4102444800));
  }
  return Value(out + "}");
}

std::string Describe(const credentials::Provider& provider) {
  std::vector<std::string> images, variables;
  for (const credentials::Pattern& pattern : provider.match_images) images.push_back(pattern.text());
  for (const auto& [name, value] : provider.env) variables.push_back(name + "=" + value);
  std::string out = "{\"name\":" + Quoted(provider.name) + ",\"images\":" + QuotedTexts(images) +
                    ",\"apiVersion\":" + Quoted(provider.api_version) +
                    ",\"duration\":" + std::to_string(provider.default_cache_duration.count()) +
                    ",\"args\":" + QuotedTexts(provider.args) + ",\"env\":" + QuotedTexts(variables);
  if (provider.token_attributes) {
    const credentials::TokenAttributes& token = *provider.token_attributes;
    const bool account = token.cache_type == credentials::TokenCacheType::kServiceAccount;
    out += ",\"token\":{\"audience\":" + Quoted(token.service_account_token_audience) +
           ",\"cacheType\":" + Quoted(account ? "ServiceAccount" : "Token") +
           ",\"required\":" + (token.require_service_account ? "true" : "false") +
           ",\"keys\":" + QuotedTexts(token.required_annotation_keys) +
           ",\"optional\":" + QuotedTexts(token.optional_annotation_keys) + "}";
  }
  return out + "}";
}

image::KubeletVersion VersionOf(const std::string& text) {
  return {1, static_cast<unsigned>(std::stoul(text.substr(2)))};
}

// provider-config RELEASE FOLDER
std::string ReadProviderConfig(std::string_view text, const std::vector<std::string>& arguments) {
  const std::filesystem::path file = std::filesystem::path(arguments[1]) / "providers.yaml";
  std::ofstream(file, std::ios::binary) << text;
  const auto config = credentials::LoadProviderConfig(file, std::nullopt, VersionOf(arguments[0]));
  if (!config.problems.empty()) return Error(config.problems.front());
  std::vector<std::string> providers;
  for (const credentials::Provider& provider : config.providers) providers.push_back(Describe(provider));
  return Value("[" + base::Join(providers, ",") + "]");
}

// provider-answer RELEASE VERSION
std::string ReadProviderAnswer(std::string_view text, const std::vector<std::string>& arguments) {
  const auto read = credentials::DecodeResponse(text, "credentialprovider.kubelet.k8s.io/" + arguments[1],
                                                VersionOf(arguments[0]));
  if (!read) return Error(read.error().message());
  constexpr const char* kTypes[] = {"Image", "Registry", "Global"};
  std::vector<std::string> auths;
  for (const credentials::KeyedAuth& one : read->auth) {
    auths.push_back(Quoted(one.key) + ":" +
                    QuotedTexts({one.auth.username, std::string(one.auth.password.Reveal())}));
  }
  std::string out = "{\"type\":" + Quoted(kTypes[static_cast<int>(read->cache_key_type)]) + ",\"auth\":{" +
                    base::Join(auths, ",") + "}";
  if (read->cache_duration) out += ",\"duration\":" + std::to_string(read->cache_duration->count());
  return Value(out + "}");
}

}  // namespace

std::map<std::string, Family> PluginFamilies() {
  return {{"exec-answer", ReadExecAnswer},
          {"provider-answer", ReadProviderAnswer},
          {"provider-config", ReadProviderConfig}};
}

}  // namespace prefetch::judges
