#include "ctl/crio_logins.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "doc/write.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::crio_logins_test {
namespace {

class FindCrioLoginsTest : public testing::Test {
 protected:
  void HasLogin(const std::string& path, const std::string& key) {
    dir_.Write(path.substr(1), "{\"auths\":{\"" + key + "\":{\"auth\":\"dXNlcjpwYXNz\"}}}");
  }
  CrioLogins Find(const std::string& image, bool has_credentials, const std::string& conf = "") {
    auto parsed = registry::ParseRegistriesConf(conf, registry::ConfKind::kMain);
    EXPECT_TRUE(parsed);
    return FindCrioLogins(settings_, *parsed, dir_.path(), view_, *image::Reference::Parse(image),
                          has_credentials);
  }

  tests::TempDir dir_;
  registry::CrioSettings settings_;
  HostView view_ = HostView::kNode;
};

TEST_F(FindCrioLoginsTest, WithoutAFileOfItsOwnTheUsualOnesCountInTheirOrder) {
  HasLogin("/root/.docker/config.json", "quay.io");
  EXPECT_EQ(CrioText(Find("quay.io/a", false)),
            "  CRI-O to quay.io/a: its own login quay.io of /root/.docker/config.json\n");
  HasLogin("/run/containers/0/auth.json", "other.io");
  EXPECT_EQ(Find("quay.io/a", false).places.at(0).login.file, "/root/.docker/config.json")
      << "it has no such login";
  HasLogin("/run/containers/0/auth.json", "quay.io");
  EXPECT_EQ(Find("quay.io/a", false).places.at(0).login.file, "/run/containers/0/auth.json");
  settings_.global_auth_file = "/none.json";
  EXPECT_EQ(CrioText(Find("quay.io/a", false)), "  CRI-O to quay.io/a: anonymous\n");
}

// Docker's old file, a bare map of registries.
TEST_F(FindCrioLoginsTest, TheOldFileOfDockerIsTheLast) {
  dir_.Write("root/.dockercfg",
             R"({"https://quay.io/v1/":{"auth":"dXNlcjpwYXNz"},"reg.io/a":{"auth":"dTpw"}})");
  EXPECT_EQ(CrioText(Find("quay.io/a", false)),
            "  CRI-O to quay.io/a: its own login https://quay.io/v1/ of /root/.dockercfg\n");
  EXPECT_EQ(Find("reg.io/b", false).places.at(0).login.match, "reg.io/a")
      << "a key is a registry's, whatever follows";
  HasLogin("/root/.docker/config.json", "quay.io");
  EXPECT_EQ(Find("quay.io/a", false).places.at(0).login.file, "/root/.docker/config.json");
  settings_.global_auth_file = "/root/.dockercfg";
  EXPECT_EQ(CrioText(Find("reg.io/b", false)), "  CRI-O to reg.io/b: anonymous\n") << "it has no auths";
}

TEST_F(FindCrioLoginsTest, AnEmptyEntryIsNoLogin) {
  dir_.Write("run/containers/0/auth.json", R"({"auths":{"quay.io/a":{},"quay.io":{"auth":"dXNlcjpwYXNz"}}})");
  EXPECT_EQ(CrioText(Find("quay.io/a", false)), "  CRI-O to quay.io/a: anonymous\n");
  EXPECT_EQ(Find("quay.io/b", false).places.at(0).login.match, "quay.io");
  HasLogin("/root/.docker/config.json", "quay.io");
  EXPECT_EQ(Find("quay.io/a", false).places.at(0).login.file, "/root/.docker/config.json");
}

TEST_F(FindCrioLoginsTest, ABrokenEntryIsToldWhereItCounts) {
  settings_.global_auth_file = "/auth.json";
  dir_.Write("auth.json", R"({"auths":{"quay.io":{"auth":"%"},"other.io":{"auth":"dXNlcjpwYXNz"}}})");
  EXPECT_TRUE(Find("other.io/a", false).problems.empty());
  EXPECT_EQ(Find("quay.io/a", false).problems.at(0),
            "/auth.json: the entry quay.io has an \"auth\" that is no base64; CRI-O fails when it needs this "
            "entry");
  const CrioLogins mirrored =
      Find("quay.io/a", false,
           "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = \"quay.io/m\"\n");
  EXPECT_EQ(mirrored.places.size(), 2U);
  EXPECT_EQ(mirrored.problems.size(), 1U) << "once for all places";
}

TEST_F(FindCrioLoginsTest, AFileThatIsNotVisibleIsNoProofOfAnonymity) {
  const std::string anonymous = "  CRI-O to quay.io/a: anonymous\n";
  const std::string perhaps = "  CRI-O to quay.io/a: anonymous, or a login that cannot be seen from here\n";
  EXPECT_EQ(CrioText(Find("quay.io/a", false)), anonymous);
  view_ = HostView::kMounted;
  dir_.Write("run/containers/0/x", "");
  dir_.Write("root/x", "");
  CrioLogins logins = Find("quay.io/a", false);
  EXPECT_EQ(CrioText(logins), perhaps +
                                  "  not visible from here: /root/.config/containers/auth.json, "
                                  "/root/.docker/config.json; run the command on the node\n");
  EXPECT_NE(doc::WriteJson(CrioJson(logins)).find("\"sends\":\"unknown\""), std::string::npos);
  EXPECT_EQ(CrioText(Find("quay.io/a", true)).find("anonymous"), std::string::npos);
  settings_.global_auth_file = "/run/containers/0/none.json";
  settings_.auth_file_source = "/etc/crio/crio.conf.d/00-default";
  EXPECT_EQ(CrioText(Find("quay.io/a", false)), anonymous);
  view_ = HostView::kPod;
  EXPECT_TRUE(CrioText(Find("quay.io/a", false)).starts_with(perhaps)) << "a pod's folder is its own";
  HasLogin("/run/containers/0/none.json", "other.io");
  EXPECT_EQ(CrioText(Find("quay.io/a", false)), anonymous);
}

TEST_F(FindCrioLoginsTest, APlaceOfAnotherNameNeverGetsWhatThePullBrings) {
  settings_.global_auth_file = "/auth.json";
  HasLogin("/auth.json", "mirror.io/x");
  EXPECT_EQ(CrioText(Find("quay.io/a", true,
                          "[[registry]]\nlocation = \"quay.io\"\n[[registry.mirror]]\nlocation = "
                          "\"mirror.io/x\"\n[[registry.mirror]]\nlocation = \"other.io\"\n")),
            "  CRI-O to mirror.io/x/a: its own login mirror.io/x of /auth.json\n"
            "  CRI-O to other.io/a: anonymous\n"
            "  CRI-O to quay.io/a: the credentials above\n");
}

// The drop-ins of crio.conf are mounted into the agent's pod, crio.conf itself is not.
TEST_F(FindCrioLoginsTest, InAPodCrioConfMayNameAFileUnlessADropInDoes) {
  view_ = HostView::kPod;
  settings_.global_auth_file = "/auth.json";
  HasLogin("/auth.json", "other.io");
  EXPECT_EQ(Find("quay.io/a", false).unseen, std::vector<std::string>{"/etc/crio/crio.conf"});
  settings_.auth_file_source = "/etc/crio/crio.conf.d/00-default";
  EXPECT_EQ(Find("quay.io/a", false).unseen, std::vector<std::string>());
  view_ = HostView::kNode;
  settings_.auth_file_source.clear();
  EXPECT_EQ(Find("quay.io/a", false).unseen, std::vector<std::string>());
}

// Its library takes one by Go's order of maps.
TEST_F(FindCrioLoginsTest, OfSeveralUrlsWithTheRegistryCrioTakesAny) {
  settings_.global_auth_file = "/auth.json";
  const std::string begin = R"({"auths":{"https://quay.io":{"auth":"dXNlcjpwYXNz"},"http://quay.io/v2":)";
  dir_.Write("auth.json", begin + R"({"auth":"b3RoZXI6cA=="}}})");
  EXPECT_EQ(Find("quay.io/a", false).problems,
            std::vector<std::string>{"/auth.json: the entry https://quay.io is one of several for this "
                                     "registry; CRI-O takes any of them"});
  dir_.Write("auth.json", begin + R"({"auth":"dXNlcjpwYXNz"}}})");
  EXPECT_EQ(Find("quay.io/a", false).problems, std::vector<std::string>()) << "the same login twice";
}

TEST_F(FindCrioLoginsTest, AHelperWithoutANameFails) {
  settings_.global_auth_file = "/auth.json";
  dir_.Write("auth.json", R"({"credHelpers":{"quay.io":""},"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}})");
  const CrioLogins logins = Find("quay.io/a", false);
  EXPECT_EQ(logins.problems, std::vector<std::string>{"/auth.json: credHelpers names no program for quay.io; "
                                                      "CRI-O fails when it needs this entry"});
  EXPECT_EQ(CrioText(logins),
            "  CRI-O to quay.io/a: its own login from a credential helper without a name of "
            "/auth.json, if that has one\n");
}

struct HelperCase {
  std::string name;
  std::string conf;  // registries.conf
  std::string auth;  // /auth.json
  std::string sends;
};

TEST_TABLE_F(CrioHelperTest, IsAskedAsTheLibraryAsks, FindCrioLoginsTest, HelperCase) {
  settings_.global_auth_file = "/auth.json";
  dir_.Write("auth.json", row.auth);
  CrioLogins logins = Find("quay.io/a", false, row.conf);
  EXPECT_EQ(CrioText(logins), "  CRI-O to quay.io/a: " + row.sends + "\n");
  const bool is_helper = row.sends.find("helper") != std::string::npos;
  EXPECT_EQ(doc::WriteJson(CrioJson(logins)).find(R"("sends":"helper")") != std::string::npos, is_helper);
}

const std::string kLoginOfQuay = R"("auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}})";

TEST_ROWS(, CrioHelperTest,
          {"OfTheFileBeforeItsLogins", "", R"({"credHelpers":{"quay.io":"ecr-login"},)" + kLoginOfQuay + "}",
           "its own login from credential helper ecr-login of /auth.json, if that has one"},
          {"OfAnotherRegistry", "", R"({"credHelpers":{"gcr.io":"gcloud"},)" + kLoginOfQuay + "}",
           "its own login quay.io of /auth.json"},
          {"AStoreIsNoHelper", "", R"({"credsStore":"secretservice"})", "anonymous"},
          {"OfRegistriesConfBeforeTheFiles", R"(credential-helpers = ["pass", "containers-auth.json"])",
           "{" + kLoginOfQuay + "}",
           "its own login from credential helper pass of registries.conf, if that has one"},
          {"OfRegistriesConfBehindTheFiles", R"(credential-helpers = ["containers-auth.json", "pass"])",
           "{" + kLoginOfQuay + "}", "its own login quay.io of /auth.json"},
          {"AnEmptyListIsTheUsual", "credential-helpers = []", "{" + kLoginOfQuay + "}",
           "its own login quay.io of /auth.json"},
          {"WithoutTheFilesTheyDoNotCount", R"(credential-helpers = ["pass"])", "{" + kLoginOfQuay + "}",
           "its own login from credential helper pass of registries.conf, if that has one"});

TEST_F(FindCrioLoginsTest, ABrokenFileIsAProblemWithoutItsContent) {
  settings_.global_auth_file = "/auth.json";
  dir_.Write("auth.json", "{\"auths\": {\"quay.io\": {\"auth\": 5s3cr3t");
  CrioLogins logins = Find("quay.io/a", false);
  ASSERT_EQ(logins.problems.size(), 1U);
  EXPECT_EQ(logins.problems[0].find("s3cr3t"), std::string::npos) << logins.problems[0];
  EXPECT_EQ(CrioText(logins),
            "  CRI-O to quay.io/a: not known, as /auth.json cannot be read, and CRI-O looks into no later "
            "file if it cannot read this one\n");
  EXPECT_NE(doc::WriteJson(CrioJson(logins)).find(R"("sends":"unknown")"), std::string::npos);
  EXPECT_EQ(CrioText(Find("quay.io/a", true)), "  CRI-O to quay.io/a: the credentials above\n");
  EXPECT_EQ(Find("quay.io/a", false, R"(credential-helpers = ["containers-auth.json", "pass"])")
                .places.at(0)
                .login.helper,
            "pass");
}

// The library ends with the error.
TEST_F(FindCrioLoginsTest, BehindABrokenFileNoFileCounts) {
  HasLogin("/root/.docker/config.json", "quay.io");
  dir_.Write("root/.config/containers/auth.json", "");
  const std::string fails = "; CRI-O fails when it looks for a login there";
  CrioLogins logins = Find("quay.io/a", false);
  EXPECT_EQ(logins.places.at(0).login.file, "/root/.config/containers/auth.json");
  EXPECT_TRUE(logins.places.at(0).login.unusable);
  EXPECT_TRUE(logins.problems.at(0).ends_with(fails)) << logins.problems.at(0);
  HasLogin("/run/containers/0/auth.json", "quay.io");
  EXPECT_EQ(Find("quay.io/a", false).places.at(0).login.match, "quay.io") << "it stands before";
}

}  // namespace
}  // namespace prefetch::ctl::crio_logins_test
