// Api: typed calls to the API server, only those that the program needs. HttpApi (http_api.h) implements it.
// Tests of the callers use a fake Api, and tests of HttpApi a fake server (tests/fakes/fake_api_server.h).
//
// No call retries, except once with a credential that was replaced meanwhile. The caller decides about
// retries, by retry.h. Every call ends by its deadline, and after 30 s at the latest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "doc/node.h"
#include "http/client.h"
#include "kube/answer.h"
#include "kube/objects.h"

namespace prefetch::kube {

struct ListOptions {
  std::string label_selector;  // "app=prefetchd"; empty: all
  std::string field_selector;  // "spec.nodeName=n1"; empty: all
  int limit = 250;             // objects a page, so that an answer stays small on a large cluster
  std::string continue_token;  // of the page before; empty: the first page
};

template <typename T>
struct Page {
  std::vector<T> items;
  std::string continue_token;  // for the next page; empty: this is the last one
};

enum class DryRun { kNo, kYes };  // yes: admission runs and says what would be stored; nothing is

// A kind of objects that stand in namespaces. Its version is v1.
struct Resource {
  const char* kind;   // "Deployment"
  const char* group;  // "apps"; the core group is ""
  const char* name;   // "deployments"
};

class Api {
 public:
  virtual ~Api() = default;

  // GET /version. Every authenticated user has this right.
  virtual Answer<ServerVersion> GetServerVersion(const base::Call& call) = 0;

  // get, list nodes.
  virtual Answer<Node> GetNode(const base::Call& call, const std::string& name) = 0;
  virtual Answer<Page<Node>> ListNodes(const base::Call& call, const ListOptions& options) = 0;

  // patch nodes. Sets one label; nullopt removes it. Leaves all other labels alone.
  virtual Answer<Done> SetNodeLabel(const base::Call& call, const std::string& name, const std::string& key,
                                    const std::optional<std::string>& value) = 0;
  // patch nodes. The whole list, as it was read with `resource_version` and then changed: any patch replaces
  // it (seen on 1.36.2). kConflict if anybody changed the node since: read again, change again.
  virtual Answer<Node> SetNodeTaints(const base::Call& call, const std::string& name,
                                     const std::string& resource_version,
                                     const std::vector<Taint>& taints) = 0;
  // patch nodes/status. Sets the condition of this type, and leaves all others alone.
  virtual Answer<Done> SetNodeCondition(const base::Call& call, const std::string& name,
                                        const NodeCondition& condition) = 0;
  virtual Answer<Done> RemoveNodeCondition(const base::Call& call, const std::string& name,
                                           const std::string& type) = 0;

  // create events in "default". The answer carries the event's name.
  virtual Answer<NodeEvent> CreateEvent(const base::Call& call, const NodeEvent& event) = 0;
  // patch events. Count, message and last time of the event of that name; kNotFound once it has expired.
  virtual Answer<Done> UpdateEvent(const base::Call& call, const NodeEvent& event) = 0;

  // get serviceaccounts.
  virtual Answer<ServiceAccount> GetServiceAccount(const base::Call& call, const std::string& name_space,
                                                   const std::string& name) = 0;
  // list events of one namespace; an empty one lists those of all. Those about pods and with this reason.
  virtual Answer<Page<PodEvent>> ListPodEvents(const base::Call& call, const std::string& name_space,
                                               const std::string& reason, const ListOptions& options) = 0;

  // create serviceaccounts/token. The server may give a shorter life than asked for.
  virtual Answer<ServiceAccountToken> CreateToken(const base::Call& call, const std::string& name_space,
                                                  const std::string& service_account,
                                                  const std::string& audience,
                                                  std::int64_t expiration_seconds) = 0;

  // create tokenreviews. Reports whether this cluster has issued the token for `audience`.
  virtual Answer<TokenReview> ReviewToken(const base::Call& call, const base::Secret& token,
                                          const std::string& audience) = 0;

  // GET /openid/v1/jwks: for every ServiceAccount, unless the cluster's administrator has removed that. The
  // JSON Web Key Set that verifies this cluster's tokens, as it came.
  virtual Answer<std::string> GetTokenKeys(const base::Call& call) = 0;

  // list, get, create, delete pods of one namespace; an empty one lists those of all.
  virtual Answer<Page<Pod>> ListPods(const base::Call& call, const std::string& name_space,
                                     const ListOptions& options) = 0;
  virtual Answer<Pod> GetPod(const base::Call& call, const std::string& name_space,
                             const std::string& name) = 0;
  // `pod` is a whole Pod object. The answer is what admission made of it.
  virtual Answer<Pod> CreatePod(const base::Call& call, const std::string& name_space, const doc::Node& pod,
                                DryRun dry_run) = 0;
  // Deletes only the pod with this uid. Fails with kConflict if another pod has its name meanwhile.
  virtual Answer<Done> DeletePod(const base::Call& call, const std::string& name_space,
                                 const std::string& name, const std::string& uid) = 0;
  // list that resource of one namespace; an empty one lists those of all. Each object is as it came, with its
  // apiVersion and kind, which the items of a list lack.
  virtual Answer<Page<doc::Node>> ListObjects(const base::Call& call, const Resource& resource,
                                              const std::string& name_space, const ListOptions& options) = 0;
  // patch configmaps. Sets one key of an existing ConfigMap, and leaves its other keys alone.
  virtual Answer<Done> SetConfigMapText(const base::Call& call, const std::string& name_space,
                                        const std::string& name, const std::string& key,
                                        const std::string& text) = 0;
  // get pods/proxy. `path` begins with "/" and may have a query. The pod's own answer, of at most 8 MiB, if
  // it is a 2xx. `header`: a credential for the pod itself.
  virtual Answer<std::string> PodProxyGet(const base::Call& call, const std::string& name_space,
                                          const std::string& name, std::uint16_t port,
                                          const std::string& path,
                                          std::optional<http::SecretHeader> header) = 0;
  // create pods/proxy. The same with a JSON body.
  virtual Answer<std::string> PodProxyPost(const base::Call& call, const std::string& name_space,
                                           const std::string& name, std::uint16_t port,
                                           const std::string& path, const std::string& body,
                                           std::optional<http::SecretHeader> header) = 0;
};

}  // namespace prefetch::kube
