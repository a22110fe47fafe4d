#include "base/text.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/sha256.h"

namespace prefetch::base::text_test {
namespace {

TEST(Strings, TrimAndSplit) {
  EXPECT_EQ(TrimSpace(" \t a b \r\n"), "a b");
  EXPECT_EQ(TrimSpace(" \n"), "");
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Strings, CaseIsAsciiOnly) {
  EXPECT_TRUE(EqualsIgnoreCase("Bearer", "bEARER"));
  EXPECT_FALSE(EqualsIgnoreCase("Bearer", "Beare"));
  EXPECT_TRUE(ContainsIgnoreCase("x: No Space Left", "no space"));
  EXPECT_FALSE(ContainsIgnoreCase("short", "longer than it"));
}

TEST(Strings, Utf8IsCheckedStrictly) {
  EXPECT_TRUE(IsUtf8("grün €𝄞"));
  for (std::string_view bad :
       {"\xff", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(bad));
    EXPECT_TRUE(IsUtf8(ToUtf8(bad)));
  }
}

TEST(Strings, TruncateKeepsCharactersWhole) {
  EXPECT_EQ(Truncate("abc", 3), "abc");
  EXPECT_EQ(Truncate("a€b", 2), "a…");
  EXPECT_TRUE(IsUtf8(Truncate("€€€", 4)));
}

TEST(Strings, Base64RoundTripsAndRejects) {
  for (const std::string& text :
       std::vector<std::string>{"", "f", "fo", "foo", "foob", std::string("\0\xff", 2)}) {
    EXPECT_EQ(Base64Decode(Base64Encode(text)), text);
  }
  EXPECT_EQ(Base64Encode("foo:bar"), "Zm9vOmJhcg==");
  EXPECT_EQ(Base64Decode("Zh=="), "f") << "Go's StdEncoding accepts padding bits that are not zero";
  for (std::string_view bad : {"Zm9", "Zm9_", "Zm 9", "====", "Zg=a"}) EXPECT_FALSE(Base64Decode(bad)) << bad;
}

TEST(Strings, ParseUintIsStrict) {
  EXPECT_EQ(ParseUint("18446744073709551615"), 18446744073709551615U);
  for (std::string_view bad : {"", "-1", "+1", " 1", "1 ", "18446744073709551616", "0x1"}) {
    EXPECT_FALSE(ParseUint(bad)) << bad;
  }
}

TEST(Strings, HumanBytes) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(412'000'000), "412 MB");
  EXPECT_EQ(HumanBytes(999'600'000), "1.0 GB");
  EXPECT_EQ(HumanBytes(1'234'000'000), "1.2 GB");
}

TEST(Sha256, KnownAnswer) {
  EXPECT_EQ(Sha256Hex("testimageref"), "b3c0cc4278800b03a308ceb2611161430df571ca733122f0a40ac8b9792a9064");
  // RFC 4231, test case 2.
  EXPECT_EQ(HmacSha256Hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Rfc3339, IsUtcWithZ) {
  EXPECT_EQ(Rfc3339(WallTime(std::chrono::seconds(1785578400))), "2026-08-01T10:00:00Z");
}

}  // namespace
}  // namespace prefetch::base::text_test
