#include "ctl/agent_client.h"

#include <utility>

#include "base/fs.h"
#include "base/scrub.h"
#include "base/secret.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "http/url.h"
#include "kube/decode.h"

namespace prefetch::ctl {
namespace {

// Maximum size of an answer: status documents grow with the list.
constexpr std::size_t kMostBytes = 32U << 20;
constexpr std::size_t kLongestToken = 64U << 10;

std::string Advice(const base::Error& error) {
  switch (error.code()) {
    case base::Code::kNotFound:
      return "is prefetchd running, and is this its --local path? Name another with --agent";
    case base::Code::kPermissionDenied:
      return "run as root, or ask its --listen address with --agent http://host:port";
    case base::Code::kUnavailable:
      return "is prefetchd running there?";
    case base::Code::kDeadlineExceeded:
      return "it does not answer in time: see its log";
    case base::Code::kInvalidArgument:
    case base::Code::kCancelled:
    case base::Code::kResourceExhausted:
    case base::Code::kInternal:
      return "is that a prefetchd?";
  }
  std::abort();
}

// Returns the text of {"error":"…"}, without control characters that a terminal would obey.
std::string ErrorOf(const http::Response& response) {
  const doc::Node root = doc::ParseOrNull(response.body, {});
  const doc::Node* error = root.Find("error");
  return error != nullptr ? base::WithoutControls(error->text) : "it does not say why";
}

// Removes brackets around an IPv4 address, as in "http://[10.0.0.1]:9477". Manifests write brackets around an
// address of either family, but they are for IPv6 alone.
std::string WithoutNeedlessBrackets(const std::string& address) {
  const std::size_t open = address.find('['), close = address.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return address;
  const std::string host = address.substr(open + 1, close - open - 1);
  if (host.find(':') != std::string::npos) return address;
  return address.substr(0, open) + host + address.substr(close + 1);
}

}  // namespace

bool IsAgentAddress(const std::string& text) {
  return text.starts_with("unix://") || text.starts_with("http://");
}

base::Result<AgentClient> AgentClient::Make(http::Client& http, const std::string& address) {
  std::string socket;
  if (address.starts_with("unix://")) socket = address.substr(7);
  // The host in the URL of a socket is of no meaning, but HTTP requires one.
  if (address.starts_with("/")) socket = address;
  if (!socket.empty() && socket.front() == '/') return AgentClient(http, address, "http://localhost", socket);
  std::string why;
  if (address.starts_with("http://")) {
    std::string url = WithoutNeedlessBrackets(address);
    const auto parsed = http::ParseAbsoluteUrl(url);
    while (url.ends_with("/")) url.pop_back();
    // The paths of the API follow the address.
    const bool ends = url.find_first_of("?#") == std::string::npos;
    if (parsed && ends) return AgentClient(http, address, url, "");
    why = ": " + (parsed ? "it has a query or a fragment" : parsed.error().message());
  }
  // User information, a query and a fragment may be secrets.
  return base::InvalidArgument("--agent must be unix:///path or http://host:port, not " +
                               http::DisplayUrl(address) + why);
}

base::Result<http::Response> AgentClient::Send(const base::Call& call, http::Request request) const {
  request.url = url_ + request.url;
  request.unix_socket = socket_;
  request.max_body_bytes = kMostBytes;
  auto response = http_->Exchange(call, request).response;
  if (response) return response;
  std::string advice = Advice(response.error());
  // ResourceExhausted means here that the answer was too long, while callers take it for an agent that is
  // busy.
  base::Code code = response.error().code();
  if (code == base::Code::kResourceExhausted) code = base::Code::kInternal;
  return base::Error(
      code, "cannot ask the agent at " + address_ + ": " + response.error().message() + " (" + advice + ")");
}

base::Status AgentClient::AddToken(http::Request& request) const {
  if (token_file_.empty() || !socket_.empty()) return {};
  auto text = base::ReadFile(token_file_, kLongestToken);
  // InvalidArgument, since waiting does not bring the file, as it may bring an agent.
  if (!text) return base::InvalidArgument("the token for the agent: " + text.error().message());
  std::string header = "Bearer " + std::string(base::TrimSpace(*text));
  request.authorization = base::Secret(std::move(header));
  base::WipeString(*text);
  return {};
}

base::Error AgentClient::Unexpected(const http::Response& response) const {
  std::string words = "the agent at " + address_ + " answered " + std::to_string(response.status);
  if (response.status == 429 || response.status == 503)
    return base::ResourceExhausted(words + ": it is busy");
  return base::Internal(words + ": is that a prefetchd, and as new as this prefetchctl?");
}

base::Result<std::string> AgentClient::StatusJson(const base::Call& call) const {
  auto response = Send(call.Within(kAnswerTimeout), {.url = "/v1/status"});
  if (!response) return std::move(response).error();
  if (response->status != 200) return Unexpected(*response);
  return std::move(response->body);
}

base::Result<std::string> AgentClient::ImageJson(const base::Call& call, const std::string& image,
                                                 const ImageQuery& query) const {
  std::string url = "/v1/images/" + base::PercentEncode(image, "/:@") +
                    "?credentials=" + (query.credentials ? "true" : "false") +
                    "&identities=" + (query.identities ? "true" : "false");
  auto response = Send(call, {.url = url});
  if (!response) return std::move(response).error();
  if (response->status == 400) return base::InvalidArgument("the agent refuses " + image);
  // An agent sends the same document with 404. Without it, this address does not serve single images.
  bool document = response->status == 200 ||
                  (response->status == 404 && response->body.find("\"ImageStatus\"") != std::string::npos);
  if (document) return std::move(response->body);
  if (response->status == 404) {
    return base::Internal(
        "the agent at " + address_ +
        " answers about single images only on its local socket: ask on the node itself, with "
        "--agent " +
        kDefaultAgent);
  }
  return Unexpected(*response);
}

base::Result<status::CheckResult> AgentClient::Check(const base::Call& call,
                                                     const status::CheckRequest& check, base::Duration within,
                                                     base::Duration* retry_delay) const {
  http::Request request{.method = "POST", .url = "/v1/check", .body = doc::WriteJson(status::ToNode(check))};
  request.headers.Add("Content-Type", "application/json");
  if (base::Status shown = AddToken(request); !shown) return shown.error();
  auto response = Send(call.Within(within), std::move(request));
  if (!response) return std::move(response).error();
  if (response->status == 401 || response->status == 403) {
    const std::string what = response->status == 401 ? " refuses the token"
                             : check.pull            ? " refuses --pull"
                                                     : " refuses";
    return base::PermissionDenied("the agent at " + address_ + what + ": " + ErrorOf(*response));
  }
  if (response->status == 429 || response->status == 503) {
    auto retry_after = kube::ParseRetryAfter(response->headers.Get("Retry-After").value_or(""),
                                             std::chrono::system_clock::now());
    if (retry_delay != nullptr) *retry_delay = retry_after.value_or(std::chrono::seconds(0));
    return base::ResourceExhausted(Unexpected(*response).message() + ": " + ErrorOf(*response));
  }
  if (response->status == 400 || response->status == 413) {
    // This program's questions are well formed, so an older agent does not know the name of a newer option.
    return base::InvalidArgument("the agent refuses the question: " + ErrorOf(*response) +
                                 " (is it as new as this prefetchctl?)");
  }
  if (response->status != 200) return Unexpected(*response);
  auto result = status::ParseCheckResult(response->body);
  if (result && result->answers.size() == check.questions.size()) return result;
  return base::Internal("the agent at " + address_ + " gave an unexpected answer" +
                        (result ? "" : ": " + result.error().message()));
}

base::Result<status::RetryResult> AgentClient::Retry(const base::Call& call,
                                                     const status::RetryRequest& retry) const {
  http::Request request{.method = "POST", .url = "/v1/retry", .body = doc::WriteJson(status::ToNode(retry))};
  request.headers.Add("Content-Type", "application/json");
  auto response = Send(call.Within(kAnswerTimeout), std::move(request));
  if (!response) return std::move(response).error();
  const std::string agent = "the agent at " + address_;
  if (response->status == 429) return base::ResourceExhausted(agent + " refuses: " + ErrorOf(*response));
  if (response->status == 403) return base::PermissionDenied(agent + " refuses: " + ErrorOf(*response));
  if (response->status == 400) return base::InvalidArgument(agent + " refuses: " + ErrorOf(*response));
  if (response->status != 200) return Unexpected(*response);
  auto result = status::ParseRetryResult(response->body);
  if (result) return result;
  return base::Internal(agent + " gave an unexpected answer: " + result.error().message());
}

base::Result<status::StatusDocument> AgentClient::Status(const base::Call& call) const {
  auto json = StatusJson(call);
  if (!json) return std::move(json).error();
  auto document = status::ParseStatusDocument(*json);
  if (!document)
    return std::move(document).error().Wrap("the agent at " + address_ + " sent no status document");
  return document;
}

}  // namespace prefetch::ctl
