// `check --annotate`: where the line for the job's page goes.
#include "ctl/check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <sstream>
#include <string>

#include "base/fs.h"
#include "doc/json.h"
#include "doc/node.h"
#include "temp_dir.h"

namespace prefetch::ctl::annotate_test {
namespace {

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
    const std::string program =
        folder_.Write("bin/buildkite-agent",
                      "#!/bin/sh\nd=$(dirname \"$0\")\necho \"$*\" > \"$d/args\"\ncat > \"$d/line\"\n"
                      "env > \"$d/env\"\necho not today >&2\nexit " +
                          std::to_string(exit_code) + "\n");
    ::chmod(program.c_str(), 0755);
    variables_["PATH"] = "/nowhere::" + (folder_ / "bin");
  }

  tests::TempDir folder_;
  std::map<std::string, std::string> variables_;
  std::ostringstream out_;
};

TEST_F(AnnotateTest, GithubReadsACommandOnStandardOutput) {
  EXPECT_TRUE(Tell("github"));
  EXPECT_EQ(out_.str(),
            "::error title=prefetchd::quay.io/acme/app:v1 on node ci-7: refused (ImageAbsent): 100%25 gone → "
            "put it "
            "on the list\n");
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
  ::setenv("OTHER_SECRET", "s3cr3t", 1);
  EXPECT_TRUE(Tell("buildkite"));
  EXPECT_EQ(Written("bin/args"), "annotate --style error --context prefetchd\n");
  EXPECT_EQ(Written("bin/line"), std::string(kLine) + "\n");
  EXPECT_NE(Written("bin/env").find("BUILDKITE_JOB_ID=job-1"), std::string::npos);
  EXPECT_EQ(Written("bin/env").find("s3cr3t"), std::string::npos);
  HasBuildkiteAgent(1);
  auto failed = Tell("buildkite");
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message().find("not today"), std::string::npos) << failed.error().message();
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

}  // namespace
}  // namespace prefetch::ctl::annotate_test
