// Other versions of prefetchctl, and scripts, rely on this: members of our JSON documents are only added,
// never renamed, taken away or given another type (design: "Status document").
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "base/fs.h"
#include "base/text.h"
#include "doc/json.h"
#include "golden.h"
#include "plan/check.h"
#include "plan/image_readiness.h"
#include "rows.h"
#include "status/check_document.h"
#include "status/documents.h"
#include "status/kubelet_sample.h"
#include "status/status_json.h"

namespace prefetch::status::v1_fields_test {
namespace {

using image::PullPolicy;
using kubelet::VerdictResult;

using Kind = doc::Node::Kind;

const char* TypeOf(Kind kind) {
  switch (kind) {
    case Kind::kBool:
      return "boolean";
    case Kind::kInt:
    case Kind::kDouble:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kSequence:
      return "list";
    case Kind::kMapping:
      return "object";
    case Kind::kNull:
      break;
  }
  return "";
}

// "NodeStatus images[].pull.attempts number", a line each; null tells nothing.
void Collect(const doc::Node& node, const std::string& path, std::set<std::string>& fields) {
  std::string type = TypeOf(node.kind);
  if (!type.empty() && !path.ends_with(' ')) fields.insert(path + " " + type);
  const std::string dot = path.ends_with(' ') ? "" : ".";
  for (const doc::Member& member : node.members) Collect(member.value, path + dot + member.key, fields);
  for (const doc::Node& item : node.items) Collect(item, path + "[]", fields);
}

void CollectDocument(const std::string& json, std::set<std::string>& fields) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(json, problems);
  ASSERT_TRUE(root) << json.substr(0, 200);
  const doc::Node* kind = root->Find("kind");
  ASSERT_NE(kind, nullptr) << json.substr(0, 200);
  Collect(*root, kind->text + " ", fields);
}

ImageDocument FullDetail(const plan::ImageState& image) {
  ImageDocument detail =
      sample::DetailOf(image, sample::Recorded("quay.io/acme/runner", sample::ForTwoSecrets()));
  detail.record.uses[0].identities = {"secret team/pull"};
  *detail.credentials = {{"docker-config", "/root/.docker/config.json", "quay.io", "ann"}};
  detail.providers = {{"ecr-credential-provider", "error", "its program exited with 3: no region", true, ""}};
  detail.listed_aliases = {"quay.io/acme/app:v1"};
  return detail;
}

std::set<std::string> FieldsNow() {
  std::set<std::string> fields;
  for (const char* name : {"peaceful", "troubled", "starting", "stale", "brokenlist", "kubelet", "newer",
                           "fleet", "audit", "check-report"}) {
    auto json = base::ReadFile(tests::Testdata() + "/screen/" + name + ".json", 1 << 20);
    EXPECT_TRUE(json) << name;
    if (json) CollectDocument(*json, fields);
  }
  plan::ImageState retried = sample::ClosedByOthers();
  retried.pull.retry_requested_at = base::WallTime();
  CollectDocument(StatusJson(sample::KubeletNodeOf({retried})), fields);
  plan::ImageState closed = sample::ClosedByOthers();
  CollectDocument(ImageJson(sample::KubeletNodeOf({closed}), closed, FullDetail(closed)), fields);
  CollectDocument(StatusJson(sample::KubeletNodeOf(
                      {sample::SpelledTwice(), sample::ForPodsWithASecret(), sample::ForTwoPods()})),
                  fields);
  CollectDocument(PublicStatusJson(sample::KubeletNodeOf({sample::SpelledTwice(), sample::ForTwoPods()})),
                  fields);
  CheckResult result{.node = "n1", .time = base::WallTime(), .ok = true};
  result.answers = {{.image = "a",
                     .policy = "Never",
                     .ok = true,
                     .listed = true,
                     .result = "Starts",
                     .reason = "OpenToNode",
                     .rule = "7: open to the node",
                     .message = "m"}};
  CollectDocument(CheckResultJson(result), fields);
  return fields;
}

TEST(V1, FieldsAreOnlyAdded) {
  const std::string path = tests::Testdata() + "/screen/v1-fields.txt";
  std::set<std::string> now = FieldsNow(), promised;
  auto text = base::ReadFile(path, 1 << 20);
  ASSERT_TRUE(text) << text.error().message();
  for (std::string_view line : base::Split(*text, '\n')) {
    if (!line.empty()) promised.emplace(line);
  }
  if (std::getenv("PREFETCH_ACCEPT") != nullptr) {  // adds, and takes nothing away
    now.insert(promised.begin(), promised.end());
    std::ofstream out(path, std::ios::binary);
    for (const std::string& field : now) out << field << "\n";
    return;
  }
  std::vector<std::string> gone, added;
  std::set_difference(promised.begin(), promised.end(), now.begin(), now.end(), std::back_inserter(gone));
  std::set_difference(now.begin(), now.end(), promised.begin(), promised.end(), std::back_inserter(added));
  EXPECT_EQ(gone, std::vector<std::string>{}) << "others rely on these: a released field stays";
  EXPECT_EQ(added, std::vector<std::string>{})
      << "promise them in " << path << " (PREFETCH_ACCEPT=1 adds them)";
  std::map<std::string, int> types;
  for (const std::string& field : promised) types[field.substr(0, field.rfind(' '))]++;
  for (const auto& [field, count] : types) EXPECT_EQ(count, 1) << field << " has several types";
}

// Without a kubelet, status, check and wait say the same of an image.

struct ImageCase {
  std::string name;
  bool present = false;
  bool usable = false;
  plan::Reason reason = plan::Reason::kPresent;
};

TEST_TABLE(WithoutKubelet, StatusCheckAndWaitAgree, ImageCase) {
  const image::Reference reference = image::Reference::Parse("quay.io/acme/a:v1").value();
  plan::ImageState image;
  image.desired = plan::DesiredImage{.reference = reference};
  image.present = row.present;
  image.usable = row.usable;
  image.reason = row.reason;
  plan::Snapshot snapshot;
  snapshot.images.push_back(image);
  const StatusDocument document = DocumentOf(snapshot);
  ASSERT_EQ(document.images.size(), 1U);
  const StatusVerdicts& shown = document.images[0].verdicts;
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent}) {
    const StatusVerdict& of = policy == PullPolicy::kNever ? shown.never : shown.if_not_present;
    plan::CheckFacts facts{.policy = policy, .reference = reference, .listed = true};
    facts.kubelet = plan::CheckKubelet::kNone;
    facts.runtime = plan::CheckRuntime{.error = std::nullopt, .image = image};
    const plan::CheckDecision decision = plan::DecideCheck(facts).decision;
    EXPECT_EQ(of.result, decision.result);
    EXPECT_EQ(of.reason, plan::CheckReasonName(decision.reason));
    EXPECT_EQ(decision.ok, decision.result == VerdictResult::kStarts);
    EXPECT_EQ(decision.ok, plan::IsReadyFor(image, policy, false));
  }
}

TEST_ROWS(Images, WithoutKubelet, {"Usable", true, true}, {"Absent", false, false, plan::Reason::kNotFound},
          {"NotUnpacked", true, false, plan::Reason::kNotUnpacked},
          {"OfAnotherPlatform", true, false, plan::Reason::kWrongPlatform},
          {"NotReported", false, false, plan::Reason::kFactsUnknown});

}  // namespace
}  // namespace prefetch::status::v1_fields_test
