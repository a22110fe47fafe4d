// HttpApi: Api over http::Client.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "http/client.h"
#include "kube/answer.h"
#include "kube/api.h"
#include "kube/identity.h"

namespace prefetch::kube {

// Owned by main, as are its arguments, which must outlive it. Thread-safe. Sends the credential to the
// Cluster's server only, and follows no redirects.
class HttpApi final : public Api {
 public:
  // `client` brings the proxy, if the cluster has one (Cluster::proxy).
  HttpApi(http::Client& client, Identity& identity, const base::Clock& clock)
      : client_(client), identity_(identity), clock_(clock) {}

  Answer<ServerVersion> GetServerVersion(const base::Call& call) override;
  Answer<Node> GetNode(const base::Call& call, const std::string& name) override;
  Answer<Page<Node>> ListNodes(const base::Call& call, const ListOptions& options) override;
  Answer<Done> SetNodeLabel(const base::Call& call, const std::string& name, const std::string& key,
                            const std::optional<std::string>& value) override;
  Answer<Node> SetNodeTaints(const base::Call& call, const std::string& name,
                             const std::string& resource_version, const std::vector<Taint>& taints) override;
  Answer<Done> SetNodeCondition(const base::Call& call, const std::string& name,
                                const NodeCondition& condition) override;
  Answer<Done> RemoveNodeCondition(const base::Call& call, const std::string& name,
                                   const std::string& type) override;
  Answer<NodeEvent> CreateEvent(const base::Call& call, const NodeEvent& event) override;
  Answer<Done> UpdateEvent(const base::Call& call, const NodeEvent& event) override;
  Answer<ServiceAccount> GetServiceAccount(const base::Call& call, const std::string& name_space,
                                           const std::string& name) override;
  Answer<Page<PodEvent>> ListPodEvents(const base::Call& call, const std::string& name_space,
                                       const std::string& reason, const ListOptions& options) override;
  Answer<ServiceAccountToken> CreateToken(const base::Call& call, const std::string& name_space,
                                          const std::string& service_account, const std::string& audience,
                                          std::int64_t expiration_seconds) override;
  Answer<std::string> GetTokenKeys(const base::Call& call) override;
  Answer<TokenReview> ReviewToken(const base::Call& call, const base::Secret& token,
                                  const std::string& audience) override;
  Answer<Page<Pod>> ListPods(const base::Call& call, const std::string& name_space,
                             const ListOptions& options) override;
  Answer<Pod> GetPod(const base::Call& call, const std::string& name_space, const std::string& name) override;
  Answer<Pod> CreatePod(const base::Call& call, const std::string& name_space, const doc::Node& pod,
                        DryRun dry_run) override;
  Answer<Done> DeletePod(const base::Call& call, const std::string& name_space, const std::string& name,
                         const std::string& uid) override;
  Answer<Page<doc::Node>> ListObjects(const base::Call& call, const Resource& resource,
                                      const std::string& name_space, const ListOptions& options) override;
  Answer<Done> SetConfigMapText(const base::Call& call, const std::string& name_space,
                                const std::string& name, const std::string& key,
                                const std::string& text) override;
  Answer<std::string> PodProxyGet(const base::Call& call, const std::string& name_space,
                                  const std::string& name, std::uint16_t port, const std::string& path,
                                  std::optional<http::SecretHeader> header) override;
  Answer<std::string> PodProxyPost(const base::Call& call, const std::string& name_space,
                                   const std::string& name, std::uint16_t port, const std::string& path,
                                   const std::string& body,
                                   std::optional<http::SecretHeader> header) override;

 private:
  struct Verb;
  Answer<std::string> SendToPod(const base::Call& call, Verb verb, std::uint16_t port,
                                const std::string& path, std::optional<http::SecretHeader> header);
  Answer<http::Response> Send(const base::Call& call, const Verb& verb);
  Answer<Done> SendWrite(const base::Call& call, const Verb& verb);
  // Returns nullopt if the JSON object is not of the requested kind.
  template <typename T>
  using Decode = std::function<std::optional<T>(const doc::Node& object)>;
  // `object`: for the failure, if `decode` does not know the answer.
  template <typename T>
  Answer<T> SendFor(const base::Call& call, const Verb& verb, const Decode<T>& decode,
                    std::string_view object = "not the object that was asked for");
  template <typename T>
  Answer<Page<T>> SendForPage(const base::Call& call, const Verb& verb,
                              std::optional<T> (*decode)(const doc::Node&));

  http::Client& client_;
  Identity& identity_;
  const base::Clock& clock_;
};

// One request to the API server, or to a kubelet, with its credential. Internal to kube/.
struct ApiRequest {
  std::string attempt;  // for messages: "get nodes \"n1\""
  std::string method = "GET";
  std::string url;
  std::string content_type;  // of `body`
  std::string body;
  const base::Secret* secret = nullptr;  // that `body` holds; a caller's, which the process does not remember
  std::string accept = "application/json";
  std::size_t max_body_bytes = 4 * 1024 * 1024;  // of the answer
  std::optional<http::SecretHeader> header;      // for the pod to which the API server passes the request on
  http::Headers extra_headers;                   // likewise
};

// Returns the 2xx answer, or the failure. HttpApi and KubeletApi share its limits (bytes, and 30 s). After a
// refused credential or an untrusted certificate, it sends the request once more, at once, if `identity` then
// has another credential or other authorities. The refused request has had no effect.
//
// `ca_pem` replaces the authorities of `identity`, unless it is empty.
Answer<http::Response> Exchange(const base::Call& call, http::Client& client, Identity& identity,
                                const base::Clock& clock, const ApiRequest& api_request,
                                const std::string& ca_pem = "");

}  // namespace prefetch::kube
