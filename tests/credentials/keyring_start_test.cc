// A Keyring that is made while its files do not answer.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>

#include "credentials/keyring.h"
#include "temp_dir.h"

namespace prefetch::credentials::keyring_start_test {
namespace {

// The first reading begins by asking for the time, and gets no further: as one of files that do not answer.
class StuckClock final : public base::Clock {
 public:
  base::TimePoint Now() const override {
    if (!asked_.exchange(true)) goes_on_.get_future().wait();
    return base::TimePoint(std::chrono::hours(1));
  }
  base::WallTime Wall() const override { return {}; }
  void GoOn() { goes_on_.set_value(); }

 private:
  mutable std::atomic<bool> asked_ = false;
  mutable std::promise<void> goes_on_;
};

TEST(KeyringStart, WithoutFilesThatAnswerHasNoCredentialsUntilTheyDo) {
  tests::TempDir dir;
  StuckClock clock;
  const image::Reference app = *image::Reference::Parse("r.io/app:v1");
  Keyring keyring(
      {.docker_configs = {dir.Write("config.json", R"({"auths":{"r.io":{"username":"u","password":"p"}}})")}},
      clock);
  KeyringHealth health = keyring.Health();
  ASSERT_EQ(health.problems.size(), 1U);
  EXPECT_NE(health.problems[0].find("none was read since the start"), std::string::npos)
      << health.problems[0];
  EXPECT_TRUE(keyring.Find({}, app).credentials.empty());
  clock.GoOn();
  while (!(health = keyring.Health()).problems.empty()) std::this_thread::yield();
  EXPECT_EQ(keyring.Find({}, app).credentials.size(), 1U);
  EXPECT_EQ(health.changes, 1U) << "what was denied meanwhile is worth another try";
}

}  // namespace
}  // namespace prefetch::credentials::keyring_start_test
