// AgentClient: asks one agent, over its unix socket or by URL.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/call.h"
#include "base/constant_text.h"
#include "base/result.h"
#include "config/settings.h"
#include "http/client.h"
#include "status/check_document.h"
#include "status/documents.h"
#include "status/retry_document.h"

namespace prefetch::ctl {

// The agent's default address.
inline constexpr std::string_view kUnixScheme = "unix://", kDefaultSocket = config::kDefaultLocal;
inline constexpr const char* kDefaultAgent = base::ConstantText<kUnixScheme, kDefaultSocket>::kText;
inline constexpr const char* kDefaultAgentFolder = "/run/prefetchd";

// Returns true if the text has the form of an agent's address.
bool IsAgentAddress(const std::string& text);

// The path of the pod's token for the agent in the volume of `generate init-container`.
inline constexpr const char* kTokenFile = "/var/run/secrets/prefetchd/token";

// Time limit for answers that an agent knows without asking others.
inline constexpr std::chrono::seconds kAnswerTimeout{10};

struct ImageQuery {
  bool credentials = true;  // look them up; the agent may run plugins for it
  bool identities = false;  // by name, those that kubelet has recorded
};

class AgentClient {
 public:
  // `address` is "unix:///path", "/path", or "http://host:port". InvalidArgument otherwise.
  static base::Result<AgentClient> Make(http::Client& http, const std::string& address);

  // An agent that is asked over the network is shown the token in this file, read anew for each preflight:
  // kubelet replaces it. Empty: none.
  void UseToken(std::string file) { token_file_ = socket_.empty() ? std::move(file) : ""; }
  bool UsesToken() const { return !token_file_.empty(); }

  // Returns the status document. Errors are whole sentences that tell the user what to do.
  base::Result<status::StatusDocument> Status(const base::Call& call) const;
  // Returns the status document as received, for -o json.
  base::Result<std::string> StatusJson(const base::Call& call) const;
  // Returns all that is known about one image, unparsed (status/documents.h), also if the image is not
  // there. InvalidArgument: the agent rejects the name.
  base::Result<std::string> ImageJson(const base::Call& call, const std::string& image,
                                      const ImageQuery& query) const;
  // Returns one answer for each question, kMostQuestions at most. `within` is a time limit beside the call's.
  // `retry_delay` gets the Retry-After of ResourceExhausted; zero: the agent sends none. Errors:
  //   InvalidArgument      the agent rejects the questions
  //   PermissionDenied     it pulls for no check, or for none from here, or rejects the token
  //   ResourceExhausted    it is busy
  //   NotFound, Unavailable, DeadlineExceeded: it may answer in a moment
  //   any other            permanent
  base::Result<status::CheckResult> Check(const base::Call& call, const status::CheckRequest& request,
                                          base::Duration within = kAnswerTimeout,
                                          base::Duration* retry_delay = nullptr) const;

  // PermissionDenied: it does not take retries from here. ResourceExhausted: too many; the sentence says when
  // it takes another one.
  base::Result<status::RetryResult> Retry(const base::Call& call, const status::RetryRequest& request) const;

 private:
  AgentClient(http::Client& http, std::string address, std::string url, std::string socket)
      : http_(&http), address_(std::move(address)), url_(std::move(url)), socket_(std::move(socket)) {}

  // Returns any complete answer, of whatever HTTP status. Error messages say what to do.
  base::Result<http::Response> Send(const base::Call& call, http::Request request) const;
  base::Status AddToken(http::Request& request) const;
  // The error for an unexpected answer.
  base::Error Unexpected(const http::Response& response) const;

  http::Client* http_;
  std::string address_;
  std::string url_;
  std::string socket_;
  std::string token_file_;
};

}  // namespace prefetch::ctl
