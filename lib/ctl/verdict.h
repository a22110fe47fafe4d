// `prefetchctl verdict`: what kubelet would say to a pod with an image, from kubelet's files alone.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace prefetch::ctl {

// Options as written on the command line.
struct VerdictOptions {
  std::string image;
  std::string image_id;  // empty: the runtime does not have it
  std::optional<std::string> kubelet_root;
  std::optional<std::string> kubelet_config;  // a file
  std::optional<std::string> verification;    // instead of kubelet_config
  std::vector<std::string> allowlist;
  std::optional<std::string> kubelet_version;
  std::optional<std::string> kubelet_rules;
  std::optional<std::string> pull_policy;  // only this one
  std::vector<std::string> pod_secrets;    // NAMESPACE/NAME/UID/HASH
  std::optional<std::string> pod_service_account;
  bool json = false;
};

// Exit code: 0 computed, 2 bad input, with all mistakes on `err`.
int PrintVerdicts(const VerdictOptions& options, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
