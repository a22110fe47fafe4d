// An agent that is played, by a real server with answers of the test's own, and `prefetchctl check` as built.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "must.h"
#include "rig/binary.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "serve.h"
#include "status/check_document.h"
#include "system/command_folder.h"

namespace prefetch::system {

using tests::Serve;

// Answers by an image's tag: "good" starts, "closed" is refused, "odd" is not known; Always is a no.
inline status::CheckAnswer AnswerTo(const status::CheckQuestion& question) {
  status::CheckAnswer answer{.image = question.image,
                             .policy = std::string(base::EnumName(question.policy)),
                             .listed = true,
                             .result = "Refused",
                             .reason = "RecordedForOthers",
                             .rule = "12: no credential matches",
                             .message = "kubelet's record opens it to 2 secrets only."};
  bool has_secret = !question.identity.secrets.empty() || question.identity.service_account;
  if (question.policy == image::PullPolicy::kAlways) {
    answer.result = "Pulls";
    answer.reason = "PolicyAlways";
    answer.message = "contacts the registry: not checked yet";
  } else if (question.image.ends_with(":odd")) {
    answer.result = "Unknown";
    answer.reason = "FactsUnknown";
  } else if (question.image.ends_with(":good") || has_secret) {
    answer.ok = true;
    answer.result = "Starts";
    answer.reason = "OpenToNode";
  }
  return answer;
}

inline http::ServerResponse AnswerAll(const http::ServerRequest& request) {
  auto questions = status::ParseCheckRequest(request.body);
  if (!questions) return http::ErrorResponse(400, questions.error().message());
  status::CheckResult result{.node = "ci-7", .time = {}, .ok = true, .answers = {}};
  for (const status::CheckQuestion& question : questions->questions) {
    result.answers.push_back(AnswerTo(question));
    result.ok = result.ok && result.answers.back().ok;
  }
  return http::JsonResponse(200, status::CheckResultJson(result));
}

class Check : public testing::Test {
 protected:
  std::string Url(int port) const { return "http://127.0.0.1:" + std::to_string(port); }

  // Words of prefetchctl.
  rig::Command Prefetchctl(const std::string& agent, const Words& words) {
    rig::Command command{{rig::Prefetchctl()}, {{"PREFETCHD_AGENT", agent}}};
    for (const std::string& word : words)
      command.argv.push_back(base::ReplaceAll(word, "@", scratch_.path()));
    return command;
  }
  rig::Command Command(const std::string& agent, Words more) {
    more.insert(more.begin(), "check");
    return Prefetchctl(agent, more);
  }
  rig::Ran Run(const std::string& agent, const Words& more) {
    return *tests::Must(rig::RunProgram(Command(agent, more), std::chrono::seconds(30)));
  }

  rig::Scratch scratch_;
};

// The report about a closed image.
inline const std::string kClosed =
    "on node ci-7: refused (RecordedForOthers): kubelet's record opens it to 2 secrets only. → let the agent "
    "touch it (--touch), or exempt it: prefetchctl list export --for kubelet\n";

}  // namespace prefetch::system
