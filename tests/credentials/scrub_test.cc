#include "credentials/scrub.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::credentials::scrub_test {
namespace {

struct Row {
  std::string name;
  std::string text;
  std::string expect;
};

void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class ScrubTest : public testing::TestWithParam<Row> {};

TEST_P(ScrubTest, KeepsTheReasonOnly) {
  EXPECT_EQ(ScrubPluginErrors(GetParam().text, {"hunter2", "a"}), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Scrub, ScrubTest,
    testing::Values(
        Row{"Plain", "no region\n", "no region"}, Row{"Lines", "one\ntwo\r\n", "one two"},
        Row{"Known", "sent hunter2 to r.io", "sent [redacted] to r.io"},
        Row{"KnownInBase64", "header aHVudGVyMg==", "header [redacted]"},
        Row{"ShortSecretsWouldBlankAll", "a bad thing", "a bad thing"},
        Row{"Query", "GET https://r.io/x?X-Amz-Signature=abc failed", "GET https://r.io/x?… failed"},
        Row{"UserInformation", "https://me:pw@r.io/x", "https://r.io/x"},
        Row{"Password", "{\"password\": \"secret1\", \"x\": 1}", "{\"password\": \"[redacted]\", \"x\": 1}"},
        Row{"Token", "token=abc next", "token=[redacted] next"},
        Row{"Bearer", "Authorization: Bearer abc.def next", "Authorization: [redacted] next"},
        Row{"WordAlone", "no token found", "no token found"},
        Row{"LongToken", "got eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.x", "got [redacted].x"},
        Row{"LongHost", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app",
            "123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app"},
        Row{"Binary", std::string("a\x01\xff z", 5), "a \xEF\xBF\xBD z"}, Row{"Empty", " \n", ""}),
    [](const auto& row) { return row.param.name; });

TEST(Scrub, IsShort) {
  EXPECT_LE(ScrubPluginErrors(std::string(5000, ' ') + std::string(9000, 'x'), {}).size(), 1030U);
}

TEST(SecretsIn, FindsWhatMayBeAPassword) {
  EXPECT_EQ(SecretsIn(R"({"kind":"K","auth":{"r.io":{"username":"u","password":"hunter2"}},"token":"t"})"),
            (std::vector<std::string>{"hunter2", "t"}));
  EXPECT_TRUE(SecretsIn("no json").empty());
}

}  // namespace
}  // namespace prefetch::credentials::scrub_test
