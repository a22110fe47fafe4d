// Neighbours in one another's way: a real server with the agent's own endpoints, an API server and a registry
// that answer when the test lets them. Nothing is timed: the answers to others come while these still hang.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/answers/check_round.h"
#include "agent/answers/endpoints.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/text.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "fakes/refusing_api.h"
#include "http/raw_socket.h"
#include "http/server.h"
#include "kube/token_keys.h"
#include "status/sample.h"

namespace prefetch::agent::crowd_test {
namespace {

using tests::RawClient;

constexpr const char* kListed = "ghcr.io/acme/runner:v3";

// Holds its callers until the test opens it.
class Gate {
 public:
  void Pass(const base::Call& call) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    inside_++;
    most_ = std::max(most_, inside_);
    changed_.notify_all();
    while (!open_ && !call.Stopped()) changed_.wait_for(mutex_, std::chrono::milliseconds(20));
    inside_--;
  }
  void AwaitInside(int n) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    while (inside_ < n) changed_.wait(mutex_);
  }
  void Open() PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int most() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return most_;
  }
  bool open() const PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    return open_;
  }

 private:
  mutable base::Mutex mutex_;
  base::Condition changed_;
  bool open_ PREFETCH_GUARDED_BY(mutex_) = false;
  int inside_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int most_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

std::string Encoded(std::string_view text) {
  std::string encoded = base::Base64Encode(text);
  for (char& c : encoded) c = c == '+' ? '-' : c == '/' ? '_' : c;
  encoded.resize(encoded.find_last_not_of('=') + 1);
  return encoded;
}

// Of "NAMESPACE.POD" on this node; its review is held if POD begins with "held", and fails if it ends with
// "late".
std::string TokenOf(const std::string& pod) {
  return "e30." +
         Encoded(
             R"({"aud":["prefetchd"],"exp":8999999999,"kubernetes.io":{"node":{"name":"n1"},"pod":{"name":"p","uid":")" +
             pod + "\"}}}") +
         ".c2ln";
}

class HeldApi final : public tests::RefusingApi {
 public:
  kube::Answer<kube::TokenReview> ReviewToken(const base::Call& call, const base::Secret& token,
                                              const std::string& audience) override {
    const std::string uid = kube::ReadTokenClaims(token.Reveal())->pod_uid;
    const std::string name_space = uid.substr(0, uid.find('.'));
    if (uid.find(".held") != std::string::npos) gate.Pass(call);
    if (uid.find(".late") != std::string::npos) return kube::Failure{.kind = kube::ApiError::kTimeout};
    kube::TokenReview review;
    review.authenticated = true;
    review.audiences = {audience};
    review.user = "system:serviceaccount:" + name_space + ":" +
                  (name_space == "prefetchd" ? "prefetchd-fleet" : "default");
    review.node = "n1";
    review.pod = "p";
    review.pod_uid = uid;
    return review;
  }

  Gate gate;
};

class Crowd : public testing::Test {
 protected:
  Crowd() {
    board_.Publish(std::make_shared<const plan::Snapshot>(sample::PeacefulNode()));
    board_.RecordTurn(clock_.Now());
    http::ServerLimits limits;
    limits.deferred_queue = kPodNetworkQueueLimit;
    limits.deferred_threads = kPodNetworkThreads;
    limits.deferred_per_client = kPodNetworkThreadsPerClient;
    auto listener = http::Listener::Tcp("127.0.0.1:0");
    auto server = http::Server::Start(
        std::move(*listener), limits,
        Endpoints(board_, metrics_, image_queries_, retries_, clock_, Audience::kPodNetwork, &callers_));
    server_ = std::move(*server);
    // These are remembered before anything hangs.
    EXPECT_EQ(Known(), "200 200 200");
    EXPECT_EQ(Told(Ask("127.0.0.5", TokenOf("ci.evil"), kListed, "Never")), "200");
  }
  ~Crowd() override {
    api_.gate.Open();
    registry_.Open();
  }

  std::unique_ptr<RawClient> Send(const char* from, const std::string& text) {
    auto client = std::make_unique<RawClient>(server_->port(), from);
    client->Send(text);
    return client;
  }
  std::unique_ptr<RawClient> Ask(const char* from, const std::string& token, const std::string& image,
                                 const std::string& policy) {
    const std::string body = R"([{"image":")" + image + R"(","policy":")" + policy + "\"}]";
    return Send(from, "POST /v1/check HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" +
                          (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") +
                          "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  static std::string Told(const std::unique_ptr<RawClient>& client) {
    const std::string answer = client->ReadAll();
    return answer.size() < 12 ? "none" : answer.substr(9, 3);
  }
  // A remembered pod, a pod without a token, and a remembered fleet command.
  std::string Known() {
    return Told(Ask("127.0.0.2", TokenOf("team.known"), kListed, "Never")) + " " +
           Told(Ask("127.0.0.3", "", kListed, "Never")) + " " +
           Told(Send("127.0.0.4",
                     "GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                     "Prefetchd-Authorization: Bearer " +
                         TokenOf("prefetchd.ctl") + "\r\n\r\n"));
  }

  tests::FakeClock clock_;
  Metrics metrics_;
  tests::FakeClock runtime_clock_;
  tests::FakeImageService runtime_{runtime_clock_, tests::Persona::kContainerd16};
  credentials::Keyring keyring_{{.docker_configs = {"/absent"}}, clock_};
  Board board_;
  Gate registry_;
  HeldApi api_;
  Retries retries_{board_, clock_, [](const std::vector<std::string>&) {}};
  ImageQueryService image_queries_{
      board_,
      runtime_,
      runtime_,
      keyring_,
      clock_,
      [this](const base::Call& call, const image::RegistryQuestion& question, const RegistryQueryContext&) {
        if (question.reference.domain().starts_with("slow")) registry_.Pass(call);
        return image::RegistryAnswer{.kind = image::RegistryAnswerKind::kMoved};
      }};
  ClientAuthenticator callers_{
      {.namespaces = {"*"}, .always = plan::AnswerSource::kAsk, .unlisted = plan::AnswerSource::kAsk},
      true,
      {"n1", "prefetchd"},
      api_,
      metrics_,
      clock_};
  std::unique_ptr<http::Server> server_;
};

TEST_F(Crowd, UnknownTokensOfOneAddressHoldNobodyElse) {
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 100; i++) {
    crowd.push_back(Ask("127.0.0.66", TokenOf("ci.held-" + std::to_string(i)), kListed, "Never"));
  }
  api_.gate.AwaitInside(static_cast<int>(kPodNetworkThreadsPerClient));
  EXPECT_EQ(Known(), "200 200 200");
  EXPECT_EQ(Told(Ask("127.0.0.7", TokenOf("team.new"), kListed, "Never")), "200")
      << "a pod that just started";
  EXPECT_EQ(Told(Ask("127.0.0.66", "", kListed, "Never")), "200")
      << "a check of that address without a token";
  EXPECT_FALSE(api_.gate.open());
  EXPECT_EQ(api_.gate.most(), static_cast<int>(kPodNetworkThreadsPerClient));
  api_.gate.Open();
  for (auto& client : crowd) EXPECT_EQ(Told(client), "200");
}

TEST_F(Crowd, ARegistryThatHangsHoldsThoseWhoAskForIt) {
  std::vector<std::unique_ptr<RawClient>> crowd;
  const char* addresses[] = {"127.0.0.66", "127.0.0.67", "127.0.0.68", "127.0.0.69"};
  for (int i = 0; i < 40; i++) {
    crowd.push_back(
        Ask(addresses[i % 4], TokenOf("ci.evil"), "slow.test/a" + std::to_string(i) + ":x", "Always"));
  }
  registry_.AwaitInside(SharedRegistryAnswers::kMaxQueriesPerClient);
  EXPECT_EQ(Known(), "200 200 200");
  EXPECT_EQ(Told(Ask("127.0.0.7", TokenOf("team.new"), kListed, "Never")), "200");
  EXPECT_EQ(Told(Ask("127.0.0.7", TokenOf("team.known"), "fast.test/a:x", "Always")), "200")
      << "another registry answers another namespace";
  EXPECT_EQ(Told(Ask("127.0.0.66", TokenOf("ci.evil"), kListed, "Never")), "200")
      << "known facts for them, too";
  EXPECT_FALSE(registry_.open());
  EXPECT_EQ(registry_.most(), SharedRegistryAnswers::kMaxQueriesPerClient) << "of one namespace";
  crowd.push_back(Ask("127.0.0.7", TokenOf("team.known"), "slow.test/b:x", "Always"));
  registry_.AwaitInside(SharedRegistryAnswers::kMaxQueriesPerClient + 1);  // another one's question
}

TEST_F(Crowd, OneSlowReviewTurnsNobodyAwayWhileOthersAreAnswered) {
  auto slow = Ask("127.0.0.66", TokenOf("ci.held.late"), kListed, "Never");
  api_.gate.AwaitInside(1);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Told(Ask("127.0.0.7", TokenOf("team.new"), kListed, "Never")), "200");
  api_.gate.Open();
  EXPECT_EQ(Told(slow), "503");
  EXPECT_EQ(Told(Ask("127.0.0.7", TokenOf("team.newer"), kListed, "Never")), "200");
}

// Each of them has a registry that hangs.
TEST_F(Crowd, SixNamespacesLeaveThreadsToASeventh) {
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 24; i++) {
    const std::string party = std::to_string(i % 6);
    crowd.push_back(Ask(("127.0.0.6" + party).c_str(), TokenOf("evil-" + party + ".pod"),
                        "slow-" + party + ".test/a" + std::to_string(i) + ":x", "Always"));
  }
  registry_.AwaitInside(6);
  EXPECT_EQ(Told(Ask("127.0.0.7", TokenOf("team.known"), "fast.test/a:x", "Always")), "200");
  EXPECT_FALSE(registry_.open());
}

}  // namespace
}  // namespace prefetch::agent::crowd_test
