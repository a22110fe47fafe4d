#include "ctl/annotate.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/subprocess.h"
#include "base/text.h"
#include "doc/node.h"
#include "doc/write.h"
#include "screen/lint_report.h"

namespace prefetch::ctl {
namespace {

constexpr const char* kTitle = "prefetchd";
constexpr const char* kGitlabFile = "prefetchd-annotations.json";
constexpr std::size_t kLongestGitlabLabel = 255 - 3;  // and "…"; GitLab, doc/ci/yaml/artifacts_reports.md
// Time limit for buildkite-agent, so that a hanging annotation cannot hold the CI job.
constexpr std::chrono::seconds kAnnotateTimeout{20};

std::string Variable(const config::GetEnv& get_env, const char* name) {
  const char* value = get_env(name);
  return value == nullptr ? "" : value;
}

// Writes without a temporary file: /dev/termination-log is a mount of its own, which cannot be replaced by a
// rename.
base::Status WriteInPlace(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file.good()) return {};
  return base::InvalidArgument(path + " cannot be written: " + std::strerror(errno));
}

base::Status ForGitlab(const std::string& line, const config::GetEnv& get_env) {
  // A report without links takes back what an earlier run in the same job has written.
  std::vector<doc::Node> links;
  if (!line.empty()) {
    const std::string url = Variable(get_env, "CI_JOB_URL");
    if (url.empty()) return base::InvalidArgument("CI_JOB_URL is not set: this is no job of GitLab");
    doc::Node link = doc::Node::Mapping(), entry = doc::Node::Mapping();
    link.Set("label", doc::Node::String(base::Truncate(line, kLongestGitlabLabel)))
        .Set("url", doc::Node::String(url));
    entry.Set("external_link", std::move(link));
    links.push_back(std::move(entry));
  }
  doc::Node report = doc::Node::Mapping();
  report.Set(kTitle, doc::Node::Sequence(std::move(links)));
  const std::string folder = Variable(get_env, "CI_PROJECT_DIR");
  return WriteInPlace((folder.empty() ? "" : folder + "/") + kGitlabFile, doc::WriteJson(report) + "\n");
}

std::string OnPath(const std::string& program, const config::GetEnv& get_env) {
  const std::string path = Variable(get_env, "PATH");
  for (std::string_view folder : base::Split(path, ':')) {
    std::string file = std::string(folder) + "/" + program;
    if (!folder.empty() && ::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// Returns the variables by which buildkite-agent knows its job.
std::vector<std::string> BuildkiteEnvironment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; entry++) {
    const std::string_view one = *entry;
    if (one.starts_with("BUILDKITE") || one.starts_with("PATH=") || one.starts_with("HOME=")) {
      environment.emplace_back(one);
    }
  }
  return environment;
}

base::Status ForBuildkite(const base::Call& call, const std::string& line, const config::GetEnv& get_env) {
  if (line.empty()) return {};
  const std::string agent = OnPath("buildkite-agent", get_env);
  // RunProcess needs an absolute path.
  if (agent.empty()) return base::NotFound("there is no buildkite-agent on PATH");
  const base::Command command{.argv = {agent, "annotate", "--style", "error", "--context", kTitle},
                              .environment = BuildkiteEnvironment()};
  auto ran = base::RunProcess(call.Within(kAnnotateTimeout), command, line + "\n");
  if (!ran) return ran.error();
  if (ran->end == base::ProcessEnd::kExited && ran->code == 0) return {};
  return base::Unavailable("buildkite-agent annotate failed: " + base::Truncate(ran->errors, 300));
}

}  // namespace

base::Status Annotate(const base::Call& call, const std::string& target, const std::string& line,
                      const config::GetEnv& get_env, std::ostream& out) {
  if (target == "gitlab") return ForGitlab(line, get_env);
  if (target == "buildkite") return ForBuildkite(call, line, get_env);
  // Any other target is a file, such as /dev/termination-log.
  if (target != "github") return WriteInPlace(target, line.empty() ? "" : line + "\n");
  if (!line.empty()) out << screen::GithubCommand("error", {}, kTitle, line) << std::flush;
  return {};
}

}  // namespace prefetch::ctl
