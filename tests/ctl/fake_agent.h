// FakeAgent: an agent that AgentClient can ask, with one answer for each path.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ctl/agent_client.h"
#include "http/client.h"

namespace prefetch::tests {

// One thread.
class FakeAgent : public http::Client {
 public:
  // Sets the answer for a path with any query. Other paths answer 404.
  void Answers(const std::string& path, int status, std::string body, const std::string& retry_after = "") {
    http::Response response{.status = status, .headers = {}, .body = std::move(body)};
    if (!retry_after.empty()) response.headers.Add("Retry-After", retry_after);
    answers_.insert_or_assign(path, std::move(response));
  }
  // It cannot be reached any more.
  void Goes(base::Error why) { gone_ = std::move(why); }
  // Method, URL and socket of each request: "GET http://localhost/v1/status /run/a.sock".
  const std::vector<std::string>& asked() const { return asked_; }

  ctl::AgentClient Client(const std::string& address = "unix:///run/a.sock") {
    return *ctl::AgentClient::Make(*this, address);
  }

  http::ExchangeResult Exchange(const base::Call&, const http::Request& request) override {
    asked_.push_back(request.method + " " + request.url + " " + request.unix_socket);
    if (gone_) return {*gone_, http::Fault::kConnect};
    const std::size_t path = request.url.find('/', request.url.find("//") + 2);
    auto answer = answers_.find(request.url.substr(path, request.url.find('?') - path));
    if (answer == answers_.end()) return {http::Response{.status = 404, .headers = {}, .body = ""}};
    return {answer->second};
  }

 private:
  std::map<std::string, http::Response> answers_;
  std::optional<base::Error> gone_;
  std::vector<std::string> asked_;
};

// A node "ci-7" that has q.io/a:v1, and lacks q.io/b:v1.
inline const std::string kTwoImages =
    R"({"apiVersion":"prefetchd.dev/v1","kind":"NodeStatus","node":"ci-7","images":[
{"image":"q.io/a:v1","present":true,"readyFor":"Never","from":["images.yaml:4"]},
{"image":"q.io/b:v1","present":false,"readyFor":"Never","message":"tag is gone"}]})";

}  // namespace prefetch::tests
