// KubeletApi: reads a kubelet's settings from its own port. Needs the rights nodes/configz and nodes/metrics
// (Kubernetes ≥ 1.33).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/call.h"
#include "base/clock.h"
#include "http/client.h"
#include "kube/answer.h"
#include "kube/identity.h"

namespace prefetch::kube {

struct KubeletAddress {
  std::string host;  // a name or an address; IPv6 without brackets
  std::uint16_t port = 10250;
};

// The settings in /metrics that decide a verdict; nullopt: absent.
struct KubeletMetrics {
  std::optional<std::string> credential_provider_hash;  // "sha256:…" over the provider config in force
  std::optional<bool> ensure_secret_pulled_images;      // the feature gate KubeletEnsureSecretPulledImages

  friend bool operator==(const KubeletMetrics&, const KubeletMetrics&) = default;
};

// Pure. A line that is no metric is passed over.
KubeletMetrics ParseKubeletMetrics(std::string_view text);

// Owned by main; its arguments outlive it. Any thread may call.
class KubeletApi {
 public:
  // `ca_pem` has the authorities that sign the kubelets' serving certificates, often the cluster's. In many
  // clusters no authority can verify them. If it is empty, no kubelet is asked, since an impostor must not
  // get the agent's token.
  KubeletApi(http::Client& client, Identity& identity, const base::Clock& clock, std::string ca_pem)
      : client_(client), identity_(identity), clock_(clock), ca_pem_(std::move(ca_pem)) {}

  // The `kubeletconfig` object of /configz as JSON text: a KubeletConfiguration without apiVersion and kind.
  Answer<std::string> GetConfig(const base::Call& call, const KubeletAddress& kubelet);
  Answer<KubeletMetrics> GetMetrics(const base::Call& call, const KubeletAddress& kubelet);

 private:
  Answer<http::Response> Get(const base::Call& call, const KubeletAddress& kubelet, const std::string& path,
                             const std::string& accept);

  http::Client& client_;
  Identity& identity_;
  const base::Clock& clock_;
  const std::string ca_pem_;
};

}  // namespace prefetch::kube
