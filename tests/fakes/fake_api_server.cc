#include "fakes/fake_api_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "fakes/json_patch.h"

namespace prefetch::tests {
namespace {

using http::Method;

doc::Node Text(std::string text) {
  return doc::Node::String(std::move(text));
}

std::string TextAt(const doc::Node& object, std::initializer_list<const char*> path) {
  const doc::Node* value = &object;
  for (const char* key : path) {
    value = value->Find(key);
    if (value == nullptr) return "";
  }
  return value->text;
}

std::optional<doc::Node> Parse(std::string_view json) {
  doc::Problems problems("body");
  auto node = doc::ParseJson(json, problems);
  if (!node || node->kind != doc::Node::Kind::kMapping) return std::nullopt;
  return node;
}

http::ServerResponse Json(int status, const doc::Node& object) {
  return http::JsonResponse(status, doc::WriteJson(object));
}

// As Kubernetes' metav1.Status.
http::ServerResponse Status(int code, const std::string& reason, const std::string& message) {
  doc::Node status = doc::Node::Mapping();
  status.Set("kind", Text("Status")).Set("apiVersion", Text("v1")).Set("metadata", doc::Node::Mapping());
  status.Set("status", Text("Failure")).Set("message", Text(message)).Set("reason", Text(reason));
  status.Set("code", doc::Node::Int(code));
  return Json(code, status);
}

std::string ReasonOf(int status) {
  static const std::map<int, std::string> kReasons = {{400, "BadRequest"},    {401, "Unauthorized"},
                                                      {403, "Forbidden"},     {404, "NotFound"},
                                                      {409, "Conflict"},      {410, "Expired"},
                                                      {422, "Invalid"},       {429, "TooManyRequests"},
                                                      {500, "InternalError"}, {503, "ServiceUnavailable"},
                                                      {504, "Timeout"}};
  auto found = kReasons.find(status);
  return found == kReasons.end() ? "" : found->second;
}

// "a=b,c" against labels, or against the fields that can be selected by.
bool Selected(std::string_view selector,
              const std::function<std::optional<std::string>(std::string)>& value) {
  for (std::string_view term : base::Split(selector, ',')) {
    if (term.empty()) continue;
    std::size_t equals = term.find('=');
    auto found = value(std::string(term.substr(0, equals)));
    if (!found || (equals != std::string_view::npos && *found != term.substr(term.rfind('=') + 1)))
      return false;
  }
  return true;
}

bool IsSelected(const doc::Node& object, std::string_view labels, std::string_view fields) {
  auto label = [&](const std::string& key) -> std::optional<std::string> {
    const doc::Node* metadata = object.Find("metadata");
    const doc::Node* all = metadata == nullptr ? nullptr : metadata->Find("labels");
    const doc::Node* found = all == nullptr ? nullptr : all->Find(key);
    return found == nullptr ? std::nullopt : std::optional(found->text);
  };
  auto field = [&](const std::string& key) -> std::optional<std::string> {
    if (key == "spec.nodeName") return TextAt(object, {"spec", "nodeName"});
    if (key == "involvedObject.kind") return TextAt(object, {"involvedObject", "kind"});
    if (key == "reason") return TextAt(object, {"reason"});
    if (key == "metadata.name") return TextAt(object, {"metadata", "name"});
    return std::nullopt;
  };
  return Selected(labels, label) && Selected(fields, field);
}

constexpr std::chrono::milliseconds kLook{50};  // whether the client is still there

// Ends with the client's patience, or the server.
http::Deferred Hang() {
  return [](const base::Call& call) -> http::ServerResponse {
    std::mutex mutex;
    std::condition_variable_any condition;
    std::unique_lock lock(mutex);
    condition.wait_until(lock, call.stop, call.deadline, [] { return false; });
    return {.status = 504};
  };
}

}  // namespace

struct FakeApiServer::User {
  std::string name;
  std::vector<std::string> groups;
  base::TimePoint ends = base::TimePoint::max();
};

// A request's path, in the words of RBAC.
struct FakeApiServer::Asked {
  std::string verb, resource, name_space, name;
  std::string subresource, rest;  // rest: of a proxy's path, with its "/"
  bool version = false;
  bool known = false;

  std::string Collection() const { return resource + "/" + (name_space.empty() ? "" : name_space + "/"); }
  std::string Path() const { return Collection() + name; }
  std::string FullResource() const { return subresource.empty() ? resource : resource + "/" + subresource; }

  static Asked Of(const http::ServerRequest& request);
};

FakeApiServer::Asked FakeApiServer::Asked::Of(const http::ServerRequest& request) {
  Asked asked;
  asked.version = request.path == "/version";
  std::vector<std::string_view> parts = base::Split(request.path, '/');  // "", "api", "v1", ...
  if (parts.size() < 4 || parts[1] != "api" || parts[2] != "v1") return asked;
  std::size_t at = 3;
  if (parts[at] == "namespaces" && parts.size() > 5) {
    asked.name_space = parts[4];
    at = 5;
  }
  asked.resource = parts[at++];
  if (at < parts.size()) asked.name = parts[at++];
  if (at < parts.size()) asked.subresource = parts[at++];
  for (; at < parts.size(); at++) asked.rest += "/" + std::string(parts[at]);
  switch (request.method) {
    case Method::kGet:
      asked.verb = asked.name.empty() ? "list" : "get";
      break;
    case Method::kPost:
      asked.verb = "create";
      break;
    case Method::kPatch:
      asked.verb = "patch";
      break;
    case Method::kDelete:
      asked.verb = "delete";
      break;
    case Method::kPut:
    case Method::kOptions:
      return asked;
  }
  static const std::vector<std::string> kKnown = {
      "nodes", "nodes/status", "pods", "pods/proxy", "events", "serviceaccounts/token", "serviceaccounts"};
  asked.known = std::find(kKnown.begin(), kKnown.end(), asked.FullResource()) != kKnown.end();
  return asked;
}

FakeApiServer::FakeApiServer(const base::Clock& clock, FrontOptions tls)
    : clock_(clock), tls_(!tls.certificate_file.empty()), front_(std::move(tls)) {
  auto listener = http::Listener::Tcp("127.0.0.1:0");
  EXPECT_TRUE(listener);
  auto server = http::Server::Start(std::move(*listener),
                                    {.deferred_threads = 64, .deferred_queue = 64, .body_bytes = 1 << 20},
                                    [this](const http::ServerRequest& request) { return Handle(request); });
  EXPECT_TRUE(server);
  server_ = std::move(*server);
  ComeBack();
}

FakeApiServer::~FakeApiServer() = default;

std::string FakeApiServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(front_.port());
}

void FakeApiServer::Store(const std::string& path, doc::Node object) {
  tests::Put(Sub(object, "metadata"), "resourceVersion", Text(std::to_string(++version_)));
  objects_[path] = std::move(object);
}

void FakeApiServer::Put(const std::string& path, std::string_view json) {
  auto object = Parse(json);
  ASSERT_TRUE(object) << json;
  std::vector<std::string_view> parts = base::Split(path, '/');
  doc::Node& metadata = Sub(*object, "metadata");
  tests::Put(metadata, "name", Text(std::string(parts.back())));
  if (parts.size() == 3) tests::Put(metadata, "namespace", Text(std::string(parts[1])));
  base::Lock lock(mutex_);
  if (metadata.Find("uid") == nullptr) metadata.Set("uid", Text("uid-" + std::to_string(++serial_)));
  Store(path, *std::move(object));
}

std::optional<doc::Node> FakeApiServer::Get(const std::string& path) const {
  base::Lock lock(mutex_);
  auto found = objects_.find(path);
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> FakeApiServer::Paths() const {
  base::Lock lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, object] : objects_) paths.push_back(path);
  return paths;
}

void FakeApiServer::Delete(const std::string& path) {
  base::Lock lock(mutex_);
  objects_.erase(path);
}

void FakeApiServer::SetAdmission(std::function<void(doc::Node&)> admission) {
  base::Lock lock(mutex_);
  admission_ = std::move(admission);
}

void FakeApiServer::SetRefusal(std::function<std::optional<Refusal>(const doc::Node&)> refusal) {
  base::Lock lock(mutex_);
  refusal_ = std::move(refusal);
}

bool FakeApiServer::SetStatus(const std::string& path, const std::string& uid, doc::Node status) {
  base::Lock lock(mutex_);
  auto found = objects_.find(path);
  if (found == objects_.end() || TextAt(found->second, {"metadata", "uid"}) != uid) return false;
  doc::Node object = found->second;
  tests::Put(object, "status", std::move(status));
  Store(path, std::move(object));
  return true;
}

void FakeApiServer::SetPodAnswer(const std::string& what, std::string body) {
  base::Lock lock(mutex_);
  pod_answers_[what] = std::move(body);
}

void FakeApiServer::ForwardPod(const std::string& what, std::uint16_t port) {
  base::Lock lock(mutex_);
  pod_ports_[what] = port;
}

void FakeApiServer::SetWatcher(std::function<void(const std::string& request)> watcher) {
  base::Lock lock(mutex_);
  watcher_ = std::move(watcher);
}

void FakeApiServer::SetLatency(std::chrono::milliseconds latency) {
  base::Lock lock(mutex_);
  latency_ = latency;
}

void FakeApiServer::HoldPodAnswersUntil(int at_once) {
  base::Lock lock(mutex_);
  hold_until_ = at_once;
}

int FakeApiServer::most_at_once() const {
  base::Lock lock(mutex_);
  return most_at_once_;
}

void FakeApiServer::ExpireContinueTokens() {
  base::Lock lock(mutex_);
  continue_since_ = ++version_;
}

std::string FakeApiServer::NewToken(const std::string& user, std::vector<std::string> groups,
                                    std::chrono::seconds life) {
  std::string token = "eyJhbGciOiJub25lIn0.fake-" + std::to_string(++serial_) + ".signature";
  groups.emplace_back("system:authenticated");
  users_[token] = {user, std::move(groups), clock_.Now() + life};
  return token;
}

std::string FakeApiServer::AddToken(const std::string& user, std::vector<std::string> groups,
                                    std::chrono::seconds life) {
  base::Lock lock(mutex_);
  return NewToken(user, std::move(groups), life);
}

std::string FakeApiServer::AddServiceAccountToken(const std::string& name_space, const std::string& name,
                                                  std::chrono::seconds life) {
  return AddToken("system:serviceaccount:" + name_space + ":" + name,
                  {"system:serviceaccounts", "system:serviceaccounts:" + name_space}, life);
}

void FakeApiServer::Revoke(const std::string& token) {
  base::Lock lock(mutex_);
  users_.erase(token);
}

void FakeApiServer::SetCertificateUser(const std::string& user) {
  base::Lock lock(mutex_);
  users_[""] = {user, {"system:authenticated"}, base::TimePoint::max()};
}

base::Status FakeApiServer::LoadRbac(std::string_view manifests) {
  base::Lock lock(mutex_);
  return rbac_.Load(manifests);
}

base::Status FakeApiServer::Apply(std::string_view manifests) {
  if (auto loaded = LoadRbac(manifests); !loaded) return loaded;
  base::Lock lock(mutex_);
  return namespaces_.Load(manifests);
}

void FakeApiServer::RemoveNamespace(const std::string& name) {
  base::Lock lock(mutex_);
  namespaces_.Remove(name);
  std::string pods = "pods/" + name + "/";
  std::erase_if(objects_, [&](const auto& one) { return one.first.starts_with(pods); });
}

void FakeApiServer::Fail(Fault fault) {
  base::Lock lock(mutex_);
  faults_.push_back(std::move(fault));
}

void FakeApiServer::GoAway() {
  front_.ForwardTo(0);
  front_.CutAll();
}

void FakeApiServer::ComeBack() {
  front_.ForwardTo(server_->port());
}

std::vector<std::string> FakeApiServer::Requests() const {
  base::Lock lock(mutex_);
  return requests_;
}

std::optional<Fault> FakeApiServer::TakeFault() {
  if (faults_.empty()) return std::nullopt;
  Fault fault = faults_.front();
  if (--faults_.front().times <= 0) faults_.pop_front();
  return fault;
}

http::ServerAnswer FakeApiServer::Handle(const http::ServerRequest& request) {
  std::string line = std::string(http::MethodName(request.method)) + " " + request.path;
  std::function<void(const std::string&)> watcher;
  {
    base::Lock lock(mutex_);
    watcher = watcher_;
  }
  if (watcher) watcher(line);
  base::Lock lock(mutex_);
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    line += std::exchange(separator, '&') + name + "=" + value;
  }
  requests_.push_back(std::move(line));
  std::optional<Fault> fault = TakeFault();
  if (fault && fault->hang) return Hang();
  if (fault && fault->status != 0) {
    http::ServerResponse response = Status(fault->status, ReasonOf(fault->status), "as the test wants it");
    if (!fault->body.empty()) response.body = fault->body;
    if (!fault->retry_after.empty()) response.headers.Add("Retry-After", fault->retry_after);
    return response;
  }
  Asked asked = Asked::Of(request);
  bool proxied = asked.subresource == "proxy";
  if (!fault && (latency_.count() > 0 || (proxied && (hold_until_ > 0 || !pod_ports_.empty())))) {
    if (proxied) most_at_once_ = std::max(most_at_once_, ++proxied_);
    changed_.notify_all();
    return http::Deferred(
        [this, request, asked](const base::Call& call) { return AnswerLater(call, request, asked); });
  }
  http::ServerResponse response = Answer(request, asked);
  if (fault && fault->cut) front_.CutNextAnswer();
  return response;
}

http::ServerResponse FakeApiServer::AnswerLater(const base::Call& call, const http::ServerRequest& request,
                                                const Asked& asked) {
  bool proxied = asked.subresource == "proxy";
  {
    base::Lock lock(mutex_);
    auto wanted = [&call] { return !call.Stopped() && base::TimePoint::clock::now() < call.deadline; };
    auto answer_at = base::TimePoint::clock::now() + latency_;
    while (base::TimePoint::clock::now() < answer_at && wanted()) changed_.wait_until(mutex_, answer_at);
    while (proxied && hold_until_ > most_at_once_ && wanted()) changed_.wait_for(mutex_, kLook);
  }
  std::optional<http::ServerResponse> response;
  if (proxied) response = Forward(call, request, asked);
  base::Lock lock(mutex_);
  if (!response) response = Answer(request, asked);
  if (proxied) proxied_--;
  return *std::move(response);
}

std::optional<http::ServerResponse> FakeApiServer::Forward(const base::Call& call,
                                                           const http::ServerRequest& request,
                                                           const Asked& asked) {
  std::string url;
  {
    base::Lock lock(mutex_);
    auto port = pod_ports_.find(asked.name_space + "/" + asked.name);
    if (port == pod_ports_.end() || Refuse(request, asked)) return std::nullopt;
    url = "http://127.0.0.1:" + std::to_string(port->second) + asked.rest;
  }
  auto answer = client_.Send(call, {.url = url, .max_body_bytes = 64 << 20});
  if (!answer) return Status(503, "ServiceUnavailable", "error trying to reach service");
  return http::ServerResponse{.status = answer->status, .body = std::move(answer->body)};
}

const FakeApiServer::User* FakeApiServer::UserOf(const http::ServerRequest& request) const {
  return UserOf(request.headers.Get("Authorization").value_or(""));
}

int FakeApiServer::Review(std::string_view authorization, const std::string& verb,
                          const std::string& resource, const std::string& name) const {
  base::Lock lock(mutex_);
  const User* user = UserOf(authorization);
  if (user == nullptr) return 401;
  bool allowed = rbac_.Allows({.user = user->name,
                               .groups = user->groups,
                               .verb = verb,
                               .group = "",
                               .resource = resource,
                               .name_space = "",
                               .name = name});
  return allowed ? 200 : 403;
}

const FakeApiServer::User* FakeApiServer::UserOf(std::string_view header) const {
  if (header.starts_with("Bearer ")) header.remove_prefix(7);
  auto user = users_.find(std::string(header));
  return user == users_.end() || clock_.Now() >= user->second.ends ? nullptr : &user->second;
}

std::optional<http::ServerResponse> FakeApiServer::Refuse(const http::ServerRequest& request,
                                                          const Asked& asked) const {
  const User* user = UserOf(request);
  if (user == nullptr) return Status(401, "Unauthorized", "Unauthorized");
  if (asked.version) return std::nullopt;
  if (!asked.known) return Status(404, "NotFound", "the server could not find the requested resource");
  std::string rbac_name =
      asked.subresource == "proxy" ? asked.name.substr(0, asked.name.find(':')) : asked.name;
  if (rbac_.Allows({.user = user->name,
                    .groups = user->groups,
                    .verb = asked.verb,
                    .group = "",
                    .resource = asked.FullResource(),
                    .name_space = asked.name_space,
                    .name = rbac_name})) {
    return std::nullopt;
  }
  std::string where =
      asked.name_space.empty() ? "at the cluster scope" : "in the namespace \"" + asked.name_space + "\"";
  return Status(403, "Forbidden",
                asked.resource + (asked.name.empty() ? "" : " \"" + asked.name + "\"") +
                    " is forbidden: User \"" + user->name + "\" cannot " + asked.verb + " resource \"" +
                    asked.FullResource() + "\" in API group \"\" " + where);
}

http::ServerResponse FakeApiServer::Answer(const http::ServerRequest& request, const Asked& asked) {
  if (auto refusal = Refuse(request, asked)) return *refusal;
  if (asked.version) {
    return http::JsonResponse(200, R"({"major":"1","minor":"36","gitVersion":"v1.36.2"})");
  }
  if (asked.subresource == "proxy") return Proxy(asked);
  if (asked.verb == "get") return GetOne(asked);
  if (asked.verb == "list") return List(request, asked);
  auto found = objects_.find(asked.Path());
  std::optional<doc::Node> before = found == objects_.end() ? std::nullopt : std::optional(found->second);
  http::ServerResponse response = Write(request, asked);
  if (response.status < 300) {
    sent_.Note({.user = UserOf(request)->name,
                .verb = asked.verb,
                .resource = asked.resource,
                .subresource = asked.subresource,
                .name_space = asked.name_space,
                .content_type = std::string(request.headers.Get("Content-Type").value_or("")),
                .body = request.body,
                .answer = response.body,
                .before = std::move(before)});
  }
  return response;
}

http::ServerResponse FakeApiServer::Write(const http::ServerRequest& request, const Asked& asked) {
  if (asked.subresource == "token") return CreateToken(request, asked);
  if (asked.verb == "create") return Create(request, asked);
  return asked.verb == "patch" ? PatchOne(request, asked) : DeleteOne(request, asked);
}

http::ServerResponse FakeApiServer::GetOne(const Asked& asked) const {
  auto found = objects_.find(asked.Path());
  if (found == objects_.end()) {
    return Status(404, "NotFound", asked.resource + " \"" + asked.name + "\" not found");
  }
  return Json(200, found->second);
}

// The continue token is "VERSION/OFFSET".
http::ServerResponse FakeApiServer::List(const http::ServerRequest& request, const Asked& asked) const {
  std::uint64_t begin = 0, version = version_;
  std::string_view token = request.Query("continue").value_or("");
  if (!token.empty()) {
    auto parts = base::Split(token, '/');
    version = base::ParseUint(parts.front()).value_or(0);
    begin = base::ParseUint(parts.back()).value_or(0);
    if (version < continue_since_) {
      return Status(410, "Expired", "The provided continue parameter is too old");
    }
  }
  std::uint64_t limit = base::ParseUint(request.Query("limit").value_or("")).value_or(UINT64_MAX);
  std::vector<doc::Node> items;
  std::uint64_t nth = 0;
  bool more = false;
  for (const auto& [path, object] : objects_) {
    if (!path.starts_with(asked.Collection()) ||
        !IsSelected(object, request.Query("labelSelector").value_or(""),
                    request.Query("fieldSelector").value_or(""))) {
      continue;
    }
    if (nth++ < begin) continue;
    more = items.size() == limit;
    if (more) break;
    items.push_back(object);
  }
  doc::Node metadata = doc::Node::Mapping();
  metadata.Set("resourceVersion", Text(std::to_string(version)));
  if (more) metadata.Set("continue", Text(std::to_string(version) + "/" + std::to_string(nth - 1)));
  doc::Node list = doc::Node::Mapping();
  list.Set("kind", Text("List")).Set("apiVersion", Text("v1")).Set("metadata", std::move(metadata));
  list.Set("items", doc::Node::Sequence(std::move(items)));
  return Json(200, list);
}

http::ServerResponse FakeApiServer::Create(const http::ServerRequest& request, const Asked& asked) {
  auto object = Parse(request.body);
  if (!object) return Status(400, "BadRequest", "the body is no object");
  doc::Node& metadata = Sub(*object, "metadata");
  std::string name = TextAt(metadata, {"name"});
  if (name.empty()) name = TextAt(metadata, {"generateName"}) + std::to_string(++serial_);
  if (objects_.contains(asked.Collection() + name)) {
    return Status(409, "AlreadyExists", asked.resource + " \"" + name + "\" already exists");
  }
  tests::Put(metadata, "name", Text(name));
  tests::Put(metadata, "namespace", Text(asked.name_space));
  tests::Put(metadata, "uid", Text("uid-" + std::to_string(++serial_)));
  if (asked.resource == "pods") {
    tests::Put(Sub(*object, "status"), "phase", Text("Pending"));
    if (admission_) admission_(*object);
    if (auto refused = WhatRefuses(asked, *object)) {
      return Status(refused->status, refused->reason, refused->message);
    }
  }
  if (request.Query("dryRun") == "All") return Json(201, *object);
  Store(asked.Collection() + name, *std::move(object));
  return Json(201, objects_[asked.Collection() + name]);
}

std::optional<FakeApiServer::Refusal> FakeApiServer::WhatRefuses(const Asked& asked,
                                                                 const doc::Node& pod) const {
  if (auto refused = refusal_ ? refusal_(pod) : std::nullopt) return refused;
  auto there = std::count_if(objects_.begin(), objects_.end(),
                             [&](const auto& one) { return one.first.starts_with(asked.Collection()); });
  return namespaces_.WhatRefuses(asked.name_space, pod, static_cast<std::size_t>(there));
}

http::ServerResponse FakeApiServer::PatchOne(const http::ServerRequest& request, const Asked& asked) {
  auto found = objects_.find(asked.Path());
  if (found == objects_.end()) return GetOne(asked);
  auto patch = Parse(request.body);
  std::string_view type = request.headers.Get("Content-Type").value_or("");
  bool strategic = type == "application/strategic-merge-patch+json";
  if (!patch) return Status(400, "BadRequest", "the body is no object");
  if (!strategic && type != "application/merge-patch+json") {
    return Status(415, "UnsupportedMediaType", "the body is of an unknown type");
  }
  std::string wanted = TextAt(*patch, {"metadata", "resourceVersion"});
  if (!wanted.empty() && wanted != TextAt(found->second, {"metadata", "resourceVersion"})) {
    return Status(409, "Conflict",
                  "the object has been modified; please apply your changes to the latest version");
  }
  doc::Node patched = found->second;
  tests::Patch(strategic ? PatchKind::kStrategic : PatchKind::kMerge, *patch, patched);
  // The status changes through its subresource and nothing else does.
  const bool of_status = asked.subresource == "status";
  const doc::Node* status = (of_status ? patched : found->second).Find("status");
  doc::Node result = of_status ? found->second : patched;
  if (status != nullptr && asked.resource != "events") tests::Put(result, "status", doc::Node(*status));
  if (request.Query("dryRun") == "All") return Json(200, result);
  Store(asked.Path(), std::move(result));
  return Json(200, objects_[asked.Path()]);
}

http::ServerResponse FakeApiServer::DeleteOne(const http::ServerRequest& request, const Asked& asked) {
  auto found = objects_.find(asked.Path());
  if (found == objects_.end()) return GetOne(asked);
  auto options = Parse(request.body);
  std::string uid = options ? TextAt(*options, {"preconditions", "uid"}) : "";
  if (!uid.empty() && uid != TextAt(found->second, {"metadata", "uid"})) {
    return Status(409, "Conflict", "the UID in the precondition does not match");
  }
  doc::Node gone = found->second;
  if (request.Query("dryRun") != "All") objects_.erase(found);
  return Json(200, gone);
}

http::ServerResponse FakeApiServer::CreateToken(const http::ServerRequest& request, const Asked& asked) {
  if (!objects_.contains(asked.Path())) return GetOne(asked);
  auto body = Parse(request.body);
  const doc::Node* spec = body ? body->Find("spec") : nullptr;
  const doc::Node* wanted = spec == nullptr ? nullptr : spec->Find("expirationSeconds");
  if (wanted == nullptr || wanted->integer < 600) {
    return Status(422, "Invalid", "spec.expirationSeconds: may not specify a duration less than 10 minutes");
  }
  auto life = std::min<std::chrono::seconds>(std::chrono::seconds(wanted->integer), std::chrono::hours(1));
  doc::Node status = doc::Node::Mapping();
  status.Set("token",
             Text(NewToken("system:serviceaccount:" + asked.name_space + ":" + asked.name, {}, life)));
  status.Set("expirationTimestamp", Text(base::Rfc3339(clock_.Wall() + life)));
  doc::Node answer = *body;
  tests::Put(answer, "status", std::move(status));
  return Json(201, answer);
}

http::ServerResponse FakeApiServer::Proxy(const Asked& asked) const {
  auto found = pod_answers_.find(asked.name_space + "/" + asked.name + asked.rest);
  if (found == pod_answers_.end()) return Status(503, "ServiceUnavailable", "no endpoints available");
  return {.body = found->second};
}

}  // namespace prefetch::tests
