// `check`: what the agent's answers and its silence become.
#include "ctl/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "ctl/exit_code.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "status/check_document.h"
#include "temp_dir.h"

namespace prefetch::ctl::check_test {
namespace {

std::string Answer(bool ok, const std::string& result, const std::string& reason) {
  status::CheckAnswer answer{.image = "q.io/a:v1", .policy = "Never", .ok = ok, .listed = true};
  answer.result = result;
  answer.reason = reason;
  answer.message = "it is so";
  return status::CheckResultJson({.node = "ci-7", .time = {}, .ok = ok, .answers = {answer}});
}
const std::string kYes = Answer(true, "Starts", "Present");
const std::string kNoThere = Answer(false, "Refused", "ImageAbsent");
const std::string kOpen = Answer(false, "Unknown", "NotListed");

class CheckTest : public testing::Test {
 protected:
  CheckOptions Options() {
    CheckOptions options;
    options.images = {{.image = "q.io/a:v1", .policy = "Never"}};
    options.timeout = "1s";
    return options;
  }
  tests::Ran Ask(const CheckOptions& options) {
    return tests::Run([&](auto& out, auto& err) { return Check({}, agent_.Client(), options, out, err); });
  }
  void Says(int status, const std::string& body) { agent_.Answers("/v1/check", status, body); }

  tests::FakeAgent agent_;
  tests::TempDir folder_;
};

// A yes must not seem to be one for images that nobody asked about.
TEST_F(CheckTest, StepsWhoseImageIsElsewhereAreTold) {
  Says(200, kYes);
  CheckOptions options = Options();
  folder_.Write("t.yaml",
                "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t}\nspec:\n  steps:\n"
                "  - {name: s, ref: {name: clone}}\n");
  options.files = {folder_ / "t.yaml"};
  tests::Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(
      ran.err.find("t.yaml:6: step \"s\" of Task t takes its image from the StepAction \"clone\", which "
                   "is not checked\n"),
      std::string::npos)
      << ran;
}

TEST_F(CheckTest, TheAnswerIsTheExitCode) {
  struct Row {
    std::string body;
    bool unknown_passes;
    int exit;
  };
  for (const Row& row : {Row{kYes, false, kOk}, Row{kNoThere, false, kNegative}, Row{kOpen, false, kNegative},
                         Row{kOpen, true, kOk}, Row{kNoThere, true, kNegative}}) {
    Says(200, row.body);
    CheckOptions options = Options();
    options.unknown_passes = row.unknown_passes;
    tests::Ran ran = Ask(options);
    EXPECT_EQ(ran.exit, row.exit) << row.body << ran;
    EXPECT_NE(ran.out.find("q.io/a:v1"), std::string::npos) << ran;
  }
}

// The job's page shows one line, and the exit code stays.
TEST_F(CheckTest, TheLineForTheJobsPage) {
  CheckOptions options = Options();
  options.annotation_target = folder_ / "line";
  Says(200, kNoThere);
  EXPECT_EQ(Ask(options).exit, kNegative);
  std::string line = *base::ReadFile(options.annotation_target, 1 << 20);
  EXPECT_TRUE(line.starts_with("q.io/a:v1 on node ci-7: refused (ImageAbsent): it is so")) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  Says(200, kYes);
  EXPECT_EQ(Ask(options).exit, kOk);
  EXPECT_EQ(*base::ReadFile(options.annotation_target, 1 << 20), "");
  Says(401, R"({"error":"the token has expired"})");
  EXPECT_EQ(Ask(options).exit, kUnreachable);
  line = *base::ReadFile(options.annotation_target, 1 << 20);
  EXPECT_NE(line.find("the token has expired"), std::string::npos) << line;
  options.annotation_target = folder_ / "none/line";
  Says(200, kNoThere);
  tests::Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kNegative);
  EXPECT_NE(ran.err.find("warning: --annotate"), std::string::npos) << ran;
}

TEST_F(CheckTest, AnAgentThatCannotBeAsked) {
  agent_.Goes(base::NotFound("no such file"));
  tests::Ran ran = Ask(Options());
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_NE(ran.err.find("no such file"), std::string::npos) << ran;
}

TEST_F(CheckTest, AnAgentThatIsBusyToTheEndIsATimeout) {
  Says(429, "");
  EXPECT_EQ(Ask(Options()).exit, kTimedOut);
}

TEST_F(CheckTest, ARefusedTokenIsTheLastWord) {
  Says(401, R"({"error":"the token has expired"})");
  tests::Ran ran = Ask(Options());
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_NE(ran.err.find("the token has expired"), std::string::npos) << ran;
  EXPECT_EQ(agent_.asked().size(), 1U);
}

TEST_F(CheckTest, EveryMistakeOfTheCommandLineIsToldAndNobodyAsked) {
  CheckOptions options = Options();
  options.timeout = "soon";
  options.images = {{.image = "q.io/A", .policy = "Sometimes"}};
  options.pod_secrets = {"just-a-name"};
  tests::Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kBadInput) << ran;
  for (const char* part : {"--timeout", "--policy", "q.io/A", "--pod-secret must be NAMESPACE/NAME/UID"}) {
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << ran;
  }
  EXPECT_TRUE(agent_.asked().empty());
  options = Options();
  options.images.clear();
  EXPECT_EQ(Ask(options).exit, kBadInput);
}

TEST_F(CheckTest, AManifestNamesTheImages) {
  Says(200, kYes);
  CheckOptions options = Options();
  options.images.clear();
  options.files = {folder_.Write("pod.yaml",
                                 "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
                                 "  - {name: c, image: 'q.io/a:v1', imagePullPolicy: Never}\n")};
  EXPECT_EQ(Ask(options).exit, kOk);
  options.files = {folder_.Write("service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")};
  tests::Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.err.find("nothing to check"), std::string::npos) << ran;
}

TEST_F(CheckTest, AnImageListIsNoManifest) {
  Says(200, kYes);
  CheckOptions options = Options();
  options.files = {folder_.Write("images.yaml",
                                 "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\n"
                                 "images: [{image: 'q.io/a:v1'}]\n")};
  EXPECT_EQ(Ask(options).exit, kOk) << "there is --image, too";
  options.images.clear();
  tests::Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kBadInput) << ran;
  EXPECT_NE(ran.err.find("images.yaml is an image list, which has no pods"), std::string::npos) << ran;
  EXPECT_EQ(ran.out, "");
}

TEST_F(CheckTest, FormsOfOutput) {
  Says(200, kNoThere);
  CheckOptions options = Options();
  options.output = CheckOutput::kJson;
  EXPECT_TRUE(Ask(options).out.starts_with("{"));
  options.output = CheckOutput::kGithub;
  tests::Ran ran = Ask(options);
  EXPECT_TRUE(ran.out.starts_with("::error")) << ran;
  EXPECT_EQ(ran.exit, kNegative);
}

}  // namespace
}  // namespace prefetch::ctl::check_test
