#include "screen/text_layout.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii_output.h"
#include "base/scrub.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "manifest/lint_sample.h"
#include "must.h"
#include "rows.h"
#include "screen/audit.h"
#include "screen/check_text.h"
#include "screen/document_words.h"
#include "screen/fleet.h"
#include "screen/lint_report.h"
#include "screen/node_text.h"
#include "status/check_document.h"
#include "status/documents.h"
#include "status/kubelet_sample.h"
#include "status/planted.h"
#include "status/status_json.h"

namespace prefetch::screen::text_layout_test {
namespace {

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("ä–…→"), 4U);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1U);
  EXPECT_EQ(DisplayWidth("日本"), 4U);
  EXPECT_EQ(DisplayWidth("\xff\xe2"), 2U);
  EXPECT_EQ(DisplayWidth("\xff[31mdenied\xff[0m \xff[1;32mopen\xff[0m"), 11U);
  EXPECT_EQ(DisplayWidth("\x1b[31m"), 5U) << "no colour of ours";
}

TEST(CutEnd, AtACharactersBoundary) {
  EXPECT_EQ(CutEnd("abcd", 4), "abcd");
  EXPECT_EQ(CutEnd("abcde", 4), "abc…");
  EXPECT_EQ(CutEnd("日本語", 4), "日…");
  EXPECT_EQ(CutEnd("abc", 0), "");
}

struct ShortCase {
  std::string name, image;
  std::size_t width;
  std::string shown;
};
TEST_TABLE(ShortImageTest, KeepsWhatSaysMost, ShortCase) {
  EXPECT_EQ(ShortImage(row.image, row.width), row.shown);
  EXPECT_LE(DisplayWidth(ShortImage(row.image, row.width)), row.width);
}
TEST_ROWS(Layout, ShortImageTest, {"Fits", "quay.io/a/b:v1", 20, "quay.io/a/b:v1"},
          {"Digest", "a/b@sha256:0123456789abcdef", 40, "a/b@sha256:01234567…"},
          {"Middle", "quay.io/acme/team/service:v1.2", 22, "quay.io/…/service:v1.2"},
          {"NoRegistry", "averyveryverylongname:v1", 10, "…ngname:v1"},
          {"Tiny", "quay.io/acme/a:v1", 1, "…"});

TEST(Paragraph, KeepsTheLinesOfItsText) {
  EXPECT_EQ(Paragraph("a.yaml:1: one\na.yaml:2: two three", "! ", "  ", 24),
            "! a.yaml:1: one\n  a.yaml:2: two three\n");
}

TEST(Wrap, ByWords) {
  EXPECT_EQ(Wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(Wrap("a\nb  c", 80), (std::vector<std::string>{"a b c"}));
  EXPECT_EQ(Wrap("longerthanthat x", 5), (std::vector<std::string>{"longerthanthat", "x"}));
  EXPECT_TRUE(Wrap("", 5).empty());
}

TEST(HumanTime, RoundsAsPeopleDo) {
  EXPECT_EQ(base::HumanTime(std::chrono::seconds(-5)), "0 s");
  EXPECT_EQ(base::HumanTime(std::chrono::seconds(99)), "99 s");
  EXPECT_EQ(base::HumanTime(std::chrono::minutes(10)), "10 min");
  EXPECT_EQ(base::HumanTime(std::chrono::hours(5)), "5 h");
  EXPECT_EQ(base::HumanTime(std::chrono::hours(24 * 6)), "6 d");
}

TEST(PullWords, SayWhatIsKnown) {
  EXPECT_EQ(PullProgressText({}, std::nullopt), "");
  EXPECT_EQ(PullProgressText({.bytes_done = 5'000'000}, std::nullopt), "5 MB so far");
  EXPECT_EQ(PullProgressText(
                {.bytes_done = 412'000'000, .bytes_total = 680'000'000, .bytes_per_second = 38'000'000},
                std::nullopt),
            "412 of 680 MB, 38 MB/s, about 8 s left");
  EXPECT_EQ(PullProgressText({.bytes_done = 412'000'000, .bytes_total = 1'680'000'000}, std::nullopt),
            "412 MB of 1.7 GB");
  EXPECT_EQ(PercentText({.bytes_done = 5, .bytes_total = 4}), "100 %");
}

// Control characters in every text of a document: no printer passes one on.

const std::string kSteering =
    "\x1b[2J\x1b[31m\x1b]0;t\x07\x08\r\x7f\xc2\x9b"
    "2J\xc2\x85\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\u200b\ufeff";

// As a terminal gets it.
std::string Printed(const std::string& text) {
  std::ostringstream out;
  {
    base::TextOutput filter(out, false);
    out << text;
  }
  return out.str();
}

// Fails if `text` has a character that steers; tabs and line ends do not.
void ExpectHarmless(const std::string& text, const std::string& name) {
  for (std::size_t at = 0; at < text.size(); at++) {
    if (text[at] == '\t' || base::ControlAt(std::string_view(text).substr(at)) == 0) continue;
    ADD_FAILURE() << name << ": " << text.substr(at < 60 ? 0 : at - 60, 80);
    return;
  }
}

// The document with hostile texts everywhere but where `reads` then refuses it, as times.
std::string Hostile(const std::string& json,
                    const std::function<base::Status(const std::string& json)>& reads) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(json, problems);
  EXPECT_TRUE(root) << json;
  if (!root) return "";
  std::size_t hostile = 0;
  std::function<void(doc::Node&)> poison = [&](doc::Node& node) {
    for (doc::Node& item : node.items) poison(item);
    for (doc::Member& member : node.members) poison(member.value);
    if (node.kind != doc::Node::Kind::kString) return;
    const std::string before = std::exchange(node.text, node.text + kSteering + node.text);
    hostile++;
    if (base::Status read = reads(doc::WriteJson(*root)); !read) {
      ExpectHarmless(Printed(read.error().message()), "error");
      node.text = before;
      hostile--;
    }
  };
  poison(*root);
  EXPECT_GT(hostile, 4U) << json;
  return doc::WriteJson(*root);
}

template <typename T>
base::Status StatusOf(const base::Result<T>& result) {
  return result ? base::Status() : base::Status(result.error());
}

TEST(Steering, OfAStatusDocument) {
  for (const plan::Snapshot& node :
       {sample::PlantedNode(), sample::TroubledNode(), sample::BrokenListNode()}) {
    const std::string json = Hostile(status::StatusJson(node), [](const std::string& hostile) {
      return StatusOf(status::ParseStatusDocument(hostile));
    });
    ExpectHarmless(*doc::IndentedJson(json), "json");
    ExpectHarmless(*doc::AsYaml(json), "yaml");
    auto document = tests::Must(status::ParseStatusDocument(json));
    for (bool wide : {false, true}) {
      ExpectHarmless(Printed(StatusTable(*document, {.wide = wide})), "table");
    }
    ExpectHarmless(Printed(WaitLine(*document, 200)), "wait");
    for (const std::string& line : WaitDetails(*document, 200, 20)) ExpectHarmless(Printed(line), "wait");
    const Fleet fleet = GatherFleet({SummarizeStatus(*document, document->node)});
    for (bool wide : {false, true}) ExpectHarmless(Printed(FleetTable(fleet, {.wide = wide})), "fleet");
    ExpectHarmless(FleetJson(fleet, sample::At(0), false), "fleet as json");
  }
}

TEST(Steering, OfAnImageDocument) {
  plan::ImageState image = sample::PlantedImage();
  status::ImageDocument detail = sample::DetailOf(image);
  detail.providers = {{"provider", "error", "said", true, ""}};
  *detail.credentials = {{"docker-config", "/root/.docker/config.json", "quay.io", "ann"}};
  auto document = tests::Must(status::ParseImageDocument(
      Hostile(status::ImageJson(sample::KubeletNodeOf({image}), image, detail),
              [](const std::string& hostile) { return StatusOf(status::ParseImageDocument(hostile)); })));
  ExpectHarmless(Printed(ExplainText(*document, 80)), "explain");
}

TEST(Steering, OfACheckResult) {
  status::CheckResult result{.node = "n1", .time = {}, .ok = false, .answers = {{}}};
  status::CheckAnswer& answer = result.answers[0];
  answer.image = "a/b:v1";
  answer.policy = "Never";
  answer.result = "Refused";
  answer.reason = "ImageAbsent";
  answer.message = "it is absent";
  const std::vector<CheckItem> items =
      CheckItems({StandaloneUse("a/b:v1", image::PullPolicy::kNever, {})}, {}, {});
  auto hostile = tests::Must(
      status::ParseCheckResult(Hostile(status::CheckResultJson(result), [](const std::string& json) {
        return StatusOf(status::ParseCheckResult(json));
      })));
  ExpectHarmless(Printed(CheckText(items, *hostile, {})), "text");
  ExpectHarmless(CheckReportJson(items, *hostile), "json");
  ExpectHarmless(CheckGithub(items, *hostile, false), "github");
}

TEST(Steering, OfManifests) {
  const std::string yaml =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: \"a\\e[2J\\x9b\", namespace: \"b\\e]0;\\a\"}\n"
      "spec:\n  containers:\n  - {name: \"c\\u202e\\r\", image: \"q.io/a\\e[31m\\u2066:v1\"}\n";
  const manifest::lint::LintResult result =
      tests::LintFiles("q.io/b:v1\n", {{"a" + kSteering + ".yaml", yaml}});
  EXPECT_FALSE(result.findings.empty());
  ExpectHarmless(Printed(LintText(result, {})), "text");
  ExpectHarmless(LintJson(result), "json");
  ExpectHarmless(LintGithub(result), "github");
  ExpectHarmless(LintSarif(result, "1"), "sarif");
}

TEST(Steering, OfWhatTheApiServerTells) {
  const std::string evil = "x" + kSteering;
  AuditFacts facts;
  facts.nodes = {{.node = evil, .answered = false, .error = evil, .since = {}, .unlisted = {}},
                 {.node = evil,
                  .answered = true,
                  .since = sample::At(-3600),
                  .unlisted = {{.image = "q.io/a" + evil, .image_id = evil, .first_seen = sample::At(-5)}}}};
  facts.pods = {{evil, evil, evil, "q.io/a" + evil}};
  facts.pulls = {{evil, evil, evil, "q.io/a" + evil, std::chrono::seconds(9), sample::At(-1)}};
  const Audit audit = MakeAudit(facts);
  ExpectHarmless(Printed(AuditText(audit, 80)), "audit");
  ExpectHarmless(AuditJson(audit, sample::At(0)), "audit as json");
  const Fleet fleet = GatherFleet(
      {NodeWithoutDetail(evil, {.has_pod = true, .pod_ready = false, .pod_phase = evil, .label = evil})});
  ExpectHarmless(Printed(FleetTable(fleet, {.wide = true})), "fleet");
  ExpectHarmless(FleetJson(fleet, sample::At(0), false), "fleet as json");
}

}  // namespace
}  // namespace prefetch::screen::text_layout_test
