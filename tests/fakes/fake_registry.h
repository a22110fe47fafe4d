// FakeRegistry: a registry and a token service on loopback that keep manifests, users and tokens, remember
// what was asked, and can be told to answer anything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "fakes/wire_server.h"

namespace prefetch::tests {

struct FakeReply {
  int status = 200;
  http::Headers headers;
  std::string body;
  std::string raw;     // if not empty: these bytes instead, and the connection is closed
  bool never = false;  // no answer at all
};

struct FakeManifest {
  std::string content_type = "application/vnd.oci.image.index.v1+json";
  std::string body = "{}";
  std::string digest() const;
};

// Any thread may call.
class FakeRegistry {
 public:
  FakeRegistry();

  std::uint16_t port() const { return server_.port(); }
  std::string address() const { return server_.address(); }
  int connections() const { return server_.accepted(); }

  // Under a tag, and under its digest. Gives the digest.
  std::string Put(const std::string& repository, const std::string& tag, FakeManifest manifest = {});
  void Remove(const std::string& repository, const std::string& tag);

  // Limits who may ask. Without these calls, everybody may.
  void DemandPassword(const std::string& user, const std::string& password);
  // Bearer, with tokens of this token service (whose address may differ from the registry's, by a front).
  void DemandToken(const std::string& realm, const std::string& service = "fake");
  // The token service, at /token of the same port: gives tokens to `user` alone, or to everybody.
  void GiveTokensTo(const std::string& user, const std::string& password);
  void TokenLifetime(std::optional<int> seconds);
  // The tokens given so far are no longer good.
  void ForgetTokens();

  // Answers instead of everything else, for requests that it gives a reply to. Runs on a connection's thread.
  using Override = std::function<std::optional<FakeReply>(const WireRequest&)>;
  void Answer(Override override);
  // The same to every request; to those for a path; to those for another one; and to those by HEAD.
  void Always(const FakeReply& reply) {
    AnswerWhere([](auto&) { return true; }, reply);
  }
  void AnswerFor(const std::string& path, const FakeReply& reply) {
    AnswerWhere([path](auto& request) { return request.path() == path; }, reply);
  }
  void AnswerAllBut(const std::string& path, const FakeReply& reply) {
    AnswerWhere([path](auto& request) { return request.path() != path; }, reply);
  }
  void AnswerHead(const FakeReply& reply) {
    AnswerWhere([](auto& request) { return request.method == "HEAD"; }, reply);
  }

  // Returns all requests, in order.
  std::vector<WireRequest> requests() const;
  // "HEAD /v2/a/manifests/v1", …
  std::vector<std::string> lines() const;
  void Forget();

 private:
  template <typename Which>
  void AnswerWhere(Which which, const FakeReply& reply) {
    Answer([=](const WireRequest& request) { return which(request) ? std::optional(reply) : std::nullopt; });
  }
  bool Serve(const WireRequest& request, int fd);
  FakeReply Reply(const WireRequest& request) PREFETCH_EXCLUDES(mutex_);
  FakeReply Manifest(const WireRequest& request) PREFETCH_REQUIRES(mutex_);
  FakeReply Token(const WireRequest& request) PREFETCH_REQUIRES(mutex_);
  std::optional<FakeReply> Challenge(const WireRequest& request) PREFETCH_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::map<std::string, FakeManifest> manifests_ PREFETCH_GUARDED_BY(mutex_);  // "a/b/manifests/v1"
  std::string basic_ PREFETCH_GUARDED_BY(mutex_);                              // the Authorization to be seen
  std::string realm_ PREFETCH_GUARDED_BY(mutex_), service_ PREFETCH_GUARDED_BY(mutex_);
  std::string token_user_ PREFETCH_GUARDED_BY(mutex_);
  std::optional<int> token_lifetime_ PREFETCH_GUARDED_BY(mutex_) = 300;
  // Scopes of each token, joined by blanks.
  std::map<std::string, std::string> tokens_ PREFETCH_GUARDED_BY(mutex_);
  int given_ PREFETCH_GUARDED_BY(mutex_) = 0;
  Override override_ PREFETCH_GUARDED_BY(mutex_);
  std::vector<WireRequest> requests_ PREFETCH_GUARDED_BY(mutex_);
  WireServer server_;  // last: its threads use all of the above
};

}  // namespace prefetch::tests
