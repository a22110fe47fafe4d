#include "kube/exchange.h"

#include <chrono>
#include <memory>
#include <vector>

#include "kube/failure.h"
#include "kube/retry.h"

namespace prefetch::kube {
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
                                const Ask& ask, const std::string& ca_pem, const Identity& identity,
                                const Proof& proof) {
  http::Request request{.method = ask.method, .url = ask.url, .headers = {{"Accept", ask.accept}}};
  if (!ask.content_type.empty()) request.headers.Add("Content-Type", ask.content_type);
  for (const auto& [name, value] : ask.further.fields()) request.headers.Add(name, value);
  for (const auto& [name, value] : identity.cluster().impersonation.fields()) {
    request.headers.Add(name, value);
  }
  request.authorization = proof.authorization;
  request.secret_header = ask.header;
  request.body = ask.body;
  request.tls = ca_pem.empty() ? proof.tls : TrustOnly(ca_pem, *proof.tls);
  request.connect_timeout = kLongestConnect;
  request.max_body_bytes = ask.max_body_bytes;
  auto response = client.Send(call, request);
  if (!response) return FailureOf(response.error(), ask.attempt);
  // The server may repeat any of these in its answer.
  const std::vector<const base::Secret*> sent = {&proof.authorization,
                                                 ask.header ? &ask.header->value : nullptr, ask.secret};
  if (auto failure = FailureOf(*response, ask.attempt, sent, clock.Wall())) {
    // pods/proxy passes a pod's own 401 on, which is no reason to read the credential again. The API server
    // sends a Status with each 401 of its own (apiserver/pkg/endpoints/filters/authentication.go,
    // Unauthorized).
    failure->of_pod = ask.header && response->status == 401 && !IsStatus(response->body);
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
                                const base::Clock& clock, const Ask& ask, const std::string& ca_pem) {
  // One limit for both tries and for a plugin's run, so that a caller waits for 30 s at most.
  base::Call bounded = call.Within(kLongestCall);
  auto proof = identity.Current(bounded);
  if (!proof) return NoCredential(proof.error(), ask.attempt);
  auto answer = SendOnce(bounded, client, clock, ask, ca_pem, identity, *proof);
  // A request that was refused for its credential has done nothing, so it may be sent again, a write too.
  if (answer || NextTry(answer.failure(), 1, 0).step != Step::kReadCredentialAgain) return answer;
  // A new identity changes nothing about a trust that is not the identity's.
  if (!ca_pem.empty() && answer.failure().kind == ApiError::kTlsError) return answer;
  // Only a credential that differs is worth a second request.
  auto other = identity.Replacement(bounded, *proof);
  if (!other) return answer;
  return SendOnce(bounded, client, clock, ask, ca_pem, identity, *other);
}

}  // namespace prefetch::kube
