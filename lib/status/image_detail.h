// ImageDetail: the facts about one image beside its line in the status document; GET /v1/images/REF, and
// prefetchctl explain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kubelet/verdict.h"

namespace prefetch::status {

// The pods that may use the image under one repository's name, by kubelet's record.
struct RecordedUse {
  std::string repository;
  bool node = false;  // every pod of the node
  std::uint64_t secrets = 0, service_accounts = 0;
  // "secret team/pull", "service account team/runner"; only if they were asked for. Never a hash.
  std::vector<std::string> identities;
};

// How kubelet's file about the image reads: "Found", "Absent", "Undecodable", "Unreadable"; "NotAsked" where
// there is no image or no kubelet.
struct RecordView {
  std::string state = "NotAsked";
  std::vector<RecordedUse> uses;
};

struct CredentialView {
  std::string source, name, match, username;
};
struct ProviderView {
  std::string name, outcome, error;
  bool matched = false;
};

// One server that is asked for the image's tag.
struct RegistryHostView {
  std::string server;  // "mirror.acme.io:5000", with its scheme where that is http
  bool mirror = false;
  std::string problem;  // why it cannot be asked; empty: it can
};
// The servers in the order in which the runtime would ask them (registry rules R30 to R37).
struct RegistryHostsView {
  bool by_pull = false;  // not asked: only another pull shows it
  std::string source;    // the folder that said so; empty: nothing did
  // containerd's, and who says that it is: image::RegistryAccess.
  std::string config_path, config_path_source;
  std::vector<RegistryHostView> hosts;
  std::vector<std::string> notes;  // problems found there, a sentence each
};

struct ImageDetail {
  bool listed = true;
  // As read just now; none without a kubelet.
  std::optional<kubelet::Verdicts> verdicts;
  RecordView record;
  std::string intent = "NotAsked";  // kubelet's intent to pull it: as RecordView::state
  std::string record_key;           // under which kubelet looks the image up in the record; empty: not known
  bool credentials_known = false;   // false: they were not asked for
  std::vector<CredentialView> credentials;  // in the order of attempts; empty: anonymous
  std::vector<ProviderView> providers;
  std::optional<RegistryHostsView> registry_hosts;  // none: this agent does not ask registries
  std::vector<std::string> listed_aliases;          // of the image's other names, those that are on the list
};

}  // namespace prefetch::status
