// Reads the answers of registries. Pure; the texts are untrusted. The subjects, in order: the class of a
// failed request, Content-Range, the type of a manifest, the body of a refusal, Retry-After and rate limits,
// redirects.
//
// Failed manifest requests are classified by their HTTP status after authentication (R22), and broken
// exchanges by their fault (R24).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "http/client.h"
#include "http/url.h"
#include "image/registry_answer.h"

namespace prefetch::registry {

// The facts of an unsuccessful answer.
struct Refusal {
  int status = 0;
  std::string oci_code;             // of the body; empty: none, as with every HEAD
  std::string_view body;            // as it came, cut
  bool html = false;                // its Content-Type
  bool credential = false;          // was one sent (a password, or a token got with one)?
  bool insufficient_scope = false;  // the challenge says that this identity may not
};

struct StatusClass {
  image::RegistryAnswerKind kind = image::RegistryAnswerKind::kServerError;
  image::RegistryDetail detail = image::RegistryDetail::kNone;

  friend bool operator==(const StatusClass&, const StatusClass&) = default;
};

// Classifies any status except 200, redirects that can be followed, and those that a GET can clarify (405,
// 501).
StatusClass ClassOf(const Refusal& refusal);

// `error` is http::Client's, which holds no secret. kNone is no fault, and must not be asked for.
image::RegistryAnswer AnswerToFault(http::Fault fault, const base::Error& error);

// Returns whether the other side may have received a request.
bool WasSent(http::Fault fault);

// The Content-Range header of a partial answer (RFC 9110, 14.4).

// "bytes=0-99" for the bytes from 0 up to 100.
std::string RangeHeader(std::uint64_t begin, std::uint64_t end);

// Returns whether the header states the requested range of a blob with `size` bytes; "*" stands for any size.
bool IsContentRange(std::string_view text, std::uint64_t begin, std::uint64_t end, std::uint64_t size);

// Kind of a manifest, by its Content-Type (R8).
enum class ManifestKind {
  kIndex,     // several platforms
  kManifest,  // one
  kSchema1,   // its digest leaves out signatures, and newer runtimes refuse it
  kUnknown,   // containerd pulls none. CRI-O looks into it, so its digest can be compared all the same
  kHtml,      // a login page, a captive portal: the server is no registry
};

// Parameters ("; charset=utf-8") do not matter. CRI-O ignores case and blanks, too; containerd does not.
enum class MediaTypeRules { kContainerd, kCrio };
ManifestKind ManifestKindOf(std::string_view content_type, MediaTypeRules reader);

// Returns whether the body came as it is or by gzip, which is all that Go's client decodes by itself.
bool IsPlainOrGzip(const http::Response& response);

// The Accept of every manifest request: exactly containerd's types and order (R5). Without all four a
// registry may answer with another representation, which has another digest.
inline constexpr std::string_view kAcceptedManifests =
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, */*";

// The body of a registry's refusal: {"errors":[{"code","message","detail"}]} (OCI distribution-spec, "Error
// Codes"). It may be anything.
struct OciError {
  std::string code;     // "MANIFEST_UNKNOWN", in upper case; empty: the body is no such document
  std::string message;  // as written; show it through base::SanitizedText only

  friend bool operator==(const OciError&, const OciError&) = default;
};

// The first error of the list; {} if there is none.
OciError ParseOciError(std::string_view body);

// The maximum size of a registry's words in a message (R43).
inline constexpr std::size_t kMaxQuotedBytes = 200;

// Parses Retry-After (R26, R28): seconds (with a fraction, too), a Unix time (a number beyond 1,000,000,000),
// or a date; times are seen from the answer's own Date if it has one, since clocks differ, else from `now`.
// Between 1 s and 6 h. nullopt: in the past, negative, or none of these.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value, std::string_view date,
                                                         base::WallTime now);
// The same of an answer, which may have it as X-Retry-After; nullopt also if it has none.
std::optional<std::chrono::milliseconds> RetryAfterOf(const http::Response& response, base::WallTime now);

// "100;w=21600" in RateLimit-Limit and RateLimit-Remaining, as Docker Hub has them.
struct RateLimitValue {
  std::uint64_t count = 0;
  std::chrono::seconds window{0};  // 0: not said

  friend bool operator==(const RateLimitValue&, const RateLimitValue&) = default;
};
// Returns nullopt for another form, and for a window of more than a year.
std::optional<RateLimitValue> ParseRateLimit(std::string_view value);

// The functions below decide which redirects are followed, and which headers are sent along (R40).

bool IsRedirect(int status);  // 301, 302, 303, 307, 308

// Returns the URL to ask next. `visited` are the URLs asked so far: first the original one, last the newest.
// InvalidArgument: no readable Location, or more than nine redirects, which end a circle as well.
// PermissionDenied: the runtimes follow it, and the agent does not: from https to plain http, or a URL with
// user information.
base::Result<http::AbsoluteUrl> FollowRedirect(const std::vector<http::AbsoluteUrl>& visited,
                                               std::string_view location);

// Authorization and the headers of hosts.toml are for the server of the first URL only.
bool SameServer(const http::AbsoluteUrl& a, const http::AbsoluteUrl& b);

}  // namespace prefetch::registry
