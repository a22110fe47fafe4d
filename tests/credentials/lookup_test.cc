#include <gtest/gtest.h>

#include "credentials/lookup_words.h"
#include "credentials/match.h"
#include "doc/write.h"

namespace prefetch::credentials::lookup_test {
namespace {

Credential Login(Source source, const std::string& name, const std::string& match, const std::string& user) {
  return {{user, base::Secret("hunter2")}, source, name, match};
}

struct LookupCase {
  std::string name;
  Lookup lookup;
  std::string json;
  std::string text;
};

class LookupTest : public testing::TestWithParam<LookupCase> {};

TEST_P(LookupTest, Row) {
  const LookupCase& row = GetParam();
  std::string json = doc::WriteJson(LookupJson("r.io/app:v1", row.lookup));
  std::string text = LookupText("r.io/app:v1", row.lookup);
  EXPECT_EQ(json, row.json);
  EXPECT_EQ(text, row.text);
  EXPECT_EQ((json + text).find("hunter2"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Lookup, LookupTest,
    testing::Values(
        LookupCase{"Anonymous",
                   {.repository = "r.io/app"},
                   R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[],"providers":[]})",
                   "r.io/app:v1\n  anonymous: no credential of this node matches\n"},
        LookupCase{
            "InTheOrderOfAttempts",
            {.repository = "r.io/app",
             .credentials = {Login(Source::kPullSecret, "team", "r.io", "team"),
                             Login(Source::kDockerConfig, "/root/config.json", "https://r.io/v1/", "ann"),
                             Login(Source::kProvider, "ecr", "r.io/app", "")},
             .providers = {{"ecr", true, "*.io", ProviderOutcome::kOk, ""}}},
            R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[)"
            R"({"source":"pull-secret","name":"team","match":"r.io","username":"team"},)"
            R"({"source":"docker-config","name":"/root/config.json","match":"https://r.io/v1/",)"
            R"("username":"ann"},)"
            R"({"source":"provider","name":"ecr","match":"r.io/app","username":""}],)"
            R"("providers":[{"name":"ecr","matched":true,"outcome":"ok","error":""}]})",
            "r.io/app:v1\n"
            "  1.  pull-secret    team               as team       by r.io\n"
            "  2.  docker-config  /root/config.json  as ann        by https://r.io/v1/\n"
            "  3.  provider       ecr                no user name  by r.io/app\n"
            "  provider  ecr  ok  *.io matches\n"},
        LookupCase{"APluginsWordsMakeNoLines",
                   {.repository = "r.io/app",
                    .credentials = {Login(Source::kProvider, "ecr", "r.io", "ann\n  2.  \x1b[2J")},
                    .providers = {}},
                   R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[)"
                   R"({"source":"provider","name":"ecr","match":"r.io","username":"ann\n  2.  \u001b[2J"}],)"
                   R"("providers":[]})",
                   "r.io/app:v1\n  1.  provider  ecr  as ann   2.   [2J  by r.io\n"},
        LookupCase{"WhyAProviderGivesNothing",
                   {.repository = "r.io/app",
                    .providers = {{"a", false, "", ProviderOutcome::kSkipped, ""},
                                  {"broken", true, "r.io", ProviderOutcome::kError, "exited 1: no region"},
                                  {"c", true, "r.io", ProviderOutcome::kEmpty, ""},
                                  {"d", true, "r.io", ProviderOutcome::kSkipped, "it wants a token"}}},
                   R"({"image":"r.io/app:v1","repository":"r.io/app","credentials":[],"providers":[)"
                   R"({"name":"a","matched":false,"outcome":"skipped","error":""},)"
                   R"({"name":"broken","matched":true,"outcome":"error","error":"exited 1: no region"},)"
                   R"({"name":"c","matched":true,"outcome":"empty","error":""},)"
                   R"({"name":"d","matched":true,"outcome":"skipped","error":"it wants a token"}]})",
                   "r.io/app:v1\n"
                   "  anonymous: no credential of this node matches\n"
                   "  provider  a       skipped  no entry of matchImages matches\n"
                   "  provider  broken  error    r.io matches: exited 1: no region\n"
                   "  provider  c       empty    r.io matches, it has no credentials for this image\n"
                   "  provider  d       skipped  r.io matches: it wants a token\n"}),
    [](const auto& row) { return row.param.name; });

TEST(ShownKey, HoldsNoSecret) {
  EXPECT_EQ(DisplayKey("quay.io"), "quay.io");
  EXPECT_EQ(DisplayKey("https://index.docker.io/v1/"), "https://index.docker.io/v1/");
  EXPECT_EQ(DisplayKey("https://ann:hunter2@quay.io/v1/"), "https://quay.io/v1/");
  EXPECT_EQ(DisplayKey("ann:hunter2@quay.io:5000/team"), "quay.io:5000/team");
  EXPECT_EQ(DisplayKey("ann:hun/ter2@quay.io"), "quay.io");
  EXPECT_EQ(DisplayKey("quay.io/v1?token=hunter2#hunter2"), "quay.io/v1");
}

}  // namespace
}  // namespace prefetch::credentials::lookup_test
