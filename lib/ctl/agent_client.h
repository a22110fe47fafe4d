// AgentClient: asks one agent, over its unix socket or by URL.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/result.h"
#include "http/client.h"
#include "screen/status_document.h"
#include "status/check_document.h"

namespace prefetch::ctl {

// Where the agent listens if nothing else is said.
inline constexpr const char* kDefaultAgent = "unix:///run/prefetchd/prefetchd.sock";

// Is this written as an agent's address is?
bool IsAgentAddress(const std::string& text);

// Where the volume of `generate init-container` has the pod's token for the agent.
inline constexpr const char* kTokenFile = "/var/run/secrets/prefetchd/token";

// For what an agent knows without asking others.
inline constexpr std::chrono::seconds kAnswerWithin{10};

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
  bool ShowsToken() const { return !token_file_.empty(); }

  // The status document. Errors are whole sentences for a person, with what to do.
  base::Result<screen::StatusDocument> Status(const base::Call& call) const;
  // The same as it came, for -o json.
  base::Result<std::string> StatusJson(const base::Call& call) const;
  // All that is known about one image, as it came (screen/image_document.h), also of one that is not there.
  // InvalidArgument: the agent refuses the name.
  base::Result<std::string> ImageJson(const base::Call& call, const std::string& image,
                                      const ImageQuery& query) const;
  // One answer for each of at most kMostQuestions, within a time that is shorter than the call's where
  // nothing should take long. InvalidArgument: the agent refuses the questions; PermissionDenied: it pulls
  // for no check, or not for one from here; ResourceExhausted: it asks for patience; NotFound, Unavailable
  // and DeadlineExceeded: it may be there in a moment; any other error stays. PermissionDenied also where it
  // refuses the token. `again_after`: how much patience it asks for with ResourceExhausted; zero: it does not
  // say.
  base::Result<status::CheckResult> Check(const base::Call& call, const status::CheckRequest& request,
                                          base::Duration within = kAnswerWithin,
                                          base::Duration* again_after = nullptr) const;

 private:
  AgentClient(http::Client& http, std::string address, std::string url, std::string socket)
      : http_(&http), address_(std::move(address)), url_(std::move(url)), socket_(std::move(socket)) {}

  // Any complete answer. Errors say what to do.
  base::Result<http::Response> Send(const base::Call& call, http::Request request) const;
  base::Status ShowToken(http::Request& request) const;
  // For an answer that is not the expected one.
  base::Error Unexpected(const http::Response& response) const;

  http::Client* http_;
  std::string address_;
  std::string url_;
  std::string socket_;
  std::string token_file_;
};

}  // namespace prefetch::ctl
