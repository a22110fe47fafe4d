// Questions about sizes, with the loop by hand: how many are under way, and answers that come too late.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "base/mutex.h"
#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "image/registry_question.h"
#include "temp_dir.h"

namespace prefetch::tests::size_turn_test {
namespace {

std::string Name(int i) {
  return "r.io/a" + std::to_string(i) + ":v1";
}

// Next door, with images of one layer. Questions about the first four images, which are pulled, are answered;
// those about others wait until the test lets them go.
class NearRegistry final : public image::ContentSource {
 public:
  base::Result<image::ImageManifest> FetchManifest(const base::Call& call,
                                                   const image::RegistryQuestion& question) override {
    if (question.reference.Normalized() > Name(3)) WaitForTurn(call);
    const auto descriptor = [](const std::string& type, char digit) {
      return R"({"mediaType":"application/vnd.oci.image.)" + type + R"(","digest":"sha256:)" +
             std::string(64, digit) + R"(","size":1000})";
    };
    return image::ImageManifest{.index = {},
                                .manifest = R"({"config":)" + descriptor("config.v1+json", 'c') +
                                            R"(,"layers":[)" + descriptor("layer.v1.tar", 'a') + "]}",
                                .answer_time = std::chrono::milliseconds(1)};
  }
  base::Status FetchBytes(const base::Call&, const image::RegistryQuestion&, const image::BlobRange&,
                          const std::function<bool(std::string_view part)>&) override {
    return base::NotFound("404");
  }
  std::optional<base::Duration> RetryAfter(const image::RegistryQuestion&) override { return {}; }

  void LetOneGo() {
    base::Lock lock(mutex_);
    let_go_++;
    changed_.notify_all();
    while (answered_ < let_go_) changed_.wait(mutex_);
  }
  int waiting() {
    base::Lock lock(mutex_);
    return asked_ - answered_;
  }

 private:
  void WaitForTurn(const base::Call& call) {
    std::stop_callback wake(call.stop, [this] { changed_.notify_all(); });
    base::Lock lock(mutex_);
    const int turn = asked_++;
    while (turn >= let_go_ && !call.Stopped()) changed_.wait(mutex_);
    answered_++;
    changed_.notify_all();
  }

  base::Mutex mutex_;
  base::Condition changed_;
  int asked_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int let_go_ PREFETCH_GUARDED_BY(mutex_) = 0;
  int answered_ PREFETCH_GUARDED_BY(mutex_) = 0;
};

// An agent whose four pulls go on for long.
class SizeTurn : public testing::Test {
 protected:
  SizeTurn() {
    runtime_.SetBandwidth(1000);
    agent::Parts parts{runtime_, runtime_, keyring_, clock_,
                       [](const std::string&) { return plan::DiskSpace{}; }};
    parts.contents = [this](const image::Reference&, const agent::RegistryQueryContext&) {
      return registry_;
    };
    agent::Options options{.platform = {.os = "linux", .architecture = "amd64"}, .node = "n1"};
    options.fetch = true;
    agent_ = std::make_unique<agent::Agent>(std::move(options), parts);
  }

  void List(int count) {
    plan::ImageList list;
    for (int i = 0; i < count; i++) {
      if (runtime_.Parked() == 0) runtime_.Push(MakeImage(Name(i), 10'000'000));
      list.images.emplace_back();
      list.images.back().reference = *image::Reference::Parse(Name(i));
    }
    list.sources = {{.name = "images.yaml", .loaded_at = clock_.Wall()}};
    agent_->SetList(std::make_shared<const plan::ImageList>(std::move(list)));
    Settle();
  }
  // Until nothing but the pulls and these questions is under way. The registry is near once the pulls have
  // begun, so it is done twice.
  void Settle() {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int turn = 0; turn < 2; turn++) {
      agent_->Turn(std::nullopt);
      while (runtime_.Parked() < 4 || agent_->jobs_under_way() > 4 + registry_->waiting()) {
        ASSERT_LT(std::chrono::steady_clock::now(), give_up);
        std::optional<agent::Event> event = agent_->TryPop();
        if (!event) std::this_thread::yield();
        if (event) agent_->Turn(std::move(event));
      }
    }
  }
  void LetOneGo() {
    registry_->LetOneGo();
    Settle();
  }

  TempDir dir_;
  FakeClock clock_;
  FakeImageService runtime_{clock_, Persona::kContainerd23};
  credentials::Keyring keyring_{{.docker_configs = {dir_ / "absent"}}, clock_};
  std::shared_ptr<NearRegistry> registry_ = std::make_shared<NearRegistry>();
  std::unique_ptr<agent::Agent> agent_;
};

TEST_F(SizeTurn, TwoQuestionsAtATime) {
  List(8);
  EXPECT_EQ(registry_->waiting(), 2);
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 2);
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 2) << "the last two of four";
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 1);
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 0);
}

TEST_F(SizeTurn, AnAnswerAboutAnImageThatLeftTheList) {
  List(8);
  ASSERT_EQ(registry_->waiting(), 2);
  List(4);
  LetOneGo();
  LetOneGo();
  EXPECT_EQ(registry_->waiting(), 0);
  clock_.Advance(std::chrono::seconds(1));
  agent_->Turn(std::nullopt);
  EXPECT_EQ(agent_->board().Latest()->images.size(), 4U);
}

}  // namespace
}  // namespace prefetch::tests::size_turn_test
