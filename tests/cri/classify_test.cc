// C13 to C17: one row for each shape that was seen, for each runtime that says it so.
#include "cri/classify.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "rows.h"

namespace prefetch::cri::classify_test {
namespace {

using image::ErrorClass;
using enum ErrorClass;
using Strings = std::vector<std::string>;

struct Row {
  std::string name;
  ErrorClass expect;
  std::string message;
  RpcCode code = RpcCode::kUnknown;
  std::vector<std::string> names = {"reg.example/app:v1"};
};

TEST_TABLE(ClassifyTest, HasItsClass, Row) {
  EXPECT_EQ(base::EnumName(Classify(row.code, row.message, row.names)), base::EnumName(row.expect))
      << row.message;
}

// How the two generations of containerd begin their errors (C16).
std::string Old(const std::string& cause) {
  return "failed to pull and unpack image \"reg.example/app:v1\": failed to resolve reference "
         "\"reg.example/app:v1\": " +
         cause;
}
std::string New(const std::string& cause) {
  return "failed to pull and unpack image \"reg.example/app:v1\": failed to resolve image: " + cause;
}
std::string Layers(const std::string& cause) {
  return "failed to pull and unpack image \"reg.example/app:v1\": " + cause;
}
const std::string kDigest = "sha256:429a401b403c503d429a401b403c503d429a401b403c503d429a401b403c503d";
const std::string kUrl = "https://reg.example/v2/app/manifests/v1";
std::string Extract(const std::string& cause) {
  return Layers("failed to extract layer " + kDigest + ": " + cause);
}
std::string Do(const std::string& cause) {
  return "failed to do request: Head \"" + kUrl + "\": " + cause;
}
std::string Head(const std::string& status) {
  return "unexpected status from HEAD request to " + kUrl + ": " + status;
}
std::string Pulling(const std::string& status) {
  return "pulling from host reg.example failed with status code [manifests v1]: " + status;
}
const std::string kDenied = "pull access denied, repository does not exist or may require authorization: ";
std::string Get(const std::string& status) {
  return "unexpected status from GET request to " + kUrl + ": " + status;
}

TEST_ROWS(
    Transport, ClassifyTest,
    {"NoSocket", kRuntimeDown,
     "failed to connect to all addresses; last error: UNKNOWN: unix:/p: No such file or directory",
     RpcCode::kUnavailable},
    {"NobodyListens", kRuntimeDown,
     "failed to connect to all addresses; last error: UNKNOWN: unix:/p: Connection refused",
     RpcCode::kUnavailable},
    {"NoPermission", kRuntimeDown,
     "failed to connect to all addresses; last error: UNKNOWN: unix:/p: Permission denied",
     RpcCode::kUnavailable},
    {"SocketClosed", kRuntimeDown, "Socket closed", RpcCode::kUnavailable},
    {"BrokenPipe", kRuntimeDown, "Broken pipe", RpcCode::kUnavailable},
    {"GoAway", kRuntimeDown, "GOAWAY received", RpcCode::kUnavailable},
    {"Reset", kRuntimeDown, "recvmsg:Connection reset by peer", RpcCode::kUnavailable},
    {"NotInitialized23", kRuntimeDown, "server is not initialized yet: unavailable", RpcCode::kUnavailable},
    {"NotInitialized16", kRuntimeDown, "server is not initialized yet"},
    {"NoCriPlugin", kRuntimeUnsupported, "unknown service runtime.v1.ImageService", RpcCode::kUnimplemented},
    {"NoMethod16", kRuntimeUnsupported, "unknown method RuntimeConfig for service runtime.v1.RuntimeService",
     RpcCode::kUnimplemented},
    {"NoMethod23", kRuntimeUnsupported, "method StreamImages not implemented", RpcCode::kUnimplemented},
    {"ResetOfARegistryIsNotTheRuntime", kUnreachable,
     New(Do("read tcp 10.0.0.1:5->10.0.0.2:443: read: connection reset by peer")), RpcCode::kUnavailable},
    {"WatchdogOfTheRuntime", kRuntimeProgressTimeout, Layers("context canceled"), RpcCode::kCancelled},
    {"ListTooLong", kRuntimeError, "Received message larger than max (6291461 vs. 4194304)",
     RpcCode::kResourceExhausted},
    {"LeaseGone", kRuntimeError, Layers("lease does not exist: not found"), RpcCode::kNotFound});

TEST_ROWS(Signatures, ClassifyTest,
          {"CrioPolicy", kSignatureRejected,
           "SignatureValidationFailed: unable to pull image: copying: Source image rejected: Running image "
           "docker://reg.example/app:v1 is rejected by policy."},
          {"CrioUnsigned", kSignatureRejected,
           "Source image rejected: A signature was required, but no signature exists"},
          {"Verifier", kSignatureRejected,
           New("image verifier cosign blocked pull of reg.example/app:v1 with digest " + kDigest +
               " for reason: no")});

TEST_ROWS(
    Disk, ClassifyTest,
    {"FullWhileFetching", kDiskFull,
     Layers("failed to copy: write /var/lib/containerd/io.containerd.content.v1.content/ingest/4/data: no "
            "space left on device")},
    {"FullMetadata23", kDiskFull, Layers("write /var/lib/containerd/meta.db: no space left on device")},
    {"FullWhileUnpacking16", kDiskFull,
     Extract("mount callback failed on /tmp/m1: write /tmp/m1/f: no space left on device: unknown")},
    {"FullWhileUnpacking23", kDiskFull,
     Layers("failed to extract layer (application/vnd.oci.image.layer.v1.tar+gzip " + kDigest +
            ") to overlayfs as \"extract-1\": write /f: no space left on device")},
    {"FullCrio", kDiskFull,
     "writing blob: storing blob to file \"/var/tmp/storage1/1\": write /var/tmp/1: no space left on device"},
    {"Quota", kDiskFull, Layers("write /x: disk quota exceeded")},
    {"ReadOnly", kDiskFault, Layers("open /x: read-only file system")},
    {"IoError", kDiskFault, Layers("write /x: input/output error")},
    {"Damaged", kDiskFault, Layers("mkdir /x: structure needs cleaning")});

TEST_ROWS(
    Registry, ClassifyTest,
    {"DnsServerRefuses", kDnsFailure,
     New(Do("dial tcp: lookup reg.example on 10.0.0.10:53: read udp 10.0.0.1:3->10.0.0.10:53: read: "
            "connection refused"))},
    {"ConnectTimedOut", kUnreachable, Old(Do("dial tcp 10.0.0.1:443: connect: connection timed out"))},
    {"BodyTimedOut", kUnreachable, Layers("failed to copy: read tcp 10.0.0.1:5->10.0.0.2:443: i/o timeout"),
     RpcCode::kDeadlineExceeded},
    {"BodyOverHttp2", kUnreachable,
     Layers("failed to copy: stream error: stream ID 3; INTERNAL_ERROR; received from peer")},
    {"TooMany16", kRateLimited, Old(Pulling("429 Too Many Requests"))},
    {"TooMany23", kRateLimited, New(Head("429 Too Many Requests"))},
    {"DockerHubLimit", kRateLimited,
     Layers(Get("403 Forbidden\ntoomanyrequests: You have reached your unauthenticated pull rate limit."))},
    {"TooManyCrio", kRateLimited,
     "initializing source docker://reg.example/app:v1: too many requests to registry"},
    {"UnknownCa16", kTlsError, Old(Do("x509: certificate signed by unknown authority"))},
    {"UnknownCa23", kTlsError,
     New(Do("tls: failed to verify certificate: x509: certificate signed by unknown authority"))},
    {"PlainHttp", kTlsError, New(Do("http: server gave HTTP response to HTTPS client"))},
    {"NoSuchHost", kDnsFailure, Old(Do("dial tcp: lookup reg.example on 10.0.0.10:53: no such host"))},
    {"DnsSilent", kDnsFailure,
     New(Do("dial tcp: lookup reg.example on 10.0.0.10:53: read udp 10.0.0.1:3->10.0.0.10:53: i/o timeout")),
     RpcCode::kDeadlineExceeded},
    {"DnsServfail", kDnsFailure, Old("dial tcp: lookup reg.example: server misbehaving")},
    {"Refused", kUnreachable, Old(Do("dial tcp 10.0.0.1:443: connect: connection refused"))},
    {"DialTimeout", kUnreachable, Old(Do("dial tcp 10.0.0.1:443: i/o timeout")), RpcCode::kDeadlineExceeded},
    {"HeaderTimeout23", kUnreachable, New(Do("net/http: timeout awaiting response headers")),
     RpcCode::kDeadlineExceeded},
    {"TokenHostRefused", kUnreachable,
     New("failed to authorize: failed to fetch anonymous token: Get \"https://auth.example/token\": dial tcp "
         "10.0.0.3:443: connect: connection refused")},
    {"TlsToPlainPort16", kUnreachable, Old("failed to do request: Head \"http://localhost:5/v2/a\": EOF")},
    {"Cut16", kUnreachable,
     Layers("failed to copy: failed to read expected number of bytes: unexpected EOF")},
    {"Cut23", kUnreachable,
     Layers("failed to copy: short read: expected 1000 bytes but got 10: unexpected EOF")},
    {"CrioUnavailable", kUnreachable, "RegistryUnavailable: pinging container registry reg.example"},
    {"ManifestTooLarge", kUnsupportedImage,
     Old("rejecting 5243327 byte manifest for reg.example/app:v1: not found"), RpcCode::kNotFound},
    {"Unauthorized16", kAccessDenied, Old(Pulling("401 Unauthorized"))},
    {"NoCredentials23", kAccessDenied, New(kDenied + "authorization failed: no basic auth credentials")},
    {"DockerHubPrivate", kAccessDenied,
     New(kDenied + "server message: insufficient_scope: authorization failed")},
    {"TokenRefused16", kAccessDenied,
     Old("failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized")},
    {"TokenRefused23", kAccessDenied,
     New("failed to authorize: failed to fetch anonymous token: unexpected status from GET request to "
         "https://auth.example/token?scope=a: 401 Unauthorized")},
    // The token service fails here, not the image (C30).
    {"TokenServiceMissing16", kServerError,
     Old("failed to authorize: failed to fetch anonymous token: unexpected status: 404 Not Found")},
    {"TokenServiceMissing23", kServerError,
     New("failed to authorize: failed to fetch oauth token: unexpected status from POST request to "
         "https://auth.example/token: 404 Not Found")},
    {"TokenServiceRefusesTheRequest", kAccessDenied,
     New("failed to authorize: failed to fetch anonymous token: unexpected status from GET request to "
         "https://auth.example/token?scope=a: 400 Bad Request")},
    {"CrioBadPassword", kAccessDenied,
     "initializing source: unable to retrieve auth token: invalid username/password: unauthorized: no"},
    {"Forbidden16", kAccessDenied,
     Layers("unexpected status code " + kUrl + ": 403 Forbidden - Server message: denied: no")},
    {"Forbidden23", kAccessDenied, Layers(Get("403 Forbidden\ndenied: no"))},
    {"ExpiredEcrToken", kAccessDenied, New("denied: Your authorization token has expired. Reauthenticate")},
    {"GoogleDenied", kAccessDenied,
     New("Permission \"artifactregistry.repositories.downloadArtifacts\" denied on resource \"r\"")},
    {"BlockedCrio", kAccessDenied, "registry reg.example is blocked in /etc/containers/registries.conf"},
    {"NoPlatform16", kPlatformMismatch, Layers("no match for platform in manifest: not found"),
     RpcCode::kNotFound},
    {"NoPlatform23", kPlatformMismatch,
     "get image config descriptor: no match for platform in manifest " + kDigest + ": not found",
     RpcCode::kNotFound},
    {"NoPlatformCrio", kPlatformMismatch,
     "choosing an image from manifest list docker://reg.example/app:v1: no image found in manifest list for "
     "architecture \"arm64\", variant \"v8\", OS \"linux\""},
    {"RangeRefused16", kRangeRefused,
     Layers("failed to copy: httpReadSeeker: failed open: unexpected status code " + kUrl +
            ": 416 Requested Range Not Satisfiable")},
    {"RangeRefused21", kRangeRefused,
     Layers("failed to copy: httpReadSeeker: failed open: " + Get("416 Range Not Satisfiable"))},
    {"UnknownManifestType", kUnsupportedImage,
     Layers("failed to copy: could not fetch content descriptor " + kDigest +
            " (application/json) from remote: not found"),
     RpcCode::kNotFound},
    {"LoginPage", kServerError,
     Layers("could not fetch content descriptor " + kDigest +
            " (text/html; charset=utf-8) from remote: not found"),
     RpcCode::kNotFound},
    {"LoginPageOfAMirror", kServerError,
     Layers("failed to unpack image on snapshotter overlayfs: unexpected media type text/html for " +
            kDigest + ": not found"),
     RpcCode::kNotFound},
    {"ForeignPlatformOnly21", kPlatformMismatch,
     Layers("get image config descriptor: content digest " + kDigest + ": not found"), RpcCode::kNotFound},
    {"SizeZero", kUnsupportedImage,
     Layers("unable to fetch descriptor (" + kDigest +
            ") which reports content size of zero: invalid argument"),
     RpcCode::kInvalidArgument},
    {"LayerMissing", kContentMissing,
     Layers("failed to copy: httpReadSeeker: failed open: could not fetch content descriptor " + kDigest +
            " (application/vnd.docker.image.rootfs.diff.tar.gzip) from remote: not found"),
     RpcCode::kNotFound},
    {"ConfigMissing", kContentMissing,
     Layers("could not fetch content descriptor " + kDigest +
            " (application/vnd.docker.container.image.v1+json) from remote: not found"),
     RpcCode::kNotFound},
    {"ManifestByDigestMissing", kContentMissing,
     Layers("failed to copy: httpReadSeeker: failed open: content at " + kUrl + " not found: not found"),
     RpcCode::kNotFound},
    {"TagMissing16", kNotFound, Old("reg.example/app:v1: not found"), RpcCode::kNotFound},
    {"TagMissing23", kNotFound, New("reg.example/app:v1: not found"), RpcCode::kNotFound},
    {"NoHostLeft23", kNotFound, New("no resolve hosts: not found"), RpcCode::kNotFound},
    {"TagMissingCrio", kNotFound, "reading manifest v1 in reg.example/app: manifest unknown"},
    {"NameUnknownCrio", kNotFound, "reading manifest v1 in reg.example/app: name unknown"},
    {"Gone", kNotFound, New(Head("410 Gone"))},
    {"WrongDigest", kCorrupt,
     Layers("failed commit on ref \"layer-" + kDigest + "\": unexpected commit digest " + kDigest +
            ", expected " + kDigest + ": failed precondition"),
     RpcCode::kFailedPrecondition},
    {"WrongDiffId", kCorrupt, Layers("wrong diff id calculated on extraction \"" + kDigest + "\"")},
    {"Error503", kServerError, New(Head("503 Service Unavailable"))},
    {"Error500Old", kServerError, Old(Pulling("500 Internal Server Error"))},
    {"Error503Crio", kServerError,
     "fetching blob: invalid status code from registry 503 (Service Unavailable)"},
    {"RedirectLoop", kServerError,
     Old("failed to do request: Head \"/v2/app/manifests/v1\": stopped after 10 redirects")},
    {"Status400", kServerError, Old(Pulling("400 Bad Request"))},
    {"Status408", kServerError, New(Head("408 Request Timeout"))},
    {"Status451", kAccessDenied, New(Head("451 Unavailable For Legal Reasons"))});

// A request that got no answer says nothing about the image, whatever the words behind it: they are Go's, or
// the reason phrase of a proxy that refuses to connect (seen on containerd 1.6.20 and 2.1.9).
TEST_ROWS(
    Unanswered, ClassifyTest, {"ProxyWantsALogin16", kUnreachable, Old(Do("Proxy Authentication Required"))},
    {"ProxyWantsALogin21", kUnreachable, New(Do("Proxy Authentication Required"))},
    {"ProxyUnauthorized", kUnreachable, New(Do("Unauthorized"))},
    {"ProxyForbids", kUnreachable, New(Do("Forbidden"))},
    {"ProxyInItsOwnWords", kUnreachable, New(Do("denied: by policy"))},
    {"ProxyCannotReachIt", kUnreachable, New(Do("Bad Gateway"))},
    {"ProxyOfATokenService", kUnreachable,
     New("failed to authorize: failed to fetch oauth token: Post \"https://auth.example/token\": Forbidden")},
    {"ProxyOfCrio", kUnreachable,
     "unable to pull image or OCI artifact: pull image err: initializing source docker://reg.example/app:v1: "
     "pinging container registry reg.example: Get \"https://reg.example/v2/\": Unauthorized"},
    {"NoHttp", kServerError, New(Do("malformed HTTP status code \"garbage\""))},
    {"DescriptorsOfTheRuntime", kRuntimeError, New(Do("dial tcp 10.0.0.1:443: socket: too many open files"))},
    {"DescriptorsInALookup", kRuntimeError,
     New(Do("dial tcp: lookup reg.example on 10.0.0.10:53: dial udp 10.0.0.10:53: socket: too many open "
            "files"))},
    {"TwoLengths", kServerError, New(Do("http: message cannot contain multiple Content-Length headers"))},
    {"EndedByTheRuntime", kRuntimeProgressTimeout, New(Do("context canceled"))},
    {"DeadlineOfTheRuntime", kTimeout, New(Do("context deadline exceeded"))});

// An answer that cannot be read is the mistake of its server, and none of the runtime (seen on
// containerd 1.6.20 and 2.1.9).
TEST_ROWS(
    Unreadable, ClassifyTest,
    {"ATokenThatIsNone", kServerError,
     New("failed to authorize: failed to fetch anonymous token: unable to decode token response: invalid "
         "character '<' looking for beginning of value")},
    {"NoToken", kServerError,
     New("failed to authorize: failed to fetch anonymous token: authorization server did not include a token "
         "in the response")},
    {"TokenOfTwoLines", kServerError, New(Do("net/http: invalid header field value for \"Authorization\""))},
    {"RealmWithoutAScheme", kServerError,
     New("failed to authorize: failed to fetch anonymous token: Get \"?scope=a\": unsupported protocol "
         "scheme \"\"")},
    {"NoRealm", kServerError, New("no realm specified for token auth challenge")},
    {"ChunkLength", kServerError, Layers("failed to copy: invalid byte in chunk length")},
    {"ChunkTooLarge", kServerError, Layers("failed to copy: http chunk length too large")},
    {"Chunks", kServerError, Layers("failed to copy: malformed chunked encoding")},
    {"Gzip", kServerError, Layers("failed to copy: gzip: invalid header")},
    {"CrioGzip", kUnpackFailed,
     "writing blob: storing blob to file \"/var/tmp/storage1/1\": gzip: invalid checksum"},
    {"GzipOfALayer", kUnpackFailed, Extract("gzip: invalid checksum")},
    {"Encoding", kServerError,
     Layers("failed to copy: httpReadSeeker: failed open: unsupported Content-Encoding algorithm: br")});

// The server may write of its own disk, certificates and network: that says nothing of the node's.
TEST_ROWS(
    ServersWords, ClassifyTest,
    {"NetworkInABody23", kServerError,
     Layers(
         "failed to copy: httpReadSeeker: failed open: " +
         Get("503 Service Unavailable\nunavailable: dial tcp 10.0.0.9:5432: connect: connection refused"))},
    {"DiskInAMessage16", kServerError,
     Layers("unexpected status code " + kUrl +
            ": 500 Internal Server Error - Server message: unknown: write /blobs: no space left on device")},
    {"CertificateInARefusal", kAccessDenied,
     New(kDenied + "server message: x509: certificate has expired: authorization failed")},
    {"CodeWithoutAStatus", kAccessDenied, New("denied: the mirror got: 404 Not Found, manifest unknown")},
    {"AServerThatSaysNothing", kUnknown, "x: server message"},
    {"TheKernelsDenialIsNoRegistrys", kUnpackFailed,
     Extract("failed to mount /tmp/m1: permission denied: unknown")},
    {"NorIsThatOfASnapshot", kUnpackFailed,
     Layers("failed to prepare extraction snapshot \"extract-1\": permission denied: unknown")},
    {"GrpcsOwnWordIsNoCode", kUnpackFailed, Extract("exit status 1: unknown")},
    {"BlobGone23", kContentMissing,
     Layers("failed to copy: httpReadSeeker: failed open: " + Get("410 Gone"))});

TEST_ROWS(
    ImageAndRuntime, ClassifyTest,
    {"BadName", kInvalidReference,
     "failed to parse image reference \"UPPER/app\": repository name must be lowercase"},
    {"ShortNameCrio", kInvalidReference,
     "short name mode is enforcing, but image name busybox:latest returns ambiguous list"},
    {"NoAliasCrio", kInvalidReference,
     "short-name \"busybox\" did not resolve to an alias and no unqualified-search registries are defined"},
    {"Schema1New", kUnsupportedImage,
     New("schema 1 image manifests are no longer supported since containerd v2.0: invalid argument"),
     RpcCode::kInvalidArgument},
    {"ArtifactLayers16", kUnsupportedImage,
     Extract("failed to get stream processor for application/vnd.cncf.helm: no processor for media-type: "
             "unknown")},
    {"ManifestNotJson", kUnsupportedImage,
     Layers("children: invalid desc " + kDigest + ": invalid character '<' looking for beginning of value")},
    {"NoSnapshotter", kUnpackFailed,
     Layers("unable to initialize unpacker: no unpack platforms defined: invalid argument"),
     RpcCode::kInvalidArgument},
    {"ExtractFailed", kUnpackFailed, Extract("exit status 1")},
    {"ParentSnapshotGone", kUnpackFailed,
     Layers("failed to prepare extraction snapshot \"extract-1\": parent snapshot does not exist: not found"),
     RpcCode::kNotFound},
    {"DecodedAuth", kBadCredentialFormat, "invalid decoded auth: \"thesecret\\x00\""},
    {"BadBase64", kBadCredentialFormat, "illegal base64 data at input byte 4"},
    {"WatchdogCrio", kRuntimeProgressTimeout, "pull image: context canceled"},
    {"RuntimesOwnDeadline", kTimeout, Layers("context deadline exceeded")},
    {"CodeNotFound", kNotFound, "gone", RpcCode::kNotFound},
    {"CodePermissionDenied", kAccessDenied, "no", RpcCode::kPermissionDenied},
    {"CodeUnauthenticated", kAccessDenied, "no", RpcCode::kUnauthenticated},
    {"CodeExhausted", kRuntimeError, "no", RpcCode::kResourceExhausted},
    {"CodeInvalid", kInvalidReference, "no", RpcCode::kInvalidArgument},
    {"CodePrecondition", kRuntimeError, "namespace is required", RpcCode::kFailedPrecondition},
    {"CodeDeadline", kTimeout, "late", RpcCode::kDeadlineExceeded},
    {"NothingKnown", kUnknown, "something new"});

// Names that are made of the words that rules look for (C15).
std::string Missing(const std::string& name) {
  return "failed to pull and unpack image \"" + name + "\": failed to resolve reference \"" + name +
         "\": " + name + ": not found";
}
Row MissingRow(const std::string& row, const std::string& name) {
  return {row, kNotFound, Missing(name), RpcCode::kNotFound, {name}};
}

TEST_ROWS(
    Names, ClassifyTest, MissingRow("Denied", "reg.example/x/denied:v1"),
    MissingRow("Unauthorized", "reg.example/unauthorized:latest"),
    MissingRow("NoSpace", "reg.example/team/no-space:v1"),
    MissingRow("TooMany", "reg.example/app:toomanyrequests"),
    {"TagOfOldHeadError", kAccessDenied,
     Missing("reg.example/app:toomanyrequests") +
         "pulling from host reg.example failed with status code [manifests toomanyrequests]: 403 Forbidden",
     RpcCode::kUnknown, Strings{"reg.example/app:toomanyrequests"}},
    {"NameInUrl", kServerError,
     New("unexpected status from HEAD request to https://reg.example/v2/toomanyrequests/manifests/denied: "
         "500 Internal Server Error")},
    {"NormalisedNameBesideTheOneSent", kNotFound, Missing("docker.io/library/denied:latest"),
     RpcCode::kNotFound, Strings{"denied:latest", "docker.io/library/denied:latest"}},
    {"ShortNameLeavesWordsWhole", kUnreachable, Old(Do("dial tcp 10.0.0.1:443: connect: connection refused")),
     RpcCode::kUnknown, Strings{"c"}},
    {"TagInWordsOfCrio", kNotFound, "reading manifest toomanyrequests in reg.example/app: manifest unknown"});

TEST_ROWS(
    Cuts, ClassifyTest,
    {"ArtifactEcho", kNotFound,
     "unable to pull image or OCI artifact: pull image err: initializing source: reading manifest v1 in "
     "reg.example/app: manifest unknown; artifact err: get manifest: 401 Unauthorized"},
    {"MirrorDenied", kNotFound,
     "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: "
     "unauthorized: authentication required]): reg.example/app:v1: reading manifest v1 in reg.example/app: "
     "manifest unknown"},
    {"ParenthesesBehindMirrors", kAccessDenied,
     "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: pinging "
     "container registry mirror.example: StatusCode: 404, \"\"]): reg.example/app:v1: reading manifest v1 in "
     "reg.example/app: denied: user (anonymous): no"},
    {"ABodyBehindMirrors", kServerError,
     "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: reading "
     "manifest v1 in mirror.example/app: manifest unknown]): reg.example/app:v1: Requesting bearer token: "
     "decoding bearer token (last URL \"https://auth.example/token\", body start \"<html>\"): invalid "
     "character '<' looking for beginning of value"},
    {"MirrorsFailed", kUnreachable,
     "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: reading "
     "manifest v1 in mirror.example/app: manifest unknown]): reg.example/app:v1: pinging container registry "
     "reg.example: Get \"https://reg.example/v2/\": dial tcp 10.0.0.1:443: connect: connection refused"});

// C30: what a real CRI-O said, text by text, and what its parts mean where only one of them changes.

constexpr std::size_t kTexts = 75;

std::string ClassOf(const std::string& code, const std::string& text, const std::string& name) {
  static const std::map<std::string, RpcCode> kCodes = {{"Unknown", RpcCode::kUnknown},
                                                        {"Canceled", RpcCode::kCancelled}};
  return std::string(base::EnumName(Classify(kCodes.at(code), text, {name})));
}

TEST(CrioTexts, EachThatWasSeenHasItsClass) {
  std::ifstream file(std::string(std::getenv("PREFETCH_TESTDATA")) + "/cri/crio-1.36.tsv");
  std::size_t texts = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream columns(line);
    std::string name, code, expect, text;
    std::getline(columns, name, '\t');
    std::getline(columns, code, '\t');
    std::getline(columns, expect, '\t');
    std::getline(columns, text);
    EXPECT_EQ(ClassOf(code, text, name), expect) << text;
    texts++;
  }
  EXPECT_EQ(texts, kTexts);
}

// `cause` at the step that `step` names, both as an image and as an artifact, from a mirror with a name of
// its own.
std::string Said(const std::string& step, const std::string& cause) {
  return "unable to pull image or OCI artifact: pull image err: initializing source "
         "docker://reg.example/a:v1: " +
         step + ": " + cause +
         "; artifact err: image reference: get manifest from ref: create image source: " + step + ": " +
         cause;
}
const std::string kManifest = "reading manifest v1 in mirror.example/denied/unauthorized";
const std::string kPing = "pinging container registry toomanyrequests.example:5000";
const std::string kToken = "Requesting bearer token";
const std::string kBlob = "reading blob sha256:" + std::string(64, '1') + ": fetching blob";
const std::string kDocument = "initializing image from source docker://reg.example/a:v1";

struct Shape {
  std::string step, cause;
  ErrorClass expect;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.cause;
}

std::string Http(const std::string& status) {
  return "received unexpected HTTP status: " + status;
}

TEST_TABLE(CrioShapeTest, StepAndStatusDecide, Shape) {
  const std::string text = Said(row.step, row.cause);
  EXPECT_EQ(ClassOf("Unknown", text, "reg.example/a:v1"), std::string(base::EnumName(row.expect))) << text;
}

TEST_ROWS(StatusesOfTheManifest, CrioShapeTest, {kManifest, "denied", kAccessDenied},
          {kManifest, "StatusCode: 402, \"pay\"", kAccessDenied},
          {kManifest, "StatusCode: 404, \"\"", kNotFound},
          {kManifest, "StatusCode: 408, \"slow\"", kServerError},
          {kManifest, "StatusCode: 407, \"proxy\"", kUnreachable},
          {kManifest, "StatusCode: 429, \"\"", kRateLimited},
          {kManifest, Http("500 Internal Server Error"), kServerError},
          {kManifest, Http("599 Whatever"), kServerError},
          {kManifest, "unknown: unknown error", kServerError},
          {kManifest, "unavailable: later", kServerError},
          {kManifest, "name invalid: too long", kInvalidReference});

// The words of a server do not describe the node.
TEST_ROWS(WordsOfTheServer, CrioShapeTest,
          {kManifest, "StatusCode: 400, \"no space left on device\"", kServerError},
          {kManifest, "StatusCode: 418, \"x509: denied: manifest unknown\"", kServerError},
          {kManifest, "unknown: dial tcp: lookup upstream: no such host", kServerError},
          {kManifest, "denied: connection refused", kAccessDenied},
          {kManifest, "StatusCode: 403, \"pull rate limit\"", kRateLimited},
          {kManifest, "denied: Rate exceeded", kRateLimited});

TEST_ROWS(PingAndTokenSayNothingOfTheImage, CrioShapeTest, {kPing, "StatusCode: 410, \"gone\"", kServerError},
          {kPing, "StatusCode: 407, \"proxy\"", kUnreachable}, {kPing, Http("502 Bad Gateway"), kServerError},
          {kToken, Http("400 Bad Request"), kAccessDenied}, {kToken, Http("401 Unauthorized"), kAccessDenied},
          {kToken, Http("404 Not Found"), kServerError}, {kToken, Http("410 Gone"), kServerError},
          {kToken, Http("429 Too Many Requests"), kRateLimited});

// These have no "initializing source" of their own in the texts of CRI-O, which changes nothing.
TEST_ROWS(BlobsAndDocuments, CrioShapeTest, {kBlob, "StatusCode: 404, \"no\"", kContentMissing},
          {kBlob, "denied", kAccessDenied},
          {kBlob, "invalid status code from registry 403 (Forbidden)", kAccessDenied},
          {"writing blob: adding layer with blob \"" + kDigest + "\"",
           "unpacking failed (error: exit status 1; output: archive/tar: invalid tar header)", kUnpackFailed},
          {kDocument, "invalid character '<' looking for beginning of value", kServerError},
          {kDocument, "no FSLayers in manifest", kUnsupportedImage},
          {kDocument, "unsupported image-specific operation on artifact with type \"application/x\"",
           kUnsupportedImage});

// C14, substring by substring: each by itself decides the class.

struct Words {
  std::string_view rule;
  ErrorClass error_class;
  Strings texts;
};

Words Rule(std::string_view rule, ErrorClass error_class, Strings texts) {
  return {rule, error_class, std::move(texts)};
}

const Words kWords[] = {
    Rule("1", kSignatureRejected,
         {"SignatureValidationFailed", "Source image rejected", "is rejected by policy",
          "A signature was required", "None of the signatures were accepted"}),
    Rule("2", kSignatureRejected,
         {"image verifier a blocked pull", "image verifier a blocking pull", "blocked pull of",
          "blocking pull of"}),
    Rule("2a", kRuntimeError, {"invalid policy in \"/p\": EOF"}),
    Rule("3", kDiskFull, {"no space left on device", "disk quota exceeded"}),
    Rule("4", kDiskFault, {"read-only file system", "input/output error", "structure needs cleaning"}),
    Rule("5", kRateLimited,
         {"429 Too Many Requests", "toomanyrequests", "too many requests to registry", "StatusCode: 429",
          "pull rate limit", "Rate exceeded"}),
    Rule("6", kTlsError,
         {"x509:", "certificate signed by unknown authority", "certificate has expired",
          "certificate is valid for", "tls: handshake failure", "server gave HTTP response to HTTPS client"}),
    Rule("7", kDnsFailure,
         {"no such host", "server misbehaving", "Temporary failure in name resolution",
          "lookup reg.example: i/o timeout", "dial tcp: lookup reg.example: cannot unmarshal DNS message"}),
    Rule("8", kUnreachable,
         {"connection refused", "no route to host", "network is unreachable", "connection reset by peer",
          "dial tcp 10.0.0.1:443: i/o timeout", "TLS handshake timeout", "timeout awaiting response headers",
          "Client.Timeout exceeded", "proxyconnect tcp", "RegistryUnavailable", "unexpected EOF", "Head: EOF",
          "read tcp 10.0.0.1:5->10.0.0.2:443: i/o timeout", "connection timed out",
          "use of closed network connection", "http2: server sent GOAWAY and closed the connection",
          "stream error: stream ID 3; CANCEL"}),
    Rule("8b", kUnreachable, {"Head \"https://a\": Forbidden"}),
    Rule("8a", kUnsupportedImage, {"rejecting 5243327 byte manifest"}),
    Rule("9", kAccessDenied,
         {"pull access denied", "insufficient_scope", "authorization failed", "no basic auth credentials",
          "401 Unauthorized", "unauthorized: no", "authentication required", "invalid username/password",
          "incorrect username or password"}),
    Rule("10", kAccessDenied,
         {"403 Forbidden", "denied: no", "requested access to the resource is denied",
          "Permission \"a.b\" denied on resource", "authorization token has expired", "StatusCode: 403",
          "403 (Forbidden)"}),
    Rule("11", kPlatformMismatch,
         {"no match for platform", "no image found in manifest list for architecture",
          "no image found in image index for architecture", "does not match the specified platform",
          "get image config descriptor: content digest sha256:a: not found"}),
    Rule("12a", kServerError, {"unexpected media type text/html for sha256:a: not found"}),
    Rule("12a", kUnsupportedImage,
         {"unexpected media type application/json for sha256:a: not found",
          "could not fetch content descriptor sha256:a (application/json)"}),
    Rule("12a", kServerError, {"could not fetch content descriptor sha256:a (text/html)"}),
    Rule("12b", kContentMissing, {"could not fetch content descriptor", "content at URL not found"}),
    Rule("13", kNotFound,
         {"manifest unknown", "name unknown", "repository name not known to registry",
          "manifest for a:v1 not found", "404 Not Found", "404 (Not Found)", "StatusCode: 404",
          "was deleted or has expired"}),
    Rule("14", kCorrupt,
         {"unexpected commit digest", "unexpected commit size", "wrong diff id", "failed size validation",
          "digest mismatch", "does not match config's DiffID"}),
    Rule("15", kServerError,
         {"500 Internal Server Error", "502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout",
          "StatusCode: 502", "invalid status code from registry 503", "stopped after 10 redirects"}),
    Rule("16", kInvalidReference,
         {"failed to parse image reference", "invalid reference format", "repository name must be lowercase",
          "short name mode is enforcing", "did not resolve to an alias",
          "cannot specify 64-byte hexadecimal"}),
    Rule("17", kUnsupportedImage,
         {"no longer supported since containerd", "schema 1 image manifests are no longer supported",
          "unsupported media type", "failed to convert", "no processor for media-type",
          "invalid desc sha256:a", "no signatures"}),
    Rule("18", kUnpackFailed,
         {"no unpack platforms defined", "unable to resolve snapshotter", "snapshotter not loaded",
          "failed to extract layer", "failed to prepare extraction snapshot", "failed to mount"}),
    Rule("19", kAccessDenied, {"registry a is blocked in"}),
    Rule("20", kBadCredentialFormat, {"invalid decoded auth", "illegal base64 data", "parse server address"}),
    Rule("21", kRuntimeProgressTimeout, {"context canceled"}),
    Rule("22", kTimeout, {"context deadline exceeded"}),
};

TEST(ClassifyRules, EachSubstringDecidesByItself) {
  for (const auto& [rule, error_class, texts] : kWords) {
    for (const std::string& as_written : texts) {
      for (const std::string& text : {as_written, base::ToLower(as_written)}) {
        EXPECT_EQ(Classify(RpcCode::kUnknown, "failed to pull: " + text, {}), error_class)
            << "rule " << rule << ": " << text;
      }
    }
  }
}

// "First match wins": the words of two rules in one text, in either order, are the earlier rule's.
TEST(ClassifyRules, TheEarlierRuleWins) {
  const std::pair<std::string, std::string> pairs[] = {
      {"is rejected by policy", "no space left on device"},
      {"blocked pull of", "read-only file system"},
      {"no space left on device", "failed to extract layer"},
      {"input/output error", "failed to mount"},
      {"toomanyrequests", "requested access to the resource is denied"},
      {"x509:", "failed to authorize: 401 Unauthorized"},
      {"no such host", "401 Unauthorized"},
      {"connection refused", "authorization failed"},
      {"rejecting 5243327 byte manifest", "404 Not Found"},
      {"pull access denied", "404 Not Found"},
      {"403 Forbidden", "name unknown"},
      {"no match for platform", "manifest unknown"},
      {"could not fetch content descriptor", "manifest unknown"},
      {"404 Not Found", "context canceled"},
      {"wrong diff id", "failed to extract layer"},
      {"500 Internal Server Error", "failed to extract layer"},
      {"no processor for media-type", "failed to extract layer"},
      {"failed to extract layer", "context canceled"},
      {"illegal base64 data", "context deadline exceeded"},
  };
  for (const auto& [first, second] : pairs) {
    ErrorClass alone = Classify(RpcCode::kUnknown, first, {});
    EXPECT_NE(alone, Classify(RpcCode::kUnknown, second, {})) << first << " / " << second;
    EXPECT_EQ(Classify(RpcCode::kUnknown, first + "; " + second, {}), alone) << first << " / " << second;
    EXPECT_EQ(Classify(RpcCode::kUnknown, second + "; " + first, {}), alone) << second << " / " << first;
  }
}

// How gRPC tells that the runtime is gone (C13): only with its own code, and not inside of the report of a
// pull.
TEST(ClassifyRules, TheConnectionsOwnWordsNeedTheCode) {
  for (std::string_view words :
       {"failed to connect to all addresses; last error: UNKNOWN: unix:/p: No such file or directory",
        "Socket closed", "Broken pipe", "GOAWAY received", "Connection reset by peer", "Stream removed",
        "transport closed", "connection attempt timed out before receiving SETTINGS frame"}) {
    std::string text(words);
    EXPECT_EQ(Classify(RpcCode::kUnavailable, text, {}), kRuntimeDown) << text;
    EXPECT_NE(Classify(RpcCode::kUnknown, text, {}), kRuntimeDown) << text;
    EXPECT_NE(Classify(RpcCode::kUnavailable, "failed to pull and unpack image: " + text, {}), kRuntimeDown)
        << text;
  }
}

}  // namespace
}  // namespace prefetch::cri::classify_test
