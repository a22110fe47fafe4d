#include "screen/image_document.h"

#include "doc/json.h"
#include "screen/status_document.h"
#include "status/members.h"

namespace prefetch::screen {
namespace {

Reasoning ReadReasoning(const status::Members& policies, const char* policy) {
  Reasoning reasoning;
  policies.Object(policy, [&](const status::Members& in) {
    in.Read("result", reasoning.result);
    in.Read("reason", reasoning.reason);
    in.Read("rule", reasoning.rule);
    in.Read("message", reasoning.message);
  });
  return reasoning;
}

status::RecordView ReadRecord(const status::Members& in) {
  status::RecordView record;
  in.Read("state", record.state);
  in.Objects("uses", [&](const status::Members& members) {
    status::RecordedUse use;
    members.Read("repository", use.repository);
    members.Read("node", use.node);
    members.Read("secrets", use.secrets);
    members.Read("serviceAccounts", use.service_accounts);
    members.Read("identities", use.identities);
    record.uses.push_back(std::move(use));
  });
  return record;
}

void ReadCredentials(const status::Members& in, ImageDocument& document) {
  document.credentials_known = in.Objects("credentials", [&](const status::Members& members) {
    status::CredentialView credential;
    members.Read("source", credential.source);
    members.Read("name", credential.name);
    members.Read("match", credential.match);
    members.Read("username", credential.username);
    document.credentials.push_back(std::move(credential));
  });
  in.Objects("providers", [&](const status::Members& members) {
    status::ProviderView provider;
    members.Read("name", provider.name);
    members.Read("matched", provider.matched);
    members.Read("outcome", provider.outcome);
    members.Read("error", provider.error);
    document.providers.push_back(std::move(provider));
  });
}

status::RegistryHostsView ReadRegistryHosts(const status::Members& in) {
  status::RegistryHostsView view;
  in.Read("byPull", view.by_pull);
  in.Read("source", view.source);
  in.Read("configPath", view.config_path);
  in.Read("configPathSource", view.config_path_source);
  in.Objects("hosts", [&](const status::Members& members) {
    status::RegistryHostView host;
    members.Read("server", host.server);
    members.Read("mirror", host.mirror);
    members.Read("problem", host.problem);
    view.hosts.push_back(std::move(host));
  });
  in.Read("notes", view.notes);
  return view;
}

}  // namespace

base::Result<ImageDocument> ParseImageDocument(std::string_view json) {
  doc::Problems problems("image document");
  auto root = doc::ParseJson(json, problems, doc::JsonRules::kLenient);
  if (!root) return base::Error(problems.ToStatus().error());
  std::string error, api_version, kind;
  status::Members in(*root, "", error);
  in.Read("apiVersion", api_version);
  in.Read("kind", kind);
  if (error.empty() && (api_version != "prefetchd.dev/v1" || kind != "ImageStatus")) {
    error = "it is no ImageStatus of prefetchd.dev/v1";
  }
  if (!error.empty()) return base::InvalidArgument("image document: " + error);
  ImageDocument document;
  document.image = ReadStatusImage(in);
  in.Read("node", document.node);
  in.Read("time", document.time);
  in.Read("listed", document.listed);
  in.Object("kubelet",
            [&](const status::Members& kubelet) { document.kubelet = ReadStatusKubelet(kubelet); });
  in.Object("runtime",
            [&](const status::Members& runtime) { runtime.Read("error", document.runtime_error); });
  in.Object("reasoning", [&](const status::Members& policies) {
    document.reasoning =
        ImageReasoning{ReadReasoning(policies, "Never"), ReadReasoning(policies, "IfNotPresent"),
                       ReadReasoning(policies, "Always")};
  });
  in.Object("record", [&](const status::Members& record) { document.record = ReadRecord(record); });
  in.Read("intent", document.intent);
  in.Read("recordKey", document.record_key);
  ReadCredentials(in, document);
  in.Object("registryHosts",
            [&](const status::Members& hosts) { document.registry_hosts = ReadRegistryHosts(hosts); });
  in.Read("listedAliases", document.listed_aliases);
  in.Read("whatHelps", document.what_helps);
  if (!error.empty()) return base::InvalidArgument("image document: " + error);
  return document;
}

}  // namespace prefetch::screen
