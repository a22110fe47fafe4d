#include "http/handler.h"

#include "base/log.h"
#include "base/text.h"

namespace prefetch::http {
namespace {

constexpr std::size_t kMaxShownPath = 200;

struct MethodRow {
  std::string_view name;
  Method method;
};
constexpr MethodRow kMethods[] = {
    // MethodName takes the first row of a method, so GET has to come before HEAD.
    {"GET", Method::kGet},         {"HEAD", Method::kGet},    {"POST", Method::kPost},
    {"PUT", Method::kPut},         {"PATCH", Method::kPatch}, {"DELETE", Method::kDelete},
    {"OPTIONS", Method::kOptions},
};

}  // namespace

std::string_view MethodName(Method method) {
  for (const MethodRow& row : kMethods) {
    if (row.method == method) return row.name;
  }
  std::abort();
}

std::optional<Method> ParseMethod(std::string_view name) {
  for (const MethodRow& row : kMethods) {
    if (row.name == name) return row.method;
  }
  return std::nullopt;
}

std::optional<std::string_view> ServerRequest::Query(std::string_view name) const {
  for (const auto& parameter : query) {
    if (parameter.first == name) return parameter.second;
  }
  return std::nullopt;
}

Deferred ServerAnswer::TakeJob() && {
  if (!deferred()) std::abort();
  return std::get<1>(std::move(answer_));
}

ServerResponse ServerAnswer::TakeResponse() && {
  if (deferred()) std::abort();
  return std::get<0>(std::move(answer_));
}

ServerResponse ServerAnswer::Wait(const base::Call& call) && {
  if (!deferred()) return std::move(*this).TakeResponse();
  // The result of a job may be another job, so this goes on until there is a response.
  return std::get<1>(answer_)(call).Wait(call);
}

ServerResponse JsonResponse(int status, std::string json) {
  return {.status = status, .content_type = "application/json", .body = std::move(json), .headers = {}};
}

ServerResponse SharedJsonResponse(int status, SharedBody json) {
  return {.status = status,
          .content_type = "application/json",
          .body = {},
          .headers = {},
          .shared = std::move(json)};
}

ServerResponse ErrorResponse(int status, std::string_view message) {
  std::string json = "{\"error\":\"";
  // The message may quote a path or a name of the request.
  base::AppendJsonEscaped(json, message);
  json += "\"}\n";
  return JsonResponse(status, std::move(json));
}

ServerResponse NotFoundResponse(std::string_view path) {
  return ErrorResponse(404, "nothing is served at " + base::Truncate(path, kMaxShownPath));
}

ServerResponse MethodNotAllowedResponse(std::initializer_list<Method> allowed) {
  std::string list;
  for (Method method : allowed) {
    if (!list.empty()) list += ", ";
    list += MethodName(method);
    if (method == Method::kGet) list += ", HEAD";
  }
  ServerResponse response = ErrorResponse(405, "this path is for " + list + " only");
  response.headers.Add("Allow", list);
  return response;
}

}  // namespace prefetch::http
