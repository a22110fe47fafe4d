#include "agent/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "base/subprocess.h"
#include "base/text.h"
#include "golden.h"
#include "rows.h"
#include "status/sample.h"
#include "text_of.h"

namespace prefetch::agent::metrics_test {
namespace {

using credentials::ProviderOutcome;
using credentials::Source;
using std::chrono::milliseconds;
using std::chrono::seconds;

credentials::ProviderReport Provider(std::string name, bool matched, ProviderOutcome outcome,
                                     std::optional<base::Duration> ran_for = {}) {
  return {.name = std::move(name), .matched = matched, .outcome = outcome, .ran_for = ran_for};
}

credentials::Lookup Found(const std::vector<Source>& sources,
                          std::vector<credentials::ProviderReport> providers = {}) {
  credentials::Lookup lookup{.providers = std::move(providers)};
  for (Source source : sources) lookup.credentials.push_back({.source = source});
  return lookup;
}

// A node to which a bit of everything has happened.
void Live(Metrics& metrics) {
  metrics.PullEnded({.result = PullResult::kSucceeded, .took = milliseconds(700), .image_bytes = 4'261'550});
  metrics.PullEnded({.result = PullResult::kSucceeded, .took = seconds(95), .image_bytes = 1'200'000'000});
  metrics.PullEnded(
      {.result = PullResult::kFailed, .reason = plan::Reason::kAccessDenied, .took = milliseconds(350)});
  metrics.PullEnded(
      {.result = PullResult::kFailed, .reason = plan::Reason::kNotFound, .took = milliseconds(150)});
  metrics.PullEnded(
      {.result = PullResult::kCancelled, .reason = plan::Reason::kStalled, .took = seconds(7200)});
  metrics.PullEnded({.result = PullResult::kCancelled, .took = seconds(2)});
  metrics.CredentialsFound(Found({Source::kDockerConfig, Source::kProvider},
                                 {Provider("acme-login", true, ProviderOutcome::kOk, milliseconds(200)),
                                  Provider("other", false, ProviderOutcome::kSkipped)}));
  metrics.CredentialsFound(Found({}, {Provider("acme-login", true, ProviderOutcome::kError, seconds(60))}));
  metrics.RegistryChecked({.kind = image::RegistryAnswerKind::kSame, .requests = 2}, milliseconds(40));
  metrics.RegistryChecked({.kind = image::RegistryAnswerKind::kUnreachable, .requests = 1}, seconds(5));
  metrics.ReadyAfter(milliseconds(97'250));
  metrics.Add("prefetchd_touches_total", 1, {plan::TouchObstacle::kNone});
  metrics.Add("prefetchd_touches_total", 1, {plan::TouchObstacle::kNone});
  metrics.Add("prefetchd_touches_total", 1, {plan::TouchObstacle::kNoNodeCredentials});
  metrics.Add("prefetchd_touch_pods_total", 1, {plan::TouchObstacle::kNone});
  metrics.Add("prefetchd_touch_pods_total", 1, {plan::TouchObstacle::kQuota});
}

std::shared_ptr<const kubelet::Verdicts> Verdicts(kubelet::VerdictResult never, kubelet::VerdictReason why,
                                                  kubelet::VerdictResult if_not_present) {
  using kubelet::VerdictReason;
  using kubelet::VerdictResult;
  return std::make_shared<const kubelet::Verdicts>(
      kubelet::Verdicts{.never = {.result = never, .reason = why},
                        .if_not_present = {.result = if_not_present, .reason = why},
                        .always = {.result = VerdictResult::kPulls, .reason = VerdictReason::kPolicyAlways}});
}

// A kubelet whose version was declared, and another one than a file shows; one image was closed by a pod's
// pull.
void HasKubelet(plan::Snapshot& snapshot) {
  using kubelet::VerdictReason;
  using kubelet::VerdictResult;
  snapshot.kubelet = plan::KubeletStatus{.version = "1.36.2",
                                         .verification = "NeverVerifyPreloadedImages",
                                         .records_readable = true,
                                         .contradictions = {"declared verification AlwaysVerify, but …"}};
  auto preloaded = Verdicts(VerdictResult::kStarts, VerdictReason::kPreloaded, VerdictResult::kStarts);
  for (plan::ImageState& image : snapshot.images) {
    if (image.present) image.verdicts = preloaded;
  }
  snapshot.images[0].verdicts =
      Verdicts(VerdictResult::kRefused, VerdictReason::kRecordedForOthers, VerdictResult::kPulls);
  snapshot.images[1].verdicts =
      Verdicts(VerdictResult::kStarts, VerdictReason::kOpenToNode, VerdictResult::kStarts);
}

// One list in force, a second source that was never good, a newer version of the first refused.
plan::Snapshot Node() {
  plan::Snapshot snapshot = sample::TroubledNode();
  snapshot.unlisted = sample::PeacefulNode().unlisted;
  plan::Snapshot broken = sample::BrokenListNode();
  snapshot.list.sources = broken.list.sources;
  snapshot.images[0].origin.exposed = true;
  snapshot.images[0].touch = plan::TouchStatus{.state = plan::TouchState::kIneffective,
                                               .obstacle = plan::TouchObstacle::kNoNodeCredentials};
  snapshot.images[1].touch = plan::TouchStatus{.state = plan::TouchState::kDone, .attempts = 1};
  snapshot.images[0].registry = std::make_shared<const plan::RegistryView>(
      plan::RegistryView{.confirmed_at = sample::At(-30), .fresh = true, .reason = plan::Reason::kUpToDate});
  snapshot.images[1].registry = std::make_shared<const plan::RegistryView>(plan::RegistryView{
      .confirmed_at = sample::At(-90), .fresh = false, .reason = plan::Reason::kUnreachable});
  snapshot.registries = {{.name = "a.io"}, {.name = "b.io", .unreachable_since = sample::At(-60)}};
  HasKubelet(snapshot);
  return snapshot;
}

Samples Process() {
  Samples facts;
  facts.Add("process_cpu_seconds_total", 1.25);
  facts.Add("process_start_time_seconds", 1785578300.5);
  facts.Add("process_resident_memory_bytes", 17'301'504);
  facts.Add("process_virtual_memory_bytes", 410'107'904);
  facts.Add("process_open_fds", 23);
  facts.Add("process_max_fds", 1'048'576);
  return facts;
}

std::string EverythingAsText() {
  Metrics metrics;
  Live(metrics);
  return MetricsText(Node(), metrics.Copy(), Process(), "1.2.3", status::View::kFull);
}

std::string Root() {
  return tests::Testdata() + "/../../";
}

// How `promtool check metrics` judges the text: what it says, and its exit code.
std::pair<std::string, int> Promtool(const std::string& text) {
  base::Command command{.argv = {"/usr/bin/promtool", "check", "metrics"}};
  auto result = base::RunProcess(base::Call().Within(seconds(60)), command, text);
  if (!result) return {result.error().message(), -1};
  return {std::string(result->output.Reveal()) + result->errors,
          result->end == base::ProcessEnd::kExited ? result->code : -1};
}

TEST(Metrics, Golden) {
  tests::ExpectGolden("agent/metrics.txt", EverythingAsText());
}

TEST(Metrics, PromtoolAgrees) {
  EXPECT_EQ(Promtool(EverythingAsText()), std::pair(std::string(), 0));
  EXPECT_EQ(Promtool(MetricsText({}, Metrics().Copy(), ReadProcessFacts(), "1.2.3", status::View::kFull)),
            std::pair(std::string(), 0));
}

TEST(Metrics, PromtoolWouldSayIfItWereWrong) {
  EXPECT_NE(Promtool("# TYPE pulls counter\npulls 1\n").second, 0);
}

TEST(Metrics, SourceNamesMayBeAnyBytes) {
  plan::Snapshot snapshot = Node();
  snapshot.list.sources[0].name = "caf\xe9 \"1\"\n.yaml";
  std::string text = MetricsText(snapshot, Metrics().Copy(), {}, "1.2.3", status::View::kFull);
  EXPECT_TRUE(base::IsUtf8(text));
  EXPECT_EQ(Promtool(text), std::pair(std::string(), 0));
}

TEST(Metrics, OperatorsPageExplainsEach) {
  std::string page = tests::TextOf(Root() + "deploy/docs/reference/metrics.md");
  std::istringstream text(EverythingAsText());
  int seen = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("# HELP prefetchd_")) continue;
    std::string name = line.substr(7, line.find(' ', 7) - 7);
    EXPECT_NE(page.find("| `" + name + "` |"), std::string::npos) << name;
    seen++;
  }
  EXPECT_GT(seen, 20);
}

// The first string after each call of the log's functions, in every source of the product.
std::set<std::string> LogMessages() {
  static const std::regex kCall(R"re(base::(?:Debug|Info|Warn|Err)\([^";]*"([^"]+)")re");
  std::set<std::string> messages;
  for (const char* folder : {"lib", "cmd"}) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(Root() + folder)) {
      if (file.path().extension() != ".cc") continue;
      std::string source = tests::TextOf(file.path());
      for (std::sregex_iterator call(source.begin(), source.end(), kCall), end; call != end; ++call) {
        messages.insert((*call)[1]);
      }
    }
  }
  return messages;
}

TEST(Logs, OperatorsPageExplainsEach) {
  std::string page = tests::TextOf(Root() + "deploy/docs/reference/logs.md");
  std::set<std::string> messages = LogMessages();
  EXPECT_GT(messages.size(), 20U);
  for (const std::string& message : messages) {
    EXPECT_NE(page.find("| `" + message + "` |"), std::string::npos) << message;
  }
}

TEST(Metrics, BeforeTheFirstLook) {
  plan::Snapshot snapshot;
  std::string text = MetricsText(snapshot, Metrics().Copy(), {}, "1.2.3", status::View::kFull);
  EXPECT_NE(text.find("\nprefetchd_ready 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nprefetchd_runtime_up 0\n"), std::string::npos);
  EXPECT_NE(text.find("prefetchd_pulls_total{result=\"succeeded\",class=\"None\"} 0\n"), std::string::npos);
  for (const char* absent : {"prefetchd_time_to_ready", "prefetchd_list_info", "prefetchd_disk_capacity",
                             "prefetchd_unlisted_images", "prefetchd_runtime_info", "process_"}) {
    EXPECT_EQ(text.find(absent), std::string::npos) << absent;
  }
}

using Lines = std::vector<std::string>;

struct KubeletCase {
  std::string name;
  std::optional<plan::KubeletStatus> kubelet;
  Lines lines;        // that are there
  Lines absent = {};  // what is not
};

TEST_TABLE(KubeletTest, Row, KubeletCase) {
  plan::Snapshot snapshot = Node();
  snapshot.kubelet = row.kubelet;
  std::string text = MetricsText(snapshot, Metrics().Copy(), {}, "1.2.3", status::View::kFull);
  for (const std::string& line : row.lines) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << line << "\n" << text;
  }
  for (const std::string& word : row.absent) EXPECT_EQ(text.find(word), std::string::npos) << word;
}

TEST_ROWS(Metrics, KubeletTest,
          {"DeclaredNone", std::nullopt, Lines{}, Lines{"prefetchd_kubelet", "prefetchd_image_verdicts"}},
          {"NotLookedYet", plan::KubeletStatus{},
           Lines{R"(prefetchd_kubelet_info{version="unknown",verification="unknown"} 1)",
                 "prefetchd_kubelet_contradictions 0"},
           Lines{"prefetchd_kubelet_records_readable", "prefetchd_kubelet_newer"}},
          {"RulesAreKnown", plan::KubeletStatus{.version = "1.37.1"}, Lines{"prefetchd_kubelet_newer 0"}},
          {"NewerThanTheRules", plan::KubeletStatus{.version = "1.99.0", .newer = true},
           Lines{"prefetchd_kubelet_newer 1"}},
          {"RecordsOutOfReach", plan::KubeletStatus{.version = "1.35", .records_readable = false},
           Lines{R"(prefetchd_kubelet_info{version="1.35",verification="unknown"} 1)",
                 "prefetchd_kubelet_records_readable 0"}});

using Counted = std::set<std::pair<Source, ProviderOutcome>>;
using Names = std::set<std::string>;
using enum Source;
using enum ProviderOutcome;

struct LookupCase {
  std::string name;
  credentials::Lookup lookup;
  Counted counted;   // once each
  Names timed = {};  // providers
};

// The providers whose time is known.
std::set<std::string> Timed(const Metrics& metrics) {
  const status::MetricNamed metric = "prefetchd_credential_provider_duration_seconds";
  std::set<std::string> timed;
  for (const auto& [key, seconds] : metrics.Copy().all) {
    if (key.first == metric.index) timed.insert(*key.second.front().text);
  }
  return timed;
}

TEST_TABLE(LookupTest, Row, LookupCase) {
  Metrics metrics;
  metrics.CredentialsFound(row.lookup);
  Counted counted;
  Samples counts = metrics.Copy();
  for (Source source : {kProvider, kDockerConfig, kPullSecret}) {
    for (ProviderOutcome outcome : {kOk, kEmpty, kError, kSkipped}) {
      const double count = counts.At("prefetchd_credential_lookups_total", {source, outcome}).value;
      EXPECT_LE(count, 1);
      if (count == 1) counted.insert({source, outcome});
    }
  }
  EXPECT_EQ(counted, row.counted);
  EXPECT_EQ(Timed(metrics), row.timed);
}

constexpr std::pair kNoFile(kDockerConfig, kEmpty);
constexpr std::pair kNoSecret(kPullSecret, kEmpty);

TEST_ROWS(
    Metrics, LookupTest, {"Anonymous", Found({}), Counted{kNoFile, kNoSecret}},
    {"DockerConfig", Found({kDockerConfig}), Counted{std::pair(kDockerConfig, kOk), kNoSecret}},
    {"TwoKeysOfOneFileAreOneSource", Found({kDockerConfig, kDockerConfig}),
     Counted{std::pair(kDockerConfig, kOk), kNoSecret}},
    {"PullSecret", Found({kPullSecret}), Counted{kNoFile, std::pair(kPullSecret, kOk)}},
    {"AProviderForOtherImages", Found({}, {Provider("p", false, kSkipped)}), Counted{kNoFile, kNoSecret}},
    {"AProviderWithoutItsToken", Found({}, {Provider("p", true, kSkipped)}),
     Counted{std::pair(kProvider, kSkipped), kNoFile, kNoSecret}},
    {"AProviderFromItsCache", Found({kProvider}, {Provider("p", true, kOk)}),
     Counted{std::pair(kProvider, kOk), kNoFile, kNoSecret}},
    {"AProviderThatRan", Found({kProvider}, {Provider("p", true, kOk, seconds(1))}),
     Counted{std::pair(kProvider, kOk), kNoFile, kNoSecret}, Names{"p"}},
    {"TwoProvidersOneFails",
     Found({kProvider}, {Provider("p", true, kEmpty, seconds(1)), Provider("q", true, kError, seconds(60))}),
     Counted{std::pair(kProvider, kEmpty), std::pair(kProvider, kError), kNoFile, kNoSecret},
     Names{"p", "q"}});

// The configuration bounds the label: a provider that was renamed has no series for good.
TEST(Metrics, OnlyProvidersOfTheConfigurationAreTimed) {
  Metrics metrics;
  for (int i = 0; i < 100; i++) {
    metrics.CredentialsFound(
        Found({}, {Provider("p" + std::to_string(i), true, ProviderOutcome::kOk, seconds(1)),
                   Provider("lasting", i == 0, ProviderOutcome::kOk, seconds(1))}));
  }
  EXPECT_EQ(Timed(metrics), (std::set<std::string>{"lasting", "p99"}));
}

TEST(Histogram, AValueOnABoundBelongsBelow) {
  constexpr double kBounds[] = {1, 10};
  Samples samples;
  for (double value : {0.5, 1.0, 1.5, 10.0, 11.0}) samples.Observe("prefetchd_pull_bytes", kBounds, value);
  EXPECT_EQ(samples.At("prefetchd_pull_bytes").counts, (std::vector<std::uint64_t>{2, 2, 1}));
  EXPECT_EQ(samples.At("prefetchd_pull_bytes").value, 24);
}

TEST(ProcessFacts, AreKnownHere) {
  Samples facts = ReadProcessFacts();
  auto fact = [&](status::MetricNamed metric) { return facts.At(metric).value; };
  double now = std::chrono::duration<double>(base::SystemClock().Wall().time_since_epoch()).count();
  EXPECT_GT(fact("process_cpu_seconds_total"), 0);
  EXPECT_LT(fact("process_start_time_seconds"), now + 2);
  EXPECT_GT(fact("process_start_time_seconds"), now - 24 * 3600);
  EXPECT_GT(fact("process_resident_memory_bytes"), 1'000'000);
  EXPECT_GT(fact("process_virtual_memory_bytes"), fact("process_resident_memory_bytes"));
  EXPECT_GE(fact("process_open_fds"), 3);
  EXPECT_GE(fact("process_max_fds"), fact("process_open_fds"));
}

}  // namespace
}  // namespace prefetch::agent::metrics_test
