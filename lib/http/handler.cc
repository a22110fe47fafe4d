#include "http/handler.h"

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "http/addresses.h"

namespace prefetch::http {

namespace {

constexpr std::size_t kMaxShownPath = 200;

}  // namespace

std::optional<std::string_view> ServerRequest::Query(std::string_view name) const {
  for (const auto& parameter : query) {
    if (parameter.first == name) return parameter.second;
  }
  return std::nullopt;
}

Deferred HandlerResult::TakeJob() && {
  if (!deferred()) std::abort();
  return std::get<1>(std::move(answer_));
}

ServerResponse HandlerResult::TakeResponse() && {
  if (deferred()) std::abort();
  return std::get<0>(std::move(answer_));
}

ServerResponse HandlerResult::Wait(const base::Call& call) && {
  if (!deferred()) return std::move(*this).TakeResponse();
  // The result of a job may be another job, so this goes on until there is a response.
  return std::get<1>(answer_)(call).Wait(call);
}

ServerResponse JsonResponse(int status, std::string json) {
  return {.status = status, .content_type = "application/json", .body = std::move(json)};
}

ServerResponse SharedJsonResponse(int status, SharedBody json) {
  return {.status = status, .content_type = "application/json", .shared = std::move(json)};
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

ServerResponse MethodNotAllowedResponse(const std::string& allowed) {
  ServerResponse response = ErrorResponse(405, "this path is for " + allowed + " only");
  response.headers.Add("Allow", allowed);
  return response;
}

BodyBudget::Reservation BodyBudget::MakeReservation(std::function<void()> give_back) {
  return Reservation(this, [give_back = std::move(give_back)](const void*) { give_back(); });
}

// Many connections may send the same body, such as one status document. It counts once.
BodyBudget::Reservation BodyBudget::ReserveBody(const SharedBody& body, bool local) {
  {
    base::Lock lock(mutex_);
    auto known = body_users_.find(body.get());
    if (known == body_users_.end()) {
      // A body that is alone always has room. Otherwise a list longer than the limit could never be shown.
      if (used_ + body->size() > LimitFor(local) && !body_users_.empty()) return nullptr;
      known = body_users_.emplace(body.get(), 0).first;
      used_ += body->size();
    }
    known->second++;
  }
  // The body is held as well, so that its address, which is the key, cannot be used by another one meanwhile.
  return MakeReservation([self = shared_from_this(), body] { self->ReleaseBody(body); });
}

void BodyBudget::ReleaseBody(const SharedBody& body) {
  base::Lock lock(mutex_);
  auto known = body_users_.find(body.get());
  if (--known->second > 0) return;
  body_users_.erase(known);
  used_ -= body->size();
}

BodyBudget::Reservation BodyBudget::Reserve(std::size_t bytes, bool local) {
  {
    base::Lock lock(mutex_);
    if (used_ + bytes > LimitFor(local)) return nullptr;
    used_ += bytes;
  }
  return MakeReservation([self = shared_from_this(), bytes] {
    base::Lock lock(self->mutex_);
    self->used_ -= bytes;
  });
}

bool BodyBudget::IsUnderPressure() const {
  base::Lock lock(mutex_);
  return used_ > limits_.network / 4 * 3;
}

std::size_t BodyBudget::used() const {
  base::Lock lock(mutex_);
  return used_;
}

namespace {

// Nobody can register names below .localhost, .local and .internal (RFC 6761, RFC 6762, ICANN's resolution on
// .internal). The others are no public suffixes: only a cluster's own servers know "prefetchd.prefetchd.svc",
// and "prefetchd.prefetchd" in the usual namespace.
constexpr std::string_view kPrivateSuffixes[] = {".localhost", ".svc", ".local", ".internal", ".prefetchd"};

// Returns the name without port and brackets; empty if it is malformed.
std::string NameOf(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return "";
    port = host.substr(end + 1);
    host = host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (!port.empty() && (port.front() != ':' || (port.size() > 1 && !base::ParseUint(port.substr(1)))))
    return "";
  // A dot at the end only makes the name absolute.
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  const auto fits = [](char c) {
    return base::IsLowerOrDigit(c) || c == '-' || c == '.' || c == '_' || c == ':';
  };
  std::string name = base::ToLower(host);
  return std::all_of(name.begin(), name.end(), fits) ? name : "";
}

}  // namespace

bool IsTrustedHostName(std::string_view host, const std::vector<std::string_view>& own) {
  if (host.empty()) return true;
  const std::string name = NameOf(host);
  if (name.empty()) return false;
  // A page under an address was served by that address, so no third party made it.
  if (IsAddress(name)) return true;
  if (name.find(':') != std::string::npos) return false;
  // No public registry gives out a name without a dot.
  if (name.find('.') == std::string::npos) return true;
  const auto is_name = [&](std::string_view each) { return base::EqualsIgnoreCase(each, name); };
  const auto ends_name = [&](std::string_view each) { return name.ends_with(each); };
  return std::any_of(own.begin(), own.end(), is_name) ||
         std::any_of(std::begin(kPrivateSuffixes), std::end(kPrivateSuffixes), ends_name);
}

bool MayComeFromBrowserPage(const ServerRequest& request, const std::vector<std::string_view>& own) {
  bool ours = true;
  for (const auto& [name, value] : request.headers.fields()) {
    // Every Host header has to fit: a request may have several.
    if (base::EqualsIgnoreCase(name, "Host")) ours = ours && IsTrustedHostName(value, own);
  }
  // A page cannot set a header that begins with "Sec-".
  if (ours || request.headers.Has(kNotBrowserHeader)) return false;
  return request.headers.Get("Accept-Encoding").value_or("") != "gzip";
}

}  // namespace prefetch::http
