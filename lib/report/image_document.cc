#include "report/image_document.h"

#include "doc/json.h"
#include "report/members.h"
#include "report/status_reader.h"

namespace prefetch::report {
namespace {

Reasoning ReadReasoning(const Members& policies, const char* policy) {
  Reasoning reasoning;
  policies.Object(policy, [&](const Members& in) {
    in.Read("result", reasoning.result);
    in.Read("reason", reasoning.reason);
    in.Read("rule", reasoning.rule);
    in.Read("message", reasoning.message);
  });
  return reasoning;
}

RecordView ReadRecord(const Members& in) {
  RecordView record;
  in.Read("state", record.state);
  in.Objects("uses", [&](const Members& members) {
    RecordedUse use;
    members.Read("repository", use.repository);
    members.Read("node", use.node);
    members.Read("secrets", use.secrets);
    members.Read("serviceAccounts", use.service_accounts);
    members.Read("identities", use.identities);
    record.uses.push_back(std::move(use));
  });
  return record;
}

void ReadCredentials(const Members& in, ImageDocument& document) {
  document.credentials_known = in.Objects("credentials", [&](const Members& members) {
    CredentialView credential;
    members.Read("source", credential.source);
    members.Read("name", credential.name);
    members.Read("match", credential.match);
    members.Read("username", credential.username);
    document.credentials.push_back(std::move(credential));
  });
  in.Objects("providers", [&](const Members& members) {
    ProviderView provider;
    members.Read("name", provider.name);
    members.Read("matched", provider.matched);
    members.Read("outcome", provider.outcome);
    members.Read("error", provider.error);
    document.providers.push_back(std::move(provider));
  });
}

RegistryHostsView ReadRegistryHosts(const Members& in) {
  RegistryHostsView view;
  in.Read("byPull", view.by_pull);
  in.Read("source", view.source);
  in.Read("configPath", view.config_path);
  in.Read("configPathSource", view.config_path_source);
  in.Objects("hosts", [&](const Members& members) {
    RegistryHostView host;
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
  Members in(*root, "", error);
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
  in.Object("kubelet", [&](const Members& kubelet) { document.kubelet = ReadStatusKubelet(kubelet); });
  in.Object("runtime", [&](const Members& runtime) { runtime.Read("error", document.runtime_error); });
  in.Object("reasoning", [&](const Members& policies) {
    document.reasoning =
        ImageReasoning{ReadReasoning(policies, "Never"), ReadReasoning(policies, "IfNotPresent"),
                       ReadReasoning(policies, "Always")};
  });
  in.Object("record", [&](const Members& record) { document.record = ReadRecord(record); });
  in.Read("intent", document.intent);
  in.Read("recordKey", document.record_key);
  ReadCredentials(in, document);
  in.Object("registryHosts",
            [&](const Members& hosts) { document.registry_hosts = ReadRegistryHosts(hosts); });
  in.Read("listedAliases", document.listed_aliases);
  in.Read("whatHelps", document.what_helps);
  if (!error.empty()) return base::InvalidArgument("image document: " + error);
  return document;
}

}  // namespace prefetch::report
