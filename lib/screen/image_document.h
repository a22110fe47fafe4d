// ImageDocument: what prefetchctl understands of the answer about one image (the reverse of ImageJson in
// status_json.h). Read as carefully as a StatusDocument.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "screen/status_document.h"
#include "status/image_detail.h"

namespace prefetch::screen {

// kubelet's verdict under one pull policy, and the step of its procedure that decides.
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
  status::RecordView record;
  std::string intent;
  std::string record_key;
  bool credentials_known = false;
  std::vector<status::CredentialView> credentials;
  std::vector<status::ProviderView> providers;
  std::optional<status::RegistryHostsView> registry_hosts;
  std::vector<std::string> listed_aliases;
  std::vector<std::string> what_helps;
};

// InvalidArgument if it is no ImageStatus of prefetchd.dev/v1, or a known member has a wrong type. Control
// characters in texts become blanks.
base::Result<ImageDocument> ParseImageDocument(std::string_view json);

// The screen of `prefetchctl explain`: everything known about one image on one node.
// In kubelet's own decision order: presence, kubelet's settings and record, the verdict
// for each pull policy with its rule. Then the credentials, the last pull, and advice.
// Lines of at most `width` columns (less than 60 counts as 60) but for words that are
// longer. Pure.
std::string ExplainText(const ImageDocument& document, std::size_t width);

}  // namespace prefetch::screen
