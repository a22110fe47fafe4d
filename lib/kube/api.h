// Api: typed calls to the API server, only those that the program needs. MakeHttpApi (http_api.h) makes one.
// Tests of the callers use a fake Api, and its own tests a fake server (tests/fakes/fake_api_server.h).
//
// No call retries, except once with a credential that was replaced meanwhile. The caller decides about
// retries, by NextTry in answer.h. Every call ends by its deadline, and after 30 s at the latest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/account_token.h"
#include "base/call.h"
#include "base/clock.h"
#include "base/secret.h"
#include "doc/node.h"
#include "http/client.h"
#include "kube/answer.h"

namespace prefetch::kube {

// The few objects of the API that are read or written here, with just the fields that are needed.

struct Taint {
  std::string key, value, effect;
  std::string time_added;  // as the server wrote it, so that it can be written back; empty: none

  friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeCondition {
  std::string type;
  std::string status;   // "True", "False", "Unknown"
  std::string reason;   // one word in CamelCase
  std::string message;  // one sentence
  std::optional<base::WallTime> last_heartbeat, last_transition;

  friend bool operator==(const NodeCondition&, const NodeCondition&) = default;
};

struct Node {
  std::string name, uid, resource_version;
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints;
  bool unschedulable = false;  // cordoned
  bool deleting = false;       // has a deletionTimestamp; a finalizer keeps it
  std::vector<NodeCondition> conditions;
  std::vector<std::string> addresses;  // internal and external ones
  std::string kubelet_version;         // "v1.36.2"

  friend bool operator==(const Node&, const Node&) = default;
};

// One container of a pod: its spec and its status.
struct PodContainer {
  std::string name, image, pull_policy;
  bool init = false;
  bool ready = false;
  std::string image_id;                        // of status; empty before it was started
  std::string waiting_reason;                  // "ErrImagePull"; empty: it does not wait
  std::string waiting_message;                 // one sentence; untrusted input
  std::string terminated_reason;               // "Completed"; of now, not of a run before
  std::map<std::string, std::uint16_t> ports;  // those that have a name: {"http", 9477}

  friend bool operator==(const PodContainer&, const PodContainer&) = default;
};

struct Pod {
  std::string name, name_space, uid;
  std::string node;  // empty: not scheduled
  std::string phase, reason, message;
  bool ready = false;        // condition Ready is True
  bool terminating = false;  // deletionTimestamp is set
  std::string service_account;
  std::vector<std::string> image_pull_secrets;  // names only
  std::vector<PodContainer> containers;         // init containers first
  std::vector<std::string> image_volumes;       // the references of volumes that are images
  std::vector<std::string> ephemeral_images;    // of ephemeral containers

  friend bool operator==(const Pod&, const Pod&) = default;
};

// An Event (core/v1) about a Node, in the namespace "default", as kubelet's are.
struct NodeEvent {
  std::string name;  // given by the server
  std::string node, node_uid;
  bool warning = false;
  std::string reason, message;
  int count = 1;
  base::WallTime first, last;

  friend bool operator==(const NodeEvent&, const NodeEvent&) = default;
};

struct ServiceAccount {
  std::string name, uid;
  std::map<std::string, std::string> annotations;

  friend bool operator==(const ServiceAccount&, const ServiceAccount&) = default;
};

// An Event (core/v1) about a Pod, as it is read.
struct PodEvent {
  std::string name_space, pod, node;  // node: of the kubelet that reports; empty: not told
  std::string message;
  std::optional<base::WallTime> last;

  friend bool operator==(const PodEvent&, const PodEvent&) = default;
};

struct ServiceAccountToken {
  base::Secret token;
  base::WallTime expires;
};

struct ServerVersion {
  std::string major, minor;  // "1", "36"; some providers append a "+"
  std::string git_version;   // "v1.36.2-gke.1"

  friend bool operator==(const ServerVersion&, const ServerVersion&) = default;
};

struct ListOptions {
  std::string label_selector;  // "app=prefetchd"; empty: all
  std::string field_selector;  // "spec.nodeName=n1"; empty: all
  // Objects a page. Pods and Nodes have some 30 KB with their managed fields, and an answer 4 MiB at most.
  int limit = 50;
  std::string continue_token;  // of the page before; empty: the first page
};

template <typename T>
struct Page {
  std::vector<T> items;
  std::string continue_token;  // for the next page; empty: this is the last one
};

enum class DryRun { kNegative, kYes };  // yes: admission runs and says what would be stored; nothing is

// A kind of objects that stand in namespaces. Its version is v1.
struct Resource {
  const char* kind;   // "Deployment"
  const char* group;  // "apps"; the core group is ""
  const char* name;   // "deployments"
};

// A request to a pod, which the API server passes on.
struct PodRequest {
  std::string name_space, name;
  std::uint16_t port = 0;
  std::string path;                          // begins with "/", and may have a query
  std::optional<http::SecretHeader> header;  // a credential for the pod itself
  std::optional<std::string> body = {};      // JSON, for a POST; nullopt: a GET
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
  virtual Answer<base::TokenReview> ReviewToken(const base::Call& call, const base::Secret& token,
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
  // get pods/proxy, or create pods/proxy with a body. The pod's own answer, of at most 8 MiB, if it is a 2xx.
  virtual Answer<std::string> PodProxy(const base::Call& call, const PodRequest& request) = 0;
};

}  // namespace prefetch::kube
