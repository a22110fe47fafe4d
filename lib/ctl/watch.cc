#include "ctl/watch.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "base/secret.h"
#include "base/sha256.h"
#include "base/text.h"
#include "ctl/cluster.h"
#include "ctl/exit_code.h"
#include "doc/duration.h"
#include "screen/fleet_news.h"

namespace prefetch::ctl {
namespace {

using std::chrono::seconds;

constexpr std::size_t kMostSecretBytes = 4096;
constexpr seconds kShortestInterval{10};
constexpr seconds kWebhookLimit{15};
constexpr const char* kSignature = "X-Prefetchd-Signature-256";

// The only line of a file, as `kubectl create secret` and `echo` write it.
std::string OneLine(const std::string& path, Mistakes& mistakes) {
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

class FleetWatch {
 public:
  FleetWatch(const base::Call& call, kube::Api& api, http::Client& client, const FleetQuery& query,
             base::Secret url, base::Secret key, std::ostream& out, std::ostream& err)
      : call_(call),
        api_(api),
        client_(client),
        query_(query),
        url_(std::move(url)),
        key_(std::move(key)),
        out_(out),
        err_(err) {}

  // One look at the fleet, and at most one request to the webhook. Returns the exit code of a single round.
  int Round() {
    auto roster = ListMembers(call_, api_, query_);
    if (!roster) return Fail(kUnreachable, Explain(roster.failure()), err_);
    FleetAnswers answers =
        AskMembers(call_, api_, roster->members, {.name_space = query_.name_space, .tokens = &tokens_});
    if (call_.Stopped()) return kInterrupted;
    if (answers.forbidden) return Fail(kUnreachable, Explain(*answers.forbidden), err_);
    const screen::FleetNotice notice = news_.Compare(answers.nodes);
    if (!notice.Empty() && !Send(screen::NoticeJson(notice, clock_.Wall()))) {
      return call_.Stopped() ? kInterrupted : kNo;
    }
    news_.Delivered(notice, answers.nodes);
    if (!notice.Empty()) {
      out_ << base::Rfc3339(clock_.Wall()) << " told of "
           << base::Counted(notice.failing.size(), "failing node", "failing nodes") << " and "
           << notice.recovered.size() << " that recovered" << std::endl;
    }
    return kOk;
  }

 private:
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
    err_ << "prefetchctl: the webhook "
         << (response ? "answers " + std::to_string(response->status)
                      : "cannot be reached (" + std::string(base::CodeName(response.error().code())) + ")")
         << "; the news is sent again in the next round" << std::endl;
    return false;
  }

  const base::Call& call_;
  kube::Api& api_;
  http::Client& client_;
  const FleetQuery& query_;
  const base::Secret url_, key_;
  std::ostream& out_;
  std::ostream& err_;
  base::SystemClock clock_;
  FleetTokens tokens_;
  screen::FleetNews news_;
};

}  // namespace

int WatchFleet(const base::Call& call, kube::Api& api, http::Client& client, const WatchOptions& options,
               std::ostream& out, std::ostream& err) {
  Mistakes mistakes;
  auto interval = doc::ParseDuration(options.interval);
  if (!interval || *interval < kShortestInterval)
    mistakes.emplace_back("--interval must be a duration of at least 10s");
  std::string url = OneLine(options.webhook_file, mistakes);
  if (!url.starts_with("https://") && !url.starts_with("http://") && mistakes.empty()) {
    mistakes.push_back(options.webhook_file + ": must have a URL that begins with https:// or http://");
  }
  std::string key = options.secret_file.empty() ? "" : OneLine(options.secret_file, mistakes);
  if (!mistakes.empty()) return Refuse(mistakes, err);
  FleetWatch watch(call, api, client, options.query, base::Secret(std::move(url)),
                   base::Secret(std::move(key)), out, err);
  while (true) {
    const int exit = watch.Round();
    if (options.once) return exit;
    if (!base::Pause(call, *interval)) return kInterrupted;
  }
}

}  // namespace prefetch::ctl
