// The few objects of the API that are read or written here, with just the fields that are needed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"

namespace prefetch::kube {

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
  std::uint16_t kubelet_port = 0;      // of status.daemonEndpoints; 0: not told

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
  std::string name, name_space, uid, resource_version;
  std::string node;  // empty: not scheduled
  std::string phase, ip, reason, message;
  bool ready = false;        // condition Ready is True
  bool terminating = false;  // deletionTimestamp is set
  std::map<std::string, std::string> labels;
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
  std::string name, name_space, uid;
  std::map<std::string, std::string> annotations;

  friend bool operator==(const ServiceAccount&, const ServiceAccount&) = default;
};

// An Event (core/v1) about a Pod, as it is read.
struct PodEvent {
  std::string name_space, pod, node;  // node: of the kubelet that reports; empty: not told
  std::string reason, message;
  int count = 1;
  std::optional<base::WallTime> last;

  friend bool operator==(const PodEvent&, const PodEvent&) = default;
};

struct ServiceAccountToken {
  base::Secret token;
  base::WallTime expires;
};

// The API server's review of a caller's token.
struct TokenReview {
  bool authenticated = false;
  std::vector<std::string> audiences;  // of those that were asked for, the ones that the token is for
  std::string user, user_uid;          // "system:serviceaccount:NAMESPACE:NAME"
  std::string node, pod, pod_uid;      // of the pod that the token is bound to; empty: not told

  friend bool operator==(const TokenReview&, const TokenReview&) = default;
};

struct ServerVersion {
  std::string major, minor;  // "1", "36"; some providers append a "+"
  std::string git_version;   // "v1.36.2-gke.1"

  friend bool operator==(const ServerVersion&, const ServerVersion&) = default;
};

}  // namespace prefetch::kube
