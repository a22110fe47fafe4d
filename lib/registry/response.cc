#include "registry/response.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/enum_name.h"
#include "base/go_url.h"
#include "base/text.h"
#include "doc/json.h"
#include "http/headers.h"

namespace prefetch::registry {

namespace {

using image::RegistryDetail;
using Kind = image::RegistryAnswerKind;

bool IsBadName(std::string_view code) {
  return code == "NAME_INVALID" || code == "DIGEST_INVALID" || code == "TAG_INVALID";
}

StatusClass Unauthorized(const Refusal& refusal) {
  if (refusal.insufficient_scope) return {Kind::kAccessDenied, RegistryDetail::kInsufficientScope};
  return {Kind::kAccessDenied,
          refusal.credential ? RegistryDetail::kBadCredentials : RegistryDetail::kUnauthenticated};
}

// A 403 whose text speaks of limits is a rate limit (R22).
StatusClass Forbidden(const Refusal& refusal) {
  for (std::string_view word :
       {"rate limit", "rate exceeded", "toomanyrequests", "too many requests", "abuse"}) {
    if (base::ContainsIgnoreCase(refusal.body, word)) return {Kind::kRateLimited, RegistryDetail::kForbidden};
  }
  return {Kind::kAccessDenied, RegistryDetail::kForbidden};
}

// Registries answer in JSON. A 404 with a web page comes from another server, such as a captive portal (R23).
StatusClass NotFound(const Refusal& refusal) {
  if (refusal.html) return {Kind::kServerError, RegistryDetail::kNotARegistry};
  return {Kind::kTagMissing,
          refusal.oci_code == "NAME_UNKNOWN" ? RegistryDetail::kRepositoryMissing : RegistryDetail::kNone};
}

StatusClass ServerFailed(const Refusal& refusal) {
  // Object stores ask for fewer requests in this way.
  bool slow_down = base::ContainsIgnoreCase(refusal.body, "slow down") ||
                   base::ContainsIgnoreCase(refusal.body, "slowdown");
  if (refusal.status == 503 && slow_down) return {Kind::kRateLimited, RegistryDetail::kSlowDown};
  return {Kind::kServerError, RegistryDetail::Status(refusal.status)};
}

// The meaning of a fault (R24).
struct FaultRow {
  http::Fault fault;
  StatusClass found;
  bool was_sent = true;  // the other side may have received the request
  // The runtimes have larger limits and know more encodings, so only a pull can tell.
  bool only_by_pull = false;
};
constexpr std::array kFaults = std::to_array<FaultRow>({
    {http::Fault::kNone, {Kind::kIndeterminate, RegistryDetail::kInternal}},
    {http::Fault::kRequest, {Kind::kIndeterminate, RegistryDetail::kInternal}, false},
    {http::Fault::kStopped, {Kind::kUnreachable, RegistryDetail::kStopped}},
    {http::Fault::kDns, {Kind::kUnreachable, RegistryDetail::kDns}, false},
    {http::Fault::kConnect, {Kind::kUnreachable, RegistryDetail::kConnect}, false},
    {http::Fault::kExcludedAddress, {Kind::kUnreachable, RegistryDetail::kAddress}, false},
    {http::Fault::kTls, {Kind::kUnreachable, RegistryDetail::kTls}, false},
    {http::Fault::kUntrustedCertificate, {Kind::kUnreachable, RegistryDetail::kTls}, false},
    {http::Fault::kProxy, {Kind::kUnreachable, RegistryDetail::kProxy}, false},
    {http::Fault::kProxyAuth, {Kind::kUnreachable, RegistryDetail::kProxyAuth}, false},
    {http::Fault::kTimeout, {Kind::kUnreachable, RegistryDetail::kTimeout}},
    {http::Fault::kReset, {Kind::kUnreachable, RegistryDetail::kReset}},
    {http::Fault::kNotHttp, {Kind::kServerError, RegistryDetail::kNotARegistry}},
    {http::Fault::kMalformed, {Kind::kServerError, RegistryDetail::kNotARegistry}},
    {http::Fault::kLongHeaders, {Kind::kIndeterminate, RegistryDetail::kTooLong}, true, true},
    {http::Fault::kTooLong, {Kind::kIndeterminate, RegistryDetail::kTooLong}, true, true},
    {http::Fault::kEncoding, {Kind::kIndeterminate, RegistryDetail::kNotAcceptable}, true, true},
});
static_assert(kFaults.size() == base::EnumNames<http::Fault>::kCount, "each fault has a row");

const FaultRow& RowOf(http::Fault fault) {
  return *std::find_if(kFaults.begin(), kFaults.end(),
                       [&](const FaultRow& row) { return row.fault == fault; });
}

}  // namespace

// The class decides about retries: a server error is tried again soon, a denial only with other credentials
// or much later, and a missing tag is reported. A doubtful status therefore counts as the server's error.
StatusClass ClassOf(const Refusal& refusal) {
  switch (refusal.status) {
    case 400:
      if (IsBadName(refusal.oci_code)) return {Kind::kIndeterminate, RegistryDetail::kInvalidReference};
      return {Kind::kServerError, RegistryDetail::kBadRequest};
    case 401:
      return Unauthorized(refusal);
    case 402:
      return {Kind::kAccessDenied, RegistryDetail::kQuota};
    case 403:
      return Forbidden(refusal);
    case 404:
      return NotFound(refusal);
    case 406:
      return {Kind::kIndeterminate, RegistryDetail::kNotAcceptable};
    case 407:
      return {Kind::kUnreachable, RegistryDetail::kProxyAuth};
    case 408:
    case 425:
      return {Kind::kServerError, RegistryDetail::kTimeout};
    case 410:
      return {Kind::kTagMissing, RegistryDetail::kGone};
    case 429:
      return {Kind::kRateLimited, RegistryDetail::kNone};
    case 451:
      return {Kind::kAccessDenied, RegistryDetail::kLegal};
    default:
      // A redirect without a usable Location. Session has followed all others.
      if (IsRedirect(refusal.status)) return {Kind::kServerError, RegistryDetail::kBadRedirect};
      return ServerFailed(refusal);
  }
}

image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error) {
  const FaultRow& row = RowOf(fault);
  return {.kind = row.found.kind,
          .detail = row.found.detail,
          .only_by_pull = row.only_by_pull,
          .message = error.message()};
}

bool WasSent(http::Fault fault) {
  return RowOf(fault).was_sent;
}

std::string RangeHeader(std::uint64_t begin, std::uint64_t end) {
  return "bytes=" + std::to_string(begin) + "-" + std::to_string(end - 1);
}

bool IsContentRange(std::string_view text, std::uint64_t begin, std::uint64_t end, std::uint64_t size) {
  // Any other range would put bytes in a wrong place of the blob.
  const std::string range = "bytes " + std::to_string(begin) + "-" + std::to_string(end - 1) + "/";
  text = base::TrimSpace(text);
  return text == range + std::to_string(size) || text == range + "*";
}

ManifestKind ManifestKindOf(std::string_view content_type, MediaTypeRules reader) {
  const std::string_view written = content_type.substr(0, content_type.find(';'));
  const std::string lower = base::ToLower(base::TrimSpace(written));
  const std::string_view type = reader == MediaTypeRules::kContainerd ? written : std::string_view(lower);
  if (lower == "text/html" || lower == "application/xhtml+xml") return ManifestKind::kHtml;
  if (type == "application/vnd.docker.distribution.manifest.list.v2+json" ||
      type == "application/vnd.oci.image.index.v1+json") {
    return ManifestKind::kIndex;
  }
  if (type == "application/vnd.docker.distribution.manifest.v2+json" ||
      type == "application/vnd.oci.image.manifest.v1+json") {
    return ManifestKind::kManifest;
  }
  const bool schema1 = lower == "application/vnd.docker.distribution.manifest.v1+json" ||
                       lower == "application/vnd.docker.distribution.manifest.v1+prettyjws" ||
                       lower == "text/plain";
  return schema1 ? ManifestKind::kSchema1 : ManifestKind::kUnknown;
}

bool IsPlainOrGzip(const http::Response& response) {
  const std::vector<std::string_view> encodings = response.headers.All("Content-Encoding");
  if (encodings.size() > 1) return false;
  const std::string_view encoding = encodings.empty() ? "" : encodings.front();
  return encoding.empty() || base::EqualsIgnoreCase(encoding, "gzip") ||
         base::EqualsIgnoreCase(encoding, "identity");
}

namespace {

constexpr doc::Limits kErrorLimits{.bytes = 16 * 1024, .depth = 32, .nodes = 2000};

}  // namespace

OciError ParseOciError(std::string_view body) {
  const doc::Node root = doc::ParseOrNull(body, kErrorLimits);
  const std::vector<doc::Node>& errors = doc::ItemsAt(root, {"errors"});
  if (errors.empty()) return {};
  const doc::Node& first = errors.front();
  OciError error{.code = doc::TextAt(first, {"code"}), .message = doc::TextAt(first, {"message"})};
  // Codes are compared in capitals, as the specification has them.
  std::transform(error.code.begin(), error.code.end(), error.code.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return error;
}

namespace {

using std::chrono::milliseconds;

// The limits of R26.
constexpr milliseconds kLeast = std::chrono::seconds(1);
constexpr milliseconds kMost = std::chrono::hours(6);
// Some servers send a Unix time instead of seconds (R26). No wait is as long as 30 years.
constexpr double kUnixTimeFrom = 1e9;
constexpr double kUnixTimeTo = 7'258'118'400;  // of the year 2200: what fits a clock in nanoseconds

// A plain decimal number; no sign, exponent or hexadecimal.
std::optional<double> ParseDecimal(const std::string& text) {
  if (text.empty() || text.size() > 20 || text.find_first_not_of("0123456789.") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (*end != '\0' || end == text.c_str()) return std::nullopt;
  return number;
}

std::optional<milliseconds> Clamped(milliseconds wait) {
  if (wait < milliseconds(0)) return std::nullopt;
  return std::clamp(wait, kLeast, kMost);
}

}  // namespace

std::optional<milliseconds> ParseRetryAfter(std::string_view value, std::string_view date,
                                            base::WallTime now) {
  value = base::TrimSpace(value);
  // The server's own clock cancels any difference between the clocks (R26).
  base::WallTime seen_from = http::ParseDate(date).value_or(now);
  if (auto number = ParseDecimal(std::string(value))) {
    if (*number < kUnixTimeFrom) {
      double most = std::chrono::duration<double>(kMost).count();
      return Clamped(milliseconds(std::llround(std::min(*number, most) * 1000)));
    }
    if (*number > 1e11) return std::nullopt;
    base::WallTime at{std::chrono::seconds(static_cast<std::int64_t>(std::min(*number, kUnixTimeTo)))};
    return Clamped(std::chrono::duration_cast<milliseconds>(at - seen_from));
  }
  auto at = http::ParseDate(value);
  if (!at) return std::nullopt;
  return Clamped(std::chrono::duration_cast<milliseconds>(*at - seen_from));
}

std::optional<milliseconds> RetryAfterOf(const http::Response& response, base::WallTime now) {
  auto wait = response.headers.Get("Retry-After");
  if (!wait) wait = response.headers.Get("X-Retry-After");
  return wait ? ParseRetryAfter(*wait, response.headers.Get("Date").value_or(""), now) : std::nullopt;
}

std::optional<RateLimitValue> ParseRateLimit(std::string_view value) {
  std::vector<std::string_view> parts = base::Split(value, ';');
  // "100;w=21600": the count, and the window in seconds.
  if (parts.size() > 2) return std::nullopt;
  auto count = base::ParseUint(parts[0]);
  if (!count) return std::nullopt;
  RateLimitValue limit{.count = *count};
  if (parts.size() == 1) return limit;
  if (!parts[1].starts_with("w=")) return std::nullopt;
  auto window = base::ParseUint(parts[1].substr(2));
  if (!window || *window > 365ULL * 86400) return std::nullopt;
  limit.window = std::chrono::seconds(*window);
  return limit;
}

namespace {

constexpr std::size_t kMaxRedirects = 9;  // As many as containerd follows (R40).

}  // namespace

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

base::Result<http::AbsoluteUrl> FollowRedirect(const std::vector<http::AbsoluteUrl>& visited,
                                               std::string_view location) {
  if (visited.size() > kMaxRedirects) return base::InvalidArgument("it redirects too often");
  auto next = http::ResolveLocation(visited.back(), location);
  if (!next) {
    base::Error error = std::move(next).error().Wrap("it redirects to an unusable URL");
    const auto go = base::ParseGoUrl(location);
    const bool theirs =
        go && !location.empty() && (go->scheme.empty() || go->scheme == "http" || go->scheme == "https");
    return theirs ? base::PermissionDenied(error.message()) : std::move(error);
  }
  // A redirect must not remove the protection that the operator configured (R40).
  if (visited.back().scheme == "https" && next->scheme == "http") {
    return base::PermissionDenied("it redirects from https to plain http");
  }
  return next;
}

bool SameServer(const http::AbsoluteUrl& a, const http::AbsoluteUrl& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

}  // namespace prefetch::registry
