#include "ctl/commands.h"

#include <utility>

#include "base/fs.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/text.h"
#include "ctl/cluster.h"
#include "http/curl_client.h"
#include "http/url.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMostSecretBytes = 4096;
constexpr seconds kWebhookLimit{15};
constexpr const char* kSignature = "X-Prefetchd-Signature-256";

// Returns the only line of a file, as `kubectl create secret` and `echo` write it.
std::string ReadLine(const std::string& path, Mistakes& mistakes) {
  auto text = base::ReadFile(path, kMostSecretBytes);
  if (!text) {
    mistakes.push_back(text.error().message());
    return "";
  }
  std::string line(base::TrimSpace(*text));
  base::WipeString(*text);
  if (line.empty() || line.find('\n') != std::string::npos) mistakes.push_back(path + ": must be one line");
  return line;
}

// Returns true for answers that stay the same until a user corrects the URL, which contains the credentials,
// too.
bool IsPermanentRejection(int status) {
  return status == 401 || status == 403 || status == 404 || status == 410;
}

class FleetWatch {
 public:
  FleetWatch(const base::Call& call, kube::Api& api, const config::GetEnv& get_env,
             const WatchOptions& options, base::Secret url, base::Secret key, std::ostream& out,
             std::ostream& err)
      : call_(call),
        api_(api),
        agents_(api, options.query.name_space),
        client_(EnvironmentProxies(get_env)),
        options_(options),
        url_(std::move(url)),
        key_(std::move(key)),
        out_(out),
        err_(err) {}

  int Run() {
    while (true) {
      const int exit = Round();
      if (options_.once || needs_user_action_) return exit;
      if (!base::Pause(call_, options_.interval)) return kInterrupted;
    }
  }

 private:
  // Polls the fleet once, and sends at most one request to the webhook. Returns the exit code of a single
  // round. News counts as delivered only after the webhook has accepted it, so a failed request is repeated
  // with the next round's news.
  int Round() {
    auto roster = ListMembers(call_, api_, options_.query, news_.announced());
    if (call_.Stopped()) return kInterrupted;
    if (!roster) return Unreachable(roster.failure());
    if (std::exchange(left_out_, roster->left_out) != roster->left_out) NoteLeftOut(left_out_, err_);
    const bool empty = roster->members.empty();
    if (!std::exchange(was_empty_, empty) && empty) err_ << "note: no node matches (yet): see --nodes\n";
    FleetAnswers answers = PollMembers(call_, agents_, roster->members, {});
    if (call_.Stopped()) return kInterrupted;
    if (answers.forbidden) return Unreachable(*answers.forbidden);
    const screen::FleetNotice notice = news_.Compare(screen::GatherFleet(std::move(answers.nodes)));
    if (notice.Empty()) return kOk;
    if (!Send(screen::NoticeJson(notice, clock_.Wall()))) return call_.Stopped() ? kInterrupted : kNegative;
    news_.MarkDelivered(notice);
    out_ << base::Rfc3339(clock_.Wall()) << " told of "
         << base::Plural(notice.failing.nodes.size(), "failing node", "failing nodes") << " and "
         << notice.recovered.size() << " that recovered" << std::endl;
    return kOk;
  }

  int Unreachable(const kube::Failure& failure) {
    needs_user_action_ = NeedsUserAction(failure);
    return Fail(kUnreachable, ToUserError(failure), err_);
  }

  // The URL may be a secret, so no message has it.
  bool Send(const std::string& body) {
    http::Request request;
    request.method = "POST";
    request.url = std::string(url_.Reveal());
    request.headers.Add("Content-Type", "application/json");
    if (!key_.empty()) request.headers.Add(kSignature, "sha256=" + base::HmacSha256Hex(key_.Reveal(), body));
    request.body = body;
    auto response = client_.Send(call_.Within(kWebhookLimit), request);
    if (response && response->status >= 200 && response->status < 300) return true;
    if (call_.Stopped()) return false;
    needs_user_action_ = response ? IsPermanentRejection(response->status)
                                  : response.error().code() == base::Code::kInvalidArgument;
    err_ << "prefetchctl: the webhook "
         << (response ? "answers " + std::to_string(response->status)
                      : "cannot be reached (" + std::string(base::EnumName(response.error().code())) + ")")
         << (needs_user_action_ ? ": correct the URL in --webhook-file, and start again"
             : options_.once    ? ""
                                : "; the news is sent again in the next round")
         << std::endl;
    return false;
  }

  const base::Call& call_;
  kube::Api& api_;
  FleetAgents agents_;
  http::CurlClient client_;
  const WatchOptions& options_;
  const base::Secret url_, key_;
  std::ostream& out_;
  std::ostream& err_;
  base::SystemClock clock_;
  screen::FleetNews news_;
  std::size_t left_out_ = 0;
  bool was_empty_ = false;          // no node matched in the last round
  bool needs_user_action_ = false;  // the last failure lasts until a user changes something
};

}  // namespace

int WatchFleet(const base::Call& call, kube::Api& api, const config::GetEnv& get_env,
               const WatchOptions& options, std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  std::string url = ReadLine(options.webhook_file, mistakes);
  if (auto fits = http::ParseAbsoluteUrl(url); !fits && mistakes.empty())
    mistakes.push_back(options.webhook_file + ": must have an http or https URL: " + fits.error().message());
  std::string key = options.secret_file.empty() ? "" : ReadLine(options.secret_file, mistakes);
  if (!mistakes.empty()) return RejectInput(mistakes, err);
  return FleetWatch(call, api, get_env, options, base::Secret(std::move(url)), base::Secret(std::move(key)),
                    out, err)
      .Run();
}

}  // namespace prefetch::ctl
