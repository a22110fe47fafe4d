#include "base/redactor.h"

#include <gtest/gtest.h>

#include <ostream>
#include <thread>
#include <type_traits>

#include "base/scrub.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/text.h"
#include "spellings.h"

namespace prefetch::base::redactor_test {
namespace {

using tests::kSpellings;
using tests::Spelling;

const std::string kSecrets[] = {
    "hunter2",
    "p\"w/\\d%41<&+ -_?",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lzc3VlciJ9.c2lnbmF0dXJl-_",
    "a password of words",
    "xxxxxxxxxxxxxxxx",
};

// The secret is gone from the text, and the words around it are there.
void ExpectGone(const std::string& out, const std::string& name) {
  EXPECT_NE(out.find("[redacted]"), std::string::npos) << name << ": " << out;
  EXPECT_TRUE(out.starts_with("denied: ")) << name << ": " << out;
  EXPECT_TRUE(out.ends_with("|sent")) << name << ": " << out;
  // Digits of base64 at a seam carry bits of the neighbour.
  EXPECT_LE(out.size(), std::string("denied: [redacted] |sent").size() + 8) << name << ": " << out;
}

TEST(Redact, FindsEachSecretInEachSpelling) {
  for (const std::string& text : kSecrets) {
    const Secret secret(text);
    for (const Spelling& spelling : kSpellings) {
      ExpectGone(Redact("denied: " + spelling.write(text) + "|sent", {&secret}),
                 text + " as " + spelling.name);
    }
  }
}

TEST(Redact, FindsSecretsBeyondAscii) {
  const Secret secret("Gr\xC3\xBC\xC3\x9F\x65+\xE2\x82\xAC\xF0\x9F\x94\x91");
  for (const char* spelled :
       {"Gr\xC3\xBC\xC3\x9F\x65+\xE2\x82\xAC\xF0\x9F\x94\x91", "Gr\\u00fc\\u00dfe+\\u20ac\\ud83d\\udd11",
        "Gr&#252;&#xDF;e&#43;&#8364;&#128273;",
        "&#0000071;&#00000000114;&#x000fc;&#xDF;e&#43;&#8364;&#128273;"}) {
    ExpectGone(Redact("denied: " + std::string(spelled) + "|sent", {&secret}), spelled);
  }
}

TEST(Redact, FindsSecretsOfTheStoreAndOfHeaders) {
  RememberSecret(Secret("Basic " + Base64Encode("robot:of-the-store-1")));
  RememberSecret(Secret("Bearer bearer-4711-0815"));
  EXPECT_EQ(Redact("a of-the-store-1 b"), "a [redacted] b");
  EXPECT_EQ(Redact("basic " + Base64Encode("robot:of-the-store-1") + " b"), "basic [redacted] b");
  EXPECT_EQ(Redact("BEARER bearer-4711-0815"), "BEARER [redacted]");
}

TEST(Redact, FindsSecretsThatALimitHasCut) {
  const Secret secret("0123-secret-words");
  for (std::size_t length = 4; length < secret.Reveal().size(); length++) {
    const std::string shown(secret.Reveal().substr(0, length));
    EXPECT_EQ(Redact("sent " + shown, {&secret}), "sent [redacted]");
    for (const char* cut : {"%", "%2", "\\u", "\\u00", "\\x7", "&am"}) {  // in mid-escape, too
      EXPECT_TRUE(Redact("sent " + shown + cut, {&secret}).starts_with("sent [redacted]")) << cut;
    }
  }
}

TEST(Redact, LeavesOtherText) {
  const Secret secret("hunter2-hunter2"), tiny("a"), empty;
  const std::string text = "Get \"https://r.io/v2/a%20b\": sha256:" + std::string(64, 'a') + " \\n not found";
  EXPECT_EQ(Redact(text, {&secret, &tiny, &empty, nullptr}), text);
  EXPECT_EQ(Redact("hunter2 alone", {&secret}), "hunter2 alone");  // seven characters of fifteen
}

// A stranger chooses how long the text is.
TEST(Redact, FindsSecretsInLongTexts) {
  const Secret secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
  for (const Spelling& spelling : kSpellings) {
    if (std::string_view(spelling.name).find(" of ") == std::string_view::npos) continue;  // one layer
    const std::string shown = spelling.write(std::string(secret.Reveal())), blanks(17'000, ' ');
    const std::string out = Redact("denied: " + shown + blanks, {&secret});
    EXPECT_TRUE(out.starts_with("denied: [redacted]")) << spelling.name << ": " << out.substr(0, 200);
    EXPECT_EQ(Redact(blanks + shown, {&secret}).find_first_not_of(' '), std::string::npos) << "not searched";
  }
}

TEST(Redact, TakesAnyText) {
  const Secret secret("xxxxxxxxxxxxxxxx");
  EXPECT_EQ(Redact(std::string(1 << 20, 'x'), {&secret}), "[redacted]");
  for (const char* text : {"", "%", "%4", "\\", "\\u", "\\u00", "&", "=", "a", "\xff"}) {
    EXPECT_EQ(Redact(text, {&secret}), text);
  }
}

TEST(RememberSecret, ForgetsTheOldestFirst) {
  RememberSecret(Secret("the-first-of-many"));
  for (std::size_t i = 0; i < kMostRememberedSecrets; i++) {
    RememberSecret(Secret(Sha256Hex(std::to_string(i)).substr(0, 16)));
    if (i == 100) RememberSecret(Secret("the-first-of-many"));
  }
  EXPECT_EQ(Redact("the-first-of-many"), "[redacted]");
  EXPECT_EQ(Redact(Sha256Hex("0").substr(0, 16)), Sha256Hex("0").substr(0, 16));
  for (char c = 'a'; c < 'z'; c++) RememberSecret(Secret(std::string(kMostRememberedBytes, c)));
  EXPECT_EQ(Redact("the-first-of-many"), "the-first-of-many");
}

// Received secrets of any number and length do not push out the node's own. The agent sends each of them on.
TEST(RememberSecret, ThoseThatAreHandedOutPushOutOnlyEachOther) {
  RememberSecret(Secret("the-node's-own-one"));
  for (std::size_t i = 0; i < kMostRememberedSecrets + 100; i++) {
    const bool is_long = i % 64 == 0;
    const Secret token(Sha256Hex(std::to_string(i)) + std::string(is_long ? kMostRememberedBytes : 0, 'y'));
    RememberSecret(token, SecretOrigin::kReceived);
    if (i > 100) RememberSecret(Secret("Bearer " + Sha256Hex(std::to_string(i - 100))), SecretOrigin::kSent);
    if (is_long) {
      EXPECT_EQ(Redact(token.Reveal().substr(0, 64)), "[redacted]");
    }
  }
  EXPECT_EQ(Redact("the-node's-own-one"), "[redacted]");
}

// A plugin may write any number of texts, and each may be a secret.
TEST(Redact, OfMostSecretsTheLongestAreSearchedFor) {
  std::vector<Secret> secrets;
  for (int i = 0; i < 100'000; i++) secrets.emplace_back("s" + std::to_string(i));
  secrets.emplace_back("wJalrXUtnFEMI/K7MDENG");
  std::vector<const Secret*> all;
  for (const Secret& secret : secrets) all.push_back(&secret);
  const std::string words(4000, ' ');
  EXPECT_EQ(Redact("sent wJalrXUtnFEMI/K7MDENG" + words, all), "sent [redacted]" + words);
}

TEST(RememberSecret, AnyThreadMayCall) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([i] {
      const std::string text = "secret-of-thread-" + std::to_string(i);
      RememberSecret(Secret(text));
      EXPECT_EQ(Redact(text), "[redacted]");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

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

template <typename T>
concept Printable = requires(std::ostream& os, const T& value) {
  os << value;
};

static_assert(!Printable<Secret>);
static_assert(!std::equality_comparable<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string_view>);
static_assert(!std::is_convertible_v<std::string, Secret>);

TEST(Secret, MovedFromIsWiped) {
  Secret first("short");
  Secret second(std::move(first));
  EXPECT_EQ(second.Reveal(), "short");
  EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): that it is empty is the contract
}

TEST(Secret, SameAs) {
  EXPECT_TRUE(Secret("a").SameAs(Secret("a")));
  EXPECT_FALSE(Secret("a").SameAs(Secret("b")));
  EXPECT_FALSE(Secret("a").SameAs(Secret("ab")));
}

TEST(WipeString, LeavesNoByteBehind) {
  std::string text = "twenty characters at least";
  const char* bytes = text.data();
  std::size_t size = text.size();
  WipeString(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(std::string(bytes, 1), std::string(1, '\0'));
  for (std::size_t i = 0; i < size; i++) EXPECT_EQ(bytes[i], '\0');
}

}  // namespace
}  // namespace prefetch::base::redactor_test
