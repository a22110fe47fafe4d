#include "kube/kubelet_api.h"

#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "http/url.h"
#include "kube/decode.h"
#include "kube/http_api.h"

namespace prefetch::kube {
namespace {

constexpr std::string_view kHashMetric = "kubelet_credential_provider_config_info";
constexpr std::string_view kFeatureMetric = "kubernetes_feature_enabled";
constexpr std::string_view kFeature = "KubeletEnsureSecretPulledImages";

// Returns the value of one label in `name{a="b",c="d"} 1`; nullopt if there is no such label. No metric that
// is read here has an escaped quote in a value.
std::optional<std::string_view> Label(std::string_view line, std::string_view label) {
  std::size_t at = line.find('{');
  while (at != std::string_view::npos) {
    line.remove_prefix(at + 1);
    std::size_t equals = line.find("=\"");
    if (equals == std::string_view::npos) return std::nullopt;
    std::string_view name = line.substr(0, equals);
    line.remove_prefix(equals + 2);
    std::size_t end = line.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    if (name == label) return line.substr(0, end);
    line.remove_prefix(end);
    at = line.find(',');
  }
  return std::nullopt;
}

bool IsMetric(std::string_view line, std::string_view name) {
  // The brace has to follow: other metrics may begin with the same name.
  return line.starts_with(name) && line.substr(name.size()).starts_with("{");
}

}  // namespace

KubeletMetrics ParseKubeletMetrics(std::string_view text) {
  KubeletMetrics metrics;
  for (std::string_view line : base::Split(text, '\n')) {
    line = base::TrimSpace(line);
    if (IsMetric(line, kHashMetric)) {
      if (auto hash = Label(line, "hash"); hash && !hash->empty()) metrics.credential_provider_hash = *hash;
    } else if (IsMetric(line, kFeatureMetric) && Label(line, "name") == kFeature) {
      // Any other value leaves the gate unknown.
      if (line.ends_with("} 1")) metrics.ensure_secret_pulled_images = true;
      if (line.ends_with("} 0")) metrics.ensure_secret_pulled_images = false;
    }
  }
  return metrics;
}

Answer<http::Response> KubeletApi::Get(const base::Call& call, const KubeletAddress& kubelet,
                                       const std::string& path, const std::string& accept) {
  std::string attempt = "get " + path + " of the kubelet on " + kubelet.host;
  // Without an authority, kubelet's certificate cannot be verified, and the agent's token must not go to an
  // impostor.
  if (ca_pem_.empty()) {
    return Failure{.kind = ApiError::kTlsError,
                   .message = attempt +
                              ": not asked: no certificate authority for kubelets' serving "
                              "certificates is given"};
  }
  http::AbsoluteUrl url{.scheme = "https", .host = kubelet.host, .port = kubelet.port, .target = path};
  // The interface of a link-local address, as a URL has it.
  if (const std::size_t zone = url.host.find('%'); zone != std::string::npos) url.host.insert(zone + 1, "25");
  const ApiRequest api_request{.attempt = attempt,
                               .http = {.url = url.ToString(), .headers = {{"Accept", accept}}}};
  return Exchange(call, client_, identity_, clock_, api_request, ca_pem_);
}

Answer<std::string> KubeletApi::GetConfig(const base::Call& call, const KubeletAddress& kubelet) {
  auto response = Get(call, kubelet, "/configz", "application/json");
  if (!response) return std::move(response).failure();
  const doc::Node object = doc::ParseOrNull(response->body, {});
  const doc::Node* config = object.Find("kubeletconfig");
  if (config == nullptr || config->kind != doc::Node::Kind::kMapping) {
    return Malformed("get /configz of the kubelet on " + kubelet.host, "the answer has no kubeletconfig");
  }
  // The text is passed on as it is: lib/kubelet decodes it (DecodeConfigz), and kube must not know that
  // folder.
  return doc::WriteJson(*config);
}

Answer<KubeletMetrics> KubeletApi::GetMetrics(const base::Call& call, const KubeletAddress& kubelet) {
  auto response = Get(call, kubelet, "/metrics", "text/plain");
  if (!response) return std::move(response).failure();
  return ParseKubeletMetrics(response->body);
}

}  // namespace prefetch::kube
