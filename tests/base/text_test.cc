#include "base/text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii_output.h"
#include "base/clock.h"
#include "base/label_syntax.h"
#include "base/redactor.h"
#include "base/sha256.h"
#include "rows.h"

namespace prefetch::base::text_test {
namespace {

using std::chrono::milliseconds;

TEST(Strings, TrimAndSplit) {
  EXPECT_EQ(TrimSpace(" \t a b \r\n"), "a b");
  EXPECT_EQ(TrimSpace(" \n"), "");
  EXPECT_EQ(Split("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
}

TEST(Strings, JoinFirstCountsTheRest) {
  EXPECT_EQ(JoinFirst({}, 2), "");
  EXPECT_EQ(JoinFirst({"a", "b"}, 2), "a, b");
  EXPECT_EQ(JoinFirst({"a", "b", "c"}, 2), "a, b and 1 more");
  EXPECT_EQ(JoinFirst({"a", "b", "c"}, 2, 4), "a, b and 5 more");
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

std::string Printed(const std::string& text, bool to_ascii = true) {
  std::ostringstream out;
  {
    TextOutput ascii(out, to_ascii);
    for (char byte : text) out << byte << std::flush;  // however it is cut
  }
  return out.str();
}

TEST(TextOutput, HasOneColumnForEachCharacter) {
  EXPECT_EQ(Printed("quay.io/…/a:1  –  → do it\n"), "quay.io/~/a:1  -  > do it\n");
  EXPECT_EQ(Printed("ä😀日\n"), "???\n");
  EXPECT_EQ(Printed("\xff[31mred\xff[0m"), "\x1b[31mred\x1b[0m");
}

TEST(TextOutput, BrokenUtf8LosesNothingElse) {
  EXPECT_EQ(Printed("a\xe2\x80z\xff\x80"
                    "b\xe2"),
            "a?z??b?");
}

TEST(TextOutput, NothingSteersTheTerminal) {
  for (bool ascii : {false, true}) {
    for (const char* control : {"\x07", "\r", "\x7f", "\xc2\x9b", "\u061c", "\u200e", "\u200f", "\u2028",
                                "\u2029", "\u202a", "\u202e", "\u2066", "\u2069"}) {
      EXPECT_EQ(Printed(std::string("a") + control + "b\n", ascii), "a b\n");
    }
    EXPECT_EQ(Printed("\x1b]0;title\x07", ascii), " ]0;title ");
    EXPECT_EQ(Printed("\x1b[6n \x1b[1;1H \x1b[31mz\r\x1b[2J", ascii), " [6n  [1;1H  [31mz  [2J")
        << "no sequence of a stranger";
    EXPECT_EQ(Printed("\xff[6n \xff\xff[31mz \xff", ascii), "?[6n ?\x1b[31mz ?");
    EXPECT_EQ(Printed("\xff[31mred\xff[0m\xff[2J\xff[3A\tend", ascii),
              "\x1b[31mred\x1b[0m\x1b[2J\x1b[3A\tend");
    EXPECT_EQ(Printed("a\x9b"
                      "31m",
                      ascii),
              "a?31m");
  }
  EXPECT_EQ(Printed("a\r\xff[2A\xff[Jb\r\r\xff[Jc\rd\r\n", false), "a\r\x1b[2A\x1b[Jb \r\x1b[Jc d \n");
  EXPECT_EQ(Printed("é… 日😀", false), "é… 日😀");
}

TEST(TextOutput, TheStreamIsAsBeforeAfterwards) {
  std::ostringstream out;
  { TextOutput ascii(out, true); }
  out << "…";
  EXPECT_EQ(out.str(), "…");
  {
    TextOutput ascii(out, true);
    out.setstate(std::ios_base::badbit);
  }
  EXPECT_FALSE(out.good()) << "a failure is not forgotten";
}

// A locale for the time of a test.
class Locale {
 public:
  Locale(const char* all, const char* ctype, const char* lang) {
    Set("LC_ALL", all);
    Set("LC_CTYPE", ctype);
    Set("LANG", lang);
  }
  ~Locale() {
    for (const auto& [name, value] : before_) value ? Put(name, value->c_str()) : Put(name, nullptr);
  }
  Locale(const Locale&) = delete;
  Locale& operator=(const Locale&) = delete;

 private:
  static void Put(const char* name, const char* value) {
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  void Set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    before_.emplace_back(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    Put(name, value);
  }
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

struct LocaleCase {
  const char *all, *ctype, *lang;
  bool lacks;
};
TEST_TABLE(LocaleTest, LacksUtf8, LocaleCase) {
  Locale locale(row.all, row.ctype, row.lang);
  EXPECT_EQ(LocaleLacksUtf8(), row.lacks);
}
TEST_ROWS(Rows, LocaleTest, {nullptr, nullptr, nullptr, false}, {nullptr, nullptr, "C", true},
          {nullptr, nullptr, "de_DE.UTF-8", false}, {nullptr, "C.utf8", "C", false},
          {"POSIX", "C.utf8", "C.utf8", true}, {"", "", "en_US.ISO-8859-1", true});

TEST(ForeignText, IsFitToBeShown) {
  const Secret secret("hunter2");
  EXPECT_EQ(SanitizedText("user:hunter2\r\n\x1b[2J at https://u:p@r.io/x?sig=1", 200, {&secret}),
            "user:[redacted]   [2J at https://r.io/x?…");
  EXPECT_EQ(SanitizedText("token eyJhbGciOiJub25lIn0.e30. is bad", 200), "token [redacted] is bad");
  EXPECT_EQ(SanitizedText("cannot read keyJson.json", 200), "cannot read keyJson.json");
  EXPECT_LE(SanitizedText(std::string(1000, 'x'), 200).size(), 203U);
  EXPECT_EQ(SanitizedText("a\xff", 200), "a\xEF\xBF\xBD");
}

// Messages of runtimes (C18).
TEST(ForeignText, KeepsTheReason) {
  const Secret password("hunter\"2");
  const struct {
    std::string text, expect;
  } rows[] = {
      {"reg.example/app:v1: not found", "reg.example/app:v1: not found"},
      {"Get \"https://s3.example/b?X-Amz-Signature=ab&x=1\": EOF", "Get \"https://s3.example/b?…\": EOF"},
      {"unexpected status from GET request to https://a.example/token?scope=x: 401",
       "unexpected status from GET request to https://a.example/token?…: 401"},
      {"dial https://bob:pw@reg.example/v2/: refused", "dial https://reg.example/v2/: refused"},
      {"http://a/?x=1 and http://b/?y=2", "http://a/?… and http://b/?…"},
      {"Head \"/v2/a?token=xyz\": stopped", "Head \"/v2/a?…\": stopped"},
      {"login robot hunter\"2 failed", "login robot [redacted] failed"},
      {"invalid decoded auth: \"hunter\\\"2\\x00\"", "invalid decoded auth: \"[redacted]\\x00\""},
      {"Basic " + Base64Encode("robot:hunter\"2") + " refused", "Basic [redacted] refused"},
      {"manifest sha256:" + std::string(64, 'a') + " not found",
       "manifest sha256:" + std::string(64, 'a') + " not found"},
      {"a\nb\tc\x1b[31m\x7f", "a b c [31m"},
  };
  for (const auto& row : rows) EXPECT_EQ(SanitizedText(row.text, 1024, {&password}), row.expect);
}

// Errors of credential plugins (A11).
TEST(PluginText, KeepsTheReasonOnly) {
  const Secret password("hunter2"), tiny("a");
  const struct {
    std::string text, expect;
  } rows[] = {
      {"no region\n", "no region"},
      {"one\ntwo\r\n", "one two"},
      {"sent hunter2 to r.io", "sent [redacted] to r.io"},
      {"header aHVudGVyMg==", "header [redacted]"},
      {"a bad thing", "a bad thing"},
      {"{\"password\": \"secret1\", \"x\": 1}", "{\"password\": \"[redacted]\", \"x\": 1}"},
      {R"(sent {\"password\":\"secret1\",\"x\":1})", R"(sent {\"password\":\"[redacted]\",\"x\":1})"},
      {"token=abc next", "token=[redacted] next"},
      {"Authorization: Bearer abc.def next", "Authorization: [redacted] next"},
      {"sent basic dXNlcjpodW50ZXIz to r.io", "sent basic [redacted] to r.io"},
      {"basic usage", "basic usage"},
      {"no token found", "no token found"},
      {"got AbJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.x", "got [redacted].x"},
      {"key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY denied", "key [redacted] denied"},
      {"no /var/lib/kubelet/credential-providers/v1/ecr", "no /var/lib/kubelet/credential-providers/v1/ecr"},
      {"123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app",
       "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app"},
      {std::string("a\x01\xff z", 5), "a \xEF\xBF\xBD z"},
      {" \n", ""},
  };
  for (const auto& row : rows) EXPECT_EQ(PluginText(row.text, 1024, {&password, &tiny}), row.expect);
  EXPECT_LE(PluginText(std::string(5000, ' ') + std::string(9000, 'x'), 1024).size(), 1030U);
}

TEST(OneLargeText, TheNextWaitsForTheEndOfTheFirst) {
  std::future<void> other;
  {
    const LargeTextLock first(LargeTextLock::kLarge + 1);
    const LargeTextLock within(LargeTextLock::kLarge + 1);
    other = std::async(std::launch::async, [] {
      const LargeTextLock small(LargeTextLock::kLarge);
      const LargeTextLock next(LargeTextLock::kLarge + 1);
    });
    EXPECT_EQ(other.wait_for(milliseconds(50)), std::future_status::timeout);
  }
  other.get();
}

TEST(OneLargeText, TheApiServersAnswersWaitForNoStranger) {
  const LargeTextLock large(LargeTextLock::kLarge + 1);
  std::async(std::launch::async, [] {
    const LargeTextLock answer(LargeTextLock::kLarge + 1, LargeTextLock::kLarge,
                               LargeTextLock::Writer::kApiServer);
  }).get();
}

TEST(OneLargeText, ShorterTextsGoOnAtOnce) {
  const LargeTextLock large(LargeTextLock::kLarge + 1);
  std::async(std::launch::async, [] { const LargeTextLock small(LargeTextLock::kLarge); }).get();
}

const std::string kLongest(63, 'a');

TEST(LabelSyntax, Keys) {
  for (const std::string& key : {std::string("pool"), std::string("a.b_c-D9"),
                                 "node.kubernetes.io/" + kLongest, std::string("x/y"), kLongest + "a/b"}) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("-a"), std::string("a."), std::string("a b"), std::string("/a"),
        std::string("A.com/a"), std::string("a..b/c"), std::string("a.-b/c"), std::string("a/b/c"),
        std::string("a/"), kLongest + "a", std::string(254, 'a') + "/b"}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
}

TEST(LabelSyntax, KeysOfStartupTaints) {
  for (const char* key : {"example.com/not-ready", "startup-taint.cluster-autoscaler.kubernetes.io/prefetchd",
                          "ignore-taint.cluster-autoscaler.kubernetes.io/prefetchd"}) {
    EXPECT_TRUE(IsStartupTaintKey(key)) << key;
  }
  // Without a domain, of Kubernetes' own, and no key at all.
  for (const char* key :
       {"not-ready", "not/ready", "node.kubernetes.io/not-ready", "k8s.io/a",
        "startup-taint.cluster-autoscaler.kubernetes.io/",
        "startup-taint.cluster-autoscaler.kubernetes.io/a b", "example.com/a:NoSchedule", ""}) {
    EXPECT_FALSE(IsStartupTaintKey(key)) << key;
  }
}

TEST(LabelSyntax, PartsAndNames) {
  EXPECT_TRUE(IsLabelPart("v1.36.2"));
  EXPECT_FALSE(IsLabelPart(""));
  EXPECT_FALSE(IsLabelPart("a b"));
  EXPECT_FALSE(IsLabelPart(kLongest + "a"));
  EXPECT_TRUE(IsDnsLabel("ci-7"));
  EXPECT_FALSE(IsDnsLabel("ci.7"));
  EXPECT_FALSE(IsDnsLabel(kLongest + "a"));
  EXPECT_TRUE(IsDnsSubdomain("a.b-c"));
  EXPECT_FALSE(IsDnsSubdomain("a..b"));
}

TEST(PercentEncode, ComesBackWhole) {
  std::string every;
  for (int c = 0; c < 256; c++) every += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(every)), every);
  EXPECT_EQ(PercentEncode("reg:5000/a b", "/:"), "reg:5000/a%20b");
  EXPECT_EQ(PercentEncode("reg:5000/a"), "reg%3A5000%2Fa");
}

}  // namespace
}  // namespace prefetch::base::text_test
