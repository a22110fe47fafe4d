#include "fakes/api_question.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "doc/write.h"

namespace prefetch::tests {
namespace {

doc::Node Text(std::string text) {
  return doc::Node::String(std::move(text));
}

}  // namespace

ApiQuestion ApiQuestion::Of(const http::ServerRequest& request) {
  ApiQuestion asked;
  asked.version = request.path == "/version";
  if (request.path == "/apis/authentication.k8s.io/v1/tokenreviews" && request.method == "POST") {
    asked.verb = "create";
    asked.group = "authentication.k8s.io";
    asked.resource = "tokenreviews";
    asked.known = true;
    return asked;
  }
  std::vector<std::string_view> parts = base::Split(request.path, '/');  // "", "api", "v1", ...
  // "", "apis", "apps", "v1", ...
  if (parts.size() > 4 && parts[1] == "apis") {
    asked.group = parts[2];
    parts.erase(parts.begin() + 2);
    parts[1] = "api";
  }
  if (parts.size() < 4 || parts[1] != "api" || parts[2] != "v1") return asked;
  std::size_t at = 3;
  if (parts[at] == "namespaces" && parts.size() > 5) {
    asked.name_space = parts[4];
    at = 5;
  }
  asked.resource = parts[at++];
  if (at < parts.size()) asked.name = parts[at++];
  if (at < parts.size()) asked.subresource = parts[at++];
  for (; at < parts.size(); at++) asked.rest += "/" + std::string(parts[at]);
  if (request.method == "GET") asked.verb = asked.name.empty() ? "list" : "get";
  if (request.method == "POST") asked.verb = "create";
  if (request.method == "PATCH") asked.verb = "patch";
  if (request.method == "DELETE") asked.verb = "delete";
  if (asked.verb.empty()) return asked;
  static const std::map<std::string, std::vector<std::string>> kKnown = {
      {"",
       {"nodes", "nodes/status", "pods", "pods/proxy", "events", "serviceaccounts/token", "serviceaccounts",
        "configmaps"}},
      {"apps", {"deployments", "daemonsets", "statefulsets"}},
      {"batch", {"cronjobs", "jobs"}}};
  const auto group = kKnown.find(asked.group);
  asked.known = group != kKnown.end() &&
                std::count(group->second.begin(), group->second.end(), asked.FullResource()) > 0;
  return asked;
}

http::ServerResponse JsonAnswer(int status, const doc::Node& object) {
  return http::JsonResponse(status, doc::WriteJson(object));
}

http::ServerResponse StatusAnswer(int code, const std::string& reason, const std::string& message) {
  doc::Node status = doc::Node::Mapping();
  status.Set("kind", Text("Status")).Set("apiVersion", Text("v1")).Set("metadata", doc::Node::Mapping());
  status.Set("status", Text("Failure")).Set("message", Text(message)).Set("reason", Text(reason));
  status.Set("code", doc::Node::Int(code));
  return JsonAnswer(code, status);
}

std::string ReasonOf(int code) {
  static const std::map<int, std::string> kReasons = {{400, "BadRequest"},    {401, "Unauthorized"},
                                                      {403, "Forbidden"},     {404, "NotFound"},
                                                      {409, "Conflict"},      {410, "Expired"},
                                                      {422, "Invalid"},       {429, "TooManyRequests"},
                                                      {500, "InternalError"}, {503, "ServiceUnavailable"},
                                                      {504, "Timeout"}};
  auto found = kReasons.find(code);
  return found == kReasons.end() ? "" : found->second;
}

}  // namespace prefetch::tests
