// `check`: what the agent's answers and its silence become.
#include "ctl/commands.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/fs.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "doc/json.h"
#include "doc/node.h"
#include "status/check_document.h"
#include "temp_dir.h"

namespace prefetch::ctl::check_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
  Ran Ask(const CheckOptions& options) {
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
  Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_HAS(ran.err,
             "t.yaml:6: step \"s\" of Task t takes its image from the StepAction \"clone\", "
             "which is not checked\n");
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
    Ran ran = Ask(options);
    EXPECT_EQ(ran.exit, row.exit) << row.body << ran;
    EXPECT_HAS(ran.out, "q.io/a:v1");
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
  EXPECT_HAS(line, "the token has expired");
  options.annotation_target = folder_ / "none/line";
  Says(200, kNoThere);
  EXPECT_TRUE(Complains(Ask(options), kNegative, "warning: --annotate"));
}

TEST_F(CheckTest, AnAgentThatDoesNotAnswerTheQuestion) {
  struct Row {
    int status;
    int exit;
    std::string says;
  };
  for (const Row& row :
       {Row{503, kTimedOut, "it is busy"}, Row{404, kUnreachable, "is that a prefetchd"},
        Row{400, kBadInput, "refuses the question"}, Row{200, kUnreachable, "gave an unexpected answer"}}) {
    Says(row.status, "");
    EXPECT_TRUE(OnlyComplains(Ask(Options()), row.exit, row.says));
  }
  for (const base::Error& gone :
       {base::Unavailable("connection refused"), base::NotFound("no such file"),
        base::DeadlineExceeded("silent"), base::ResourceExhausted("longer body than allowed")}) {
    agent_.Goes(gone);
    EXPECT_TRUE(OnlyComplains(Ask(Options()), kUnreachable, gone.message())) << "after its second";
  }
}

TEST_F(CheckTest, AnAgentThatPullsForNobodyIsNoAnswer) {
  Says(403, R"({"error":"this agent pulls for no check\u001b[2J"})");
  CheckOptions options = Options();
  options.pull = true;
  Ran ran = Ask(options);
  EXPECT_TRUE(OnlyComplains(ran, kUnreachable, "refuses --pull: this agent pulls for no check"));
  EXPECT_EQ(ran.err.find('\x1b'), std::string::npos);
}

TEST_F(CheckTest, ARefusedTokenIsTheLastWord) {
  Says(401, R"({"error":"the token has expired"})");
  EXPECT_TRUE(Complains(Ask(Options()), kUnreachable, "the token has expired"));
  EXPECT_EQ(agent_.asked().size(), 1U);
}

TEST_F(CheckTest, EveryMistakeOfTheCommandLineIsToldAndNobodyAsked) {
  CheckOptions options = Options();
  options.timeout = "soon";
  options.images = {{.image = "q.io/A", .policy = "Sometimes"}};
  options.pod_secrets = {"just-a-name"};
  options.pod_service_account = "a//b";
  Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kBadInput) << ran;
  for (const char* part : {"--timeout", "--policy", "q.io/A", "--pod-secret must be NAMESPACE/NAME/UID",
                           "--pod-service-account must be NAMESPACE/NAME/UID"}) {
    EXPECT_HAS(ran.err, part);
  }
  EXPECT_TRUE(agent_.asked().empty());
  options = Options();
  options.images.clear();
  EXPECT_EQ(Ask(options).exit, kBadInput);
}

TEST_F(CheckTest, ManifestsOfWhichNoImageCouldBeCheckedDoNotPass) {
  CheckOptions options = Options();
  options.images.clear();
  options.output = CheckOutput::kJson;
  options.files = {folder_.Write("task.yaml",
                                 "apiVersion: tekton.dev/v1\nkind: Task\nmetadata: {name: t}\nspec:\n"
                                 "  params: [{name: image}]\n  steps:\n"
                                 "  - {name: s, image: $(params.image)}\n")};
  options.annotation_target = folder_ / "line";
  const std::string why = "container \"s\" of Task t has a variable for its image: $(params.image)";
  Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_HAS(ran.err, "no image could be checked");
  EXPECT_HAS(ran.out, "\"ok\": false");
  EXPECT_HAS(ran.out, "\"kind\": \"Task\"");
  EXPECT_EQ(*base::ReadFile(options.annotation_target, 1 << 20), "no image was checked: " + why + "\n");
  options.output = CheckOutput::kGithub;
  ran = Ask(options);
  EXPECT_HAS(ran.out, why + "\nno image was checked\n");
  EXPECT_TRUE(ran.out.starts_with("::error file=")) << ran;
}

TEST_F(CheckTest, AnObjectThatIsNotReadIsTheLineForTheJobsPage) {
  Says(200, kYes);
  CheckOptions options = Options();
  options.annotation_target = folder_ / "line";
  options.output = CheckOutput::kGithub;
  options.files = {folder_.Write(
      "farm.yaml", "{apiVersion: acme.io/v1, kind: Farm, metadata: {name: \"f\\n::error::x\"}}\n")};
  const Ran ran = Ask(options);
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_HAS(ran.out, "; 1 object is not read\n");
  const std::string line = *base::ReadFile(options.annotation_target, 1 << 20);
  EXPECT_HAS(line, "may run pods");
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
}

TEST_F(CheckTest, ARunOfAnotherObjectMayBeAcceptedAsUnread) {
  CheckOptions options = Options();
  options.images.clear();
  options.files = {folder_.Write("run.yaml",
                                 "apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: r}\n"
                                 "spec: {taskRef: {name: t}}\n")};
  EXPECT_TRUE(Complains(Ask(options), kNegative, "TaskRun r names no image here"));
  options.manifests.read.allow_unread = {"TaskRun"};
  EXPECT_TRUE(Complains(Ask(options), kOk, "nothing to check"));
}

TEST_F(CheckTest, AnImageListIsNoManifest) {
  Says(200, kYes);
  CheckOptions options = Options();
  options.files = {folder_.Write("images.yaml",
                                 "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\n"
                                 "images: [{image: 'q.io/a:v1'}]\n")};
  EXPECT_EQ(Ask(options).exit, kOk) << "there is --image, too";
  options.images.clear();
  EXPECT_TRUE(OnlyComplains(Ask(options), kBadInput, "images.yaml is an image list, which has no pods"));
}

// `prefetchctl check` and an agent that asks for patience.

constexpr const char* kPath = "/v1/check";

class CheckPatience : public testing::Test {
 protected:
  // The agent is busy, with this header.
  Ran CheckWith(const std::string& retry_after, const std::string& timeout) {
    agent_.Answers(kPath, 429, "", retry_after);
    const auto began = std::chrono::steady_clock::now();
    Ran ran = tests::Run([&](std::ostream& out, std::ostream& err) {
      return Check({}, agent_.Client(), {.images = {{"q.io/a:v1", "Never"}}, .timeout = timeout}, out, err);
    });
    took_ = std::chrono::steady_clock::now() - began;
    return ran;
  }

  tests::FakeAgent agent_;
  base::Duration took_{};
};

TEST_F(CheckPatience, AsksAgainWhenTheAgentSaidAndNotBefore) {
  EXPECT_EQ(CheckWith("1", "2500ms").exit, kTimedOut);
  EXPECT_GE(agent_.asked().size(), 2U);
  EXPECT_LE(agent_.asked().size(), 3U);
  EXPECT_GE(took_, seconds(1));
}

TEST_F(CheckPatience, AsksALastTimeWhereTheTimeIsShorter) {
  EXPECT_TRUE(Complains(CheckWith("60", "1500ms"), kTimedOut, "it is busy"));
  EXPECT_EQ(agent_.asked().size(), 2U);
  EXPECT_GE(took_, milliseconds(500));
  EXPECT_LT(took_, seconds(10));
}

TEST_F(CheckPatience, WithoutATimeItAsksTwiceASecond) {
  EXPECT_EQ(CheckWith("", "1200ms").exit, kTimedOut);
  EXPECT_EQ(agent_.asked().size(), 3U);
}

// `check --annotate`: where the line for the job's page goes.

constexpr const char* kLine =
    "quay.io/acme/app:v1 on node ci-7: refused (ImageAbsent): 100% gone → put it on the list";

class AnnotateTest : public testing::Test {
 protected:
  base::Status Tell(const std::string& target, const std::string& line = kLine) {
    return Annotate(
        base::Call{}, target, line,
        [this](const char* name) -> const char* {
          auto found = variables_.find(name);
          return found == variables_.end() ? nullptr : found->second.c_str();
        },
        out_);
  }
  std::string Written(const std::string& name) const {
    auto text = base::ReadFile(folder_ / name, 1 << 20);
    EXPECT_TRUE(text) << name;
    return text ? *text : "";
  }
  // A buildkite-agent that keeps what it is given, and ends so.
  void HasBuildkiteAgent(int exit_code) {
    folder_.WriteProgram("bin/buildkite-agent",
                         "#!/bin/sh\nd=$(dirname \"$0\")\necho \"$*\" > \"$d/args\"\ncat > \"$d/line\"\n"
                         "env > \"$d/env\"\necho not today >&2\nexit " +
                             std::to_string(exit_code) + "\n");
    // Neither a relative folder nor a folder of that name is the program.
    std::filesystem::create_directories(folder_ / "of-folders/buildkite-agent");
    variables_["PATH"] = "/nowhere::bin:" + (folder_ / "of-folders") + ":" + (folder_ / "bin");
  }

  tests::TempDir folder_;
  std::map<std::string, std::string> variables_;
  std::ostringstream out_;
};

TEST_F(AnnotateTest, GithubReadsACommandOnStandardOutput) {
  EXPECT_TRUE(Tell("github"));
  EXPECT_EQ(out_.str(),
            "::error title=prefetchd::quay.io/acme/app:v1 on node ci-7: refused (ImageAbsent): 100%25 gone → "
            "put it on the list\n");
}

TEST_F(AnnotateTest, GitlabGetsAReportWithALinkToTheJob) {
  EXPECT_FALSE(Tell("gitlab")) << "outside of a job there is nothing to link to";
  variables_ = {{"CI_PROJECT_DIR", folder_.path()}, {"CI_JOB_URL", "https://gitlab.test/job/1"}};
  ASSERT_TRUE(Tell("gitlab", std::string(kLine) + std::string(300, 'x')));
  doc::Problems problems("report");
  auto report = doc::ParseJson(Written("prefetchd-annotations.json"), problems);
  ASSERT_TRUE(report && problems.empty());
  ASSERT_EQ(doc::ItemsAt(*report, {"prefetchd"}).size(), 1U);
  const doc::Node& link = doc::ItemsAt(*report, {"prefetchd"})[0];
  EXPECT_EQ(doc::TextAt(link, {"external_link", "url"}), "https://gitlab.test/job/1");
  EXPECT_TRUE(doc::TextAt(link, {"external_link", "label"}).starts_with("quay.io/acme/app:v1 on node ci-7"));
  EXPECT_LE(doc::TextAt(link, {"external_link", "label"}).size(), 255U);
  ASSERT_TRUE(Tell("gitlab", ""));
  EXPECT_EQ(Written("prefetchd-annotations.json"), "{\"prefetchd\":[]}\n") << "it is no longer so";
}

TEST_F(AnnotateTest, BuildkitesAgentIsGivenTheLine) {
  EXPECT_EQ(Tell("buildkite").error().message(), "there is no buildkite-agent on PATH");
  HasBuildkiteAgent(0);
  ::setenv("BUILDKITE_JOB_ID", "job-1", 1);
  ::setenv("SSL_CERT_DIR", "/certs", 1);
  ::setenv("OTHER_SECRET", "s3cr3t", 1);
  EXPECT_TRUE(Tell("buildkite"));
  EXPECT_EQ(Written("bin/args"), "annotate --style error --context prefetchd\n");
  EXPECT_EQ(Written("bin/line"), std::string(kLine) + "\n");
  EXPECT_HAS(Written("bin/env"), "BUILDKITE_JOB_ID=job-1");
  EXPECT_HAS(Written("bin/env"), "SSL_CERT_DIR=/certs");
  ::unsetenv("SSL_CERT_DIR");
  EXPECT_LACKS(Written("bin/env"), "s3cr3t");
  HasBuildkiteAgent(1);
  auto failed = Tell("buildkite");
  ASSERT_FALSE(failed);
  EXPECT_HAS(failed.error().message(), "not today");
}

TEST_F(AnnotateTest, AFileIsWrittenInItsPlace) {
  const std::string file =
      folder_.Write("log", "from before, and longer than what comes now, so that nothing of it may stay\n");
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  EXPECT_TRUE(Tell(file));
  EXPECT_EQ(Written("log"), std::string(kLine) + "\n");
  EXPECT_TRUE(Tell(file, ""));
  EXPECT_EQ(Written("log"), "");
  ASSERT_EQ(::stat(file.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "a termination log is a mount";
  EXPECT_FALSE(Tell(folder_ / "none/log"));
}

constexpr base::TimePoint kNow{seconds(1000)};

std::optional<base::Duration> First(base::Duration left, base::Duration wish, double spread = 0) {
  return RetryPause(kNow + left).Next(kNow, wish, spread);
}

TEST(RetryPause, ComesBackNotBeforeTheTimeThatTheAgentWishedAndSpreadOverIt) {
  EXPECT_EQ(First(seconds(60), seconds(1)), seconds(1));
  EXPECT_EQ(First(seconds(60), seconds(1), 0.5), milliseconds(1500));
  EXPECT_EQ(First(seconds(60), seconds(30), 0.5), milliseconds(32'500));
}

TEST(RetryPause, TriesALastTimeBeforeADeadlineThatIsEarlier) {
  RetryPause pauses(kNow + seconds(20));
  EXPECT_EQ(pauses.Next(kNow, seconds(60), 0), milliseconds(19'500));
  EXPECT_EQ(pauses.Next(kNow + milliseconds(19'500), seconds(60), 0), std::nullopt);
  EXPECT_EQ(First(seconds(20), seconds(60), 0.5), milliseconds(19'250)) << "not all at once";
}

TEST(RetryPause, ATimeOfAMomentEndsAtOnce) {
  EXPECT_EQ(First(milliseconds(400), seconds(1)), std::nullopt);
}

}  // namespace
}  // namespace prefetch::ctl::check_test
