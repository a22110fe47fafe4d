// ImageDocument: what prefetchctl understands of the answer about one image (the reverse of ImageJson in
// status_json.h). Read as carefully as a StatusDocument.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/image_detail.h"
#include "report/status_document.h"

namespace prefetch::report {

// What kubelet would do under one pull policy, and by which step of its procedure.
struct Reasoning {
  std::string result, reason, rule, message;
};

struct ImageReasoning {
  Reasoning never, if_not_present, always;
};

struct ImageDocument {
  std::string node;
  std::optional<base::WallTime> time;
  StatusImage image;
  bool listed = true;
  StatusKubelet kubelet;
  std::string runtime_error;                // why the container runtime does not answer now; empty: it does
  std::optional<ImageReasoning> reasoning;  // none: no kubelet, or nothing is known of it yet
  RecordView record;
  std::string intent;
  std::string record_key;
  bool credentials_known = false;
  std::vector<CredentialView> credentials;
  std::vector<ProviderView> providers;
  std::optional<RegistryHostsView> registry_hosts;
  std::vector<std::string> listed_aliases;
  std::vector<std::string> what_helps;
};

// InvalidArgument if it is no ImageStatus of prefetchd.dev/v1, or a known member has a wrong type. Control
// characters in texts become blanks.
base::Result<ImageDocument> ParseImageDocument(std::string_view json);

}  // namespace prefetch::report
