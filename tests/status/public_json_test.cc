// Facts that strangers may learn about a node whose every text is a secret.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "doc/json.h"
#include "golden.h"
#include "plan/readiness.h"
#include "rows.h"
#include "status/check_document.h"
#include "status/kubelet_sample.h"
#include "status/planted.h"
#include "status/rows.h"
#include "status/sample.h"
#include "status/status_json.h"

namespace prefetch::status::public_json_test {
namespace {

using sample::kPlanted;
using sample::Planted;
using sample::PlantedNode;

// "images.pull.attempts": the places of all members.
void PathsOf(const doc::Node& node, const std::string& path, std::set<std::string>& paths) {
  for (const doc::Member& member : node.members) {
    const std::string below = (path.empty() ? "" : path + ".") + member.key;
    paths.insert(below);
    PathsOf(member.value, below, paths);
  }
  for (const doc::Node& item : node.items) PathsOf(item, path, paths);
}
std::set<std::string> PathsOf(const std::string& json) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(json, problems);
  std::set<std::string> paths;
  EXPECT_TRUE(root) << json;
  if (root) PathsOf(*root, "", paths);
  return paths;
}
std::string Above(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

TEST(PublicStatus, TellsNothingThatIsPlanted) {
  const plan::Snapshot snapshot = PlantedNode();
  EXPECT_NE(StatusJson(snapshot).find(Planted("message")), std::string::npos);
  const std::string json = PublicStatusJson(snapshot);
  EXPECT_EQ(json.find(kPlanted), std::string::npos) << json.substr(json.find(kPlanted), 200);
  EXPECT_EQ(json.find("987654321"), std::string::npos) << json;
  EXPECT_EQ(json.find("\"attempts\":"), std::string::npos) << json;
  // Coordinates of the samples that list images for pods with secrets.
  EXPECT_EQ(json.find("\"secrets\""), std::string::npos) << json;
  EXPECT_NE(json.find("quay.io/acme/a:v1"), std::string::npos) << json;
  EXPECT_NE(json.find("\"reason\":\"AccessDenied\""), std::string::npos) << json;
}

TEST(PublicStatus, NamesEachMemberThatItHides) {
  const plan::Snapshot snapshot = PlantedNode();
  const std::set<std::string> shown = PathsOf(PublicStatusJson(snapshot));
  std::vector<std::string> hidden;
  for (const std::string& path : PathsOf(StatusJson(snapshot))) {
    const std::string above = Above(path);
    if (!shown.contains(path) && (above.empty() || shown.contains(above))) hidden.push_back(path);
  }
  std::vector<std::string> named = HiddenMembers();
  std::sort(named.begin(), named.end());
  EXPECT_EQ(named, hidden) << base::Join(hidden, "\", \"");
}

TEST(PublicStatus, Golden) {
  tests::ExpectGolden("screen/public.json", PublicStatusJson(sample::TroubledNode()));
}

struct ReadyRow {
  std::string name;
  plan::ReadyQuestion question;
  plan::Reason reason;
  bool verbose;
  std::string begins;
};
TEST_TABLE(PublicReadyzTest, TellsNothingThatIsPlanted, ReadyRow) {
  plan::Snapshot snapshot = PlantedNode();
  snapshot.readiness.reason = row.reason;
  if (row.name == "BrokenSource") snapshot.list.sources[0].loaded_at.reset();
  const plan::ReadyAnswer answer = plan::EvaluateReady(snapshot, row.question);
  const std::string text = ReadyzText(snapshot, answer, row.verbose, View::kPublic);
  EXPECT_EQ(text.find(kPlanted), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with(row.begins)) << text;
  EXPECT_EQ(text.find("hidden: ") != std::string::npos, row.verbose) << text;
  const std::string full = ReadyzText(snapshot, answer, row.verbose, View::kFull);
  EXPECT_NE(full.find(kPlanted), std::string::npos) << full;
}

TEST_ROWS(PublicStatus, PublicReadyzTest,
          {"RuntimeDown", {}, plan::Reason::kRuntimeDown, false, "not ready: RuntimeDown\n"},
          {"ListInvalid", {}, plan::Reason::kListInvalid, true, "not ready: ListInvalid\n"},
          {"Credentials", {}, plan::Reason::kCredentialsInvalid, true, "not ready: CredentialsInvalid\n"},
          {"Images", plan::ReadyQuestion{}, plan::Reason::kImagesNotReady, true,
           "not ready: 3 required images are not ready: first quay.io/acme/a:v1 (AccessDenied)\n"},
          {"BrokenSource", plan::ReadyQuestion{.policy = {}, .hash = "", .source = "images.yaml"},
           plan::Reason::kListInvalid, false, "not ready: no valid version of images.yaml is known\n"});

TEST(PublicCheck, HasNoMessageButThoseAboutTheQuestion) {
  CheckResult result;
  for (const char* reason : {"RecordedForOthers", "AccessDenied", "NotListed", "InvalidImageName"}) {
    result.answers.push_back({.image = "a:v1", .reason = reason, .message = Planted(reason)});
  }
  result = WithoutMessages(std::move(result));
  EXPECT_EQ(result.answers[0].message.find(kPlanted), std::string::npos);
  EXPECT_EQ(result.answers[1].message.find(kPlanted), std::string::npos);
  EXPECT_EQ(result.answers[2].message, Planted("NotListed"));
  EXPECT_EQ(result.answers[3].message, Planted("InvalidImageName"));
  EXPECT_EQ(result.answers[0].reason, "RecordedForOthers");
}

struct TimeRow {
  std::string text;
  std::optional<std::int64_t> seconds;  // since 1970
};

TEST_TABLE(TimeTest, IsReadAsTheAgentWritesIt, TimeRow) {
  std::optional<base::WallTime> time = ParseTime(row.text);
  ASSERT_EQ(time.has_value(), row.seconds.has_value()) << row.text;
  if (time) {
    EXPECT_EQ(*time, base::WallTime(std::chrono::seconds(*row.seconds)));
  }
}

TEST_ROWS(Rows, TimeTest, {"1970-01-01T00:00:00Z", 0}, {"2026-11-20T22:33:35Z", 1795214015},
          {"2026-11-20T22:33:35.123456Z", 1795214015},  // a fraction counts for nothing
          {"1969-12-31T23:59:59Z", -1}, {"2116-02-20T23:53:38Z", 4611686018},
          {"2116-02-20T23:53:39Z", {}},  // nanoseconds would not reach from there to the first
          {"1823-11-12T00:06:22Z", -4611686018}, {"1823-11-12T00:06:21Z", {}}, {"4052-08-12T10:15:00Z", {}},
          {"0001-01-01T00:00:00Z", {}}, {"2026-11-20T22:33:35+01:00", {}}, {"2026-11-20T22:33:35+00:00", {}},
          {"2026-11-20T9:33:35Z", 1795167215}, {"2026-11-20", {}}, {"Z", {}}, {"", {}},
          {"2026-02-30T00:00:00Z", {}}, {"2026-11-20T22:33:35 and so on Z", {}});

}  // namespace
}  // namespace prefetch::status::public_json_test
