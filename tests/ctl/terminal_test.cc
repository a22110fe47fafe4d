#include "ctl/terminal.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace prefetch::ctl::terminal_test {
namespace {

const Terminal kScreen{.interactive = true, .color = false, .width = 20, .height = 5};
const Terminal kLog{};

TEST(Terminal, LinesFitTheScreenAndALogGetsAll) {
  const std::string sentence = "one two three\nfour five six";
  EXPECT_EQ(OneLine(sentence, kLog), "one two three four five six");
  EXPECT_EQ(OneLine(sentence, kScreen), "one two three four…");
  EXPECT_EQ(OneLine("short", kScreen), "short");
  EXPECT_EQ(LineWidth(kScreen), 19U);
  EXPECT_EQ(LineWidth(kLog), 200U);
}

TEST(Terminal, DetailsStayOnTheScreen) {
  EXPECT_EQ(DetailLines(kScreen, 10), 4U);
  EXPECT_EQ(DetailLines(kScreen, 2), 2U);
  EXPECT_EQ(DetailLines({.interactive = true, .height = 0}, 9), 1U);
}

TEST(Progress, IsDrawnAnewOnAScreen) {
  std::ostringstream out;
  {
    Progress progress(out, kScreen);
    progress.Show("1 of 2", "a", {"one", "two"});
    EXPECT_EQ(out.str(), "1 of 2\none\ntwo");
    progress.Show("2 of 2", "b");
    EXPECT_EQ(out.str(), "1 of 2\none\ntwo\r\xff[2A\xff[J2 of 2");
  }
  EXPECT_TRUE(out.str().ends_with("2 of 2\r\xff[J")) << "a line is taken away without a step up";
}

TEST(Progress, IsALineInALogAndNotEachTime) {
  std::ostringstream out;
  Progress progress(out, kLog);
  progress.Show("1 of 3", "a", {"detail"});
  progress.Show("2 of 3", "b");
  progress.Close();
  EXPECT_EQ(out.str(), "1 of 3\n");
}

TEST(Progress, SaysNothingInALogOfWorkThatEndsSoon) {
  std::ostringstream out;
  Progress progress(out, kLog, true);
  progress.Show("1 of 3", "a");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace prefetch::ctl::terminal_test
