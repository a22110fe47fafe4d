// The page of `status -o html`: what is on it, how large it is, and that nothing gets in as markup.
#include "screen/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "golden.h"
#include "screen/document_words.h"
#include "screen/report/fleets.h"
#include "screen/report/sections.h"

namespace prefetch::screen::report::page_test {
namespace {

constexpr std::size_t kMostBytes = 3'000'000;  // of 1,000 nodes × 200 images

std::string PageOf(const Report& report) {
  return Page(report, sample::At(60));
}

// Without style and script, which are files of their own, and without the version.
std::string Body(std::string page) {
  for (std::string_view part : {PageFiles().at("page.css"), PageFiles().at("page.js"),
                                std::string_view("prefetchd " PREFETCH_VERSION)}) {
    std::size_t at = page.find(part);
    EXPECT_NE(at, std::string::npos);
    if (at != std::string::npos) page.replace(at, part.size(), "…");
  }
  return page;
}

bool Has(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

TEST(Page, ASmallFleet) {
  tests::ExpectGolden("screen/report/small.html", Body(PageOf(SmallFleet())));
}

TEST(Page, OneNode) {
  tests::ExpectGolden("screen/report/node.html", Body(PageOf(OneNode())));
}

TEST(Page, IsTheSameHoweverTheAnswersCame) {
  auto page = [](bool reversed) {
    std::vector<NodeSays> says = {
        {"a", With({Denied(), Stale()})}, {"b", With({Stale()})}, {"c", With({Denied()})}};
    if (reversed) std::reverse(says.begin(), says.end());
    return PageOf(ReportOf(says));
  };
  EXPECT_EQ(page(false), page(true));
}

TEST(Page, FetchesAndSendsNothing) {
  const std::string page = PageOf(SmallFleet());
  EXPECT_TRUE(Has(page, "default-src 'none'; script-src 'sha256-"));
  for (const char* fetched : {"src=", "<link", "url(", "@import", "http://", "https://", "fetch(", "'unsafe"})
    EXPECT_FALSE(Has(page, fetched)) << fetched;
}

TEST(Page, SaysWhatIsHidden) {
  const std::string page = PageOf(PublicFleet());
  EXPECT_TRUE(Has(page, Escaped(kHiddenText)));
  EXPECT_TRUE(Has(page, "No agent reported the size"));
  EXPECT_TRUE(Has(page, "No agent reported the duration"));
  EXPECT_FALSE(Has(PageOf(SmallFleet()), Escaped(kHiddenText)));
}

// A ready node may have a refused list, or a provider that cannot run.
TEST(Page, ProblemsOfReadyNodesAreInTheWay) {
  status::StatusDocument document = With({});
  ASSERT_TRUE(document.ready);
  EXPECT_TRUE(Has(PageOf(ReportOf({{"a", document}})), "Nothing is in the way"));
  status::StatusDocument refused = document, told = document;
  refused.list.sources.at(0).error = "images.yaml:3:1: unknown key <b>";
  told.problems = {"credential provider ecr: cannot run"};
  const std::string page = PageOf(ReportOf({{"a", refused}, {"b", told}, {"c", told}}));
  EXPECT_FALSE(Has(page, "Nothing is in the way"));
  EXPECT_TRUE(Has(page, "is not in force: images.yaml:3:1: unknown key &lt;b&gt;"));
  EXPECT_TRUE(Has(page, "<p>credential provider ecr: cannot run</p>\n<p class=\"names\">b, c</p>"));
}

TEST(Page, AMovedTagThatReadinessWaitsForIsNotCurrent) {
  status::StatusDocument document = With({Stale()});
  EXPECT_TRUE(Has(PageOf(ReportOf({{"a", document}})), "Ready, but not current"));
  document.images.back().ready = false;
  document.images.back().phase = "Failing";
  document.images.back().reason = document.images.back().registry->reason;
  const std::string page = PageOf(ReportOf({{"a", document}}));
  EXPECT_FALSE(Has(page, "none is known to be out of date"));
  EXPECT_TRUE(Has(page, "1 image is not ready because of its answer"));
}

TEST(Page, WhoDidNotTellOfTheDiskHasNoRoomForCertain) {
  status::StatusDocument told = With({}), silent = With({});
  silent.disk.reset();
  EXPECT_TRUE(Has(PageOf(ReportOf({{"a", told}})), "No node is short of room"));
  const std::string page = PageOf(ReportOf({{"a", told}, {"b", silent}}));
  EXPECT_FALSE(Has(page, "No node is short of room"));
  EXPECT_TRUE(Has(page, "1 node did not tell"));
}

TEST(Page, OfNothingAndOfAFleetAtPeace) {
  const std::string nothing = PageOf(ReportOf({}));
  EXPECT_TRUE(Has(nothing, "No node matches."));
  EXPECT_FALSE(Has(nothing, "Nothing is in the way")) << "nobody was asked";
  const std::string page = PageOf(AllReady());
  EXPECT_TRUE(Has(page, "300 of 300 nodes are ready"));
  EXPECT_TRUE(Has(page, "Nothing is in the way"));
  EXPECT_FALSE(Has(page, "id=\"letters\"")) << "all images are alike";
}

// In the worst case, each of a thousand nodes has troubles of its own; calm nodes share columns.
TEST(Page, AThousandNodesFitIntoThreeMegabytes) {
  const std::string worst = PageOf(LargeFleet(1000, 200, 500)), calm = PageOf(LargeFleet(1000, 200, 1));
  EXPECT_LE(worst.size(), kMostBytes);
  EXPECT_LE(calm.size(), kMostBytes / 2);
  std::cout << "page of 1,000 nodes x 200 images: " << calm.size() / 1000
            << " kB, half of all cells in trouble: " << worst.size() / 1000 << " kB (target 3,000)\n";
}

// Every tag and attribute of a page.
std::set<std::string> Markup(const std::string& page) {
  std::set<std::string> found;
  const std::string body = Body(page);
  for (std::size_t at = body.find('<'); at != std::string::npos; at = body.find('<', at + 1)) {
    std::string tag;
    bool quoted = false;  // values of attributes are left out
    for (std::size_t i = at; i < body.size() && body[i] != '>'; i++) {
      if (!quoted) tag += body[i];
      quoted = quoted != (body[i] == '"');
    }
    found.insert(tag);
  }
  return found;
}

TEST(Page, NamesAndMessagesNeverBecomeMarkup) {
  const std::set<std::string> usual = [] {
    std::set<std::string> all = Markup(PageOf(SmallFleet()));
    all.merge(Markup(PageOf(LargeFleet(40, 40, 300))));
    all.merge(Markup(PageOf(ReportOf({{"a", status::DocumentOf(sample::StaleNode())}}))));
    return all;
  }();
  const std::string page = PageOf(HostileFleet());
  for (const std::string& tag : Markup(page)) EXPECT_TRUE(usual.contains(tag)) << tag;
  for (char c : page)
    EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f)) << int(c);
  EXPECT_FALSE(Has(page, std::string(400, 'x'))) << "long names are cut";
}

TEST(Html, Escapes) {
  EXPECT_EQ(Escaped("<a b='c' d=\"e\">&\x01\xff\n"),
            "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\uFFFD\uFFFD\n");
  EXPECT_EQ(Escaped("\xe2\x80\xaegnp.\xe2\x81\xa6"
                    "exe\xe2\x81\xa9 ✓\xe2\x80\xaa"),
            "\uFFFDgnp.\uFFFDexe\uFFFD ✓\uFFFD");
  EXPECT_EQ(
      FormatNumber(0) + " " + FormatNumber(999) + " " + FormatNumber(1000) + " " + FormatNumber(1234567),
      "0 999 1,000 1,234,567");
}

}  // namespace
}  // namespace prefetch::screen::report::page_test
