// C18.
#include "cri/scrub.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::cri::scrub_test {
namespace {

struct Row {
  std::string name;
  std::string message;
  std::string expect;
};

class ScrubTest : public testing::TestWithParam<Row> {};

TEST_P(ScrubTest, LeavesOnlyWhatMayBeSeen) {
  image::AuthConfig credential{"robot", base::Secret("hunter\"2")};
  EXPECT_EQ(ScrubRuntimeWords(GetParam().message, &credential), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ScrubTest,
    testing::Values(Row{"PlainWords", "reg.example/app:v1: not found", "reg.example/app:v1: not found"},
                    Row{"QueryInQuotes", "Get \"https://s3.example/b?X-Amz-Signature=ab&x=1\": EOF",
                        "Get \"https://s3.example/b?…\": EOF"},
                    Row{"QueryBeforeColon",
                        "unexpected status from GET request to https://a.example/token?scope=x: 401",
                        "unexpected status from GET request to https://a.example/token?…: 401"},
                    Row{"UserInfo", "dial https://bob:pw@reg.example/v2/: refused",
                        "dial https://reg.example/v2/: refused"},
                    Row{"UserInfoAndQuery", "https://u:p@h?a=b", "https://h?…"},
                    Row{"TwoUrls", "http://a/?x=1 and http://b/?y=2", "http://a/?… and http://b/?…"},
                    Row{"AtSignInPath", "https://reg.example/v2/a@b", "https://reg.example/v2/a@b"},
                    Row{"RelativePath", "Head \"/v2/a?token=xyz\": stopped", "Head \"/v2/a?…\": stopped"},
                    Row{"Password", "login robot hunter\"2 failed", "login robot [redacted] failed"},
                    Row{"PasswordQuotedByGo", "invalid decoded auth: \"hunter\\\"2\\x00\"",
                        "invalid decoded auth: \"[redacted]\\x00\""},
                    Row{"PasswordInBase64", "auth " + base::Base64Encode("hunter\"2"), "auth [redacted]"},
                    Row{"PairInBase64", "Basic " + base::Base64Encode("robot:hunter\"2") + " refused",
                        "Basic [redacted] refused"},
                    Row{"Controls", "a\nb\tc\x1b[31m\x7f", "a b c [31m"},
                    Row{"NotUtf8", "a\xff\xfe", "a\xEF\xBF\xBD\xEF\xBF\xBD"}),
    [](const auto& row) { return row.param.name; });

TEST(ScrubTest, IsCutAtACharacter) {
  std::string message;
  for (int i = 0; i < 1000; i++) message += "ü";
  std::string scrubbed = ScrubRuntimeWords(message, nullptr);
  EXPECT_LE(scrubbed.size(), kScrubbedBytes);
  EXPECT_GT(scrubbed.size(), kScrubbedBytes - 8);
  EXPECT_TRUE(base::IsUtf8(scrubbed));
}

TEST(ScrubTest, AnEmptyPasswordBlanksNothing) {
  image::AuthConfig credential{"robot", base::Secret()};
  EXPECT_EQ(ScrubRuntimeWords("not found", &credential), "not found");
}

}  // namespace
}  // namespace prefetch::cri::scrub_test
