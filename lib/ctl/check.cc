#include "ctl/check.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>

#include "base/scrub.h"
#include "ctl/annotate.h"
#include "ctl/exit_code.h"
#include "ctl/manifest_files.h"
#include "doc/duration.h"
#include "doc/reprint.h"
#include "manifest/read.h"
#include "screen/check_items.h"
#include "screen/check_text.h"

namespace prefetch::ctl {
namespace {

// A command line that was understood.
struct Request {
  std::vector<screen::CheckItem> items;
  std::chrono::nanoseconds timeout{};
  std::vector<std::string> notes;  // sentences about images that are not asked about
  std::vector<manifest::UnreadObject> unread;
  std::string list;  // the first file with an image list of ours, which has no pods
};

std::optional<image::PullPolicy> Policy(const std::optional<std::string>& text, const std::string& flag,
                                        Mistakes& mistakes) {
  if (!text) return std::nullopt;
  auto policy = image::ParsePullPolicy(*text);
  if (!policy) mistakes.push_back(flag + " must be Never, IfNotPresent or Always");
  return policy;
}

status::CheckIdentity Identity(const CheckOptions& options, bool shows_token, Mistakes& mistakes) {
  status::CheckIdentity identity;
  for (const std::string& text : options.pod_secrets) {
    auto secret = shows_token ? status::ParseOwnSecret(text) : status::ParseCoordinates(text);
    if (secret) {
      identity.secrets.push_back(*std::move(secret));
    } else {
      mistakes.emplace_back(!shows_token ? "--pod-secret must be NAMESPACE/NAME/UID"
                                         : "--pod-secret must be NAME or NAME/UID");
    }
  }
  if (!options.pod_service_account) return identity;
  identity.service_account = status::ParseCoordinates(*options.pod_service_account);
  if (!identity.service_account) mistakes.emplace_back("--pod-service-account must be NAMESPACE/NAME/UID");
  return identity;
}

Request Understand(const base::Call& call, const CheckOptions& options, bool shows_token,
                   Mistakes& mistakes) {
  Request request;
  auto timeout = doc::ParseDuration(options.timeout);
  if (timeout && timeout->count() > 0) {
    request.timeout = *timeout;
  } else {
    mistakes.emplace_back("--timeout must be a duration such as 30s or 5m");
  }
  manifest::ReadOptions read;
  read.policy = {options.assume_always_pull, Policy(options.default_policy, "--default-policy", mistakes),
                 Policy(options.default_check_policy, "--default-check-policy", mistakes)};
  read.pod_template_paths = options.pod_template_paths;
  read.allow_unread = options.allow_unread;
  status::CheckIdentity identity = Identity(options, shows_token, mistakes);
  std::vector<manifest::ImageUse> uses;
  ReadManifestFiles(
      call, FindManifests(options.files, mistakes), read,
      [&](ManifestFile file) {
        std::move(file.mistakes.begin(), file.mistakes.end(), std::back_inserter(mistakes));
        std::move(file.manifests.uses.begin(), file.manifests.uses.end(), std::back_inserter(uses));
        if (request.list.empty() && file.manifests.passed_over.contains("ImageList.prefetchd.dev")) {
          request.list = file.name;
        }
        for (const manifest::StepReference& reference : file.manifests.references) {
          request.notes.push_back(file.name + ":" + std::to_string(reference.at.line) + ": " +
                                  manifest::ReferenceTitle(reference) + ", which is not checked");
        }
        for (const manifest::OpenImage& image : file.manifests.open) {
          request.notes.push_back(file.name + ":" + std::to_string(image.at.line) + ": " +
                                  base::InOneLine(image.why) + ", which is not checked");
        }
        std::move(file.manifests.unread.begin(), file.manifests.unread.end(),
                  std::back_inserter(request.unread));
      },
      mistakes);
  for (const CheckOptions::Image& image : options.images) {
    auto policy = Policy(image.policy, "--policy", mistakes);
    uses.push_back(screen::ImageByItself(image.image, policy, read.policy));
    auto reference = image::Reference::Parse(image.image);
    if (!reference) mistakes.push_back("--image " + image.image + ": " + reference.error().message());
  }
  if (options.files.empty() && options.images.empty()) {
    mistakes.emplace_back("name manifests with -f, or images with --image");
  }
  request.items = screen::CheckItems(uses, read.policy, identity,
                                     options.default_namespace.value_or(shows_token ? "" : "default"));
  return request;
}

void Print(const Request& request, const status::CheckResult& result, const CheckOptions& options,
           std::ostream& out) {
  switch (options.output) {
    case CheckOutput::kText:
      out << screen::CheckText(request.items, result, {options.unknown_passes, options.width});
      break;
    case CheckOutput::kGithub:
      out << screen::CheckGithub(request.items, result, options.unknown_passes, request.unread);
      break;
    case CheckOutput::kJson: {
      auto indented = doc::IndentedJson(screen::CheckReportJson(request.items, result, request.unread));
      if (indented) out << *indented;
      break;
    }
  }
  out << std::flush;
}

// The answers are printed already, so a page that cannot be told changes no exit code.
void TellPage(const base::Call& call, const CheckOptions& options, const std::string& line, std::ostream& out,
              std::ostream& err) {
  if (options.annotate.empty()) return;
  auto told = Annotate(
      call, options.annotate, line, [](const char* name) { return std::getenv(name); }, out);
  if (!told) err << "warning: --annotate " << options.annotate << ": " << told.error().message() << "\n";
}

// Exit code 3 if an agent is there and did not decide all in time; 4 if no agent answered. An agent that
// accepts a question and then stays silent counts as absent.
int Unanswered(const base::Error& error, bool any_decided, std::ostream& err) {
  bool busy = error.code() == base::Code::kResourceExhausted;
  return ComesBack(error.code()) && (any_decided || busy) ? Fail(kTimedOut, error, err) : Fail(error, err);
}

}  // namespace

int Check(const base::Call& call, AgentClient agent, const CheckOptions& options, std::ostream& out,
          std::ostream& err) {
  Mistakes mistakes;
  agent.UseToken(options.token_file);
  Request request = Understand(call, options, agent.ShowsToken(), mistakes);
  if (!mistakes.empty()) return Refuse(mistakes, err);
  for (const std::string& note : request.notes) err << "note: " << note << "\n";
  // A gate that asks for nothing must not look like one that passed.
  if (request.items.empty() && !request.list.empty()) {
    return Refuse({request.list +
                   " is an image list, which has no pods: name manifests with -f, or images with --image"},
                  err);
  }
  for (const manifest::UnreadObject& object : request.unread) err << UnreadLine(object) << "\n";
  if (!request.unread.empty())
    err << "note: images of objects that are not read are not checked; --allow-unread KIND accepts them\n";
  status::CheckResult result;
  if (request.items.empty()) {
    result.ok = request.unread.empty();
    if (result.ok) err << "note: no pod of these manifests names an image: nothing to check\n";
    const bool github = options.output == CheckOutput::kGithub && !result.ok;
    if (options.output == CheckOutput::kJson || github) Print(request, result, options, out);
    return result.ok ? kOk : kNo;
  }
  base::Status asked = AskAll(call.Within(request.timeout), agent, request.items, options.pull, result, err);
  // That an image is being pulled is an answer, too.
  bool any_decided = std::any_of(result.answers.begin(), result.answers.end(),
                                 [](const status::CheckAnswer& answer) { return !answer.result.empty(); });
  result.ok = asked.ok() && request.unread.empty() &&
              std::all_of(result.answers.begin(), result.answers.end(),
                          [&](const auto& answer) { return screen::Passes(answer, options.unknown_passes); });
  if (call.Stopped()) return kInterrupted;
  if (asked.ok() || any_decided) Print(request, result, options, out);
  const bool unasked = !asked.ok() && !any_decided;
  TellPage(
      call, options,
      unasked ? asked.error().message() : screen::CheckLine(request.items, result, options.unknown_passes),
      out, err);
  if (!asked.ok()) return Unanswered(asked.error(), any_decided, err);
  return result.ok ? kOk : kNo;
}

}  // namespace prefetch::ctl
