#include "base/log.h"

#include <gtest/gtest.h>

namespace prefetch::base::log_test {
namespace {

TEST(FormatLogLine, JsonKeepsNumbersAndEscapesText) {
  EXPECT_EQ(
      FormatLogLine(
          LogFormat::kJson, "T", LogLevel::kInfo, "image pulled",
          {{"image", "a\"b\n"}, {"bytes", 12}, {"ok", true}, {"took", std::chrono::milliseconds(1500)}}),
      R"({"time":"T","level":"info","msg":"image pulled","image":"a\"b\n","bytes":12,"ok":true,"took":1.500})");
}

TEST(FormatLogLine, NoInputBreaksALine) {
  std::string line =
      FormatLogLine(LogFormat::kPlain, "T", LogLevel::kError, "m", {{"error", "two\nlines \x1b[31m \xff"}});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_EQ(line, "T error  m  error=\"two\\nlines \\u001b[31m \xEF\xBF\xBD\"");
}

TEST(Log, LevelAndSink) {
  std::vector<std::string> lines;
  SetLogSink([&](std::string_view line) { lines.emplace_back(line); });
  SetLogFormat(LogFormat::kJson);
  Debug("not shown");
  Warn("shown", {{"n", 1}});
  SetLogSink(nullptr);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find(R"("level":"warning","msg":"shown","n":1)"), std::string::npos);
}

TEST(AppendJsonEscaped, NothingSteersATerminal) {
  std::string out;
  AppendJsonEscaped(out, "\"\\\n\t\x1b\x7f\xc2\x9b\u061c\u202e\u2028\u2069\U000e0041 é…日😀");
  EXPECT_EQ(out, R"(\"\\\n\t\u001b\u007f\u009b\u061c\u202e\u2028\u2069\udb40\udc41 )"
                 "é…日😀");
}

}  // namespace
}  // namespace prefetch::base::log_test
