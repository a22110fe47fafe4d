#include "base/redactor.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace prefetch::base::foreign_text_test {
namespace {

TEST(ForeignText, IsFitToBeShown) {
  const Secret secret("hunter2");
  EXPECT_EQ(SanitizedText("user:hunter2\r\n\x1b[2J at https://u:p@r.io/x?sig=1", 200, {&secret}),
            "user:[redacted]   [2J at https://r.io/x?…");
  EXPECT_EQ(SanitizedText("token eyJhbGciOiJub25lIn0.e30. is bad", 200), "token [redacted] is bad");
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

}  // namespace
}  // namespace prefetch::base::foreign_text_test
