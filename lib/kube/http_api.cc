#include "kube/http_api.h"

#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/redactor.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/write.h"
#include "http/handler.h"
#include "http/url.h"
#include "kube/decode.h"

namespace prefetch::kube {

namespace {

using Value = doc::Node;

constexpr const char* kMergePatch = "application/merge-patch+json";
constexpr const char* kStrategicPatch = "application/strategic-merge-patch+json";
constexpr const char* kJson = "application/json";
// The namespace for Events about objects that have no namespace.
constexpr const char* kNodeEventNamespace = "default";
constexpr std::string_view kReporter = "prefetchd";
constexpr std::size_t kLongestEventMessage = 1024;  // the server refuses longer ones
// An answer of an agent's pod: the status document of a node with 5,000 images has 5 MB.
constexpr std::size_t kLongestPodAnswer = 8 * 1024 * 1024;
constexpr std::size_t kLongestKeys = 256 * 1024;
constexpr std::size_t kLongestAnswer = 4 * 1024 * 1024;
constexpr std::size_t kLongestReview = 256 * 1024;  // many run at once; it holds the token, and little else
// etcd takes no longer object. The agent reads no pages, for which prefetchctl has more memory.
constexpr std::size_t kLongestObject = 2 * 1024 * 1024;
// A Node's managed fields nest deeper than any file that users write.
constexpr doc::Limits kAnswerLimits{.bytes = kLongestAnswer, .depth = 64, .nodes = 1'000'000};

// A name comes from lists and flags. With a "/" or as "..", it would make another path, and another request,
// of it.
bool IsName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// Every list has a limit: a page is bounded, and the caller asks for the next one by its token.
std::string Query(const ListOptions& options) {
  std::string query = "?limit=" + std::to_string(options.limit);
  auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) query += std::string("&") + name + "=" + base::PercentEncode(value);
  };
  add("labelSelector", options.label_selector);
  add("fieldSelector", options.field_selector);
  add("continue", options.continue_token);
  return query;
}

std::optional<ServerVersion> DecodeVersion(const doc::Node& object) {
  ServerVersion version{.major = TextAt(object, {"major"}),
                        .minor = TextAt(object, {"minor"}),
                        .git_version = TextAt(object, {"gitVersion"})};
  return version.git_version.empty() ? std::nullopt : std::optional(version);
}

std::optional<doc::Node> DecodeObject(const doc::Node& object) {
  return TextAt(object, {"metadata", "name"}).empty() ? std::nullopt : std::optional(object);
}

// The functions below make the bodies that are sent to the API server.

Value Text(std::string_view text) {
  return Value::String(std::string(text));
}

Value Time(base::WallTime time) {
  return Text(base::Rfc3339(time));
}

// Returns the value behind these keys, each in a mapping of its own.
Value Nested(doc::Path keys, Value value) {
  for (auto key = std::rbegin(keys); key != std::rend(keys); ++key) {
    Value outer = Value::Mapping();
    outer.Set(std::string(*key), std::move(value));
    value = std::move(outer);
  }
  return value;
}

// The list has one element. A strategic patch merges it by its type, and leaves kubelet's conditions alone.
Value ConditionsPatch(Value condition) {
  return Nested({"status", "conditions"}, Value::Sequence({std::move(condition)}));
}

// The server would refuse the whole event for a longer message.
Value MessageOf(const NodeEvent& event) {
  return Text(base::Truncate(event.message, kLongestEventMessage - 3));  // for the "…"
}

Value EventBody(const NodeEvent& event) {
  return Value::Mapping({
      {"apiVersion", Text("v1")},
      {"kind", Text("Event")},
      // The server completes the name, so two agents of one node never collide.
      {"metadata",
       Value::Mapping({{"generateName", Text(event.node + ".")}, {"namespace", Text(kNodeEventNamespace)}})},
      {"involvedObject",
       Value::Mapping({{"kind", Text("Node")},
                       {"name", Text(event.node)},
                       // kubelet's own events name the Node by its name here, so that is a value that tools
                       // know.
                       {"uid", Text(event.node_uid.empty() ? event.node : event.node_uid)}})},
      {"type", Text(event.warning ? "Warning" : "Normal")},
      {"reason", Text(event.reason)},
      {"message", MessageOf(event)},
      {"count", Value::Int(event.count)},
      {"firstTimestamp", Time(event.first)},
      {"lastTimestamp", Time(event.last)},
      {"source", Value::Mapping({{"component", Text(kReporter)}, {"host", Text(event.node)}})},
      {"reportingComponent", Text(kReporter)},
      {"reportingInstance", Text(event.node)},
  });
}

// An authentication.k8s.io/v1 object with this spec.
Value AuthenticationObject(const char* kind, Value spec) {
  Value object = Value::Mapping({{"apiVersion", Text("authentication.k8s.io/v1")}, {"kind", Text(kind)}});
  object.Set("spec", std::move(spec));
  return object;
}

// A request: the words of RBAC, and what HTTP has beside method and URL.
struct Verb {
  std::string verb;      // "patch", as a role would name it
  std::string resource;  // "nodes/status", as a role would name it; or a whole path: "/version"
  std::string name_space;
  std::string name;
  std::string query;
  std::string group;     // "" is the core group
  std::string pod_path;  // of pods/proxy: the path on the pod
  http::Request request{.headers = {{"Accept", kJson}}, .max_body_bytes = kLongestObject};
  const base::Secret* secret = nullptr;  // that the body holds

  void SetBody(const char* content_type, std::string body) {
    request.headers.Add("Content-Type", content_type);
    request.body = std::move(body);
  }
  std::string Attempt() const {
    std::string attempt = verb + " " + resource;
    if (!name.empty()) attempt += " \"" + name + "\"";
    if (!name_space.empty()) attempt += " in namespace \"" + name_space + "\"";
    return attempt;
  }
  std::string Method() const {
    if (verb == "create") return "POST";
    if (verb == "patch") return "PATCH";
    return verb == "delete" ? "DELETE" : "GET";
  }
  // A request for all objects, or for a new one, has no name of an object.
  bool IsOfCollection() const {
    return verb == "list" || (verb == "create" && resource.find('/') == std::string::npos);
  }
  // Returns nullopt for a name that would make another path of it.
  std::optional<std::string> Path() const {
    if (resource.starts_with('/')) return resource;
    if (!IsOfCollection() && !IsName(name)) return std::nullopt;
    if (!name_space.empty() && !IsName(name_space)) return std::nullopt;
    std::string path = group.empty() ? "/api/v1" : "/apis/" + group + "/v1";
    if (!name_space.empty()) path += "/namespaces/" + base::PercentEncode(name_space);
    // The name stands between a resource and its subresource: "nodes/n1/status".
    std::size_t slash = resource.find('/');
    path += "/" + resource.substr(0, slash);
    // The colon stays for pods/proxy: "NAME:PORT" is one name there.
    if (!IsOfCollection()) path += "/" + base::PercentEncode(name, ":");
    if (slash != std::string::npos) path += resource.substr(slash);
    return path + pod_path + query;
  }
};

class HttpApi final : public Api {
 public:
  HttpApi(http::Client& client, Identity& identity, const base::Clock& clock)
      : client_(client), identity_(identity), clock_(clock) {}

  Answer<ServerVersion> GetServerVersion(const base::Call& call) override {
    return SendFor<ServerVersion>(call, {.verb = "get", .resource = "/version"}, &DecodeVersion);
  }

  Answer<Node> GetNode(const base::Call& call, const std::string& name) override {
    return SendFor<Node>(call, {.verb = "get", .resource = "nodes", .name = name}, &DecodeNode);
  }

  Answer<Page<Node>> ListNodes(const base::Call& call, const ListOptions& options) override {
    return SendForPage<Node>(call, {.verb = "list", .resource = "nodes"}, options, &DecodeNode);
  }

  Answer<Done> SetNodeLabel(const base::Call& call, const std::string& name, const std::string& key,
                            const std::optional<std::string>& value) override {
    // A default Node is null, which removes the label (RFC 7386).
    return SendWrite(call, {.verb = "patch", .resource = "nodes", .name = name}, kMergePatch,
                     Nested({"metadata", "labels", key}, value ? Text(*value) : Value()));
  }

  Answer<Node> SetNodeTaints(const base::Call& call, const std::string& name,
                             const std::string& resource_version, const std::vector<Taint>& taints) override {
    Verb verb{.verb = "patch", .resource = "nodes", .name = name};
    if (resource_version.empty()) {
      // A merge patch replaces the whole list of taints. Without the version, it would also remove taints
      // that others have set since.
      return Failure{.kind = ApiError::kInvalid,
                     .message = verb.Attempt() + ": the resource version that was read is missing"};
    }
    std::vector<Value> list;
    for (const Taint& taint : taints) {
      Value item = Value::Mapping({{"key", Text(taint.key)}});
      if (!taint.value.empty()) item.Set("value", Text(taint.value));
      item.Set("effect", Text(taint.effect));
      // The list is replaced as a whole, so every field of other parties' taints has to be sent back.
      if (!taint.time_added.empty()) item.Set("timeAdded", Text(taint.time_added));
      list.push_back(std::move(item));
    }
    // With this version in it, the server refuses the patch (409) if the Node has changed since it was read.
    Value patch = Nested({"metadata", "resourceVersion"}, Text(resource_version));
    patch.Set("spec", Nested({"taints"}, Value::Sequence(std::move(list))));
    verb.SetBody(kMergePatch, doc::WriteJson(patch));
    return SendFor<Node>(call, verb, &DecodeNode);
  }

  Answer<Done> SetNodeCondition(const base::Call& call, const std::string& name,
                                const NodeCondition& condition) override {
    Value item = Value::Mapping({{"type", Text(condition.type)},
                                 {"status", Text(condition.status)},
                                 {"reason", Text(condition.reason)},
                                 {"message", Text(condition.message)}});
    if (condition.last_heartbeat) item.Set("lastHeartbeatTime", Time(*condition.last_heartbeat));
    if (condition.last_transition) item.Set("lastTransitionTime", Time(*condition.last_transition));
    return SendWrite(call, {.verb = "patch", .resource = "nodes/status", .name = name}, kStrategicPatch,
                     ConditionsPatch(std::move(item)));
  }

  Answer<Done> RemoveNodeCondition(const base::Call& call, const std::string& name,
                                   const std::string& type) override {
    // A strategic patch removes an element of a list by this directive.
    return SendWrite(call, {.verb = "patch", .resource = "nodes/status", .name = name}, kStrategicPatch,
                     ConditionsPatch(Value::Mapping({{"$patch", Text("delete")}, {"type", Text(type)}})));
  }

  Answer<NodeEvent> CreateEvent(const base::Call& call, const NodeEvent& event) override {
    Verb verb{.verb = "create", .resource = "events", .name_space = kNodeEventNamespace};
    verb.SetBody(kJson, doc::WriteJson(EventBody(event)));
    const auto decode = [&](const doc::Node& object) {
      NodeEvent created = event;
      // The server chose the name (generateName). UpdateEvent needs it.
      created.name = TextAt(object, {"metadata", "name"});
      return created.name.empty() ? std::nullopt : std::optional(created);
    };
    return SendFor<NodeEvent>(call, verb, decode, "no event");
  }

  Answer<Done> UpdateEvent(const base::Call& call, const NodeEvent& event) override {
    const Verb verb{
        .verb = "patch", .resource = "events", .name_space = kNodeEventNamespace, .name = event.name};
    return SendWrite(call, verb, kMergePatch,
                     Value::Mapping({{"count", Value::Int(event.count)},
                                     {"lastTimestamp", Time(event.last)},
                                     {"message", MessageOf(event)}}));
  }

  Answer<ServiceAccount> GetServiceAccount(const base::Call& call, const std::string& name_space,
                                           const std::string& name) override {
    return SendFor<ServiceAccount>(
        call, {.verb = "get", .resource = "serviceaccounts", .name_space = name_space, .name = name},
        &DecodeServiceAccount);
  }

  Answer<Page<PodEvent>> ListPodEvents(const base::Call& call, const std::string& name_space,
                                       const std::string& reason, const ListOptions& options) override {
    ListOptions about_pods = options;
    // The server selects, since a large cluster has too many events to send them all.
    about_pods.field_selector = "involvedObject.kind=Pod,reason=" + reason;
    return SendForPage<PodEvent>(call, {.verb = "list", .resource = "events", .name_space = name_space},
                                 about_pods, &DecodePodEvent);
  }

  Answer<ServiceAccountToken> CreateToken(const base::Call& call, const std::string& name_space,
                                          const std::string& service_account, const std::string& audience,
                                          std::int64_t expiration_seconds) override {
    Verb verb{.verb = "create", .resource = "serviceaccounts/token", .name_space = name_space};
    verb.name = service_account;
    Value spec = Value::Mapping(
        {{"audiences", Value::Strings({audience})}, {"expirationSeconds", Value::Int(expiration_seconds)}});
    verb.SetBody(kJson, doc::WriteJson(AuthenticationObject("TokenRequest", std::move(spec))));
    auto response = Send(call, verb);
    if (!response) return std::move(response).failure();
    doc::Problems problems("answer");
    auto object = doc::ParseJson(response->body, problems, doc::JsonRules::kLenient, kAnswerLimits);
    // The body has the token. Its tree is wiped by SecretNode.
    base::WipeString(response->body);
    if (!object) return Malformed(verb.Attempt(), "the server's answer is no JSON object");
    doc::SecretNode tree(*std::move(object));
    base::Secret token(TextAt(tree.node, {"status", "token"}));
    base::RememberSecret(token);
    auto expires = ParseRfc3339(TextAt(tree.node, {"status", "expirationTimestamp"}));
    if (token.empty() || !expires) return Malformed(verb.Attempt(), "the server's answer has no token");
    return ServiceAccountToken{std::move(token), *expires};
  }

  Answer<base::TokenReview> ReviewToken(const base::Call& call, const base::Secret& token,
                                        const std::string& audience) override {
    Verb verb{.verb = "create", .resource = "tokenreviews"};
    verb.group = "authentication.k8s.io";
    verb.request.max_body_bytes = kLongestReview;
    Value spec = Value::Mapping();
    spec.Set("token", Text(token.Reveal())).Set("audiences", Value::Strings({audience}));
    // The tree holds the token, and is wiped.
    const doc::SecretNode tree(AuthenticationObject("TokenReview", std::move(spec)));
    verb.SetBody(kJson, doc::WriteJson(tree.node));
    verb.secret = &token;
    auto review = SendFor<base::TokenReview>(call, verb, &DecodeTokenReview);
    // The token is another party's, and is needed for this request only.
    base::WipeString(verb.request.body);
    return review;
  }

  Answer<std::string> GetTokenKeys(const base::Call& call) override {
    Verb verb{.verb = "get", .resource = "/openid/v1/jwks"};
    verb.request.max_body_bytes = kLongestKeys;
    auto response = Send(call, verb);
    if (!response) return std::move(response).failure();
    return std::move(response->body);
  }

  Answer<Page<Pod>> ListPods(const base::Call& call, const std::string& name_space,
                             const ListOptions& options) override {
    return SendForPage<Pod>(call, {.verb = "list", .resource = "pods", .name_space = name_space}, options,
                            &DecodePod);
  }

  Answer<Pod> GetPod(const base::Call& call, const std::string& name_space,
                     const std::string& name) override {
    return SendFor<Pod>(call, {.verb = "get", .resource = "pods", .name_space = name_space, .name = name},
                        &DecodePod);
  }

  Answer<Pod> CreatePod(const base::Call& call, const std::string& name_space, const doc::Node& pod,
                        DryRun dry_run) override {
    Verb verb{.verb = "create", .resource = "pods", .name_space = name_space};
    // Admission runs for a dry run as well, so it shows what would become of the pod.
    if (dry_run == DryRun::kYes) verb.query = "?dryRun=All";
    verb.SetBody(kJson, doc::WriteJson(pod));
    return SendFor<Pod>(call, verb, &DecodePod);
  }

  Answer<Done> DeletePod(const base::Call& call, const std::string& name_space, const std::string& name,
                         const std::string& uid) override {
    Value body = Value::Mapping({{"apiVersion", Text("v1")}, {"kind", Text("DeleteOptions")}});
    // The next agent may have made a pod of the same name since. That pod stays.
    if (!uid.empty()) body.Set("preconditions", Nested({"uid"}, Text(uid)));
    return SendWrite(call, {.verb = "delete", .resource = "pods", .name_space = name_space, .name = name},
                     kJson, body);
  }

  Answer<Page<doc::Node>> ListObjects(const base::Call& call, const Resource& resource,
                                      const std::string& name_space, const ListOptions& options) override {
    Verb verb{.verb = "list", .resource = resource.name, .name_space = name_space, .group = resource.group};
    auto page = SendForPage<doc::Node>(call, verb, options, &DecodeObject);
    if (!page) return page;
    const std::string version = verb.group.empty() ? "v1" : verb.group + "/v1";
    for (doc::Node& object : page->items) {
      doc::Put(object, "apiVersion", doc::Node::String(version));
      doc::Put(object, "kind", doc::Node::String(resource.kind));
    }
    return page;
  }

  Answer<Done> SetConfigMapText(const base::Call& call, const std::string& name_space,
                                const std::string& name, const std::string& key,
                                const std::string& text) override {
    return SendWrite(call,
                     {.verb = "patch", .resource = "configmaps", .name_space = name_space, .name = name},
                     kMergePatch, Nested({"data", key}, Text(text)));
  }

  Answer<std::string> PodProxy(const base::Call& call, const PodRequest& request) override {
    Verb verb{.verb = "get", .resource = "pods/proxy", .name_space = request.name_space};
    if (request.body) {
      verb.verb = "create";
      verb.SetBody(kJson, *request.body);
    }
    // A bad name stays bad, and Path() rejects it.
    verb.name = IsName(request.name) ? request.name + ":" + std::to_string(request.port) : request.name;
    verb.pod_path = request.path;
    verb.request.max_body_bytes = kLongestPodAnswer;
    verb.request.secret_header = request.header;
    // The agent sees the API server's name as Host, and would otherwise take the request for that of a
    // browser's page.
    verb.request.headers.Add(std::string(http::kNotBrowserHeader), "1");
    auto response = Send(call, verb);
    if (!response) return std::move(response).failure();
    return std::move(response->body);
  }

 private:
  // Rejects a name that is none before it becomes a part of a path: it may come from a manifest or a flag.
  Answer<http::Response> Send(const base::Call& call, const Verb& verb) {
    auto path = verb.Path();
    if (!path) {
      return Failure{.kind = ApiError::kInvalid,
                     .message = verb.Attempt() + ": this is no name of an object"};
    }
    ApiRequest api_request{.attempt = verb.Attempt(), .http = verb.request, .secret = verb.secret};
    api_request.http.method = verb.Method();
    api_request.http.url = identity_.cluster().server + *path;
    return Exchange(call, client_, identity_, clock_, api_request);
  }

  // Decodes the JSON object of an answer by `decode`, which returns nullopt for another one than was asked
  // for; `object` then stands in the failure.
  template <typename T>
  using Decode = std::function<std::optional<T>(const doc::Node& object)>;
  template <typename T>
  Answer<T> SendFor(const base::Call& call, const Verb& verb, const Decode<T>& decode,
                    std::string_view object = "not the object that was asked for") {
    auto response = Send(call, verb);
    if (!response) return std::move(response).failure();
    using Turn = base::LargeTextLock;
    const Turn turn(response->body.size(), Turn::kLarge, Turn::Writer::kApiServer);
    const doc::Node tree = doc::ParseOrNull(response->body, kAnswerLimits);
    if (tree.kind != doc::Node::Kind::kMapping) {
      return Malformed(verb.Attempt(), "the server's answer is no JSON object");
    }
    std::optional<T> value = decode(tree);
    if (!value) return Malformed(verb.Attempt(), "the server's answer is " + std::string(object));
    return *std::move(value);
  }

  // An API server answers every write with the resulting object. Another answer (a proxy's page) means that
  // nothing was written.
  Answer<Done> SendWrite(const base::Call& call, Verb verb, const char* content_type, const Value& body) {
    verb.SetBody(content_type, doc::WriteJson(body));
    return SendFor<Done>(call, verb, [](const doc::Node&) { return Done{}; });
  }

  template <typename T>
  Answer<Page<T>> SendForPage(const base::Call& call, Verb verb, const ListOptions& options,
                              std::optional<T> (*decode)(const doc::Node&)) {
    verb.query = Query(options);
    verb.request.max_body_bytes = kLongestAnswer;
    return SendFor<Page<T>>(
        call, verb, [&](const doc::Node& list) { return DecodePage(list, decode); },
        "no list of such objects");
  }

  http::Client& client_;
  Identity& identity_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Api> MakeHttpApi(http::Client& client, Identity& identity, const base::Clock& clock) {
  return std::make_unique<HttpApi>(client, identity, clock);
}

namespace {

constexpr std::chrono::seconds kLongestCall{30};
constexpr std::chrono::milliseconds kLongestConnect{5'000};

// Returns the settings for another server than the API server (kubelet). The cluster's authority and server
// name do not apply to it, and it is verified in any case: the credential must not go to an impostor.
std::shared_ptr<const http::Tls> TrustOnly(const std::string& ca_pem, const http::Tls& tls) {
  auto other = std::make_shared<http::Tls>(tls);
  other->ca_pem = ca_pem;
  other->server_name.clear();
  other->verify = true;
  return other;
}

Answer<http::Response> SendOnce(const base::Call& call, http::Client& client, const base::Clock& clock,
                                const ApiRequest& api_request, const std::string& ca_pem,
                                const Identity& identity, const RequestAuth& auth) {
  http::Request request = api_request.http;
  for (const auto& [name, value] : identity.cluster().impersonation.fields()) {
    request.headers.Add(name, value);
  }
  request.authorization = auth.authorization;
  request.tls = ca_pem.empty() ? auth.tls : TrustOnly(ca_pem, *auth.tls);
  request.connect_timeout = kLongestConnect;
  auto response = client.Send(call, request);
  if (!response) return FailureOf(response.error(), api_request.attempt);
  // The server may repeat any of these in its answer.
  const std::vector<const base::Secret*> sent = {
      &auth.authorization, request.secret_header ? &request.secret_header->value : nullptr,
      api_request.secret};
  if (auto failure = FailureOf(*response, api_request.attempt, sent, clock.Wall())) {
    // pods/proxy passes a pod's own 401 on, which is no reason to read the credential again. The API server
    // sends a Status with each 401 of its own (apiserver/pkg/endpoints/filters/authentication.go,
    // Unauthorized).
    failure->from_pod = request.secret_header && response->status == 401 && !IsStatus(response->body);
    return *std::move(failure);
  }
  return *std::move(response);
}

Failure NoCredential(const base::Error& error, const std::string& attempt) {
  // A stop and a deadline keep their own kinds: they say nothing about the credential.
  bool ours = error.code() == base::Code::kCancelled || error.code() == base::Code::kDeadlineExceeded;
  Failure failure = FailureOf(error, attempt);
  if (!ours) failure.kind = ApiError::kNoCredential;
  return failure;
}

}  // namespace

Answer<http::Response> Exchange(const base::Call& call, http::Client& client, Identity& identity,
                                const base::Clock& clock, const ApiRequest& api_request,
                                const std::string& ca_pem) {
  // One limit for both tries and for a plugin's run, so that a caller waits for 30 s at most.
  base::Call bounded = call.Within(kLongestCall);
  auto auth = identity.Current(bounded);
  if (!auth) return NoCredential(auth.error(), api_request.attempt);
  auto answer = SendOnce(bounded, client, clock, api_request, ca_pem, identity, *auth);
  // A request that was refused for its credential has done nothing, so it may be sent again, a write too.
  if (answer || NextTry(answer.failure(), 1, 0).step != Step::kReadCredentialAgain) return answer;
  // A new identity changes nothing about a trust that is not the identity's.
  if (!ca_pem.empty() && answer.failure().kind == ApiError::kTlsError) return answer;
  // Only a credential that differs is worth a second request.
  auto other = identity.Replacement(bounded, *auth);
  if (!other) return answer;
  return SendOnce(bounded, client, clock, api_request, ca_pem, identity, *other);
}

}  // namespace prefetch::kube
