// Neighbours in one another's way: a real server with the agent's own endpoints, an API server and a registry
// that answer when the test lets them. Nothing is timed: the answers to others come while these still hang.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/answers/check_round.h"
#include "agent/answers/endpoints.h"
#include "agent/image_queries_rig.h"
#include "base/mutex.h"
#include "base/text.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "fakes/fake_plugins.h"
#include "fakes/refusing_api.h"
#include "http/raw_socket.h"
#include "kube/token_keys.h"
#include "pulling/query_registry.h"
#include "registry/host_state.h"
#include "rows.h"
#include "serve.h"
#include "spellings.h"
#include "status/sample.h"

namespace prefetch::agent::check_round_test {
namespace {

using image::RegistryAnswerKind;
using plan::AnswerSource;
using plan::PullFor;
using std::chrono::milliseconds;
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
  return tests::UrlSafe(base::Base64Encode(text));
}

// Returns the token of the pod "NAMESPACE.POD" on this node. Its review is held if POD begins with "held",
// and fails if POD ends with "late".
std::string TokenOf(const std::string& pod) {
  return "e30." +
         Encoded(
             R"({"aud":["prefetchd"],"exp":8999999999,"kubernetes.io":{"node":{"name":"n1"},"pod":{"name":"p","uid":")" +
             pod + "\"}}}") +
         ".c2ln";
}

class HeldApi final : public tests::RefusingApi {
 public:
  kube::Answer<base::TokenReview> ReviewToken(const base::Call& call, const base::Secret& token,
                                              const std::string& audience) override {
    const std::string uid = kube::ReadTokenClaims(token.Reveal())->pod_uid;
    const std::string name_space = uid.substr(0, uid.find('.'));
    if (uid.find(".held") != std::string::npos) gate.Pass(call);
    if (uid.find(".late") != std::string::npos) return kube::Failure{.kind = kube::ApiError::kTimeout};
    base::TokenReview review;
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
    server_ = tests::Serve(
        Endpoints(board_, metrics_, image_queries_, retries_, clock_, Audience::kPodNetwork, &callers_),
        limits);
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
      [this](const base::Call& call, const image::RegistryQuestion& question, const image::RuntimeInfo&) {
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

image::RegistryAnswer Late() {
  return {.kind = RegistryAnswerKind::kUnreachable, .message = "late"};
}
SharedRegistryAnswers::Reply Same() {
  return {{.kind = RegistryAnswerKind::kSame}};
}

TEST(SharedAnswers, OneAnswerServesAllWhoAskMeanwhile) {
  SharedRegistryAnswers moment;
  std::latch begun(1), done(1);
  std::atomic<int> asked{0}, same{0};
  const auto slow = [&]() -> SharedRegistryAnswers::Reply {
    asked++;
    begun.count_down();
    done.wait();
    return Same();
  };
  std::vector<std::jthread> threads;
  threads.emplace_back([&] {
    same += moment.Get({}, {"ci", "r.io", "a"}, slow, Late).kind == RegistryAnswerKind::kSame;
  });
  begun.wait();
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&] {
      same += moment.Get({}, {"ci", "r.io", "a"}, slow, Late).kind == RegistryAnswerKind::kSame;
    });
  }
  done.count_down();
  threads.clear();
  EXPECT_EQ(same, 5);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(moment.Get({}, {"ci", "r.io", "b"}, Same, Late).kind, RegistryAnswerKind::kSame)
      << "another key is asked";
}

TEST(SharedAnswers, WhoHasNoTimeGetsNoAnswerAndSpoilsNone) {
  SharedRegistryAnswers moment;
  const auto cut_short = [] { return SharedRegistryAnswers::Reply{Late(), false}; };
  EXPECT_EQ(moment.Get({}, {"ci", "r.io", "a"}, cut_short, Late).message, "late");
  EXPECT_EQ(moment.Get({}, {"ci", "r.io", "a"}, Same, Late).kind, RegistryAnswerKind::kSame)
      << "the next one asks for itself";

  std::latch begun(1), done(1);
  std::jthread slow([&] {
    moment.Get(
        {}, {"ci", "r.io", "b"},
        [&] {
          begun.count_down();
          done.wait();
          return Same();
        },
        Late);
  });
  begun.wait();
  EXPECT_EQ(moment.Get(base::Call{}.Within(milliseconds(20)), {"ci", "r.io", "b"}, Same, Late).message,
            "late");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(moment.Get({.stop = stop.get_token()}, {"ci", "r.io", "b"}, Same, Late).message, "late");
  done.count_down();
}

TEST(SharedAnswers, ARegistryThatHangsLeavesAnEndToOthersWaiting) {
  SharedRegistryAnswers moment;
  std::latch begun(SharedRegistryAnswers::kMaxQueries), done(1);
  std::vector<std::jthread> hanging;
  for (int i = 0; i < SharedRegistryAnswers::kMaxQueries; i++) {
    hanging.emplace_back([&, i] {
      moment.Get(
          {}, {"ci-" + std::to_string(i), "r.io", std::to_string(i)},
          [&] {
            begun.count_down();
            done.wait();
            return Same();
          },
          Late);
    });
  }
  begun.wait();
  EXPECT_EQ(moment.Get(base::Call{}.Within(milliseconds(20)), {"ci", "r.io", "third"}, Same, Late).message,
            "late");
  EXPECT_EQ(moment.Get({}, {"ci", "other.io", "third"}, Same, Late).kind, RegistryAnswerKind::kSame)
      << "another registry is asked meanwhile";
  done.count_down();
  hanging.clear();
  EXPECT_EQ(moment.Get({}, {"ci", "r.io", "third"}, Same, Late).kind, RegistryAnswerKind::kSame);
}

// The agent's own questions, and those for pods and users of the socket, leave places to each other.
TEST(SharedAnswers, RegistriesHaveRoomForTheAgentsOwnQuestions) {
  EXPECT_EQ(registry::kClientChecks, kPodNetworkThreads + http::ServerLimits().deferred_threads);
  registry::Throttle throttle({});
  std::vector<registry::Throttle::Permit> passes;
  const auto short_call = [] { return base::Call{}.Within(milliseconds(20)); };
  for (int i = 0; i < registry::kClientChecks + image::kChecksAtOnce; i++) {
    passes.push_back(throttle.AcquireCheck(short_call()));
    EXPECT_NE(passes.back(), nullptr) << i;
  }
  for (int i = 0; i < SharedRegistryAnswers::kMaxQueries; i++) {
    passes.push_back(throttle.AcquireHost(short_call(), "https://r.io"));
  }
  EXPECT_NE(throttle.AcquireHost(short_call(), "https://r.io"), nullptr) << "the agent's own";
}

// One namespace asks about many tags, from more threads than may ask at once.
TEST(SharedAnswers, NamespacesTakeTurns) {
  SharedRegistryAnswers moment;
  std::latch begun(SharedRegistryAnswers::kMaxQueries), done(1), other_answered(1);
  std::vector<std::jthread> threads;
  const auto ask = [&](const std::string& asker, const std::string& tag, const std::function<void()>& wait) {
    threads.emplace_back([&, asker, tag, wait] {
      moment.Get(
          {}, {asker, "r.io", tag},
          [&] {
            wait();
            return Same();
          },
          Late);
    });
  };
  for (int i = 0; i < SharedRegistryAnswers::kMaxQueries; i++) {
    ask(i == 0 ? "many" : "held-" + std::to_string(i), std::to_string(i), [&] {
      begun.count_down();
      done.wait();
    });
  }
  begun.wait();
  for (int i = 0; i < 4; i++) ask("many", "more-" + std::to_string(i), [&] { other_answered.wait(); });
  while (moment.waiting() < 4) std::this_thread::yield();
  image::RegistryAnswer other;
  threads.emplace_back([&] {
    other = moment.Get({}, {"other", "r.io", "tag"}, Same, Late);
    other_answered.count_down();
  });
  while (moment.waiting() < 5) std::this_thread::yield();
  done.count_down();
  threads.clear();
  EXPECT_EQ(other.kind, RegistryAnswerKind::kSame) << "it came before those of them that had not begun";
}

TEST(SharedAnswers, AnAskerThatThrowsLeavesItsKeyToOthers) {
  SharedRegistryAnswers moment;
  EXPECT_THROW(moment.Get(
                   {}, {"ci", "r.io", "a"},
                   []() -> SharedRegistryAnswers::Reply { throw std::runtime_error("no memory"); }, Late),
               std::runtime_error);
  EXPECT_EQ(moment.Get(base::Call{}.Within(milliseconds(20)), {"ci", "r.io", "a"}, Same, Late).kind,
            RegistryAnswerKind::kSame);
}

// The answers to each caller: callers x images x policies x answers of the registry x rights
// (deploy/docs/gate.md has the same table in words).

constexpr PullPolicy kNever = PullPolicy::kNever, kIfNotPresent = PullPolicy::kIfNotPresent,
                     kAlways = PullPolicy::kAlways;

const std::string kGone = "reg.example.test/gone:v1";  // listed, and not here
const std::string kUnlisted = "reg.example.test/unlisted:v1";
const std::string kNowhere = "reg.example.test/nowhere:v1";  // neither

const Requester kAnonymous;
const Requester kPod{.kind = Requester::Kind::kPod, .rules = {.namespaces = {"ci"}}};
const Requester kAsking{
    .kind = Requester::Kind::kPod,
    .rules = {.namespaces = {"ci"}, .always = AnswerSource::kAsk, .unlisted = AnswerSource::kAsk}};
const Requester kAskingAlways{.kind = Requester::Kind::kPod,
                              .rules = {.namespaces = {"ci"}, .always = AnswerSource::kAsk}};

class PreflightRights : public InquiryTest {
 protected:
  PreflightRights() {
    plan::ImageState gone;
    gone.desired = plan::DesiredImage{.reference = *image::Reference::Parse(kGone)};
    gone.reason = plan::Reason::kQueued;
    gone.message = "it is going to be pulled";
    snapshot_.images.push_back(gone);
  }

  // "yes Starts Preloaded", and "asked" where the registry was.
  std::string Told(const Requester& asker, const std::string& image, PullPolicy policy) {
    board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
    status::CheckAnswer answer = asking_.Check({}, {.questions = {{image, policy, {}}}}, asker).answers.at(0);
    return std::string(answer.ok ? "yes " : "no ") + answer.result.text() + " " + answer.reason +
           (times_asked_ > 0 ? " asked" : "");
  }
};

// The whole table, of images that no refresh has asked for.
struct TableCell {
  std::string name;
  Requester asker;
  std::string image;
  PullPolicy policy;
  bool registry_is_up;
  std::string expect;
};

// Never; then IfNotPresent and Always, each while the registry answers and while it does not.
using Cells = std::array<std::string, 5>;

const Requester kAskingUnlisted{.kind = Requester::Kind::kPod,
                                .rules = {.namespaces = {"ci"}, .unlisted = AnswerSource::kAsk}};

std::vector<TableCell> WholeTable() {
  const std::string starts = "yes Starts Preloaded", absent = "no Refused ImageAbsent",
                    hidden = "no Unknown NotListed", down = "no Unknown Unreachable asked";
  const Cells nothing{hidden, hidden, hidden, hidden, hidden};
  const Cells here{starts, starts, starts, "no Pulls PolicyAlways", "no Pulls PolicyAlways"};
  const Cells here_asked{starts, starts, starts, "yes Pulls UpToDate asked", down};
  const Cells gone{absent, "no Pulls ImageAbsent", "no Pulls ImageAbsent", "no Pulls PolicyAlways",
                   "no Pulls PolicyAlways"};
  const Cells gone_asked{absent, "yes Pulls ImageAbsent asked", down, "yes Pulls ImageAbsent asked", down};
  std::vector<TableCell> table = {
      {"NoName", kPod, "Upper/Case", kNever, true, "no Refused InvalidImageName"}};
  auto add = [&](const std::string& name, const Requester& asker, const std::string& image,
                 const Cells& cells) {
    table.push_back({name + "Never", asker, image, kNever, true, cells[0]});
    table.push_back({name + "IfNotPresentUp", asker, image, kIfNotPresent, true, cells[1]});
    table.push_back({name + "IfNotPresentDown", asker, image, kIfNotPresent, false, cells[2]});
    table.push_back({name + "AlwaysUp", asker, image, kAlways, true, cells[3]});
    table.push_back({name + "AlwaysDown", asker, image, kAlways, false, cells[4]});
  };
  struct Who {
    std::string name;
    Requester asker;
    Cells listed, gone, unlisted, nowhere;
  };
  for (const Who& who : {Who{"Neighbour", kAnonymous, here, gone, nothing, nothing},
                         Who{"Pod", kPod, here, gone, nothing, nothing},
                         Who{"PodOfAlways", kAskingAlways, here_asked, gone_asked, nothing, nothing},
                         Who{"PodOfUnlisted", kAskingUnlisted, here, gone, here, gone},
                         Who{"PodOfBoth", kAsking, here_asked, gone_asked, here_asked, gone_asked},
                         Who{"Node", kNode, here_asked, gone_asked, here_asked, gone_asked}}) {
    add(who.name + "Listed", who.asker, kApp, who.listed);
    add(who.name + "ListedGone", who.asker, kGone, who.gone);
    add(who.name + "Unlisted", who.asker, kUnlisted, who.unlisted);
    add(who.name + "UnlistedGone", who.asker, kNowhere, who.nowhere);
  }
  return table;
}

TEST_TABLE_F(WholeTableTest, Is, PreflightRights, TableCell) {
  const bool is_here = row.image == kApp || row.image == kUnlisted;
  says_ = {.kind = !row.registry_is_up ? Kind::kUnreachable : is_here ? Kind::kSame : Kind::kMoved};
  EXPECT_EQ(Told(row.asker, row.image, row.policy), row.expect);
}

INSTANTIATE_TEST_SUITE_P(Table, WholeTableTest, testing::ValuesIn(WholeTable()), tests::kRowName);

TEST_F(PreflightRights, PodsThatAskTogetherAreOneQuestionToTheRegistry) {
  says_ = {.kind = Kind::kSame};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  std::atomic<int> good{0};
  {
    std::vector<std::jthread> pods;
    for (int i = 0; i < 16; i++) {
      pods.emplace_back([&] {
        auto result = asking_.Check({}, {.questions = {{kApp, kAlways, {}}}}, kAskingAlways);
        if (result.ok) good++;
      });
    }
  }
  EXPECT_EQ(good, 16);
  EXPECT_EQ(times_asked_, 1);
  Told(kAskingAlways, kGone, kAlways);
  EXPECT_EQ(times_asked_, 2) << "another image is another question";
  Told(kNode, kApp, kAlways);
  EXPECT_EQ(times_asked_, 3) << "the node asks with what pods may not use";
}

TEST_F(PreflightRights, ThePodsOwnSecretsMakeADenialUnknown) {
  says_ = {.kind = Kind::kAccessDenied};
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  status::CheckRequest request{.questions = {{kApp, kAlways, {.secrets = {{"", "ci", "pull"}}}}}};
  EXPECT_EQ(asking_.Check({}, request, kAskingAlways).answers.at(0).result.text(), "Unknown");
}

// A pod's own question goes out with what every pod of the node has, the node's with all that the agent has.
TEST_F(PreflightRights, NoPullSecretOfTheAgentsIsUsedForAPod) {
  const std::string auths = R"({"auths":{"reg.example.test":{"username":"bob","password":"s3cr3t-y"}}})";
  credentials::Keyring keyring({.docker_configs = {dir_ / "config.json"},
                                .pull_secrets = {{.name = "team-pull",
                                                  .path = dir_.Write("secret/.dockerconfigjson", auths),
                                                  .allow_repositories = {"reg.example.test"},
                                                  .sources = {"images.yaml"}}}},
                               clock_);
  ImageQueryService asking(
      board_, runtime_, runtime_, keyring, clock_,
      [this](const base::Call&, const image::RegistryQuestion& question, const image::RuntimeInfo&) {
        asked_ = question;
        return image::RegistryAnswer{.kind = Kind::kSame};
      });
  snapshot_.images[0].desired.Change([](plan::DesiredImage& desired) { desired.sources = {"images.yaml"}; });
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  auto users = [&](const Requester& asker) {
    asking.Check({}, {.questions = {{kApp, kAlways, {}}}}, asker);
    std::string names;
    for (const image::AuthConfig& auth : asked_->credentials) names += auth.username + " ";
    return names;
  };
  EXPECT_EQ(users(kAskingAlways), "ann ");
  EXPECT_EQ(users(kNode), "bob ann ");
}

TEST_F(PreflightRights, ATokenOfThePodsAccountMayOpenWhatIsDenied) {
  credentials::Keyring keyring(
      {.provider_config = dir_.Write("providers.yaml", tests::ProviderOfAccounts("reg.example.test")),
       .provider_bin_dir = "/bin",
       .docker_configs = {dir_ / "config.json"},
       .kubelet_version = {1, 36}},
      clock_);
  EXPECT_EQ(keyring.problems(), std::vector<std::string>{});
  ImageQueryService asking(board_, runtime_, runtime_, keyring, clock_,
                           [](const base::Call&, const image::RegistryQuestion&, const image::RuntimeInfo&) {
                             return image::RegistryAnswer{.kind = Kind::kAccessDenied};
                           });
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  EXPECT_EQ(asking.Check({}, {.questions = {{kApp, kAlways, {}}}}, kAskingAlways).answers.at(0).result.text(),
            "Unknown");
}

// The last of many images of a question gets what time is left.
TEST_F(PreflightRights, WhatIsHeardInLittleTimeIsNoAnswerForOthers) {
  SharedRegistryAnswers moment;
  LiveRuntime live(runtime_, runtime_, clock_);
  const pulling::RegistryResolver unreachable = [this](const base::Call&, const image::RegistryQuestion&,
                                                       const image::RuntimeInfo&) {
    times_asked_++;
    return image::RegistryAnswer{.kind = Kind::kUnreachable};
  };
  auto ask = [&](std::chrono::seconds left, const base::Call& call) {
    CheckRound now({live, keyring_, clock_, unreachable, moment}, snapshot_, kAskingAlways,
                   std::chrono::steady_clock::now() + left);
    EXPECT_EQ(now.AskRegistry(call, snapshot_.images[0], true).kind, Kind::kUnreachable);
  };
  ask(std::chrono::seconds(2), {});
  // Its turn came late.
  ask(std::chrono::minutes(1), base::Call{}.Within(std::chrono::seconds(2)));
  ask(std::chrono::minutes(1), {});
  EXPECT_EQ(times_asked_, 3);
  ask(std::chrono::minutes(1), {});
  EXPECT_EQ(times_asked_, 3) << "who had all the time is believed";
}

// Where such a question leads is bounded (RegistryQuestion::untrusted_name).
TEST_F(PreflightRights, ARegistryThatNoListNamesIsAStrangers) {
  says_ = {.kind = Kind::kUnreachable};
  struct Case {
    Requester asker;
    std::string image;
    bool stranger;
  };
  for (const Case& each : {Case{kAsking, "127.0.0.1:5000/x:y", true}, Case{kAsking, "other.test/x:y", true},
                           Case{kAsking, kNowhere, false}, Case{kAsking, kApp, false},
                           Case{kNode, "127.0.0.1:5000/x:y", false}}) {
    asked_.reset();
    Told(each.asker, each.image, kAlways);
    ASSERT_TRUE(asked_) << each.image;
    EXPECT_EQ(asked_->untrusted_name, each.stranger) << each.image;
  }
}

// By it an answer in the background is kept from pods that could not have got it.
TEST_F(PreflightRights, AnAnswerTellsWhetherACredentialWasLent) {
  const pulling::RegistryResolver asker = [](const base::Call&, const image::RegistryQuestion&,
                                             const image::RuntimeInfo&) {
    return image::RegistryAnswer{.kind = Kind::kSame};
  };
  const image::Reference app = *image::Reference::Parse(kApp);
  const image::AuthConfig bob{.username = "bob", .password = base::Secret("pw")};
  pulling::RejectedCredentials refusals;
  auto is_lent = [&](bool exposes) {
    credentials::Lookup lookup;
    lookup.credentials = {{.auth = bob, .exposes = exposes},
                          {.auth = {.username = "ann", .password = base::Secret("pw")}}};
    return pulling::QueryRegistry(
               {}, {asker, &refusals, clock_, image::Platform::Host()},
               {.reference = app, .credentials = std::make_shared<const credentials::Lookup>(lookup)})
        .restricted;
  };
  EXPECT_FALSE(is_lent(false));
  EXPECT_TRUE(is_lent(true));
  for (const char* other : {"r.io/a:v1", "r.io/b:v1", "r.io/c:v1"}) {
    refusals.RecordRejection(*image::Reference::Parse(app.domain() + std::string(other).substr(4)), bob,
                             clock_.Now());
  }
  EXPECT_FALSE(is_lent(true)) << "one that was refused is not sent";
}

TEST_F(PreflightRights, PullsAreForWhomTheConfigurationSays) {
  plan::CallerRules listed{.namespaces = {"ci"}, .pull = PullFor::kListed};
  Requester asker{.kind = Requester::Kind::kPod, .rules = listed, .pull = true};
  EXPECT_TRUE(asker.Rights(true).pull);
  EXPECT_FALSE(asker.Rights(false).pull);
  asker.pull = false;
  EXPECT_FALSE(asker.Rights(true).pull) << "it did not ask for that";
  EXPECT_FALSE((Requester{.kind = Requester::Kind::kPod, .rules = {.namespaces = {"ci"}}, .pull = true}
                    .Rights(true)
                    .pull));
  EXPECT_FALSE((Requester{.pull = true}.Rights(true).pull));
}

// CRI-O lists what has lost its last name with a digest by which it finds nothing.
TEST(LiveRuntime, WhatNoNameFindsIsNotHere) {
  tests::FakeClock clock;
  tests::FakeImageService runtime(clock, tests::Persona::kCrio);
  LiveRuntime now(runtime, runtime, clock);
  const tests::FakeImage old = tests::MakeImage("r.io/a:v1", 1000);
  const auto digest = *image::Reference::Parse("r.io/a@" + old.digest);
  plan::ImageState listed;
  listed.desired = plan::DesiredImage{.reference = digest};
  runtime.Preload(old);
  LiveRuntime::Listing here = now.Ask({}, std::chrono::seconds(10), {});
  EXPECT_TRUE(now.Unlisted({}, digest, *here)->present);
  EXPECT_TRUE(now.Entry({}, listed, *here, true)->present);
  runtime.Preload(tests::MakeImage("r.io/a:v1", 2000));
  here = now.Ask({}, std::chrono::seconds(10), {});
  EXPECT_FALSE(now.Unlisted({}, digest, *here)->present);
  EXPECT_FALSE(now.Entry({}, listed, *here, true)->present);
}

// An image that no list names is judged as one of the list.
TEST(LiveRuntime, AnImageOfNoListIsForThisPlatformToo) {
  tests::FakeClock clock;
  tests::FakeImageService runtime(clock, tests::Persona::kContainerd23);
  LiveRuntime now(runtime, runtime, clock);
  tests::FakeImage other = tests::MakeImage("r.io/a:v1", 1000);
  other.platform = {"linux", "s390x", ""};
  runtime.Preload(other);
  const auto name = *image::Reference::Parse("r.io/a:v1");
  const LiveRuntime::Listing here = now.Ask({}, std::chrono::seconds(10), {});
  const plan::ImageState unlisted = *now.Unlisted({}, name, *here);
  EXPECT_EQ(unlisted.reason, plan::Reason::kWrongPlatform);
  EXPECT_FALSE(unlisted.usable);
  plan::ImageState entry;
  entry.desired = plan::DesiredImage{.reference = name};
  entry = *now.Entry({}, entry, *here, true);
  EXPECT_EQ(entry.message, unlisted.message);
  EXPECT_FALSE(entry.usable);
}

// A runtime whose first list does not fit into memory.
class LongListRuntime final : public tests::FakeImageService {
 public:
  using FakeImageService::FakeImageService;
  cri::CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override {
    if (!std::exchange(fits_, true)) throw std::bad_alloc();
    return FakeImageService::ListImages(call);
  }

 private:
  bool fits_ = false;
};

TEST(LiveRuntime, NobodyWaitsForAListThatRanOutOfMemory) {
  tests::FakeClock clock;
  LongListRuntime runtime(clock, tests::Persona::kContainerd23);
  LiveRuntime now(runtime, runtime, clock);
  EXPECT_THROW(now.Ask({}, std::chrono::hours(1), {}), std::bad_alloc);
  EXPECT_TRUE(now.Ask({}, std::chrono::hours(1), {})->ok());
}

// A runtime that goes amid a question says nothing about the image: not that it starts, nor that it does not.
TEST_F(PreflightRights, ARuntimeThatGoesMeanwhileIsNotAGuess) {
  tests::FakeImageService gone(clock_, tests::Persona::kContainerd16);
  gone.SetRuntimeUp(false);
  ImageQueryService asking(board_, runtime_, gone, keyring_, clock_);
  // The entry's image is another one than at the last poll, so the runtime is asked for it.
  snapshot_.images[0].image_id = "sha256:" + std::string(64, '5');
  board_.Publish(std::make_shared<const plan::Snapshot>(snapshot_));
  auto told = [&](const std::string& image) {
    const auto result = asking.Check({}, {.questions = {{image, PullPolicy::kNever, {}}}}, kNode);
    return result.answers.at(0).reason + ": " + result.answers.at(0).message;
  };
  EXPECT_EQ(told(kUnlisted), "RuntimeDown: the container runtime could not be asked: Socket closed");
  const std::string listed = told(kApp);
  EXPECT_TRUE(
      listed.starts_with("Preloaded: ") &&
      listed.ends_with(" The runtime does not answer: this result is from the last look at its images."))
      << listed;
}

// A clock that goes on each time somebody looks at it.
class LookedAtClock final : public base::Clock {
 public:
  base::TimePoint Now() const override { return base::TimePoint(base::Duration(++looks_)); }
  base::WallTime Wall() const override { return {}; }
  int looks() const { return looks_; }

 private:
  mutable std::atomic<int> looks_ = 0;
};

// A runtime whose lists are held.
class HeldRuntime final : public tests::FakeImageService {
 public:
  using FakeImageService::FakeImageService;
  cri::CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override {
    lists++;
    gate.Pass(call);
    return FakeImageService::ListImages(call);
  }

  Gate gate;
  std::atomic<int> lists = 0;
};

class SharedListing : public testing::Test {
 protected:
  // Asks on a thread of its own, and returns when the question has come.
  void Ask(base::Duration limit) {
    const int before = clock_.looks();
    threads_.emplace_back([this, limit] { said_ += now_.Ask({}, limit, {})->ok(); });
    while (clock_.looks() == before) std::this_thread::yield();
  }

  LookedAtClock clock_;
  tests::FakeClock runtime_clock_;
  HeldRuntime runtime_{runtime_clock_, tests::Persona::kContainerd16};
  LiveRuntime now_{runtime_, runtime_, clock_};
  std::atomic<int> said_ = 0;
  std::vector<std::jthread> threads_;
};

// The list that is being made when a question comes may lack what came a moment ago. Those that came
// meanwhile share the next one.
TEST_F(SharedListing, QuestionsThatComeTogetherCostTheRuntimeTwoLists) {
  Ask(std::chrono::hours(1));
  runtime_.gate.AwaitInside(1);
  for (int i = 0; i < 20; i++) Ask(std::chrono::hours(1));
  runtime_.gate.Open();
  threads_.clear();
  EXPECT_EQ(said_, 21);
  EXPECT_EQ(runtime_.lists, 2);
}

TEST_F(SharedListing, NobodyWaitsForAnotherForLongerThanHalfOfItsTime) {
  Ask(std::chrono::hours(1));
  runtime_.gate.AwaitInside(1);
  Ask(std::chrono::milliseconds(300));
  runtime_.gate.AwaitInside(2);
  runtime_.gate.Open();
  threads_.clear();
  EXPECT_EQ(said_, 2);
}

// A runtime that was away at the last look makes no caller wait.
TEST(LiveRuntime, PatienceIsForARuntimeThatWasThere) {
  EXPECT_EQ(LiveRuntime::Timeout({.up = true}), std::chrono::seconds(10));
  EXPECT_EQ(LiveRuntime::Timeout({.up = false}), std::chrono::seconds(1));
}

}  // namespace
}  // namespace prefetch::agent::check_round_test
