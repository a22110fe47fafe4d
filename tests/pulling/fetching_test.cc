// The agent fetches content itself: choice, order, failures, stops, and what is left for the pull.
#include "pulling/fetching.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_image_service.h"
#include "pulling/fake_source.h"
#include "pulling/perform.h"

namespace prefetch::pulling::fetching_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr const char* kLease = "prefetchd-1";
const image::RuntimeInfo kRuntime{.name = "containerd", .version = "2.1.9"};

FetchJob JobFor(const image::Reference& reference, std::string lease = kLease,
                const image::RuntimeInfo& runtime = kRuntime) {
  return {.question = {.reference = reference,
                       .local_digests = {},
                       .platform = {"linux", "amd64", ""},
                       .credentials = {}},
          .lease = std::move(lease),
          .runtime = runtime};
}

// A pull with no credentials.
PullJob PullOf(const std::string& name) {
  PullJob job;
  job.question.reference = Named(name);
  job.credentials = std::make_shared<const credentials::Lookup>();
  job.lease = kLease;
  job.runtime = kRuntime;
  return job;
}

class FetchingTest : public testing::Test {
 protected:
  FetchingTest() {
    EXPECT_TRUE(store_.EnsureLease({}, kLease, 1h));
    Make();
  }
  void Make(std::uint64_t bytes_per_second = 0) {
    fetcher_ = std::make_unique<Fetcher>(
        store_, [this](const image::Reference&, const image::RuntimeInfo&) { return source_; }, clock_,
        [this](std::uint64_t bytes) { fetched_bytes_ += bytes; }, bytes_per_second);
  }
  PullOutcome Pull(const PullJob& job) {
    RejectedCredentials refusals;
    const PullDependencies parts{store_, store_, refusals, clock_, {"linux", "amd64", ""}, fetcher_.get()};
    auto pull = std::async(std::launch::async, [&] { return PerformPull({}, parts, job); });
    while (pull.wait_for(0s) != std::future_status::ready) {
      if (store_.Parked() > 0) clock_.AdvanceTo(store_.NextEvent());
      std::this_thread::yield();
    }
    return pull.get();
  }
  bool Fetch(const std::string& name, const base::Call& call = {},
             const image::RuntimeInfo& runtime = kRuntime) {
    return fetcher_->Fetch(call, JobFor(Named(name), kLease, runtime)).fetched;
  }
  // False also if that takes longer: the fetch is stopped then.
  bool BringWithin(std::chrono::seconds limit, const std::string& name) {
    std::stop_source stop;
    std::atomic<bool> over = false;
    std::jthread watch([&] {
      const auto until = std::chrono::steady_clock::now() + limit;
      while (!over && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
      stop.request_stop();
    });
    const bool brought = Fetch(name, {.stop = stop.get_token()});
    over = true;
    return brought;
  }
  cri::BlobState StateOf(const std::string& bytes) {
    auto opened =
        store_.OpenBlob({}, kLease, {"layer-" + DigestOf(bytes), DigestOf(bytes), bytes.size(), {}});
    return opened->state;
  }
  bool IsHere(const std::string& bytes) { return StateOf(bytes) == cri::BlobState::kExists; }

  const std::string large_ = std::string(2 * kMiB, 'l') + "arge";
  const std::string small_ = std::string(1000, 's');
  tests::FakeClock clock_;
  tests::FakeImageService store_{clock_, tests::Persona::kContainerd23};
  std::shared_ptr<FakeSource> source_ = std::make_shared<FakeSource>();
  std::atomic<std::uint64_t> fetched_bytes_ = 0;
  std::unique_ptr<Fetcher> fetcher_;
};

TEST_F(FetchingTest, AllBlobsAreBroughtOnceAndCounted) {
  source_->Put("reg.example/app:v1", {large_, small_});
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_LT(store_.opened_blobs(), 3 * 3) << "each to write it and to keep it, and the manifest";
  EXPECT_TRUE(IsHere(large_));
  EXPECT_TRUE(IsHere(small_));
  const std::uint64_t all =
      large_.size() + small_.size() + std::string("config of reg.example/app:v1").size();
  EXPECT_EQ(source_->served(), all);
  EXPECT_EQ(fetched_bytes_, all);
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_EQ(source_->served(), all);
}

TEST_F(FetchingTest, ItsSizeIsToldBeforeAnythingIsWritten) {
  source_->Put("reg.example/app:v1", {large_, small_});
  std::stop_source stop;
  FetchJob job = JobFor(Named("reg.example/app:v1"));
  std::uint64_t told = 0;
  job.on_size = [&](const base::Call&, std::uint64_t bytes) { told = bytes; };
  EXPECT_TRUE(fetcher_->Fetch({}, job).fetched);
  EXPECT_EQ(told, source_->served());
  // There is no room.
  source_->Put("reg.example/other:v1", {large_ + "r"});
  job.question.reference = Named("reg.example/other:v1");
  job.on_size = [&](const base::Call&, std::uint64_t) { stop.request_stop(); };
  EXPECT_FALSE(fetcher_->Fetch({.stop = stop.get_token()}, job).fetched);
  EXPECT_EQ(source_->served(), told);
  EXPECT_EQ(StateOf(large_ + "r"), cri::BlobState::kWritable);
}

// At a kilobyte a second, nothing comes after the first part within a test's life.
TEST_F(FetchingTest, ARateHoldsTheStreamAndAStopEndsTheWait) {
  Make(1000);
  source_->Put("reg.example/app:v1", {large_});
  std::stop_source stop;
  std::atomic<bool> brought = true;
  std::jthread fetch([&] { brought = Fetch("reg.example/app:v1", {.stop = stop.get_token()}); });
  source_->AwaitRequests(1);
  while (fetched_bytes_ == 0) std::this_thread::yield();
  // Without the rate, all of it is here by then.
  const auto until = std::chrono::steady_clock::now() + 200ms;
  while (std::chrono::steady_clock::now() < until) EXPECT_LE(source_->served(), large_.size() / 2);
  stop.request_stop();
  fetch.join();
  EXPECT_FALSE(brought);
  EXPECT_LT(source_->served(), large_.size());
}

TEST_F(FetchingTest, ARateThatIsHighEnoughChangesNothing) {
  Make(1'000'000'000);
  source_->Put("reg.example/app:v1", {large_, small_});
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_TRUE(IsHere(large_));
}

TEST_F(FetchingTest, ASharedLayerIsFetchedOnceForImagesSideBySide) {
  source_->Put("reg.example/a:v1", {large_});
  source_->Put("reg.example/b:v1", {large_, small_});
  source_->Hold(large_);
  std::atomic<int> brought = 0;
  std::jthread a([&] { brought += Fetch("reg.example/a:v1") ? 1 : 0; });
  source_->AwaitRequests(1);
  std::jthread b([&] { brought += Fetch("reg.example/b:v1") ? 1 : 0; });
  while (source_->manifest_requests() < 2) std::this_thread::yield();
  source_->Release();
  a.join();
  b.join();
  EXPECT_EQ(brought, 2);
  EXPECT_LE(source_->served(), large_.size() + small_.size() + 100);
}

// So its pull leaves its slot to the next one, which has a layer of its own. If the earlier image is given
// up, the layer is its own.
TEST_F(FetchingTest, AnImageWithoutLayersOfItsOwnLeftSaysSo) {
  source_->Put("reg.example/a:v1", {large_});
  source_->Put("reg.example/b:v1", {large_, small_});
  source_->Hold(large_);
  std::atomic<bool> of_a = false, of_b = false;
  std::stop_source give_up;
  const auto fetch = [&](const base::Call& call, const std::string& name, std::atomic<bool>& told) {
    FetchJob job = JobFor(Named(name));
    job.on_fetched = [&told](bool fetched) { told = fetched; };
    return fetcher_->Fetch(call, job).fetched;
  };
  std::jthread a([&] { EXPECT_FALSE(fetch({.stop = give_up.get_token()}, "reg.example/a:v1", of_a)); });
  source_->AwaitRequests(1);
  std::jthread b([&] { EXPECT_TRUE(fetch({}, "reg.example/b:v1", of_b)); });
  while (!of_b) std::this_thread::yield();
  EXPECT_TRUE(IsHere(small_));
  give_up.request_stop();
  a.join();
  while (of_b) std::this_thread::yield();
  source_->Release();
  b.join();
  EXPECT_FALSE(of_a);
  EXPECT_TRUE(of_b);
}

// The lease of an image that has left the list is deleted, and the bytes go that no other lease has.
TEST_F(FetchingTest, ASharedLayerGoesOnUnderTheLeaseOfTheImageThatIsLeft) {
  source_->Put("reg.example/a:v1", {large_});
  source_->Put("reg.example/b:v1", {large_, small_});
  source_->Hold(large_, 400'000);
  std::stop_source give_up;
  std::jthread a([&] { EXPECT_FALSE(Fetch("reg.example/a:v1", {.stop = give_up.get_token()})); });
  while (source_->served() < 400'000) std::this_thread::yield();
  EXPECT_TRUE(store_.EnsureLease({}, kLease + std::string("b"), 1h));
  std::atomic<bool> waits = false;
  std::jthread b([&] {
    FetchJob job = JobFor(Named("reg.example/b:v1"), kLease + std::string("b"));
    job.on_fetched = [&](bool fetched) { waits = fetched; };
    EXPECT_TRUE(fetcher_->Fetch({}, job).fetched);
  });
  while (!waits) std::this_thread::yield();
  give_up.request_stop();
  a.join();
  while (waits) std::this_thread::yield();
  EXPECT_TRUE(store_.DeleteLease({}, kLease, cri::LeaseDeletion::kSync));
  source_->Release();
  b.join();
  EXPECT_LE(source_->served(), large_.size() + small_.size() + 100 + 128 * 1024)
      << "what was written is kept";
}

// The runtime downloads its image then.
TEST_F(FetchingTest, AnImageWhoseSharedLayerFailsSaysSo) {
  source_->Put("reg.example/a:v1", {large_});
  source_->Put("reg.example/b:v1", {large_, small_});
  source_->Hold(large_);
  source_->Break(large_, 1);
  std::jthread a([&] { EXPECT_FALSE(Fetch("reg.example/a:v1")); });
  source_->AwaitRequests(1);
  std::vector<bool> told;
  FetchJob job = JobFor(Named("reg.example/b:v1"));
  job.on_fetched = [&](bool fetched) {
    told.push_back(fetched);
    source_->Release();
  };
  EXPECT_FALSE(fetcher_->Fetch({}, job).fetched);
  EXPECT_EQ(told, (std::vector<bool>{true, false}));
}

TEST_F(FetchingTest, ASharedLayerThatOneRegistryFailsIsNotBlamedOnAnother) {
  source_->Put("reg.example/a:v1", {large_});
  source_->Put("other.example/b:v1", {large_, small_});
  source_->Put("other.example/c:v1", {small_});
  source_->Hold(large_);
  source_->Hold(small_);
  source_->Break(large_, 1);
  {
    std::jthread a([&] { EXPECT_FALSE(Fetch("reg.example/a:v1")); });
    while (source_->requests() < 2) std::this_thread::yield();  // its configuration, and the layer
    std::jthread b([&] { EXPECT_FALSE(Fetch("other.example/b:v1")); });
    while (source_->requests() < 4) std::this_thread::yield();
    source_->Release();
  }
  const int before = source_->manifest_requests();
  EXPECT_TRUE(Fetch("other.example/c:v1"));
  EXPECT_FALSE(Fetch("reg.example/a:v1"));
  EXPECT_EQ(source_->manifest_requests(), before + 1) << "only the registry that failed is left alone";
}

// So a slow download shows that it moves, and a killed agent loses little.
TEST_F(FetchingTest, BytesAreWrittenAsTheyCome) {
  source_->Put("reg.example/app:v1", {large_});
  constexpr std::uint64_t kPart = 400'000;
  source_->Hold(large_, kPart);
  std::stop_source stop;
  std::jthread fetch([&] { Fetch("reg.example/app:v1", {.stop = stop.get_token()}); });
  while (source_->served() < kPart) std::this_thread::yield();
  stop.request_stop();
  fetch.join();
  Make();
  auto opened = store_.OpenBlob({}, kLease, {"layer-x", DigestOf(large_), large_.size(), {}});
  ASSERT_EQ(opened->state, cri::BlobState::kWritable);
  EXPECT_GE(opened->writer->offset(), kPart / 2);
  EXPECT_LE(opened->writer->offset(), kPart);
}

// Streams that hang are many; those of another registry are not among them.
TEST_F(FetchingTest, ARegistryThatHangsTakesNoOtherRegistrysStreams) {
  std::vector<std::string> layers;
  for (int i = 0; i < 3 * plan::kFetchStreams; i++) layers.push_back(large_ + std::to_string(i));
  source_->Put("slow.example/app:v1", layers);
  for (const std::string& layer : layers) source_->Hold(layer);
  std::stop_source stop;
  std::jthread slow([&] { EXPECT_FALSE(Fetch("slow.example/app:v1", {.stop = stop.get_token()})); });
  source_->AwaitRequests(plan::kFetchStreams);
  source_->Put("reg.example/app:v1", {large_, small_});
  EXPECT_TRUE(BringWithin(10s, "reg.example/app:v1"));
  EXPECT_TRUE(IsHere(large_));
  EXPECT_LE(source_->most(), plan::kFetchStreams);
  stop.request_stop();
}

// As the runtime asks: a server that counts requests is not asked more often by us.
TEST_F(FetchingTest, ABlobIsOneRequest) {
  source_->Put("reg.example/app:v1", {std::string(20 * kMiB, 'b'), large_, small_});
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_EQ(source_->requests(), 4U) << "with the configuration";
}

// One large blob whose connection is slow. Tests wait for a whole window of its speed.
struct SplitBlobTest : FetchingTest {
  SplitBlobTest() {
    std::iota(huge_.begin(), huge_.end(), 0);  // bytes that come from another place are wrong
    for (std::size_t at = 0; at < huge_.size(); at += 4096)
      huge_.replace(at, 8, std::to_string(10'000'000 + at));
    source_->Put("reg.example/app:v1", {huge_});
  }
  void BeginToDrip(int until_requests) {
    source_->DripUntil(huge_, until_requests);
    fetched_ = std::async(std::launch::async, [this] { return Fetch("reg.example/app:v1"); });
    // Its first bytes, and the configuration.
    while (source_->requests() < 2 || source_->served() < 100'000) std::this_thread::yield();
  }
  void ExpectFetched() {
    EXPECT_TRUE(fetched_.get());
    EXPECT_TRUE(IsHere(huge_));
  }

  std::string huge_ = std::string(53 * kMiB, 0);
  std::future<bool> fetched_;
};

// containerd takes a blob's bytes in order, so parts that come early wait.
TEST_F(SplitBlobTest, ComesInParts) {
  BeginToDrip(1 + plan::kMaxParts);
  ExpectFetched();
  EXPECT_LE(source_->most(), 1 + plan::kMaxParts);
  int parts = 0;
  for (const image::BlobRange& range : source_->ranges()) {
    if (range.begin == 0) continue;
    EXPECT_EQ(range.size, huge_.size());
    parts += range.end - range.begin == plan::kPartSize ? 1 : 0;
  }
  EXPECT_GE(parts, plan::kMaxParts);
  EXPECT_LE(source_->served(), huge_.size() + kMiB) << "what a part brings does not come twice";
}

TEST_F(SplitBlobTest, GoesOnAloneIfThePartsFail) {
  BeginToDrip(100);
  source_->Fail(huge_, base::InvalidArgument("no ranges"));
  while (source_->requests() < 3) std::this_thread::yield();
  source_->EndDrips();
  ExpectFetched();
  EXPECT_LE(source_->requests(), 2U + plan::kMaxParts);
  EXPECT_LE(source_->served(), huge_.size() + 100);
}

TEST_F(SplitBlobTest, GoesOnAloneIfAPartIsRateLimited) {
  BeginToDrip(100);
  source_->Limit(1);
  source_->AwaitRefusals();
  source_->EndDrips();
  ExpectFetched();
  EXPECT_LE(source_->requests(), 2U + plan::kMaxParts + 1U) << "the rest, behind the parts";
}

TEST_F(SplitBlobTest, ALongRetryAfterOfAPartHoldsNoOtherImage) {
  source_->AskForPatience(1h);
  BeginToDrip(100);
  source_->Limit(1);
  source_->AwaitRefusals();
  source_->Put("reg.example/other:v1", {small_});
  EXPECT_TRUE(BringWithin(10s, "reg.example/other:v1"));
  source_->EndDrips();
  ExpectFetched();
}

TEST_F(SplitBlobTest, PassesAPartThatHasNotCome) {
  source_->HoldFirstPart(0);
  BeginToDrip(2);
  ExpectFetched();
}

TEST_F(SplitBlobTest, TakesOverFromAPartThatHangs) {
  source_->HoldFirstPart(20'000);
  BeginToDrip(1 + plan::kMaxParts);
  ExpectFetched();
}

TEST_F(FetchingTest, ALimitOfRequestsCostsNoByteAndNotTheImage) {
  source_->Put("reg.example/app:v1", {large_, large_ + "2", large_ + "3", small_});
  source_->Limit(1);
  // The refused request runs beside one whose bytes wait.
  for (const char* end : {"", "2", "3"}) source_->Hold(large_ + end);
  auto fetched = std::async(std::launch::async, [&] { return Fetch("reg.example/app:v1"); });
  source_->AwaitRefusals();
  source_->Release();
  EXPECT_TRUE(fetched.get());
  EXPECT_LE(source_->served(), 3 * (large_.size() + 1) + small_.size() + 100);
  EXPECT_LE(source_->requests(), 5U + 1U);
}

TEST_F(FetchingTest, ABrokenConnectionCostsNoByte) {
  source_->Put("reg.example/app:v1", {large_});
  source_->Break(large_, 300'000);
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_TRUE(IsHere(large_));
  EXPECT_LE(source_->served(), large_.size() + 100);
}

// A pause after each of these 33 connections would take longer than that.
TEST_F(FetchingTest, AServerThatBreaksOffWhereverEnoughCameIsAskedAgainAtOnce) {
  source_->Put("reg.example/app:v1", {large_});
  source_->Break(large_, 64 * 1024);
  EXPECT_TRUE(BringWithin(4s, "reg.example/app:v1"));
}

TEST_F(FetchingTest, AServerThatBreaksOffAgainAndAgainIsLeft) {
  source_->Put("reg.example/app:v1", {large_});
  source_->Break(large_, 1);
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  EXPECT_LE(source_->requests(), 1U + 3U);  // the configuration; three times the layer
}

TEST_F(FetchingTest, AnothersPullGoesFirst) {
  ASSERT_TRUE(store_.EnsureLease({}, "prefetchd-0", 1h));
  source_->Put("reg.example/earlier:v1", {small_});
  ASSERT_TRUE(fetcher_->Fetch({}, JobFor(Named("reg.example/earlier:v1"), "prefetchd-0")).fetched);
  source_->Put("reg.example/app:v1", {large_});
  source_->Hold(large_, 100'000);
  std::jthread fetch([&] { EXPECT_TRUE(Fetch("reg.example/app:v1")); });
  while (source_->served() < 100'000) std::this_thread::yield();
  // kubelet's pull moves from look to look.
  ASSERT_TRUE(store_.EnsureLease({}, "kubelets", 1h));
  const std::string other(3000, 'o');
  auto theirs = store_.OpenBlob({}, "kubelets", {"layer-o", DigestOf(other), other.size(), {}});
  const auto move = [&](int looks) {
    const int until = store_.counters().ingest_calls + looks;
    while (store_.counters().ingest_calls < until && !IsHere(large_))
      ASSERT_FALSE(theirs->writer->Append("o"));
  };
  move(3);
  const std::uint64_t before = source_->served();
  source_->Release();
  move(3);
  EXPECT_TRUE(fetcher_->HoldsBack(kLease));
  EXPECT_FALSE(fetcher_->HoldsBack("prefetchd-0")) << "it has ended";
  EXPECT_LE(source_->served(), before + 2 * 16 * 1024) << "one part";
  fetch.join();  // it moves no longer
  EXPECT_TRUE(IsHere(large_));
}

// On a busy node an answer takes longer than the time between two polls.
TEST_F(FetchingTest, OneJobAtATimeAsksForAnothersPulls) {
  std::atomic<int> asking = 0, most = 0;
  std::atomic<bool> answered = false;
  store_.OnForeignIngests([&] {
    if (++asking > 1) most = 2;
    while (!answered) std::this_thread::yield();
    asking--;
  });
  source_->Put("reg.example/a:v1", {large_});
  source_->Put("reg.example/b:v1", {large_});
  source_->Hold(large_, 100'000);
  {
    std::jthread one([&] { EXPECT_TRUE(Fetch("reg.example/a:v1")); });
    std::jthread two([&] { EXPECT_TRUE(Fetch("reg.example/b:v1")); });
    while (asking == 0) std::this_thread::yield();
    const auto later = std::chrono::steady_clock::now() + 2 * plan::kForeignPullPollInterval;
    while (std::chrono::steady_clock::now() < later) std::this_thread::yield();
    answered = true;
    source_->Release();
  }
  store_.OnForeignIngests(nullptr);
  EXPECT_EQ(most, 0);
}

TEST_F(FetchingTest, AStopEndsItAtOnceAndWhatWasWrittenIsNotFetchedAgain) {
  source_->Put("reg.example/app:v1", {large_, small_});
  source_->Hold(small_);
  std::stop_source stop;
  std::jthread stopper([&] {
    while (!IsHere(large_)) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_FALSE(Fetch("reg.example/app:v1", {.stop = stop.get_token()}));
  stopper.join();
  source_->Release();
  const std::uint64_t before = source_->served();
  Make();  // the agent is started anew
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_LE(source_->served() - before, small_.size() + 100);
}

TEST_F(FetchingTest, WhatWasBegunIsResumed) {
  source_->Put("reg.example/app:v1", {large_});
  {
    auto opened = store_.OpenBlob({}, kLease, {"layer-x", DigestOf(large_), large_.size(), {}});
    ASSERT_FALSE(opened->writer->Append(large_.substr(0, kMiB)));
  }
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_LE(source_->served(), large_.size() - kMiB + 100);
}

TEST_F(FetchingTest, WhatEndsAFetchAndWhatTheRegistryHasToDoWithIt) {
  const struct {
    base::Error error;
    bool asked_again;
  } rows[] = {{base::NotFound("404"), true},
              {base::PermissionDenied("401"), true},
              {base::Unavailable("500"), false},
              {base::ResourceExhausted("429"), false},
              {base::InvalidArgument("no ranges"), false}};
  for (const auto& row : rows) {
    Make();
    source_->Put("reg.example/app:v1", {small_});
    source_->Fail(small_, row.error);
    EXPECT_FALSE(Fetch("reg.example/app:v1")) << row.error.message();
    const int before = source_->manifest_requests();
    EXPECT_FALSE(Fetch("reg.example/app:v1"));
    EXPECT_EQ(source_->manifest_requests() > before, row.asked_again) << row.error.message();
    clock_.Advance(plan::kNearPeriod);
    EXPECT_FALSE(Fetch("reg.example/app:v1"));
    EXPECT_GT(source_->manifest_requests(), before);
  }
}

TEST_F(FetchingTest, PatienceThatTheRegistryAsksForIsForTheRuntimeToo) {
  source_->Put("reg.example/app:v1", {small_});
  source_->Fail(small_, base::ResourceExhausted("429 of a store that it redirects to"));
  const FetchJob job = JobFor(Named("reg.example/app:v1"));
  FetchResult end = fetcher_->Fetch({}, job);
  EXPECT_FALSE(end.fetched);
  EXPECT_EQ(end.retry_after, std::nullopt);
  Make();
  source_->Fail(small_, base::ResourceExhausted("429 of its own"));
  source_->AskForPatience(90s);
  end = fetcher_->Fetch({}, job);
  EXPECT_FALSE(end.fetched);
  EXPECT_EQ(end.retry_after, 90s);
  EXPECT_EQ(end.error, "429 of its own");
  EXPECT_EQ(fetcher_->Fetch({}, job).retry_after, 90s) << "another image";
  clock_.Advance(plan::kNearPeriod);
  // Its limit is not what another failure is about.
  source_->Fail(small_, base::NotFound("404"));
  EXPECT_EQ(fetcher_->Fetch({}, job).retry_after, std::nullopt);
}

TEST_F(FetchingTest, WrongBytesDoNotStayInTheStore) {
  source_->Put("reg.example/app:v1", {small_});
  source_->Spoil(small_);
  // Many times: the pull that comes next finds no writer that is still about to go.
  for (int round = 0; round < 300; round++) {
    clock_.Advance(plan::kNearPeriod);
    EXPECT_FALSE(Fetch("reg.example/app:v1"));
    auto opened = store_.OpenBlob({}, kLease, {"layer-x", DigestOf(small_), small_.size(), {}});
    ASSERT_EQ(opened->state, cri::BlobState::kWritable) << "round " << round;
    ASSERT_EQ(opened->writer->offset(), 0U);
  }
}

TEST_F(FetchingTest, FaultsOfStoreAndImageAreNotBlamedOnTheRegistry) {
  source_->Put("reg.example/corrupt:v1", {small_});
  source_->Spoil(small_);
  EXPECT_TRUE(fetcher_->Fetch({}, JobFor(Named("reg.example/corrupt:v1"))).cannot_continue);
  source_->Put("reg.example/app:v1", {large_});
  store_.SetDiskFull(true);
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  store_.SetDiskFull(false);
  ASSERT_TRUE(store_.DeleteLease({}, kLease, cri::LeaseDeletion::kAsync));
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  EXPECT_TRUE(store_.EnsureLease({}, kLease, 1h));
  source_->Hold(large_);
  std::jthread killed([&] { EXPECT_FALSE(Fetch("reg.example/app:v1")); });
  source_->AwaitRequests(1);
  store_.SetRuntimeUp(false);
  source_->Release();
  killed.join();
  store_.SetRuntimeUp(true);
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
}

TEST_F(FetchingTest, ANearRegistryIsAskedForOneManifest) {
  source_->Put("reg.example/app:v1", {small_});
  source_->AnswerIn(1ms);
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  EXPECT_EQ(source_->manifest_requests(), 1);
  EXPECT_EQ(source_->served(), 0U);
}

TEST_F(FetchingTest, ANearRegistryMayBeBusy) {
  source_->Put("reg.example/app:v1", {small_});
  source_->AnswerIn(20ms, 30us);
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  EXPECT_EQ(source_->manifest_requests(), 1);
  EXPECT_EQ(source_->served(), 0U);
}

TEST_F(FetchingTest, ANearRegistryTellsSizes) {
  const image::Reference app = Named("reg.example/app:v1");
  const FetchJob job = JobFor(app, "");
  source_->Put("reg.example/app:v1", {small_, large_});
  EXPECT_FALSE(fetcher_->MayQuerySize(app, kRuntime)) << "nobody knows yet how near it is";
  source_->AnswerIn(1ms);
  EXPECT_FALSE(Fetch("reg.example/app:v1"));
  EXPECT_TRUE(fetcher_->MayQuerySize(app, kRuntime));
  EXPECT_FALSE(fetcher_->MayQuerySize(app, {.name = "containerd", .version = "1.7.24"}));
  EXPECT_FALSE(fetcher_->MayQuerySize(Named("other.example/app:v1"), kRuntime));
  const std::string config = "config of reg.example/app:v1";
  EXPECT_EQ(fetcher_->QuerySize({}, job), small_.size() + large_.size() + config.size());
  EXPECT_EQ(source_->served(), 0U);
  // An image that is absent says nothing about the others.
  EXPECT_EQ(fetcher_->QuerySize({}, JobFor(Named("reg.example/gone:v1"), "")), 0U);
  EXPECT_TRUE(fetcher_->MayQuerySize(app, kRuntime));
}

TEST_F(FetchingTest, ARegistryThatFailsIsNotAskedForSizes) {
  const image::Reference app = Named("reg.example/app:v1");
  for (const base::Error& error :
       {base::PermissionDenied("401"), base::ResourceExhausted("429"), base::Unavailable("503")}) {
    source_->Put("reg.example/app:v1", {small_});
    source_->AnswerIn(1ms);
    EXPECT_FALSE(Fetch("reg.example/app:v1"));
    ASSERT_TRUE(fetcher_->MayQuerySize(app, kRuntime)) << error.message();
    source_->FailManifests(error);
    EXPECT_EQ(fetcher_->QuerySize({}, JobFor(app, "")), 0U);
    EXPECT_FALSE(fetcher_->MayQuerySize(app, kRuntime)) << error.message();
    source_->FailManifests(std::nullopt);
    clock_.Advance(plan::kSizeDeniedPeriod);
  }
}

TEST_F(FetchingTest, WhatIsLeftToTheRuntimeFromTheBeginning) {
  source_->Put("reg.example/app:v1", {small_});
  EXPECT_FALSE(Fetch("reg.example/app:v1", {}, {.name = "containerd", .version = "1.7.24"}));
  EXPECT_FALSE(Fetch("reg.example/app:v1", {}, {.name = "cri-o", .version = "2.1.0"}));
  EXPECT_FALSE(fetcher_->Fetch({}, JobFor(Named("reg.example/app:v1"), "")).fetched);
  EXPECT_EQ(source_->manifest_requests(), 0);
}

TEST_F(FetchingTest, ABlobThatAnotherWriterHasIsWaitedFor) {
  source_->Put("reg.example/app:v1", {small_});
  auto other = store_.OpenBlob({}, kLease, {"layer-x", DigestOf(small_), small_.size(), {}});
  std::jthread writer([&] {
    while (source_->served() == 0) std::this_thread::yield();  // the configuration
    EXPECT_FALSE(other->writer->Append(small_));
    EXPECT_FALSE(other->writer->Commit());
  });
  EXPECT_TRUE(Fetch("reg.example/app:v1"));
  EXPECT_LT(source_->served(), 100U);
}

TEST_F(FetchingTest, APullTellsWhatItHasDiscarded) {
  const std::string name = "reg.example/app:v1";
  store_.Push(tests::MakeImage(name, 1000));
  store_.Spoil(name, 1);
  const PullOutcome outcome = Pull(PullOf(name));
  EXPECT_FALSE(outcome.success);
  EXPECT_GT(outcome.discarded, 0U);
}

TEST_F(FetchingTest, APullTellsWhoDownloadedItsImage) {
  auto fetched_by_agent = [&](const std::string& name) {
    store_.Push(tests::MakeImage(name, 1000));
    std::vector<bool> told;
    PullJob job = PullOf(name);
    job.on_fetched = [&](bool fetched) { told.push_back(fetched); };
    const bool by_agent = Pull(job).success->origin.fetched_by_agent;
    EXPECT_EQ(told, std::vector<bool>(by_agent ? 1 : 0, true));
    return by_agent;
  };
  source_->Put("reg.example/app:v1", {small_});
  EXPECT_TRUE(fetched_by_agent("reg.example/app:v1"));
  EXPECT_FALSE(fetched_by_agent("reg.example/that-only-the-runtime-finds:v1"));
}

}  // namespace
}  // namespace prefetch::pulling::fetching_test
