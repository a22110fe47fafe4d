#include "screen/text_layout.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "screen/document_words.h"

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
class ShortImageTest : public testing::TestWithParam<ShortCase> {};
TEST_P(ShortImageTest, KeepsWhatSaysMost) {
  EXPECT_EQ(ShortImage(GetParam().image, GetParam().width), GetParam().shown);
  EXPECT_LE(DisplayWidth(ShortImage(GetParam().image, GetParam().width)), GetParam().width);
}
INSTANTIATE_TEST_SUITE_P(
    Layout, ShortImageTest,
    testing::Values(ShortCase{"Fits", "quay.io/a/b:v1", 20, "quay.io/a/b:v1"},
                    ShortCase{"Digest", "a/b@sha256:0123456789abcdef", 40, "a/b@sha256:01234567…"},
                    ShortCase{"Middle", "quay.io/acme/team/service:v1.2", 22, "quay.io/…/service:v1.2"},
                    ShortCase{"NoRegistry", "averyveryverylongname:v1", 10, "…ngname:v1"},
                    ShortCase{"Tiny", "quay.io/acme/a:v1", 1, "…"}),
    [](const auto& row) { return row.param.name; });

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

}  // namespace
}  // namespace prefetch::screen::text_layout_test
