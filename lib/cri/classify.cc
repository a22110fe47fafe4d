#include "cri/classify.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/text.h"

namespace prefetch::cri {

namespace {

using image::ErrorClass;

// Replaces a name, URL or path. No rule has a word like it.
constexpr std::string_view kPlaceholder = "<...>";

// A rule: `first` is in the text, and `then`, if there is one, somewhere after it. Lower case.
struct Rule {
  ErrorClass error_class;
  std::string_view first;
  std::string_view then = {};

  bool Matches(std::string_view text) const {
    std::size_t at = text.find(first);
    return at != std::string_view::npos && text.find(then, at + first.size()) != std::string_view::npos;
  }
};

// gRPC's own words for a connection that is gone or cannot be made (C13). They count with code 14 only.
constexpr std::array<Rule, 8> kTransport = {{
    {ErrorClass::kRuntimeDown, "failed to connect to all addresses"},
    {ErrorClass::kRuntimeDown, "socket closed"},
    {ErrorClass::kRuntimeDown, "broken pipe"},
    {ErrorClass::kRuntimeDown, "goaway"},
    {ErrorClass::kRuntimeDown, "connection reset by peer"},
    {ErrorClass::kRuntimeDown, "stream removed"},
    {ErrorClass::kRuntimeDown, "transport closed"},
    {ErrorClass::kRuntimeDown, "connection attempt timed out"},
}};

// The text rules of C14, in its order. The first match wins. These first ones are about the node's own work,
// not about a server's words.
constexpr std::array kPolicyAndDiskRules = std::to_array<Rule>({
    // 1, 2: signature policies and verifiers.
    {ErrorClass::kSignatureRejected, "signaturevalidationfailed"},
    {ErrorClass::kSignatureRejected, "source image rejected"},
    {ErrorClass::kSignatureRejected, "is rejected by policy"},
    {ErrorClass::kSignatureRejected, "a signature was required"},
    {ErrorClass::kSignatureRejected, "none of the signatures were accepted"},
    {ErrorClass::kSignatureRejected, "image verifier", "blocked pull"},
    {ErrorClass::kSignatureRejected, "image verifier", "blocking pull"},
    {ErrorClass::kSignatureRejected, "blocked pull of"},
    {ErrorClass::kSignatureRejected, "blocking pull of"},
    // CRI-O cannot read its policy: nothing was judged.
    {ErrorClass::kRuntimeError, "invalid policy in "},
    // 3, 4: the disk.
    {ErrorClass::kDiskFull, "no space left on device"},
    {ErrorClass::kDiskFull, "disk quota exceeded"},
    {ErrorClass::kDiskFault, "read-only file system"},
    {ErrorClass::kDiskFault, "input/output error"},
    {ErrorClass::kDiskFault, "structure needs cleaning"},
});

// 5: before 9 and 10, since limits may come together with words of denial.
constexpr std::array kLimitRules = std::to_array<Rule>({
    {ErrorClass::kRateLimited, "429", "too many requests"},
    {ErrorClass::kRateLimited, "toomanyrequests"},
    {ErrorClass::kRateLimited, "too many requests to registry"},
    {ErrorClass::kRateLimited, "statuscode: 429"},
    {ErrorClass::kRateLimited, "pull rate limit"},
    {ErrorClass::kRateLimited, "rate exceeded"},
});

// 6 to 8: before 9, since the failure of a token host is wrapped in "failed to authorize:".
constexpr std::array kNetworkRules = std::to_array<Rule>({
    {ErrorClass::kRuntimeError, "too many open files"},  // also while it looks a name up
    {ErrorClass::kRuntimeProgressTimeout, "operation was canceled"},
    {ErrorClass::kTlsError, "x509:"},
    {ErrorClass::kTlsError, "certificate signed by unknown authority"},
    {ErrorClass::kTlsError, "certificate has expired"},
    {ErrorClass::kTlsError, "certificate is valid for"},
    {ErrorClass::kTlsError, "tls: "},
    {ErrorClass::kTlsError, "server gave http response to https client"},
    {ErrorClass::kDnsFailure, "no such host"},
    {ErrorClass::kDnsFailure, "server misbehaving"},
    {ErrorClass::kDnsFailure, "temporary failure in name resolution"},
    {ErrorClass::kDnsFailure, "lookup ", "i/o timeout"},
    {ErrorClass::kDnsFailure, "dial tcp: lookup "},  // the DNS server itself did not answer
    {ErrorClass::kUnreachable, "connection refused"},
    {ErrorClass::kUnreachable, "no route to host"},
    {ErrorClass::kUnreachable, "network is unreachable"},
    {ErrorClass::kUnreachable, "connection reset by peer"},
    {ErrorClass::kUnreachable, "dial tcp", "i/o timeout"},
    {ErrorClass::kUnreachable, "tls handshake timeout"},
    {ErrorClass::kUnreachable, "timeout awaiting response headers"},
    {ErrorClass::kUnreachable, "client.timeout exceeded"},
    {ErrorClass::kUnreachable, "proxyconnect"},
    {ErrorClass::kUnreachable, "registryunavailable"},
    {ErrorClass::kUnreachable, "unexpected eof"},
    // The connection broke while a body came.
    {ErrorClass::kUnreachable, "read tcp ", "i/o timeout"},
    {ErrorClass::kUnreachable, "connection timed out"},
    {ErrorClass::kUnreachable, "use of closed network connection"},
    {ErrorClass::kUnreachable, "http2: "},
    {ErrorClass::kUnreachable, "stream error: stream id "},
    // 8a: says "not found" at its end, and is not.
    {ErrorClass::kUnsupportedImage, "rejecting ", " byte manifest"},
});

// 8b: a request without an answer, by the words behind it; all others are the network's. If a proxy refuses
// to connect, they are its reason phrase ("Forbidden"), which says nothing about the image.
constexpr std::array kUnansweredRules = std::to_array<Rule>({
    {ErrorClass::kServerError, "stopped after 10 redirects"},
    {ErrorClass::kServerError, "malformed "},  // "HTTP response", "MIME header line": it does not speak HTTP
    {ErrorClass::kServerError, "unsupported protocol scheme"},  // of the token service that it names
    {ErrorClass::kServerError, "invalid header field value"},   // the token
    {ErrorClass::kServerError, "unsupported transfer encoding"},
    {ErrorClass::kServerError, "too many transfer encodings"},
    {ErrorClass::kServerError, "content-length"},  // bad, or several
    {ErrorClass::kServerError, "server response headers exceeded"},
    {ErrorClass::kServerError, "failed to parse location header"},
    {ErrorClass::kRuntimeProgressTimeout, "context canceled"},
    {ErrorClass::kTimeout, "context deadline exceeded"},
});

// 9, 10: authentication and authorization.
constexpr std::array kAccessRules = std::to_array<Rule>({
    {ErrorClass::kAccessDenied, "pull access denied"},
    {ErrorClass::kAccessDenied, "insufficient_scope"},
    {ErrorClass::kAccessDenied, "authorization failed"},
    {ErrorClass::kAccessDenied, "no basic auth credentials"},
    {ErrorClass::kAccessDenied, "401 unauthorized"},
    {ErrorClass::kAccessDenied, "unauthorized:"},
    {ErrorClass::kAccessDenied, "authentication required"},
    {ErrorClass::kAccessDenied, "invalid username/password"},
    {ErrorClass::kAccessDenied, "incorrect username or password"},
    {ErrorClass::kAccessDenied, "403 forbidden"},
    {ErrorClass::kAccessDenied, "denied:"},
    {ErrorClass::kAccessDenied, "requested access to the resource is denied"},
    {ErrorClass::kAccessDenied, "permission ", " denied on resource"},
    {ErrorClass::kAccessDenied, "authorization token has expired"},
    {ErrorClass::kAccessDenied, "statuscode: 403"},
    {ErrorClass::kAccessDenied, "403 (forbidden)"},
    // 11: code 5 in containerd, as a missing image has.
    {ErrorClass::kPlatformMismatch, "no match for platform"},
    {ErrorClass::kPlatformMismatch, "no image found in manifest list for architecture"},
    {ErrorClass::kPlatformMismatch, "no image found in image index for architecture"},
    {ErrorClass::kPlatformMismatch, "does not match the specified platform"},
    // If an index lacks the node's own platform, 2.1 fetches nothing, and misses what it would also run.
    {ErrorClass::kPlatformMismatch, "get image config descriptor", "content digest "},
});

constexpr std::array kNotFoundRules = std::to_array<Rule>({
    // 12a: a page that came as a manifest, and that its own digest names.
    {ErrorClass::kServerError, "unexpected media type text/html"},
    {ErrorClass::kUnsupportedImage, "unexpected media type "},
    // 12b
    {ErrorClass::kContentMissing, "could not fetch content descriptor"},
    {ErrorClass::kContentMissing, "content at ", " not found"},
    // 13
    {ErrorClass::kNotFound, "manifest unknown"},
    {ErrorClass::kNotFound, "name unknown"},
    {ErrorClass::kNotFound, "repository name not known to registry"},
    {ErrorClass::kNotFound, "manifest for", "not found"},
    {ErrorClass::kNotFound, "404 not found"},
    {ErrorClass::kNotFound, "404 (not found)"},
    {ErrorClass::kNotFound, "statuscode: 404"},
    {ErrorClass::kNotFound, "was deleted or has expired"},
});

// Rules 14 to 22.
constexpr std::array kLastRules = std::to_array<Rule>({
    {ErrorClass::kCorrupt, "unexpected commit digest"},
    {ErrorClass::kCorrupt, "unexpected commit size"},
    {ErrorClass::kCorrupt, "wrong diff id"},
    {ErrorClass::kCorrupt, "failed size validation"},
    {ErrorClass::kCorrupt, "digest mismatch"},
    {ErrorClass::kCorrupt, "does not match config's diffid"},
    {ErrorClass::kServerError, "500 internal server error"},
    {ErrorClass::kServerError, "502 bad gateway"},
    {ErrorClass::kServerError, "503 service unavailable"},
    {ErrorClass::kServerError, "504 gateway"},
    {ErrorClass::kServerError, "statuscode: 5"},
    {ErrorClass::kServerError, "invalid status code from registry 5"},
    {ErrorClass::kServerError, "stopped after 10 redirects"},
    {ErrorClass::kInvalidReference, "failed to parse image reference"},
    {ErrorClass::kInvalidReference, "invalid reference format"},
    {ErrorClass::kInvalidReference, "repository name must be lowercase"},
    {ErrorClass::kInvalidReference, "short name mode is enforcing"},
    {ErrorClass::kInvalidReference, "did not resolve to an alias"},
    {ErrorClass::kInvalidReference, "cannot specify 64-byte hexadecimal"},
    {ErrorClass::kUnsupportedImage, "no longer supported since containerd"},
    {ErrorClass::kUnsupportedImage, "schema 1 image manifests are no longer supported"},
    {ErrorClass::kUnsupportedImage, "unsupported media type"},
    {ErrorClass::kUnsupportedImage, "failed to convert"},
    {ErrorClass::kUnsupportedImage, "no processor for media-type"},
    {ErrorClass::kUnsupportedImage, "invalid desc "},
    {ErrorClass::kUnsupportedImage, "reports content size of zero"},
    {ErrorClass::kUnsupportedImage, "no signatures"},
    {ErrorClass::kUnpackFailed, "no unpack platforms defined"},
    {ErrorClass::kUnpackFailed, "unable to resolve snapshotter"},
    {ErrorClass::kUnpackFailed, "snapshotter not loaded"},
    {ErrorClass::kUnpackFailed, "failed to extract layer"},
    {ErrorClass::kUnpackFailed, "failed to prepare extraction snapshot"},
    {ErrorClass::kUnpackFailed, "failed to mount"},
    {ErrorClass::kAccessDenied, "is blocked in"},
    {ErrorClass::kBadCredentialFormat, "invalid decoded auth"},
    {ErrorClass::kBadCredentialFormat, "illegal base64 data"},
    {ErrorClass::kBadCredentialFormat, "parse server address"},
    {ErrorClass::kRuntimeProgressTimeout, "context canceled"},
    {ErrorClass::kTimeout, "context deadline exceeded"},
});

std::optional<ErrorClass> FirstMatch(std::span<const Rule> rules, std::string_view text) {
  auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.Matches(text); });
  if (rule == rules.end()) return std::nullopt;
  return rule->error_class;
}

bool IsNameCharacter(char c) {
  return base::IsLowerOrDigit(c) || c == '.' || c == '_' || c == '-' || c == '/';
}

// Replaces `name` where it stands by itself, and not as a part of a longer name or word.
std::string MaskName(std::string_view text, std::string_view name) {
  std::string out;
  std::size_t from = 0;
  // A part of a longer name stays: "a/app" must not be cut out of "a/app-denied".
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    if (at < from) continue;
    std::size_t end = at + name.size();
    if ((at > 0 && IsNameCharacter(text[at - 1])) || (end < text.size() && IsNameCharacter(text[end])))
      continue;
    out.append(text.substr(from, at - from)).append(kPlaceholder);
    from = end;
  }
  return out.append(text.substr(from));
}

// Replaces the text between `open` and the next of `close` with the placeholder.
std::string MaskBetween(std::string_view text, std::string_view open, std::string_view close) {
  std::string out;
  while (true) {
    std::size_t at = text.find(open);
    if (at == std::string_view::npos) return out.append(text);
    std::size_t end = std::min(text.find_first_of(close, at + open.size()), text.size());
    // The colon after a URL belongs to the sentence around it.
    if (end > at + open.size() && text[end - 1] == ':') end--;
    out.append(text.substr(0, at + open.size())).append(kPlaceholder);
    text.remove_prefix(end);
  }
}

std::string MaskNames(std::string_view message, std::vector<std::string> names) {
  std::string text = base::ToLower(message);
  // C15: names and URLs may contain the words of any rule.
  text = MaskBetween(text, "://", " \"\n\t");  // http, https, docker
  text = MaskBetween(text, "\"/v2/", "\"");
  text = MaskBetween(text, "[manifests ", "]");
  text = MaskBetween(text, "body start \"", "\"");
  // With a mirror, the name and host in these are not those that were asked for.
  text = MaskBetween(text, "reading manifest ", " ");
  text = MaskBetween(text, "reading manifest <...> in ", " ");
  text = MaskBetween(text, "pinging container registry ", " ");
  // Longest first: a repository is the beginning of its names with tag, and would leave the tag behind.
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  for (const std::string& name : names) {
    if (!name.empty()) text = MaskName(text, base::ToLower(name));
  }
  return text;
}

// CRI-O adds the failures of mirrors and of its second try as an artifact (C16). Only its words on the image
// itself count.
std::string_view OwnWords(std::string_view text) {
  text = text.substr(0, text.find("; artifact err:"));
  if (text.find("(mirrors also failed: ") == std::string_view::npos) return text;
  constexpr std::string_view kEndOfMirrors = "]): ";
  const std::size_t end = text.find(kEndOfMirrors);
  return end == std::string_view::npos ? text : text.substr(end + kEndOfMirrors.size());
}

// Rule 12a: containerd fetches a manifest whose type it does not know as a blob.
std::optional<ErrorClass> UnknownManifestType(std::string_view text) {
  constexpr std::string_view kShape = "could not fetch content descriptor";
  std::size_t at = text.find(kShape);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t open = text.find('(', at);
  std::size_t close = text.find(')', at);
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  std::string_view type = text.substr(open + 1, close - open - 1);
  if (type.starts_with("text/html")) return ErrorClass::kServerError;  // not a registry at all
  // A layer or a configuration is a blob by its right, so its absence is missing content.
  for (std::string_view part : {"layer", "rootfs", "config", "container.image"}) {
    if (type.find(part) != std::string_view::npos) return std::nullopt;
  }
  return ErrorClass::kUnsupportedImage;
}

std::optional<ErrorClass> ByText(RpcCode code, std::string_view text) {
  // The order is that of the table in C14, which has the reason of each place. `own` leaves out what the
  // server wrote: its words on disks, certificates and networks say nothing about this node (C30). Limits are
  // the exception, since servers report them in their own text.
  ParsedFailure parsed = ParseFailure(text);
  if (auto found = FirstMatch(kPolicyAndDiskRules, parsed.own)) return found;
  if (auto found = FirstMatch(kLimitRules, text)) return found;
  if (auto found = FirstMatch(kNetworkRules, parsed.own)) return found;
  if (parsed.own.ends_with(": eof")) return ErrorClass::kUnreachable;
  if (parsed.unanswered) return FirstMatch(kUnansweredRules, text).value_or(ErrorClass::kUnreachable);
  if (auto found = ClassOfFailure(parsed)) return found;
  // The kernel uses these words for the node's own files.
  const std::string of_registry = base::ReplaceAll(parsed.own, "permission denied", "");
  if (auto found = FirstMatch(kAccessRules, of_registry)) return found;
  if (auto found = UnknownManifestType(parsed.own)) return found;
  if (auto found = FirstMatch(kNotFoundRules, parsed.own)) return found;
  // This text is containerd's alone, about a lease that the agent named. The registry did not say it.
  if (text.find("lease does not exist") != std::string_view::npos) return ErrorClass::kRuntimeError;
  if (auto found = FirstMatch(kLastRules, parsed.own)) return found;
  // Rule 13's last shape, here since a missing parent snapshot ends in these words too.
  if (code == RpcCode::kNotFound && text.find(": not found") != std::string_view::npos)
    return ErrorClass::kNotFound;
  return std::nullopt;
}

// C14: codes say little, so they count last.
ErrorClass ByCode(RpcCode code) {
  switch (code) {
    case RpcCode::kNotFound:
      return ErrorClass::kNotFound;
    case RpcCode::kPermissionDenied:
    case RpcCode::kUnauthenticated:
      return ErrorClass::kAccessDenied;
    case RpcCode::kResourceExhausted:  // a limit of a registry would have said so in its text
    case RpcCode::kFailedPrecondition:
      return ErrorClass::kRuntimeError;
    case RpcCode::kInvalidArgument:
      return ErrorClass::kInvalidReference;
    case RpcCode::kDeadlineExceeded:
      return ErrorClass::kTimeout;
    case RpcCode::kOk:
    case RpcCode::kCancelled:
    case RpcCode::kUnknown:
    case RpcCode::kAlreadyExists:
    case RpcCode::kUnimplemented:
    case RpcCode::kUnavailable:
      break;
  }
  return ErrorClass::kUnknown;
}

// Failures of the runtime itself, not of a pull (C13, C17).
std::optional<ErrorClass> ByTransport(RpcCode code, std::string_view text) {
  if (text.find("server is not initialized yet") != std::string_view::npos) return ErrorClass::kRuntimeDown;
  if (code == RpcCode::kUnimplemented) return ErrorClass::kRuntimeUnsupported;
  // The caller's own cancel and deadline never come here, so CANCELLED is the runtime's (C17).
  if (code == RpcCode::kCancelled) return ErrorClass::kRuntimeProgressTimeout;
  // A runtime's report about a registry has its own words around it. gRPC's words about the connection stand
  // alone.
  bool report = text.find("failed to pull") != std::string_view::npos;
  if (code == RpcCode::kUnavailable && !report) return FirstMatch(kTransport, text);
  return std::nullopt;
}

}  // namespace

ErrorClass Classify(RpcCode code, std::string_view message, const std::vector<std::string>& names) {
  std::string without_names = MaskNames(message, names);
  std::string_view text = base::TrimSpace(OwnWords(without_names));
  if (auto found = ByTransport(code, text)) return *found;
  if (auto found = ByText(code, text)) return *found;
  return ByCode(code);
}

namespace {

// Separates two parts of a text.
constexpr std::string_view kSeparator = ": ";

// The words with which a part of the text between colons begins, and the step that they belong to.
struct StepWords {
  std::string_view begin;
  ErrorSource source;
  Step step;
};
constexpr std::array kSteps = std::to_array<StepWords>({
    {"initializing source ", ErrorSource::kContainersImage, Step::kManifest},
    {"pinging container registry ", ErrorSource::kContainersImage, Step::kPing},
    {"unable to retrieve auth token", ErrorSource::kContainersImage, Step::kToken},
    {"requesting bearer token", ErrorSource::kContainersImage, Step::kToken},
    {"decoding bearer token", ErrorSource::kContainersImage, Step::kToken},
    {"reading manifest ", ErrorSource::kContainersImage, Step::kManifest},
    {"initializing image from source ", ErrorSource::kContainersImage, Step::kDocument},
    {"choosing an image from manifest list ", ErrorSource::kContainersImage, Step::kDocument},
    {"reading blob ", ErrorSource::kContainersImage, Step::kBlob},
    {"fetching blob", ErrorSource::kContainersImage, Step::kBlob},
    {"writing blob", ErrorSource::kContainersImage, Step::kBlob},
    {"adding layer with blob ", ErrorSource::kContainersImage, Step::kUnpack},
    {"failed to pull and unpack image", ErrorSource::kContainerd, Step::kUnknown},
    {"failed to resolve reference ", ErrorSource::kContainerd, Step::kManifest},
    {"failed to resolve image", ErrorSource::kContainerd, Step::kManifest},
    {"failed to authorize", ErrorSource::kContainerd, Step::kToken},
    {"failed to fetch anonymous token", ErrorSource::kContainerd, Step::kToken},
    {"failed to fetch oauth token", ErrorSource::kContainerd, Step::kToken},
    {"failed to copy", ErrorSource::kContainerd, Step::kBlob},
    {"failed to extract layer ", ErrorSource::kContainerd, Step::kUnpack},
});

// The OCI codes as docker/distribution's Go library spells them, and the messages that stand for some.
struct CodeWords {
  std::string_view words, code;
};
constexpr std::array kCodes = std::to_array<CodeWords>({
    {"unauthorized", "unauthorized"},
    {"insufficient_scope", "unauthorized"},
    {"invalid_token", "unauthorized"},
    {"authentication required", "unauthorized"},
    {"denied", "denied"},
    {"requested access to the resource is denied", "denied"},
    {"toomanyrequests", "toomanyrequests"},
    {"manifest unknown", "manifest unknown"},
    {"manifest blob unknown", "blob unknown"},
    {"name unknown", "name unknown"},
    {"repository name not known to registry", "name unknown"},
    {"blob unknown", "blob unknown"},
    {"blob unknown to registry", "blob unknown"},
    {"name invalid", "name invalid"},
    {"tag invalid", "name invalid"},
    {"unavailable", "unavailable"},
    {"unsupported", "unsupported"},
    {"unknown", "unknown"},
});

// The words before the number of an HTTP status in texts of containers/image.
constexpr std::array<std::string_view, 3> kStatusWords = {
    "statuscode: ", "received unexpected http status: ", "invalid status code from registry "};

// Returns the HTTP status with which the text begins.
std::optional<int> ParseStatus(std::string_view text) {
  int status = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 3), status);
  if (error != std::errc() || end != text.data() + 3 || status < 100) return std::nullopt;
  // Four digits are no status of HTTP: a port, or a size.
  if (text.size() > 3 && base::IsDigit(text[3])) return std::nullopt;
  return status;
}

std::optional<int> StatusAt(std::string_view text) {
  for (std::string_view words : kStatusWords) {
    if (text.starts_with(words)) return ParseStatus(text.substr(words.size()));
  }
  return std::nullopt;
}

// Go's words for a request that got no answer: `get "https://<...>"`, and then the reason.
bool IsUnanswered(std::string_view part) {
  return part.ends_with('"') &&
         (part.starts_with("head \"") || part.starts_with("get \"") || part.starts_with("post \""));
}

std::string_view CodeOf(std::string_view part) {
  auto found =
      std::find_if(kCodes.begin(), kCodes.end(), [&](const CodeWords& code) { return code.words == part; });
  return found == kCodes.end() ? std::string_view() : found->code;
}

// Splits the text at `at`: the runtime's own words go into `own`, and the words that it quotes from a server
// into `quoted`. A server can write anything, so its words must not be taken for the runtime's.
void SplitQuotedPart(ParsedFailure& parsed, std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  parsed.own = text.substr(0, at);
  parsed.quoted = text.substr(at);
}

// After these words of containerd comes the status, and then perhaps the server's text:
// "unexpected status from HEAD request to <...>: 418 I'm a teapot",
// "pulling from host <...> failed with status code [manifests <...>]: 401 Unauthorized".
bool AnnouncesStatus(std::string_view part) {
  return part.starts_with("unexpected status") ||
         part.find("failed with status code") != std::string_view::npos;
}

// gRPC's own words for its codes, which containerd puts at the end of a text.
bool IsGrpcCodeName(std::string_view code) {
  return code == "unknown" || code == "unavailable" || code == "unsupported";
}

// Reads one part of containerd's text. `at` is its begin, `next` that of the part after it. Returns true if
// nothing of the text is left to read.
bool ParseContainerdPart(ParsedFailure& parsed, std::string_view text, std::size_t at, std::size_t next) {
  const std::string_view part = text.substr(at, next - at - kSeparator.size());
  const std::string_view rest = text.substr(std::min(next, text.size()));
  if (part == "server message") {
    parsed.code = CodeOf(rest.substr(0, rest.find(kSeparator)));
    SplitQuotedPart(parsed, text, next);
    return true;
  }
  if (AnnouncesStatus(part)) {
    parsed.status = ParseStatus(rest).value_or(0);
    if (parsed.status == 0) return false;
    SplitQuotedPart(parsed, text,
                    next + std::min({rest.find('\n'), rest.find(" - server message: "), rest.size()}));
    return true;
  }
  const std::string_view code = CodeOf(part);
  if (parsed.source != ErrorSource::kContainerd || code.empty() || IsGrpcCodeName(code)) return false;
  parsed.code = code;
  SplitQuotedPart(parsed, text, at);
  return true;
}

// The same for containers/image. Once it has named itself, a status or a code is the server's.
bool ParseContainersImagePart(ParsedFailure& parsed, std::string_view text, std::size_t at,
                              std::size_t next) {
  parsed.status = StatusAt(text.substr(at)).value_or(0);
  parsed.code = CodeOf(text.substr(at, next - at - kSeparator.size()));
  if (parsed.status == 0 && parsed.code.empty()) return false;
  SplitQuotedPart(parsed, text, at);
  return true;
}

}  // namespace

// Go programs join the causes of an error by colons, the outermost first. So the parts are read from left to
// right, until a part names a status or a code.
ParsedFailure ParseFailure(std::string_view text) {
  ParsedFailure parsed{.own = text};
  for (std::size_t at = 0, next = 0; at <= text.size(); at = next) {
    next = std::min(text.find(kSeparator, at), text.size()) + kSeparator.size();
    const std::string_view part = text.substr(at);
    auto step = std::find_if(kSteps.begin(), kSteps.end(),
                             [&](const StepWords& words) { return part.starts_with(words.begin); });
    if (step != kSteps.end()) {
      parsed.source = step->source;
      // The last step counts: outer parts name what was wanted, inner ones where it failed.
      if (step->step != Step::kUnknown) parsed.step = step->step;
    } else if (IsUnanswered(part.substr(0, part.find(kSeparator)))) {
      parsed.unanswered = true;
      break;
    } else if (parsed.source == ErrorSource::kContainersImage
                   ? ParseContainersImagePart(parsed, text, at, next)
                   : ParseContainerdPart(parsed, text, at, next)) {
      break;
    }
  }
  return parsed;
}

namespace {

// A row matches if everything that it names holds. `words` may be anywhere in the text.
struct FailureRow {
  ErrorClass error_class;
  Step step = Step::kUnknown;  // of any
  int from = 0;                // HTTP statuses from `from` to `to`
  int to = 0;
  std::string_view code = {};
  std::string_view words = {};
  ErrorSource source = ErrorSource::kUnknown;  // any

  bool Matches(const ParsedFailure& parsed) const {
    auto has = [&](std::string_view text) { return text.find(words) != std::string_view::npos; };
    return (source == ErrorSource::kUnknown || source == parsed.source) &&
           (step == Step::kUnknown || step == parsed.step) &&
           (from == 0 || (parsed.status >= from && parsed.status <= to)) &&
           (code.empty() || code == parsed.code) && (words.empty() || has(parsed.own) || has(parsed.quoted));
  }
};

constexpr ErrorSource kCrioSource = ErrorSource::kContainersImage;

// First match wins. Statuses as registry rule R22 has them.
constexpr std::array kFailures = std::to_array<FailureRow>({
    // A token service says nothing about the image: its 404 is a wrong address of the service.
    {ErrorClass::kAccessDenied, Step::kToken, 400, 403},
    {ErrorClass::kUnreachable, Step::kToken, 407, 407},
    {ErrorClass::kRateLimited, Step::kToken, 429, 429},
    {ErrorClass::kServerError, Step::kToken, 100, 999},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "", "decoding bearer token"},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "", "unable to decode token response"},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "", "did not include a token in the response"},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "name unknown"},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "manifest unknown"},
    {ErrorClass::kServerError, Step::kUnknown, 0, 0, "", "no realm specified for token auth challenge"},
    // A server without /v2/ is no registry.
    {ErrorClass::kServerError, Step::kPing, 404, 404},
    {ErrorClass::kServerError, Step::kPing, 410, 410},
    // The manifest was there.
    {ErrorClass::kContentMissing, Step::kBlob, 404, 404},
    {ErrorClass::kContentMissing, Step::kBlob, 410, 410},

    {ErrorClass::kAccessDenied, Step::kUnknown, 401, 403},
    {ErrorClass::kNotFound, Step::kUnknown, 404, 404},
    {ErrorClass::kUnreachable, Step::kUnknown, 407, 407},
    {ErrorClass::kNotFound, Step::kUnknown, 410, 410},
    {ErrorClass::kRateLimited, Step::kUnknown, 429, 429},
    {ErrorClass::kAccessDenied, Step::kUnknown, 451, 451},
    {ErrorClass::kRangeRefused, Step::kUnknown, 416, 416},
    {ErrorClass::kServerError, Step::kUnknown, 100, 999},

    {ErrorClass::kAccessDenied, Step::kUnknown, 0, 0, "unauthorized"},
    {ErrorClass::kAccessDenied, Step::kUnknown, 0, 0, "denied"},
    {ErrorClass::kRateLimited, Step::kUnknown, 0, 0, "toomanyrequests"},
    {ErrorClass::kContentMissing, Step::kUnknown, 0, 0, "blob unknown"},
    {ErrorClass::kNotFound, Step::kUnknown, 0, 0, "manifest unknown"},
    {ErrorClass::kNotFound, Step::kUnknown, 0, 0, "name unknown"},
    {ErrorClass::kInvalidReference, Step::kUnknown, 0, 0, "name invalid"},
    {ErrorClass::kNotFound, Step::kManifest, 0, 0, "unknown", "not found"},  // Harbor
    {ErrorClass::kServerError, Step::kUnknown, 0, 0, "unknown"},
    {ErrorClass::kServerError, Step::kUnknown, 0, 0, "unsupported"},
    {ErrorClass::kServerError, Step::kUnknown, 0, 0, "unavailable"},

    // The body is no JSON (a login page, a proxy's error), or JSON of another kind.
    {ErrorClass::kServerError, Step::kDocument, 0, 0, "", "invalid character"},
    {ErrorClass::kServerError, Step::kDocument, 0, 0, "", "unexpected end of json input"},
    {ErrorClass::kUnsupportedImage, Step::kDocument, 0, 0, "", "unsupported schema version"},
    {ErrorClass::kUnsupportedImage, Step::kDocument, 0, 0, "", "no fslayers in manifest"},
    {ErrorClass::kUnsupportedImage, Step::kUnknown, 0, 0, "", "unsupported image-specific operation",
     kCrioSource},
    {ErrorClass::kCorrupt, Step::kBlob, 0, 0, "", "digest did not match"},
    // Go's words for a body that is not sent as its headers say.
    {ErrorClass::kServerError, Step::kBlob, 0, 0, "", "chunk length"},
    {ErrorClass::kServerError, Step::kBlob, 0, 0, "", "malformed chunked encoding"},
    // CRI-O decompresses while it stores.
    {ErrorClass::kUnpackFailed, Step::kBlob, 0, 0, "", "gzip: invalid", kCrioSource},
    {ErrorClass::kServerError, Step::kBlob, 0, 0, "", "gzip: invalid"},
    {ErrorClass::kServerError, Step::kBlob, 0, 0, "", "unsupported content-encoding algorithm"},
    {ErrorClass::kUnpackFailed, Step::kUnpack, 0, 0, "", "unpacking failed", kCrioSource},
});

}  // namespace

std::optional<ErrorClass> ClassOfFailure(const ParsedFailure& parsed) {
  // A row of one step comes before the row of any step for the same status or code.
  auto row = std::find_if(kFailures.begin(), kFailures.end(),
                          [&](const FailureRow& failure) { return failure.Matches(parsed); });
  if (row == kFailures.end()) return std::nullopt;
  return row->error_class;
}

}  // namespace prefetch::cri
