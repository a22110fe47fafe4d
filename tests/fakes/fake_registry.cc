#include "fakes/fake_registry.h"

#include <utility>

#include "base/sha256.h"
#include "base/text.h"

namespace prefetch::tests {
namespace {

std::string Basic(const std::string& user, const std::string& password) {
  return "Basic " + base::Base64Encode(user + ":" + password);
}

FakeReply Refusal(int status, const std::string& code, const std::string& message) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = R"({"errors":[{"code":")" + code + R"(","message":")" + message + R"("}]})"};
}

std::string Bytes(const FakeReply& reply, bool head) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " Fake\r\n";
  for (const auto& header : reply.headers.fields()) text += header.first + ": " + header.second + "\r\n";
  if (!reply.headers.Has("Content-Length")) {
    text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
  }
  return text + "\r\n" + (head ? "" : reply.body);
}

// The decoded values of one parameter of a query or form.
std::vector<std::string> Values(const std::string& query, const std::string& name) {
  std::vector<std::string> values;
  for (std::string_view part : base::Split(query, '&')) {
    if (!part.starts_with(name + "=")) continue;
    values.push_back(base::PercentDecode(part.substr(name.size() + 1)).value_or(""));
  }
  return values;
}

}  // namespace

std::string FakeManifest::digest() const {
  return "sha256:" + base::Sha256Hex(body);
}

FakeRegistry::FakeRegistry()
    : server_([this](const WireRequest& request, int fd) { return Serve(request, fd); }) {}

std::string FakeRegistry::Put(const std::string& repository, const std::string& tag, FakeManifest manifest) {
  base::Lock lock(mutex_);
  std::string digest = manifest.digest();
  manifests_[repository + "/manifests/" + digest] = manifest;
  manifests_[repository + "/manifests/" + tag] = std::move(manifest);
  return digest;
}

void FakeRegistry::Remove(const std::string& repository, const std::string& tag) {
  base::Lock lock(mutex_);
  manifests_.erase(repository + "/manifests/" + tag);
}

void FakeRegistry::DemandPassword(const std::string& user, const std::string& password) {
  base::Lock lock(mutex_);
  basic_ = Basic(user, password);
}

void FakeRegistry::DemandToken(const std::string& realm, const std::string& service) {
  base::Lock lock(mutex_);
  realm_ = realm;
  service_ = service;
}

void FakeRegistry::GiveTokensTo(const std::string& user, const std::string& password) {
  base::Lock lock(mutex_);
  token_user_ = Basic(user, password);
}

void FakeRegistry::TokenLifetime(std::optional<int> seconds) {
  base::Lock lock(mutex_);
  token_lifetime_ = seconds;
}

void FakeRegistry::ForgetTokens() {
  base::Lock lock(mutex_);
  tokens_.clear();
}

void FakeRegistry::Answer(Override override) {
  base::Lock lock(mutex_);
  override_ = std::move(override);
}

std::vector<WireRequest> FakeRegistry::requests() const {
  base::Lock lock(mutex_);
  return requests_;
}

std::vector<std::string> FakeRegistry::lines() const {
  base::Lock lock(mutex_);
  std::vector<std::string> lines;
  for (const WireRequest& request : requests_) lines.push_back(request.method + " " + request.target);
  return lines;
}

void FakeRegistry::Forget() {
  base::Lock lock(mutex_);
  requests_.clear();
}

std::optional<FakeReply> FakeRegistry::Challenge(const WireRequest& request) {
  std::string_view sent = request.headers.Get("Authorization").value_or("");
  if (!basic_.empty() && sent != basic_) {
    FakeReply reply = Refusal(401, "UNAUTHORIZED", "authentication required");
    reply.headers.Add("WWW-Authenticate", "Basic realm=\"fake\"");
    return reply;
  }
  if (realm_.empty()) return std::nullopt;
  std::string path = request.path().substr(std::string("/v2/").size());
  std::string scope = "repository:" + path.substr(0, path.find("/manifests/")) + ":pull";
  auto token = sent.starts_with("Bearer ") ? tokens_.find(std::string(sent.substr(7))) : tokens_.end();
  if (token != tokens_.end() && token->second.find(scope) != std::string::npos) return std::nullopt;
  FakeReply reply = Refusal(401, "UNAUTHORIZED", "authentication required");
  std::string challenge =
      "Bearer realm=\"" + realm_ + "\",service=\"" + service_ + "\",scope=\"" + scope + "\"";
  if (!sent.empty()) challenge += ",error=\"invalid_token\"";
  reply.headers.Add("WWW-Authenticate", challenge);
  return reply;
}

FakeReply FakeRegistry::Manifest(const WireRequest& request) {
  if (auto challenge = Challenge(request)) return *challenge;
  std::string path = request.path().substr(std::string("/v2/").size());
  if (path.empty()) return {.body = "{}"};
  auto found = manifests_.find(path);
  if (found == manifests_.end()) return Refusal(404, "MANIFEST_UNKNOWN", "manifest unknown");
  return {.headers = {{"Content-Type", found->second.content_type},
                      {"Docker-Content-Digest", found->second.digest()},
                      {"Content-Length", std::to_string(found->second.body.size())}},
          .body = found->second.body};
}

FakeReply FakeRegistry::Token(const WireRequest& request) {
  bool post = request.method == "POST";
  std::string parameters = post ? request.body : request.query();
  std::string sent(request.headers.Get("Authorization").value_or(""));
  if (post) {
    auto value = [&](const std::string& name) {
      const std::vector<std::string> values = Values(parameters, name);
      return values.empty() ? "" : values[0];
    };
    sent = Basic(value("username"), value("password"));
  }
  if (!token_user_.empty() && sent != token_user_) return Refusal(401, "UNAUTHORIZED", "who are you");
  std::string token = "token-" + std::to_string(++given_);
  tokens_[token] = base::Join(Values(parameters, "scope"), " ");
  std::string lifetime = token_lifetime_ ? ",\"expires_in\":" + std::to_string(*token_lifetime_) : "";
  return {.headers = {{"Content-Type", "application/json"}},
          .body = R"({"token":")" + token + R"(","access_token":")" + token + "\"" + lifetime + "}"};
}

FakeReply FakeRegistry::Reply(const WireRequest& request) {
  Override override;
  {
    base::Lock lock(mutex_);
    requests_.push_back(request);
    override = override_;
  }
  if (override) {
    if (auto reply = override(request)) return *std::move(reply);
  }
  base::Lock lock(mutex_);
  if (request.path() == "/token") return Token(request);
  if (request.path().starts_with("/v2/")) return Manifest(request);
  return Refusal(404, "NOT_FOUND", "nothing here");
}

bool FakeRegistry::Serve(const WireRequest& request, int fd) {
  FakeReply reply = Reply(request);
  if (reply.never) {
    WireServer::WaitForClose(fd);
    return false;
  }
  if (!reply.raw.empty()) {
    WireServer::Write(fd, reply.raw);
    return false;
  }
  return WireServer::Write(fd, Bytes(reply, request.method == "HEAD"));
}

}  // namespace prefetch::tests
