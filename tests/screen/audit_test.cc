#include "screen/audit.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "doc/write.h"
#include "golden.h"
#include "rows.h"
#include "screen/text_layout.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::screen::audit_test {
namespace {

using std::chrono::milliseconds;
using tests::ExpectGolden;

struct MessageCase {
  std::string name;
  std::string message;
  std::string image;  // empty: it says nothing of a pull
  std::optional<milliseconds> took;
};
TEST_TABLE(PulledMessageTest, IsRead, MessageCase) {
  auto pull = ParsePulledMessage(row.message);
  EXPECT_EQ(pull ? pull->image : "", row.image);
  EXPECT_EQ(pull ? pull->took : std::nullopt, row.took);
}
TEST_ROWS(Rows, PulledMessageTest,
          {"Now",
           "Successfully pulled image \"q.io/a:v1\" in 1m2.5s (1m3s including waiting). Image size: "
           "12 bytes.",
           "q.io/a:v1", milliseconds(62'500)},
          {"Quick", "Successfully pulled image \"a\" in 345.6ms (345.6ms including waiting)", "a",
           milliseconds(346)},
          {"Old", "Successfully pulled image \"a\" in 12.345678901s", "a", milliseconds(12'346)},
          {"Hours", "Successfully pulled image \"a\" in 1h0m0.5s", "a", milliseconds(3'600'500)},
          {"Micro", "Successfully pulled image \"a\" in 900µs", "a", milliseconds(1)},
          {"NoTime", "Successfully pulled image \"a\"", "a", std::nullopt},
          {"OtherTime", "Successfully pulled image \"a\" in a moment", "a", std::nullopt},
          {"TooLong", "Successfully pulled image \"a\" in 99999999999h", "a", std::nullopt},
          {"Present", "Container image \"a\" already present on machine", "", std::nullopt},
          {"NoName", "Successfully pulled image \"\" in 1s", "", std::nullopt},
          {"Cut", "Successfully pulled image \"a", "", std::nullopt}, {"Nothing", "", "", std::nullopt});

AuditNode Saw(const std::string& node, std::vector<plan::UnlistedImage> unlisted) {
  return {.node = node, .answered = true, .since = sample::At(-3600), .unlisted = std::move(unlisted)};
}

plan::UnlistedImage Came(const std::string& image, int when, bool present = true) {
  return {.image = image,
          .image_id = "sha256:1",
          .size_bytes = 90'000'000,
          .first_seen = sample::At(when),
          .arrived_at = sample::At(when),
          .present = present};
}

// Three nodes and one that is silent; pods, one of them elsewhere; a listed image that was pulled twice.
AuditFacts Facts() {
  AuditFacts facts;
  facts.nodes = {Saw("n1", {Came("q.io/tool:v9", -600), Came("docker.io/library/alpine:3.20", -900, false)}),
                 Saw("n2", {Came("q.io/tool:v9", -100)}),
                 Saw("n3", {Came("registry.k8s.io/metrics:v1", -50)}),
                 {.node = "n4", .answered = false, .error = "it did not answer in time"}};
  facts.pods = {{"team", "job-1", "n1", "q.io/tool:v9"},
                {"team", "job-2", "n2", "q.io/tool:v9"},
                {"team", "job-3", "n9", "q.io/tool:v9"},
                {"web", "app", "n1", "alpine:3.20"},
                {"web", "bad", "n1", "No Reference"}};
  facts.pulls = {{"web", "app-1", "n1", "q.io/runner:v3", milliseconds(1500), sample::At(-10)},
                 {"web", "app-2", "n2", "q.io/runner:v3", milliseconds(62'500), sample::At(-20)},
                 {"web", "app-3", "n2", "q.io/tool:v9", milliseconds(900), sample::At(-20)}};
  facts.listed = {"q.io/runner:v3"};
  facts.ignore = {"registry.k8s.io/*"};
  return facts;
}

TEST(Audit, JoinsWhatCameWithWhoAskedForIt) {
  Audit audit = MakeAudit(Facts());
  ASSERT_EQ(audit.findings.size(), 2U);
  EXPECT_EQ(audit.findings[0].image, "q.io/tool:v9");
  EXPECT_EQ(audit.findings[0].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(audit.findings[0].pods, (std::vector<std::string>{"team/job-1", "team/job-2"}));
  EXPECT_EQ(audit.findings[0].first_seen, sample::At(-600));
  EXPECT_EQ(audit.findings[0].arrived_at, sample::At(-100));
  EXPECT_EQ(audit.findings[1].pods, (std::vector<std::string>{"web/app"}));
  EXPECT_FALSE(audit.findings[1].present);
  ASSERT_EQ(audit.pulls.size(), 1U);
  EXPECT_EQ(audit.pulls[0].times, 2U);
  EXPECT_EQ(audit.pulls[0].longest, milliseconds(62'500));
  EXPECT_EQ(audit.pulls[0].pod, "web/app-2");
  EXPECT_FALSE(audit.Clean());
}

TEST(Audit, SinceLeavesOutWhatIsOlderAndSaysWhatIsNotKnown) {
  AuditFacts facts = Facts();
  facts.since = sample::At(-200);
  Audit audit = MakeAudit(facts);
  ASSERT_EQ(audit.findings.size(), 1U);
  EXPECT_EQ(audit.findings[0].nodes, (std::vector<std::string>{"n2"}));
  EXPECT_EQ(audit.notes, (std::vector<std::string>{"node n4 could not be asked: it did not answer in time"}));
  facts.since = sample::At(-7200);
  EXPECT_EQ(MakeAudit(facts).notes.back(),
            "3 nodes (first n1) started to look later: earlier images are not known");
  facts.since = sample::At(0);
  EXPECT_TRUE(MakeAudit(facts).Clean());
  EXPECT_TRUE(MakeAudit(facts).pulls.empty());
}

TEST(Audit, AnOldAgentAndAFullOneAreNoted) {
  AuditFacts facts;
  facts.nodes = {{.node = "n1", .answered = true}, Saw("n2", {})};
  facts.nodes[1].left_out = 7;
  EXPECT_EQ(MakeAudit(facts).notes,
            (std::vector<std::string>{"node n1 did not list unlisted images (yet)",
                                      "node n2 saw more unlisted images than are named"}));
  // A node that reported nothing does not count as clean.
  EXPECT_EQ(MakeAudit(facts).answered, 1U);
  EXPECT_TRUE(AuditText(MakeAudit(facts), 80).starts_with("clean: no image that is on no list on 1 node\n"));
}

TEST(Audit, OfPodsAlone) {
  AuditFacts facts = Facts();
  facts.pods.push_back({"web", "run", "n1", "q.io/runner:v3"});
  facts.pods.push_back({"kube-system", "m", "n1", "registry.k8s.io/metrics:v1"});
  Audit audit = MakePodAudit(facts);
  ASSERT_EQ(audit.findings.size(), 2U);
  EXPECT_EQ(audit.findings[0].image, "q.io/tool:v9");
  EXPECT_EQ(audit.findings[0].nodes, (std::vector<std::string>{"n1", "n2", "n9"}));
  EXPECT_EQ(audit.findings[1].image, "docker.io/library/alpine:3.20");
}

TEST(Audit, PodsAreBounded) {
  AuditFacts facts;
  for (int i = 0; i < 50; i++) facts.pods.push_back({"a", "p" + std::to_string(100 + i), "n", "x:1"});
  Audit audit = MakePodAudit(facts);
  EXPECT_EQ(audit.findings[0].pods.size(), kMostAuditPods);
  EXPECT_EQ(audit.findings[0].more_pods, 30U);
}

TEST(Audit, AsTextAndAsJson) {
  std::string text = AuditText(MakeAudit(Facts()), 80);
  for (std::string_view line : base::Split(text, '\n')) EXPECT_LE(DisplayWidth(line), 80U) << line;
  ExpectGolden("screen/audit.txt", text);
  auto json = doc::IndentedJson(AuditJson(MakeAudit(Facts()), sample::At(0)));
  ASSERT_TRUE(json);
  ExpectGolden("screen/audit.json", *json);
  AuditFacts clean;
  clean.nodes = {Saw("n1", {})};
  EXPECT_EQ(AuditText(MakeAudit(clean), 80), "clean: no image that is on no list on 1 node\n");
}

TEST(Audit, ReadsWhatTheAgentSays) {
  auto document = status::ParseStatusDocument(status::StatusJson(sample::PeacefulNode()));
  ASSERT_TRUE(document);
  AuditNode node = AuditNodeOf(*document, "ci-7");
  EXPECT_EQ(node.since, sample::At(-3600));
  ASSERT_EQ(node.unlisted.size(), 2U);
  EXPECT_EQ(node.unlisted[0].image, "quay.io/acme/tool:v9");
  EXPECT_EQ(node.unlisted[1].arrived_at, sample::At(-120));
  EXPECT_FALSE(node.unlisted[1].present);
  EXPECT_EQ(ListedNames(*document),
            (std::set<std::string>{"docker.io/library/busybox:1.36", "ghcr.io/acme/runner:v3"}));
}

}  // namespace
}  // namespace prefetch::screen::audit_test
