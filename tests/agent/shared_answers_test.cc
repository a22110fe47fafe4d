#include "agent/answers/check_round.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "agent/answers/endpoints.h"
#include "http/server.h"
#include "registry/host_state.h"

namespace prefetch::agent::registry_moment_test {
namespace {

using image::RegistryAnswerKind;
using std::chrono::milliseconds;

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

// Both of its questions would hang.
TEST(SharedAnswers, ANamespaceWhoseQuestionsHangLeavesAPlaceToOthers) {
  SharedRegistryAnswers moment;
  std::atomic<std::size_t> begun = 0;
  std::latch done(1);
  std::vector<std::jthread> hanging;
  for (int i = 0; i < SharedRegistryAnswers::kMaxQueries; i++) {
    hanging.emplace_back([&, i] {
      moment.Get(
          {}, {"ci", "r.io", std::to_string(i)},
          [&] {
            begun++;
            done.wait();
            return Same();
          },
          Late);
    });
  }
  while (begun == 0 || begun + moment.waiting() < SharedRegistryAnswers::kMaxQueries)
    std::this_thread::yield();
  EXPECT_EQ(moment.Get({}, {"other", "r.io", "tag"}, Same, Late).kind, RegistryAnswerKind::kSame);
  EXPECT_EQ(begun, 1U);
  done.count_down();
}

// The agent's own questions, and those for pods and users of the socket, leave places to each other.
TEST(SharedAnswers, RegistriesHaveRoomForTheAgentsOwnQuestions) {
  EXPECT_EQ(registry::kClientChecks, kPodNetworkThreads + http::ServerLimits().deferred_threads);
  registry::Throttle throttle({});
  std::vector<registry::Throttle::Permit> passes;
  const auto short_call = [] { return base::Call{}.Within(milliseconds(20)); };
  for (int i = 0; i < registry::kClientChecks + image::kChecksAtOnce; i++) {
    passes.push_back(throttle.AcquireCheck(short_call()));
    EXPECT_TRUE(passes.back().granted()) << i;
  }
  for (int i = 0; i < SharedRegistryAnswers::kMaxQueries; i++) {
    passes.push_back(throttle.AcquireHost(short_call(), "https://r.io"));
  }
  EXPECT_TRUE(throttle.AcquireHost(short_call(), "https://r.io").granted()) << "the agent's own";
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

}  // namespace
}  // namespace prefetch::agent::registry_moment_test
