#include "base/scrub.h"

#include <gtest/gtest.h>

namespace prefetch::base::scrub_test {
namespace {

TEST(WithoutUrlSecrets, Table) {
  const struct {
    const char *text, *expect;
  } rows[] = {
      {"GET https://u:p@r.io/x?X-Amz-Signature=abc failed", "GET https://r.io/x?… failed"},
      {"https://r.io/x#t=1", "https://r.io/x?…"},
      {"https://r.io/a?b=c: 403 Forbidden", "https://r.io/a?…: 403 Forbidden"},
      {"Head \"/v2/a?token=abc\": EOF", "Head \"/v2/a?…\": EOF"},
      {"see /v2/a?token=abc now (/b?c=d)", "see /v2/a?… now (/b?…"},
      {"/v2/a?token=abc", "/v2/a?…"},
      {"why? a/b? no", "why? a/b? no"},
      {"://", "://"},
  };
  for (const auto& row : rows) EXPECT_EQ(WithoutUrlSecrets(row.text), row.expect) << row.text;
}

TEST(WithoutControls, LineEndsAndOtherBytesStay) {
  EXPECT_EQ(WithoutControls(" a\r\nb\tc\x01\x1b[2J\x7f"), " a \nb c  [2J ");
  EXPECT_EQ(WithoutControls("\xc2\x80\xc2\x9f\xc2\xa0\xc3\x80"), "  \xc2\xa0\xc3\x80");
  EXPECT_EQ(WithoutControls("\xc2"), "\xc2");
  EXPECT_EQ(WithoutControls("\xc2"
                            "A"),
            "\xc2"
            "A");
}

TEST(WithoutControls, NothingMayTurnTheLine) {
  for (const char* mark : {"\u061c", "\u200e", "\u200f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c",
                           "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    EXPECT_EQ(WithoutControls(std::string("a") + mark + "b"), "a b");
  }
  for (const char* text :
       {"\u2010", "\u2026", "\u2030", "\u2070", "\u0600", "\ufffd", "\U0001f600", "\xe2", "\xe2\x80"}) {
    EXPECT_EQ(WithoutControls(text), text);
  }
}

TEST(WithoutControls, NothingStaysUnseen) {
  for (const char* hidden : {"\u00ad", "\u180e", "\u200b", "\u200d", "\u2060", "\u2064", "\u206f", "\ufeff",
                             "\ufff9", "\U000e0001", "\U000e007f"}) {
    EXPECT_EQ(WithoutControls(std::string("a") + hidden + "b"), "a b");
  }
}

TEST(HasControls, FindsThemAndBytesThatAreNoText) {
  EXPECT_FALSE(HasControls("a\n\u00e9\U0001f600 b\n"));
  for (const char* text : {"\t", "a\x1b", "\u202e", "a\xff", "\xe2\x80", "\u200b b"})
    EXPECT_TRUE(HasControls(text));
}

TEST(InOneLine, ControlsBecomeSpaces) {
  EXPECT_EQ(InOneLine(" a\r\nb\tc\x01\xff "), "a  b c \xEF\xBF\xBD");
  EXPECT_EQ(InOneLine("\n"), "");
  EXPECT_EQ(InOneLine("a\x7f\xc2\x9b[2J\xc2\xa7"), "a  [2J\xc2\xa7");
  EXPECT_EQ(InOneLine("a\xc2"), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace prefetch::base::scrub_test
