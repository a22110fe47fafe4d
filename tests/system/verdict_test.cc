// Tests kubelet's verdicts on a node with a real containerd: records change, and the built agent reports it.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include "bench/measure.h"
#include "fakes/fake_kubelet.h"
#include "kubelet/record_text.h"
#include "rig/expect_has.h"
#include "system/two_names.h"

namespace prefetch::system::verdict_test {
namespace {

using std::chrono::steady_clock;

// Time limits for changes that inotify reports, and for those that the next look finds.
constexpr seconds kSoon{5};
constexpr seconds kByLooking{15};

class VerdictOnNode : public TwoNames {
 protected:
  void SetUp() override {
    TwoNames::SetUp();
    node_.HasList({image_, mirror_});
  }

  std::string RecordsFolder() const { return root_ + "/image_manager"; }

  bool Answers(int readyz, seconds limit) {
    return rig::Eventually(limit, [&] { return node_.Get("/readyz").status == readyz; });
  }
  void StartReady() {
    node_.StartAgent();
    ASSERT_TRUE(rig::Eventually(seconds(30), [&] { return IsJudged(image_) && IsJudged(mirror_); }))
        << node_.AgentLog();
    ASSERT_TRUE(Answers(200, kSoon)) << node_.AgentLog();
  }
  // It is here, and kubelet's files were looked at.
  bool IsJudged(const std::string& image) {
    status::StatusImage state = node_.StatusOf(image);
    return state.present && !state.verdicts.never.result.empty() &&
           state.verdicts.never.reason != "ImageAbsent";
  }
  bool Says(const std::string& path, const std::string& text) {
    return node_.Get(path).body.find(text) != std::string::npos;
  }
  // "Refused/RecordedForOthers"
  static std::string Text(const status::StatusVerdict& verdict) {
    return verdict.result.text() + "/" + verdict.reason;
  }
  std::string NeverOf(const std::string& image) { return Text(node_.StatusOf(image).verdicts.never); }
};

TEST_F(VerdictOnNode, PreloadedThenClosedByAPodThenOpenedByTheNode) {
  StartReady();
  registry_->proxy().Forget();
  status::StatusImage image = node_.StatusOf(image_);
  EXPECT_EQ(image.image_id, id_);
  EXPECT_EQ(image.reason.text(), "Preloaded");
  EXPECT_EQ(Text(image.verdicts.never), "Starts/Preloaded");
  EXPECT_EQ(Text(image.verdicts.if_not_present), "Starts/Preloaded");
  EXPECT_EQ(Text(image.verdicts.always), "Pulls/PolicyAlways");
  EXPECT_TRUE(Says("/v1/status", R"("kubelet":{"version":"1.36)"));

  PodPulls(image_);
  ASSERT_TRUE(Answers(503, kSoon)) << node_.AgentLog();
  image = node_.StatusOf(image_);
  EXPECT_EQ(image.reason.text(), "RecordedForOthers");
  EXPECT_EQ(Text(image.verdicts.never), "Refused/RecordedForOthers");
  EXPECT_EQ(Text(image.verdicts.if_not_present), "Pulls/RecordedForOthers");
  EXPECT_HAS(image.message, "registry.example.test/app to 1 secret");
  EXPECT_TRUE(Says("/readyz?verbose", "RecordedForOthers"));
  EXPECT_HAS(node_.Get("/metrics").body,
             R"(prefetchd_image_verdicts{policy="Never",result="Refused",reason="RecordedForOthers"} 1)");
  EXPECT_HAS(node_.AgentLog(), "image closed to pods");

  NodePulls(image_);
  NodePulls(mirror_);
  ASSERT_TRUE(Answers(200, kSoon)) << node_.AgentLog();
  EXPECT_EQ(node_.StatusOf(image_).reason.text(), "OpenToNode");
  PodPulls(image_);  // closes it no more
  EXPECT_FALSE(Answers(503, kSoon));
  EXPECT_EQ(registry_->proxy().Requests().size(), 0U) << "verdicts ask no registry";
}

TEST_F(VerdictOnNode, RecordsThatMayNotBeReadAreNotReady) {
  // Root as containers have it that drop this right: files of root's own with mode 0 are closed to it.
  const std::string drop = "-dac_override,-dac_read_search";
  node_.RunsAgentBy({"setpriv", "--bounding-set=" + drop, "--inh-caps=" + drop, "--"});
  StartReady();
  ASSERT_EQ(::chmod(RecordsFolder().c_str(), 0), 0);
  EXPECT_TRUE(Answers(503, kByLooking)) << node_.AgentLog();
  EXPECT_EQ(node_.StatusOf(image_).reason.text(), "RecordUnreadable");
  EXPECT_TRUE(Says("/v1/status", R"("recordsReadable":false)"));
  EXPECT_TRUE(Says("/metrics", "\nprefetchd_kubelet_records_readable 0\n"));
  ASSERT_EQ(::chmod(RecordsFolder().c_str(), 0700), 0);
  EXPECT_TRUE(Answers(200, kByLooking)) << node_.AgentLog();
}

TEST_F(VerdictOnNode, ARecordThatIsRewrittenAThousandTimesASecond) {
  // In memory: a disk may not be as fast as that.
  ASSERT_EQ(::mount("tmpfs", (RecordsFolder() + "/pulled").c_str(), "tmpfs", 0, nullptr), 0);
  StartReady();
  tests::FakeKubeletFolder records;
  records.Open(RecordsFolder() + "/pulled");
  const std::string name = kubelet::FileNameFor(id_);
  const std::string texts[] = {
      tests::RecordText(id_, "registry.example.test/app", tests::kSecretEntry),
      tests::RecordText(id_, "registry.example.test/app", tests::kOpenEntry),
  };
  constexpr std::int64_t kRewrites = 5000;
  std::atomic<std::int64_t> written = 0;
  auto start = steady_clock::now();
  auto elapsed = [&] { return steady_clock::now() - start; };
  double before = bench::CpuSecondsOf(node_.agent().pid());
  std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested() || written < kRewrites) {
      rig::Pause();
      while (written < elapsed() / milliseconds(1)) {
        records.Write(name, texts[static_cast<std::size_t>(written++ % 2)]);
      }
    }
  });
  int answers = 0, flips = 0, last = 200;
  // On a busy machine, this process waits for processors as well; meanwhile the rewrites go on.
  while (elapsed() < seconds(5) || (answers <= 50 && elapsed() < seconds(15))) {
    int status = node_.Get("/readyz").status;
    EXPECT_TRUE(status == 200 || status == 503) << status;
    flips += status != std::exchange(last, status) ? 1 : 0;
    answers++;
    rig::Pause(rig::kLongestPause);  // the questions cost the agent time, too
  }
  const double took = std::chrono::duration<double>(elapsed()).count();
  writer.request_stop();
  writer.join();
  double cpu = bench::CpuSecondsOf(node_.agent().pid()) - before;
  std::cout << written << " records, " << answers << " answers, " << flips << " changes of readiness, " << cpu
            << " s of CPU\n";
  EXPECT_GE(written, kRewrites);
  EXPECT_GT(answers, 50);
  EXPECT_LT(cpu, 0.1 * took);
  EXPECT_LE(flips, 2 + static_cast<int>(took / 3)) << "each verdict is held for 3 s";
  records.Write(name, texts[0]);  // what it ends with counts
  EXPECT_TRUE(rig::Eventually(kSoon, [&] { return NeverOf(image_) == "Refused/RecordedForOthers"; }))
      << NeverOf(image_);
}

TEST_F(VerdictOnNode, OnceWithAClosedImageIsOneAndNamesIt) {
  rig::Ran ran = node_.Once({"--timeout", "60s"});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
  NodePulls(mirror_);
  PodPulls(image_);
  ran = node_.Once({"--timeout", "60s"});
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out << ran.err;
  EXPECT_HAS(ran.out, "registry.example.test/app:v1");
  EXPECT_HAS(ran.out, "1 secret");
}

}  // namespace
}  // namespace prefetch::system::verdict_test
