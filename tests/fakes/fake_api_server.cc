#include "fakes/fake_api_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/text.h"
#include "doc/json.h"
#include "doc/node.h"
#include "doc/write.h"
#include "fakes/api_question.h"
#include "fakes/certificates.h"

namespace prefetch::tests {
namespace {

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

doc::Node Named(const std::string& name, const std::string& uid) {
  return doc::Node::Mapping({{"name", doc::Node::String(name)}, {"uid", doc::Node::String(uid)}});
}

}  // namespace

struct FakeApiServer::User {
  std::string name;
  std::vector<std::string> groups;
  base::TimePoint ends = base::TimePoint::max();
  // Set for a token that is meant for another server: the API server accepts it from nobody.
  std::string audience = {};
  PodToken of = {};
};

FakeApiServer::FakeApiServer(const base::Clock& clock, FrontOptions tls)
    : clock_(clock), tls_(!tls.certificate_file.empty()), front_(std::move(tls)) {
  auto listener = http::Listener::Tcp("127.0.0.1:0");
  EXPECT_TRUE(listener);
  // Answers of 9 MiB that clients have cut off hold their memory until the server notices.
  const http::BodyLimits memory{.bytes = 256 << 20, .network = 256 << 20};
  auto server = http::Server::Start(std::move(*listener),
                                    {.deferred_threads = 64,
                                     .deferred_queue = 64,
                                     .budget = std::make_shared<http::BodyBudget>(memory),
                                     .body_bytes = 1 << 20},
                                    [this](const http::ServerRequest& request) { return Handle(request); });
  EXPECT_TRUE(server);
  server_ = std::move(*server);
  ComeBack();
}

FakeApiServer::~FakeApiServer() = default;

FrontOptions FakeApiServer::OverTls() {
  const KeyPair& server = OnLoopback().server;
  return {server.certificate_file, server.key_file, ""};
}

std::string FakeApiServer::Kubeconfig(const std::string& token, const std::string& trust) const {
  const std::string trusted =
      trust.empty() ? "certificate-authority: \"" + OnLoopback().authority_file + "\"" : trust;
  return "apiVersion: v1\nkind: Config\ncurrent-context: test\nclusters: [{name: c, cluster: {server: \"" +
         url() + "\", " + trusted + "}}]\nusers: [{name: u, user: {token: " + token +
         "}}]\ncontexts: [{name: test, context: {cluster: c, user: u}}]\n";
}

std::string FakeApiServer::url() const {
  return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(front_.port());
}

void FakeApiServer::SetAdmission(std::function<void(doc::Node&)> admission) {
  base::Lock lock(mutex_);
  admission_ = std::move(admission);
}

void FakeApiServer::SetRefusal(std::function<std::optional<Refusal>(const doc::Node&)> refusal) {
  base::Lock lock(mutex_);
  refusal_ = std::move(refusal);
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

std::string FakeApiServer::AddPodToken(const PodToken& of, const std::string& audience,
                                       std::chrono::seconds life) {
  base::Lock lock(mutex_);
  return NewAccountToken(of, audience, life);
}

std::string FakeApiServer::NewAccountToken(const PodToken& of, const std::string& audience,
                                           std::chrono::seconds life) {
  const auto ends =
      std::chrono::duration_cast<std::chrono::seconds>((clock_.Wall() + life).time_since_epoch());
  doc::Node bound = doc::Node::Mapping();
  if (!of.node.empty()) bound.Set("node", Named(of.node, of.node + "-uid"));
  if (!of.pod.empty()) bound.Set("pod", Named(of.pod, of.pod + "-uid"));
  const doc::Node claims = doc::Node::Mapping({{"aud", doc::Node::Strings({audience})},
                                               {"exp", doc::Node::Int(ends.count())},
                                               {"kubernetes.io", std::move(bound)}});
  std::string payload = base::Base64Encode(doc::WriteJson(claims));
  std::replace(payload.begin(), payload.end(), '+', '-');
  std::replace(payload.begin(), payload.end(), '/', '_');
  payload.resize(payload.find_last_not_of('=') + 1);
  std::string token = "eyJhbGciOiJub25lIn0." + payload + ".fake-" + std::to_string(++serial_);
  users_[token] = {.name = "system:serviceaccount:" + of.name_space + ":" + of.service_account,
                   .groups = {"system:serviceaccounts"},
                   .ends = clock_.Now() + life,
                   .audience = audience,
                   .of = of};
  return token;
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

void FakeApiServer::Recover() {
  base::Lock lock(mutex_);
  faults_.clear();
}

std::optional<Fault> FakeApiServer::TakeFault() {
  if (faults_.empty()) return std::nullopt;
  Fault fault = faults_.front();
  if (--faults_.front().times <= 0) faults_.pop_front();
  return fault;
}

http::HandlerResult FakeApiServer::Handle(const http::ServerRequest& request) {
  std::string line = request.method + " " + request.path;
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
    http::ServerResponse response =
        StatusAnswer(fault->status, ReasonOf(fault->status), "as the test wants it");
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
  // As a real one: with the client's name of this server, and without Authorization, which was for this
  // server.
  http::Headers headers = {{"Host", "api.example.com:6443"}};
  for (const auto& [name, value] : request.headers.fields()) {
    const std::string lower = base::ToLower(name);
    if (lower.starts_with("prefetchd-") || lower.starts_with("sec-")) headers.Add(name, value);
  }
  auto answer = client_.Send(call, {.method = request.method,
                                    .url = url,
                                    .headers = headers,
                                    .body = request.body,
                                    .max_body_bytes = 64 << 20});
  if (!answer) return StatusAnswer(503, "ServiceUnavailable", "error trying to reach service");
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
  bool allowed = rbac_.Allows(
      {.user = user->name, .groups = user->groups, .verb = verb, .resource = resource, .name = name});
  return allowed ? 200 : 403;
}

const FakeApiServer::User* FakeApiServer::UserOf(std::string_view header) const {
  if (header.starts_with("Bearer ")) header.remove_prefix(7);
  auto user = users_.find(std::string(header));
  if (user == users_.end() || clock_.Now() >= user->second.ends) return nullptr;
  return user->second.audience.empty() ? &user->second : nullptr;
}

std::optional<http::ServerResponse> FakeApiServer::Refuse(const http::ServerRequest& request,
                                                          const Asked& asked) const {
  const User* user = UserOf(request);
  if (user == nullptr) return StatusAnswer(401, "Unauthorized", "Unauthorized");
  if (asked.version) return std::nullopt;
  if (!asked.known) return StatusAnswer(404, "NotFound", "the server could not find the requested resource");
  std::string rbac_name =
      asked.subresource == "proxy" ? asked.name.substr(0, asked.name.find(':')) : asked.name;
  if (rbac_.Allows({.user = user->name,
                    .groups = user->groups,
                    .verb = asked.verb,
                    .group = asked.group,
                    .resource = asked.FullResource(),
                    .name_space = asked.name_space,
                    .name = rbac_name})) {
    return std::nullopt;
  }
  std::string where =
      asked.name_space.empty() ? "at the cluster scope" : "in the namespace \"" + asked.name_space + "\"";
  return StatusAnswer(403, "Forbidden",
                      asked.resource + (asked.name.empty() ? "" : " \"" + asked.name + "\"") +
                          " is forbidden: User \"" + user->name + "\" cannot " + asked.verb + " resource \"" +
                          asked.FullResource() + "\" in API group \"" + asked.group + "\" " + where);
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
  if (response.status < 300 && asked.group.empty() && asked.resource != "configmaps") {
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

// As k8s.io/kubernetes pkg/registry/authentication/tokenreview does.
http::ServerResponse FakeApiServer::ReviewToken(const http::ServerRequest& request) const {
  doc::Problems problems("review");
  auto review = doc::ParseJson(request.body, problems);
  if (!review) return StatusAnswer(400, "BadRequest", "no TokenReview");
  const std::string token = doc::TextAt(*review, {"spec", "token"});
  const auto& audiences = doc::ItemsAt(*review, {"spec", "audiences"});
  auto found = users_.find(token);
  const bool known = found != users_.end() && clock_.Now() < found->second.ends && audiences.size() == 1 &&
                     audiences.front().text == found->second.audience;
  doc::Node status = doc::Node::Mapping({{"authenticated", doc::Node::Bool(known)}});
  if (!known) status.Set("error", doc::Node::String("invalid bearer token"));
  if (known) {
    const User& user = found->second;
    doc::Node extra = doc::Node::Mapping();
    auto set = [&](const char* name, const std::string& value) {
      if (value.empty()) return;
      extra.Set("authentication.kubernetes.io/" + std::string(name), doc::Node::Strings({value}));
    };
    set("node-name", user.of.node);
    set("pod-name", user.of.pod);
    set("pod-uid", user.of.pod.empty() ? "" : user.of.pod + "-uid");
    status.Set("user", doc::Node::Mapping({{"username", doc::Node::String(user.name)},
                                           {"uid", doc::Node::String(user.of.service_account + "-uid")},
                                           {"extra", std::move(extra)}}));
    status.Set("audiences", doc::Node::Strings({user.audience}));
  }
  review->Set("status", std::move(status));
  return JsonAnswer(201, *review);
}

http::ServerResponse FakeApiServer::Write(const http::ServerRequest& request, const Asked& asked) {
  if (asked.subresource == "token") return CreateToken(request, asked);
  if (asked.resource == "tokenreviews") return ReviewToken(request);
  if (asked.verb == "create") return Create(request, asked);
  return asked.verb == "patch" ? PatchOne(request, asked) : DeleteOne(request, asked);
}

http::ServerResponse FakeApiServer::Proxy(const Asked& asked) const {
  auto found = pod_answers_.find(asked.name_space + "/" + asked.name + asked.rest);
  if (found == pod_answers_.end()) return StatusAnswer(503, "ServiceUnavailable", "no endpoints available");
  return {.body = found->second};
}

}  // namespace prefetch::tests
