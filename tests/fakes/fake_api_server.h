// FakeApiServer: a small API server on loopback. It keeps objects with their resource versions, knows its
// users by their tokens, lets them do what RBAC manifests grant, and fails as it is told.
//
// Known: nodes, nodes/status, pods, pods/proxy, events, serviceaccounts, serviceaccounts/token, tokenreviews,
// deployments, daemonsets, statefulsets, cronjobs, jobs, configmaps, /version.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/secret.h"
#include "doc/node.h"
#include "fakes/fake_namespaces.h"
#include "fakes/front.h"
#include "fakes/kept_objects.h"
#include "fakes/rbac.h"
#include "fakes/sent_requests.h"
#include "http/curl_client.h"
#include "http/server.h"

namespace prefetch::tests {

// A fault of the next requests, instead of an answer or in addition to it.
struct Fault {
  int status = 0;           // is answered, with a Status object; 0: no such answer
  std::string retry_after;  // that header, with it
  std::string body;         // instead of the Status object, with it
  bool hang = false;        // nothing is answered until the client goes
  bool cut = false;         // the true answer breaks off in the middle
  int times = 1;            // how many requests
};

// The objects that a token is bound to.
struct PodToken {
  std::string name_space, service_account;
  std::string node, pod;
};

struct ApiQuestion;

// Any thread may call; the server has threads of its own. `clock` (for tokens' ends) outlives it.
class FakeApiServer {
 public:
  explicit FakeApiServer(const base::Clock& clock, FrontOptions tls = {});
  ~FakeApiServer();

  // Options for https with OnLoopback()'s certificate: kubectl, and we, give tokens of a kubeconfig to no
  // other.
  static FrontOptions OverTls();
  // A kubeconfig for a server with these options. `trust` takes the place of their authority.
  std::string Kubeconfig(const std::string& token, const std::string& trust = "") const;

  // "http://127.0.0.1:PORT", or https.
  std::string url() const;
  Front& front() { return front_; }

  // Objects. `path` is "nodes/n1", "pods/NAMESPACE/NAME", "serviceaccounts/NAMESPACE/NAME",
  // "events/default/X". Put makes or replaces one, as somebody else than the client under test.
  void Put(const std::string& path, std::string_view json);
  std::optional<doc::Node> Get(const std::string& path) const;
  std::vector<std::string> Paths() const;
  void Delete(const std::string& path);
  // Runs on each created pod before it is stored (or not, for a dry run).
  void SetAdmission(std::function<void(doc::Node& pod)> admission);
  // Says of each pod that would be created why it is refused (a quota, a policy, a namespace that is not
  // there); nullopt: it is not. Also for a dry run.
  using Refusal = FakeNamespaces::Refusal;
  void SetRefusal(std::function<std::optional<Refusal>(const doc::Node& pod)> refusal);
  // As kubelet: the status of the object that has this uid; false if there is none any more.
  bool SetStatus(const std::string& path, const std::string& uid, doc::Node status);
  // Sets the answer of pods/proxy for "NAMESPACE/NAME:PORT/path"; others get 503.
  void SetPodAnswer(const std::string& what, std::string body);
  // pods/proxy for "NAMESPACE/NAME:PORT" goes to this port of loopback, where a real agent listens.
  void ForwardPod(const std::string& what, std::uint16_t port);
  // Decides for another server whether the owner of this Authorization header has a right: 200, 401 or 403.
  // kubelet asks so, by token and subject access reviews.
  int Review(std::string_view authorization, const std::string& verb, const std::string& resource,
             const std::string& name) const;
  // Continue tokens given so far are answered with 410.
  void ExpireContinueTokens();

  // Users. A service account's token is what its projected volume would hold.
  std::string AddToken(const std::string& user, std::vector<std::string> groups = {},
                       std::chrono::seconds life = std::chrono::hours(1));
  std::string AddServiceAccountToken(const std::string& name_space, const std::string& name,
                                     std::chrono::seconds life = std::chrono::hours(1));
  // A token of a projected volume for another audience, bound to a pod of a node; empty: to none. UIDs are
  // the names with "-uid".
  std::string AddPodToken(const PodToken& of, const std::string& audience,
                          std::chrono::seconds life = std::chrono::hours(1));
  void Revoke(const std::string& token);
  // Sets the user of requests with a client certificate and no token. Empty (as at first): refused.
  void SetCertificateUser(const std::string& user);
  // Grants what these manifests grant.
  base::Status LoadRbac(std::string_view manifests);
  // And has the namespaces that they make, with their accounts and quotas: from the first on, pods go nowhere
  // else.
  base::Status Apply(std::string_view manifests);
  void RemoveNamespace(const std::string& name);

  void Fail(Fault fault);
  // Answers as it should from now on.
  void Recover();
  // Connections are closed without a word, and then served again.
  void GoAway();
  void ComeBack();

  // The server's threads call the watcher with each request ("PATCH /api/v1/nodes/n1") before they handle it.
  // It acts between two requests of a client, and may call Put and its likes.
  void SetWatcher(std::function<void(const std::string& request)> watcher);
  // Delays every answer by this time.
  void SetLatency(std::chrono::milliseconds latency);
  // Holds requests to pods/proxy until this number is there at once; from then on, it answers at once.
  void HoldPodAnswersUntil(int at_once);
  // How many pods/proxy requests were there at once, at most.
  int most_at_once() const;

  // "PATCH /api/v1/nodes/n1/status", and the query if there is one; those with a fault, too.
  // Writes are also noted for tests/admission, where PREFETCH_TEST_SENT names a folder.
  std::vector<std::string> Requests() const;

 private:
  struct User;
  using Asked = ApiQuestion;
  http::HandlerResult Handle(const http::ServerRequest& request);
  http::ServerResponse Answer(const http::ServerRequest& request, const Asked& asked)
      PREFETCH_REQUIRES(mutex_);
  http::ServerResponse Write(const http::ServerRequest& request, const Asked& asked)
      PREFETCH_REQUIRES(mutex_);
  std::optional<Fault> TakeFault() PREFETCH_REQUIRES(mutex_);
  std::optional<http::ServerResponse> Refuse(const http::ServerRequest& request, const Asked& asked) const
      PREFETCH_REQUIRES(mutex_);
  const User* UserOf(const http::ServerRequest& request) const PREFETCH_REQUIRES(mutex_);
  const User* UserOf(std::string_view authorization) const PREFETCH_REQUIRES(mutex_);

  http::ServerResponse GetOne(const Asked& asked) const PREFETCH_REQUIRES(mutex_);
  http::ServerResponse List(const http::ServerRequest& request, const Asked& asked) const
      PREFETCH_REQUIRES(mutex_);
  http::ServerResponse Create(const http::ServerRequest& request, const Asked& asked)
      PREFETCH_REQUIRES(mutex_);
  std::optional<Refusal> WhatRefuses(const Asked& asked, const doc::Node& pod) const
      PREFETCH_REQUIRES(mutex_);
  http::ServerResponse PatchOne(const http::ServerRequest& request, const Asked& asked)
      PREFETCH_REQUIRES(mutex_);
  http::ServerResponse DeleteOne(const http::ServerRequest& request, const Asked& asked)
      PREFETCH_REQUIRES(mutex_);
  http::ServerResponse CreateToken(const http::ServerRequest& request, const Asked& asked)
      PREFETCH_REQUIRES(mutex_);
  http::ServerResponse ReviewToken(const http::ServerRequest& request) const PREFETCH_REQUIRES(mutex_);
  http::ServerResponse Proxy(const Asked& asked) const PREFETCH_REQUIRES(mutex_);
  http::ServerResponse AnswerLater(const base::Call& call, const http::ServerRequest& request,
                                   const Asked& asked) PREFETCH_EXCLUDES(mutex_);
  // The answer of the agent that a proxied request is forwarded to; none: it is not forwarded.
  std::optional<http::ServerResponse> Forward(const base::Call& call, const http::ServerRequest& request,
                                              const Asked& asked) PREFETCH_EXCLUDES(mutex_);
  std::string NewToken(const std::string& user, std::vector<std::string> groups, std::chrono::seconds life)
      PREFETCH_REQUIRES(mutex_);
  std::string NewAccountToken(const PodToken& of, const std::string& audience, std::chrono::seconds life)
      PREFETCH_REQUIRES(mutex_);
  void Store(const std::string& path, doc::Node object) PREFETCH_REQUIRES(mutex_);

  const base::Clock& clock_;
  const bool tls_;
  mutable base::Mutex mutex_;
  std::map<std::string, doc::Node> objects_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, User> users_ PREFETCH_GUARDED_BY(mutex_);  // by token; "" is the certificate's
  std::map<std::string, std::string> pod_answers_ PREFETCH_GUARDED_BY(mutex_);
  std::map<std::string, std::uint16_t> pod_ports_ PREFETCH_GUARDED_BY(mutex_);
  std::chrono::milliseconds latency_ PREFETCH_GUARDED_BY(mutex_){0};
  int hold_until_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int proxied_ PREFETCH_GUARDED_BY(mutex_) = 0;  // under way
  int most_at_once_ PREFETCH_GUARDED_BY(mutex_) = 0;
  base::Condition changed_;
  http::CurlClient client_;
  std::function<void(doc::Node&)> admission_ PREFETCH_GUARDED_BY(mutex_);
  std::function<std::optional<Refusal>(const doc::Node&)> refusal_ PREFETCH_GUARDED_BY(mutex_);
  std::function<void(const std::string&)> watcher_ PREFETCH_GUARDED_BY(mutex_);
  Rbac rbac_ PREFETCH_GUARDED_BY(mutex_);
  FakeNamespaces namespaces_ PREFETCH_GUARDED_BY(mutex_);
  std::deque<Fault> faults_ PREFETCH_GUARDED_BY(mutex_);
  std::vector<std::string> requests_ PREFETCH_GUARDED_BY(mutex_);
  SentRequests sent_ PREFETCH_GUARDED_BY(mutex_);
  KeptObjects kept_ PREFETCH_GUARDED_BY(mutex_);
  std::uint64_t version_ PREFETCH_GUARDED_BY(mutex_) = 100;
  std::uint64_t serial_ PREFETCH_GUARDED_BY(mutex_) = 0;
  std::uint64_t continue_since_ PREFETCH_GUARDED_BY(mutex_) = 0;  // tokens of before this version are too old
  std::unique_ptr<http::Server> server_;
  Front front_;  // last: cuts everybody off before the server goes
};

}  // namespace prefetch::tests
