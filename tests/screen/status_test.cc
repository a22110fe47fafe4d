#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/write.h"
#include "golden.h"
#include "must.h"
#include "rig/expect_has.h"
#include "rows.h"
#include "screen/document_words.h"
#include "screen/node_text.h"
#include "screen/text_layout.h"
#include "status/documents.h"
#include "status/kubelet_sample.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::status_test {
namespace {

using tests::ExpectGolden;

struct NodeCase {
  std::string name;
  plan::Snapshot (*snapshot)();
};
class NodeTest : public testing::TestWithParam<NodeCase> {
 protected:
  void SetUp() override {
    snapshot_ = GetParam().snapshot();
    auto document = tests::Must(status::ParseStatusDocument(status::StatusJson(snapshot_)));
    document_ = *document;
  }
  std::string File(const std::string& name) const { return "screen/" + GetParam().name + "." + name; }
  plan::Snapshot snapshot_;
  status::StatusDocument document_;
};

TEST_P(NodeTest, Json) {
  auto indented = tests::Must(doc::IndentedJson(status::StatusJson(snapshot_)));
  ExpectGolden(File("json"), *indented);
}
TEST_P(NodeTest, Yaml) {
  auto yaml = tests::Must(doc::AsYaml(status::StatusJson(snapshot_)));
  ExpectGolden(File("yaml"), *yaml);
}
TEST_P(NodeTest, Table) {
  for (std::size_t width : {60, 80, 120, 160}) {
    const std::string table = StatusTable(document_, {.width = width});
    ExpectGolden(File("table" + std::to_string(width)), table);
    for (std::string_view line : base::Split(table, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  ExpectGolden(File("wide"), StatusTable(document_, {.width = 160, .wide = true}));
}
// Strangers see no empty line, miss no message, and learn what is hidden.
TEST_P(NodeTest, PublicTable) {
  auto document = tests::Must(status::ParseStatusDocument(status::PublicStatusJson(snapshot_)));
  const std::string table = StatusTable(*document, {.width = 80});
  ExpectGolden(File("public80"), table);
  for (std::string_view line : base::Split(table, '\n')) EXPECT_LE(DisplayWidth(line), 80U) << line;
  EXPECT_EQ(document->ready, document_.ready);
  ASSERT_EQ(document->images.size(), document_.images.size());
  for (std::size_t i = 0; i < document_.images.size(); i++) {
    EXPECT_EQ(document->images[i].verdicts.never, document_.images[i].verdicts.never)
        << document_.images[i].image;
    EXPECT_EQ(document->images[i].settled, document_.images[i].settled) << document_.images[i].image;
  }
}
TEST_P(NodeTest, ColorOnlySupportsTheWords) {
  std::string plain = StatusTable(document_, {.width = 80});
  std::string colored = StatusTable(document_, {.width = 80, .color = true});
  for (const char* code : {"\xff[31m", "\xff[32m", "\xff[33m", "\xff[0m"}) {
    colored = base::ReplaceAll(colored, code, "");
  }
  EXPECT_EQ(plain, colored);
}
TEST_P(NodeTest, Readyz) {
  ExpectGolden(File("readyz"),
               status::ReadyzText(snapshot_, plan::EvaluateReady(snapshot_, {}), true, status::View::kFull));
  std::string plain =
      status::ReadyzText(snapshot_, plan::EvaluateReady(snapshot_, {}), false, status::View::kFull);
  EXPECT_LACKS(plain, "[+]");
  EXPECT_HAS(plain, "list " + snapshot_.list.hash);
}
TEST_P(NodeTest, Wait) {
  std::string text = WaitLine(document_, 80) + "\n" + WaitLine(document_, 200) + "\n\n";
  EXPECT_LE(DisplayWidth(WaitLine(document_, 80)), 80U);
  for (WaitOutcome end : {WaitOutcome::kReady, WaitOutcome::kFailedFast, WaitOutcome::kTimedOut}) {
    text += WaitResult(document_, end, std::chrono::seconds(600), 80) + "\n";
  }
  ExpectGolden(File("wait"), text);
}

// The view of `wait` on terminals of these widths.
TEST_P(NodeTest, WaitOnATerminal) {
  std::string text;
  for (std::size_t width : {60, 80, 160}) {
    std::vector<std::string> view = WaitDetails(document_, width - 1, 10);
    view.insert(view.begin(), WaitLine(document_, width - 1));
    for (const std::string& line : view) EXPECT_LT(DisplayWidth(line), width) << line;
    text += base::Join(view, "\n") + "\n\n";
  }
  ExpectGolden(File("waitview"), text);
}

TEST_ROWS(Nodes, NodeTest, {"troubled", &sample::TroubledNode}, {"peaceful", &sample::PeacefulNode},
          {"starting", &sample::StartingNode}, {"stale", &sample::StaleNode},
          {"kubelet", &sample::KubeletNode}, {"newer", &sample::NewerNode}, {"ungiven", &sample::UngivenNode},
          {"brokenlist", &sample::BrokenListNode});

TEST(ImageJson, OneEntryByAnyOfItsSpellings) {
  plan::Snapshot snapshot = sample::PeacefulNode();
  const plan::ImageState* image = plan::FindImage(snapshot, *image::Reference::Parse("busybox:1.36"));
  ASSERT_NE(image, nullptr);
  std::string json = status::ImageJson(snapshot, *image, {});
  EXPECT_HAS(json, "\"kind\":\"ImageStatus\"");
  EXPECT_HAS(json, "\"image\":\"docker.io/library/busybox:1.36\"");
  EXPECT_EQ(plan::FindImage(snapshot, *image::Reference::Parse("busybox:1.37")), nullptr);
}

TEST(StatusJson, WithAKubeletVerdictsAreNotGuessed) {
  plan::Snapshot snapshot = sample::PeacefulNode();
  snapshot.kubelet.emplace();
  EXPECT_HAS(status::StatusJson(snapshot), "\"verdicts\":null,\"verdictsReason\":\"not known yet\"");
}

// Only where there are several: a list of thousands has one of nearly each.
TEST(StatusJson, EachSpellingHasItsVerdicts) {
  std::string one = status::StatusJson(sample::KubeletNodeOf({sample::Open("gcr.io/acme/db:v5")}));
  EXPECT_LACKS(one, "spellings");
  auto document = tests::Must(
      status::ParseStatusDocument(status::StatusJson(sample::KubeletNodeOf({sample::SpelledTwice()}))));
  const status::StatusImage& image = document->images.at(0);
  EXPECT_EQ(image.image, "docker.io/library/nginx:1.27");
  EXPECT_EQ(image.verdicts.never.result.text(), "Refused");
  ASSERT_EQ(image.spellings.size(), 2U);
  EXPECT_EQ(image.spellings[0].image, "docker.io/library/nginx:1.27");
  EXPECT_EQ(image.spellings[0].verdicts.never.result.text(), "Starts");
  EXPECT_EQ(image.spellings[1].image, "nginx:1.27");
  EXPECT_EQ(image.spellings[1].verdicts.never.reason, "RecordedUnderOtherName");
  EXPECT_EQ(image.spellings[1].verdicts.if_not_present.result.text(), "Pulls");
  EXPECT_HAS(image.message, "Pods that write nginx:1.27: ");
}

// Coordinates as the list has them; nothing for an entry of pods without credentials.
TEST(StatusJson, SaysForWhichPodAnEntryIsJudged) {
  std::string any = status::StatusJson(sample::KubeletNodeOf({sample::Open("gcr.io/acme/db:v5")}));
  EXPECT_LACKS(any, "readyAs");
  const std::string pod = R"("readyAs":{"secrets":[{"namespace":"team","name":"pull"}],)"
                          R"("serviceAccount":{"namespace":"team","name":"runner","uid":"6f1c"}})";
  std::string one = status::StatusJson(sample::KubeletNodeOf({sample::ForPodsWithASecret()}));
  EXPECT_HAS(one, R"("readyFor":"Never",)" + pod);
  EXPECT_HAS(one, R"("ready":true)");
  EXPECT_HAS(one, R"("Never":{"result":"Starts","reason":"AssumedForPod"})");
  EXPECT_LACKS(one, "spellings");
  std::string two = status::StatusJson(sample::KubeletNodeOf({sample::ForTwoPods()}));
  EXPECT_LACKS(two, R"("readyFor":"Never",)" + pod) << "of one of them only";
  EXPECT_HAS(two, R"("spellings":[{"image":"quay.io/acme/runner:v3",)" + pod);
}

TEST(StatusTable, WideSaysForWhichPodsItIsJudged) {
  auto table = [](const plan::ImageState& image, bool wide) {
    return StatusTable(status::DocumentOf(sample::KubeletNodeOf({image})), {.width = 400, .wide = wide});
  };
  const std::string pods = "with secret team/pull and service account team/runner (UID 6f1c)";
  const std::string one = table(sample::ForPodsWithASecret(), true);
  EXPECT_HAS(one, "judged for pods " + pods + " (readyAs)");
  EXPECT_HAS(one, "the agent assumes that it is the same one");
  EXPECT_HAS(one, "assumed  ");
  EXPECT_LACKS(table(sample::ForPodsWithASecret(), false), "readyAs");
  const std::string two = table(sample::ForTwoPods(), true);
  EXPECT_HAS(two, "judged for pods without pull secrets, and for pods " + pods + " (readyAs)");
  EXPECT_LACKS(table(sample::Open("gcr.io/acme/db:v5"), true), "judged for");
}

// For five minutes after a runtime went away readiness stays: that it is away, and what to do, is said at
// once.
TEST(StatusTable, ARuntimeThatIsAwayIsSaidWhileWhatItToldStillCounts) {
  plan::Snapshot snapshot = sample::PeacefulNode();
  ASSERT_TRUE(snapshot.readiness.ready);
  snapshot.runtime.up = false;
  snapshot.runtime.error = "the container runtime does not answer (ListImages)";
  std::string table = StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {});
  EXPECT_HAS(table,
             "! the container runtime does not answer (ListImages)\n"
             "  → start the container runtime, or name its socket with --runtime-endpoint\n");
  snapshot.readiness = {.ready = false,
                        .phase = plan::Phase::kFailing,
                        .reason = plan::Reason::kRuntimeDown,
                        .message = snapshot.runtime.error,
                        .required = 1,
                        .required_ready = 1};
  table = StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {});
  EXPECT_EQ(table.find("does not answer"), table.rfind("does not answer")) << "once is enough";
}

// With sizes that nobody knows yet it used to say "0 B are needed".
TEST(StatusTable, DiskPressureNamesTheLimitAndWhatIsNeeded) {
  plan::Snapshot snapshot = sample::PeacefulNode();
  snapshot.disk.pressure = true;
  snapshot.disk.needed_bytes = 0;
  auto document = tests::Must(status::ParseStatusDocument(status::StatusJson(snapshot)));
  std::string table = StatusTable(*document, {.width = 1000});
  EXPECT_HAS(table, "and must keep 20");
  EXPECT_HAS(table, "(diskHighPercent, diskMinFreeBytes,");
  EXPECT_HAS(table, "the sizes of the absent images are not known yet");
}

TEST(StatusTable, AQueuedImageShowsWhatElseItWaitsFor) {
  plan::Snapshot snapshot = sample::Node({sample::Queued("a/b:1"), sample::Queued("a/c:1")});
  snapshot.images[0].message = "waits for room on the disk";
  std::string table =
      StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {.width = 1000});
  EXPECT_HAS(table, "waits for room on the disk");
  EXPECT_LACKS(table, "waits for its turn");
}

TEST(StatusDocument, AListOfThousandsComesThrough) {
  std::vector<plan::ImageState> images;
  for (int i = 0; i < 5000; i++)
    images.push_back(sample::Ready("ghcr.io/acme/service-" + std::to_string(i) + ":v1", 1));
  std::string json = status::StatusJson(sample::Node(std::move(images)));
  auto document = tests::Must(status::ParseStatusDocument(json));
  EXPECT_EQ(document->images.size(), 5000U);
  EXPECT_EQ(document->required_ready, 5000U);
}

constexpr std::string_view kFrame = R"("apiVersion":"prefetchd.dev/v1","kind":"NodeStatus")";

TEST(StatusDocument, MissingAndUnknownMembersAreNothing) {
  auto document = tests::Must(
      status::ParseStatusDocument("{" + std::string(kFrame) +
                                  R"(,"new":{"a":[1]},"disk":null,"images":[{"image":"a","phase":"New",)"
                                  R"("reason":"SomethingNew","verdicts":null,"registry":{"x":1}}]})"));
  EXPECT_EQ(document->images.at(0).reason.text(), "SomethingNew");
  std::string table = StatusTable(*document, {});
  EXPECT_HAS(table, "something …");
}

TEST(StatusDocument, NothingInItCanHarmATerminal) {
  auto document = tests::Must(status::ParseStatusDocument(
      "{" + std::string(kFrame) +
      R"(,"node":"\u001b[2Jx","images":[{"image":"a\u009bb\u007f","message":"c\r\u0007"}]})"));
  EXPECT_EQ(document->node, " [2Jx");
  EXPECT_EQ(document->images.at(0).image, "a b ");
  EXPECT_EQ(StatusTable(*document, {.wide = true}).find('\x1b'), std::string::npos);
}

struct BadDocument {
  std::string name, json, says;
};
TEST_TABLE(BadDocumentTest, IsRefused, BadDocument) {
  const auto error = tests::MustFail(status::ParseStatusDocument(row.json));
  EXPECT_EQ(error.code(), base::Code::kInvalidArgument);
  EXPECT_HAS(error.message(), row.says);
}
std::string Framed(const std::string& more) {
  return "{" + std::string(kFrame) + "," + more + "}";
}
TEST_ROWS(StatusDocument, BadDocumentTest, {"Empty", "", "status document"},
          {"Html", "<html>", "status document"}, {"List", "[]", "the document is not an object"},
          {"OtherKind", R"({"apiVersion":"prefetchd.dev/v1","kind":"X"})", "no NodeStatus"},
          {"OtherVersion", R"({"apiVersion":"prefetchd.dev/v2","kind":"NodeStatus"})", "no NodeStatus"},
          {"ReadyIsText", Framed(R"("ready":"yes")"), "ready is not true or false"},
          {"ImageIsText", Framed(R"("images":["a"])"), "images[0] is not an object"},
          {"SizeIsNegative", Framed(R"("images":[{"sizeBytes":-1}])"),
           "images[0].sizeBytes is not a number from 0"},
          {"BytesAreText", Framed(R"("images":[{},{"pull":{"bytesDone":"1"}}])"),
           "images[1].pull.bytesDone is not a whole number"},
          {"TimeIsNone", Framed(R"("time":"yesterday")"), "time is not a time"},
          {"FromIsNumbers", Framed(R"("images":[{"from":[1]}])"), "images[0].from[0] is not a string"},
          {"Deep", Framed("\"x\":" + std::string(1000, '[')), "status document"});

TEST(AsYaml, QuotesWhatWouldBeSomethingElse) {
  auto yaml = tests::Must(doc::AsYaml(
      R"({"a":"yes","b":"1.10","c":"x: y","d":"plain-1","e":[],"f":{},"g":[{"h":1,"i":[true]},[2]],)"
      R"("j":"a\nb","k":null,"no":""})"));
  EXPECT_EQ(
      *yaml,
      "a: \"yes\"\nb: \"1.10\"\nc: \"x: y\"\nd: plain-1\ne: []\nf: {}\ng:\n- h: 1\n  i:\n  - true\n- - 2\n"
      "j: \"a\\nb\"\nk: null\n\"no\": \"\"\n");
}

status::StatusDocument PullsOf(const std::string& runtime) {
  status::StatusDocument document;
  document.node = "n1";
  document.phase = "Progressing";
  document.reason = "ImagesNotReady";
  document.runtime.name = runtime;
  document.runtime.up = true;
  document.required = 2;
  document.time = base::WallTime(std::chrono::seconds(1000));
  for (int began : {958, 999}) {
    status::StatusImage image{.image = "r.io/a" + std::to_string(began) + ":v1"};
    image.phase = "Progressing";
    image.reason = "Pulling";
    image.message = "the pull has started";
    image.pull.state = "Pulling";
    image.pull.attempts = 1;
    image.pull.started_at = base::WallTime(std::chrono::seconds(began));
    document.images.push_back(image);
  }
  return document;
}

// CRI-O tells nothing of a pull before it ends.
TEST(WithoutBytes, TheTimeOfAPullIsShownAndTheReasonOnce) {
  const std::string table = StatusTable(PullsOf("cri-o"), {.width = 120});
  EXPECT_HAS(table, "cri-o reports no progress of pulls");
  EXPECT_EQ(table.find("reports no"), table.rfind("reports no")) << table;
  EXPECT_HAS(table, "pulling  42 s");
  EXPECT_HAS(table, "under way for 42 s");
  EXPECT_HAS(table, "the pull has started") << "of the one that has just begun";
  EXPECT_HAS(WaitLine(PullsOf("cri-o"), 200), "2 pulling (under way for 42 s)");
  EXPECT_LACKS(StatusTable(PullsOf("containerd"), {.width = 120}), "does not tell");
}

TEST(Pinned, IsShownInFull) {
  status::StatusDocument document = PullsOf("cri-o");
  status::StatusImage& image = document.images.front();
  image.phase = plan::Phase::kReady;
  image.pull.state = "Done";
  image.ready = image.present = image.pinned = true;
  EXPECT_HAS(StatusTable(document, {.width = 160, .wide = true}), "pinned: kubelet's");
}

// Ready or not, since the entry asks for it.
TEST(Pinned, TheObstacleIsShown) {
  status::StatusDocument document = PullsOf("cri-o");
  status::StatusImage& image = document.images.front();
  image.pin_problem = "the disk is small";
  EXPECT_HAS(StatusTable(document, {.width = 160}), "not pinned: the disk is small");
  image.phase = plan::Phase::kReady;
  image.ready = image.present = true;
  EXPECT_HAS(StatusTable(document, {.width = 160}), "not pinned: the disk is small");
}

TEST(RetryWords, SayWhenARetryWasRequested) {
  const base::WallTime now{std::chrono::hours(1)};
  status::StatusPull pull{.state = "Queued", .attempts = 3};
  EXPECT_EQ(RetryText(pull, now), "tried 3 times");
  pull.retry_requested_at = now - std::chrono::seconds(40);
  EXPECT_EQ(RetryText(pull, now), "tried 3 times, retry requested 40 s ago");
  pull.retry_requested_at = now + std::chrono::seconds(5);  // the node's clock was set back
  EXPECT_EQ(RetryText(pull, now), "tried 3 times, retry requested 0 s ago");
}

// Numbers and texts of registries and runtimes: as the agent writes them, every reader reads them.
TEST(StatusDocument, ExtremeValuesAreReadBack) {
  plan::Snapshot snapshot = sample::Node({sample::Ready("q.io/a:v1", 1)});
  snapshot.images[0].size_bytes = UINT64_MAX;
  snapshot.registries.push_back({.name = "q.io"});
  snapshot.registries[0].pulls_left = UINT64_MAX - 1;
  snapshot.problems = {"a\x1b[2Jb\nc"};
  auto read = tests::Must(status::ParseStatusDocument(status::StatusJson(snapshot)));
  EXPECT_EQ(read->registries.at(0).pulls_left, UINT64_MAX - 1);
  EXPECT_EQ(read->images.at(0).size_bytes, UINT64_MAX);
  EXPECT_EQ(read->problems, std::vector<std::string>{"a [2Jb\nc"});
}

plan::RegistryView Stale() {
  return {.answer = image::RegistryAnswerKind::kUnreachable,
          .detail = "Dns",
          .message = "the registry does not answer: no such host",
          .digest = "sha256:aa",
          .answered_by = "ghcr.io",
          .checked_at = sample::At(-60),
          .confirmed_at = sample::At(-7200),
          .next_check_at = sample::At(600),
          .fresh = false,
          .agrees = true,
          .reason = plan::Reason::kUnreachable,
          .silent = 3,
          .changed_from = "sha256:99",
          .changed_at = sample::At(-9000)};
}

plan::Snapshot WithRegistry() {
  plan::Snapshot snapshot = sample::Node({sample::Ready("ghcr.io/acme/a:v1", 1)});
  snapshot.images[0].desired.Change(
      [](plan::DesiredImage& desired) { desired.refresh = plan::Refresh::kIfDigestChanged; });
  snapshot.images[0].registry = std::make_shared<const plan::RegistryView>(Stale());
  snapshot.registries = {{.name = "ghcr.io",
                          .entries = 1,
                          .checks_per_hour = 1,
                          .requests_per_second = 5,
                          .requests_left = 9,
                          .requests = 12,
                          .unreachable_since = sample::At(-180),
                          .trouble = "Unreachable",
                          .message = "no such host",
                          .held_until = sample::At(60),
                          .pulls_left = 76,
                          .pulls_allowed = 100}};
  return snapshot;
}

TEST(RegistryJson, AllOfOneImage) {
  std::string json = status::StatusJson(WithRegistry());
  EXPECT_HAS(json,
             R"("registry":{"answer":"Unreachable","detail":"Dns","digest":"sha256:aa",)"
             R"("checkedAt":"2026-08-01T09:59:00Z","fresh":false,"acceptable":true,"reason":"Unreachable",)"
             R"("message":"the registry does not answer: no such host","agrees":true,)"
             R"("answeredBy":"ghcr.io","confirmedAt":"2026-08-01T08:00:00Z","ageSeconds":7200,)"
             R"("nextCheckAt":"2026-08-01T10:10:00Z","silentChecks":3,"changedFrom":"sha256:99",)"
             R"("changedAt":"2026-08-01T07:30:00Z"},"registryReason":null)");
}

TEST(RegistryJson, HowRegistriesAreAskedAndWhoSaysSo) {
  plan::Snapshot snapshot = WithRegistry();
  EXPECT_HAS(status::StatusJson(snapshot), R"("up":true,"error":null,"registries":null})");
  snapshot.runtime.access = image::RegistryAccess{.config_path = "/etc/containerd/certs.d",
                                                  .config_path_source = "declared",
                                                  .by_pull = {"docker.io"},
                                                  .by_pull_source = "runtime",
                                                  .notes = {"containerd tells otherwise"}};
  EXPECT_HAS(status::StatusJson(snapshot),
             R"("registries":{"configPath":"/etc/containerd/certs.d","configPathSource":"declared",)"
             R"("byPull":["docker.io"],"byPullSource":"runtime","notes":["containerd tells otherwise"]}})");
}

TEST(RegistryWords, ManyRegistriesThatAreAwayAreAFewLines) {
  plan::Snapshot snapshot = WithRegistry();
  snapshot.registries.resize(30, snapshot.registries[0]);
  std::string table = StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {.width = 160});
  std::size_t lines = 0;
  for (auto at = table.find("has not answered"); at != std::string::npos;
       at = table.find("has not answered", at + 1)) {
    lines++;
  }
  EXPECT_EQ(lines, 5U) << table;
  EXPECT_HAS(table, "! 25 more registries do not answer\n");
  snapshot.registries.resize(6, snapshot.registries[0]);
  table = StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {.width = 160});
  EXPECT_HAS(table, "! 1 more registry does not answer\n");
}

// Its registry is up, so that no line of the node's tells of it.
TEST(RegistryWords, AnImageWhoseDenialDoesNotCountIsNotCurrent) {
  plan::Snapshot snapshot = WithRegistry();
  plan::RegistryView view = Stale();
  view.detail = "Credentials";
  view.message = "the registry denies access";
  snapshot.images[0].registry = std::make_shared<const plan::RegistryView>(view);
  snapshot.registries[0].trouble.clear();
  EXPECT_HAS(StatusTable(*status::ParseStatusDocument(status::StatusJson(snapshot)), {.width = 160}),
             "not current: the registry denies access");
}

TEST(RegistryJson, TheBudgetOfEachRegistry) {
  std::string json = status::StatusJson(WithRegistry());
  EXPECT_HAS(json,
             R"("registries":[{"name":"ghcr.io","entries":1,"checksPerHour":1,"requestsPerSecond":5,)"
             R"("requestsLeft":9,"requests":12,"trouble":"Unreachable","message":"no such host",)"
             R"("unreachableSince":"2026-08-01T09:57:00Z","unreachableForSeconds":180,)"
             R"("heldUntil":"2026-08-01T10:01:00Z","pullsLeft":76,"pullsAllowed":100,"updatesWait":false}])");
}

TEST(RegistryJson, ATimeOfDayThatWasSetBackMakesNoAge) {
  plan::Snapshot snapshot = WithRegistry();
  snapshot.time = sample::At(-100'000);
  EXPECT_HAS(status::StatusJson(snapshot), R"("ageSeconds":0)");
}

TEST(RegistryJson, IsReadBack) {
  auto document = tests::Must(status::ParseStatusDocument(status::StatusJson(WithRegistry())));
  const std::optional<status::StatusRegistry>& registry = document->images[0].registry;
  ASSERT_TRUE(registry);
  EXPECT_EQ(registry->answer.text(), "Unreachable");
  EXPECT_EQ(registry->reason.text(), "Unreachable");
  EXPECT_FALSE(registry->fresh);
  EXPECT_TRUE(registry->agrees);
  EXPECT_EQ(registry->confirmed_at, sample::At(-7200));
}

struct WhyCase {
  std::string name;
  std::string image;
  plan::Refresh refresh;
  bool applies;
  std::string why;
};

TEST_TABLE(NotAsked, SaysWhy, WhyCase) {
  plan::Snapshot snapshot = sample::Node({sample::Ready(row.image, 1)});
  snapshot.images[0].desired.Change([&](plan::DesiredImage& desired) { desired.refresh = row.refresh; });
  snapshot.images[0].applies = row.applies;
  std::string json = status::StatusJson(snapshot);
  EXPECT_HAS(json, R"("registry":null,"registryReason":"not asked: )" + row.why);
}

TEST_ROWS(Images, NotAsked,
          {"Default", "a:v1", plan::Refresh::kIfNotPresent, true, "refresh is IfNotPresent"},
          {"Digest", "a@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
           plan::Refresh::kIfNotPresent, true, "a digest always names the same content"},
          {"TurnedOff", "a:v1", plan::Refresh::kIfDigestChanged, true, "this agent asks no registry"},
          {"OtherPlatform", "a:v1", plan::Refresh::kIfDigestChanged, false,
           "the entry is for other platforms"});

}  // namespace
}  // namespace prefetch::screen::status_test
