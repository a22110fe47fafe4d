// C13 to C17: one row for each shape that was seen, for each runtime that says it so.
#include "cri/classify.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "rows.h"

namespace prefetch::cri::classify_test {
namespace {

using image::ErrorClass;
using Strings = std::vector<std::string>;

struct Row {
  std::string name;
  RpcCode code;
  std::string message;
  ErrorClass expect;
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

TEST_ROWS(Transport, ClassifyTest,
          {"NoSocket", RpcCode::kUnavailable,
           "failed to connect to all addresses; last error: UNKNOWN: unix:/p: No such file or directory",
           ErrorClass::kRuntimeDown},
          {"NobodyListens", RpcCode::kUnavailable,
           "failed to connect to all addresses; last error: UNKNOWN: unix:/p: Connection refused",
           ErrorClass::kRuntimeDown},
          {"NoPermission", RpcCode::kUnavailable,
           "failed to connect to all addresses; last error: UNKNOWN: unix:/p: Permission denied",
           ErrorClass::kRuntimeDown},
          {"SocketClosed", RpcCode::kUnavailable, "Socket closed", ErrorClass::kRuntimeDown},
          {"BrokenPipe", RpcCode::kUnavailable, "Broken pipe", ErrorClass::kRuntimeDown},
          {"GoAway", RpcCode::kUnavailable, "GOAWAY received", ErrorClass::kRuntimeDown},
          {"Reset", RpcCode::kUnavailable, "recvmsg:Connection reset by peer", ErrorClass::kRuntimeDown},
          {"NotInitialized23", RpcCode::kUnavailable, "server is not initialized yet: unavailable",
           ErrorClass::kRuntimeDown},
          {"NotInitialized16", RpcCode::kUnknown, "server is not initialized yet", ErrorClass::kRuntimeDown},
          {"NoCriPlugin", RpcCode::kUnimplemented, "unknown service runtime.v1.ImageService",
           ErrorClass::kRuntimeUnsupported},
          {"NoMethod16", RpcCode::kUnimplemented,
           "unknown method RuntimeConfig for service runtime.v1.RuntimeService",
           ErrorClass::kRuntimeUnsupported},
          {"NoMethod23", RpcCode::kUnimplemented, "method StreamImages not implemented",
           ErrorClass::kRuntimeUnsupported},
          {"ResetOfARegistryIsNotTheRuntime", RpcCode::kUnavailable,
           New("failed to do request: Head \"" + kUrl +
               "\": read tcp 10.0.0.1:5->10.0.0.2:443: read: connection reset by peer"),
           ErrorClass::kUnreachable},
          {"WatchdogOfTheRuntime", RpcCode::kCancelled, Layers("context canceled"),
           ErrorClass::kRuntimeProgressTimeout},
          {"ListTooLong", RpcCode::kResourceExhausted,
           "Received message larger than max (6291461 vs. 4194304)", ErrorClass::kRuntimeError},
          {"LeaseGone", RpcCode::kNotFound, Layers("lease does not exist: not found"),
           ErrorClass::kRuntimeError});

TEST_ROWS(Signatures, ClassifyTest,
          {"CrioPolicy", RpcCode::kUnknown,
           "SignatureValidationFailed: unable to pull image: copying: Source image rejected: "
           "Running image docker://reg.example/app:v1 is rejected by policy.",
           ErrorClass::kSignatureRejected},
          {"CrioUnsigned", RpcCode::kUnknown,
           "Source image rejected: A signature was required, but no signature exists",
           ErrorClass::kSignatureRejected},
          {"Verifier", RpcCode::kUnknown,
           New("image verifier cosign blocked pull of reg.example/app:v1 with digest " + kDigest +
               " for reason: no"),
           ErrorClass::kSignatureRejected});

TEST_ROWS(Disk, ClassifyTest,
          {"FullWhileFetching", RpcCode::kUnknown,
           Layers("failed to copy: write /var/lib/containerd/io.containerd.content.v1.content/ingest/4/data: "
                  "no space left on device"),
           ErrorClass::kDiskFull},
          {"FullMetadata23", RpcCode::kUnknown,
           Layers("write /var/lib/containerd/meta.db: no space left on device"), ErrorClass::kDiskFull},
          {"FullWhileUnpacking16", RpcCode::kUnknown,
           Layers("failed to extract layer " + kDigest +
                  ": mount callback failed on /tmp/m1: write /tmp/m1/f: no space left on device: unknown"),
           ErrorClass::kDiskFull},
          {"FullWhileUnpacking23", RpcCode::kUnknown,
           Layers("failed to extract layer (application/vnd.oci.image.layer.v1.tar+gzip " + kDigest +
                  ") to overlayfs as \"extract-1\": write /f: no space left on device"),
           ErrorClass::kDiskFull},
          {"FullCrio", RpcCode::kUnknown,
           "writing blob: storing blob to file \"/var/tmp/storage1/1\": write /var/tmp/1: no space left on "
           "device",
           ErrorClass::kDiskFull},
          {"Quota", RpcCode::kUnknown, Layers("write /x: disk quota exceeded"), ErrorClass::kDiskFull},
          {"ReadOnly", RpcCode::kUnknown, Layers("open /x: read-only file system"), ErrorClass::kDiskFault},
          {"IoError", RpcCode::kUnknown, Layers("write /x: input/output error"), ErrorClass::kDiskFault},
          {"Damaged", RpcCode::kUnknown, Layers("mkdir /x: structure needs cleaning"),
           ErrorClass::kDiskFault});

TEST_ROWS(
    Registry, ClassifyTest,
    {"TooMany16", RpcCode::kUnknown,
     Old("pulling from host reg.example failed with status code [manifests v1]: 429 Too Many "
         "Requests"),
     ErrorClass::kRateLimited},
    {"TooMany23", RpcCode::kUnknown,
     New("unexpected status from HEAD request to " + kUrl + ": 429 Too Many Requests"),
     ErrorClass::kRateLimited},
    {"DockerHubLimit", RpcCode::kUnknown,
     Layers("unexpected status from GET request to " + kUrl +
            ": 403 Forbidden\ntoomanyrequests: You have reached your unauthenticated pull rate limit."),
     ErrorClass::kRateLimited},
    {"TooManyCrio", RpcCode::kUnknown,
     "initializing source docker://reg.example/app:v1: too many requests to registry",
     ErrorClass::kRateLimited},
    {"UnknownCa16", RpcCode::kUnknown,
     Old("failed to do request: Head \"" + kUrl + "\": x509: certificate signed by unknown authority"),
     ErrorClass::kTlsError},
    {"UnknownCa23", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl +
         "\": tls: failed to verify certificate: x509: certificate signed by unknown authority"),
     ErrorClass::kTlsError},
    {"PlainHttp", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": http: server gave HTTP response to HTTPS client"),
     ErrorClass::kTlsError},
    {"NoSuchHost", RpcCode::kUnknown,
     Old("failed to do request: Head \"" + kUrl +
         "\": dial tcp: lookup reg.example on 10.0.0.10:53: no such host"),
     ErrorClass::kDnsFailure},
    {"DnsSilent", RpcCode::kDeadlineExceeded,
     New("failed to do request: Head \"" + kUrl +
         "\": dial tcp: lookup reg.example on 10.0.0.10:53: read udp 10.0.0.1:3->10.0.0.10:53: i/o "
         "timeout"),
     ErrorClass::kDnsFailure},
    {"DnsServfail", RpcCode::kUnknown, Old("dial tcp: lookup reg.example: server misbehaving"),
     ErrorClass::kDnsFailure},
    {"Refused", RpcCode::kUnknown,
     Old("failed to do request: Head \"" + kUrl + "\": dial tcp 10.0.0.1:443: connect: connection refused"),
     ErrorClass::kUnreachable},
    {"DialTimeout", RpcCode::kDeadlineExceeded,
     Old("failed to do request: Head \"" + kUrl + "\": dial tcp 10.0.0.1:443: i/o timeout"),
     ErrorClass::kUnreachable},
    {"HeaderTimeout23", RpcCode::kDeadlineExceeded,
     New("failed to do request: Head \"" + kUrl + "\": net/http: timeout awaiting response headers"),
     ErrorClass::kUnreachable},
    {"TokenHostRefused", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch anonymous token: Get \"https://auth.example/token\": "
         "dial tcp 10.0.0.3:443: connect: connection refused"),
     ErrorClass::kUnreachable},
    {"TlsToPlainPort16", RpcCode::kUnknown,
     Old("failed to do request: Head \"http://localhost:5/v2/a\": EOF"), ErrorClass::kUnreachable},
    {"Cut16", RpcCode::kUnknown,
     Layers("failed to copy: failed to read expected number of bytes: unexpected EOF"),
     ErrorClass::kUnreachable},
    {"Cut23", RpcCode::kUnknown,
     Layers("failed to copy: short read: expected 1000 bytes but got 10: unexpected EOF"),
     ErrorClass::kUnreachable},
    {"DnsServerRefuses", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl +
         "\": dial tcp: lookup reg.example on 10.0.0.10:53: read udp 10.0.0.1:3->10.0.0.10:53: read: "
         "connection refused"),
     ErrorClass::kDnsFailure},
    {"ConnectTimedOut", RpcCode::kUnknown,
     Old("failed to do request: Head \"" + kUrl + "\": dial tcp 10.0.0.1:443: connect: connection timed out"),
     ErrorClass::kUnreachable},
    {"BodyTimedOut", RpcCode::kDeadlineExceeded,
     Layers("failed to copy: read tcp 10.0.0.1:5->10.0.0.2:443: i/o timeout"), ErrorClass::kUnreachable},
    {"BodyOverHttp2", RpcCode::kUnknown,
     Layers("failed to copy: stream error: stream ID 3; INTERNAL_ERROR; received from peer"),
     ErrorClass::kUnreachable},
    {"CrioUnavailable", RpcCode::kUnknown, "RegistryUnavailable: pinging container registry reg.example",
     ErrorClass::kUnreachable},
    {"ManifestTooLarge", RpcCode::kNotFound,
     Old("rejecting 5243327 byte manifest for reg.example/app:v1: not found"), ErrorClass::kUnsupportedImage},
    {"Unauthorized16", RpcCode::kUnknown,
     Old("pulling from host reg.example failed with status code [manifests v1]: 401 Unauthorized"),
     ErrorClass::kAccessDenied},
    {"NoCredentials23", RpcCode::kUnknown,
     New("pull access denied, repository does not exist or may require authorization: authorization "
         "failed: no basic auth credentials"),
     ErrorClass::kAccessDenied},
    {"DockerHubPrivate", RpcCode::kUnknown,
     New("pull access denied, repository does not exist or may require authorization: server message: "
         "insufficient_scope: authorization failed"),
     ErrorClass::kAccessDenied},
    {"TokenRefused16", RpcCode::kUnknown,
     Old("failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized"),
     ErrorClass::kAccessDenied},
    {"TokenRefused23", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch anonymous token: unexpected status from GET request to "
         "https://auth.example/token?scope=a: 401 Unauthorized"),
     ErrorClass::kAccessDenied},
    // The token service fails here, not the image (C30).
    {"TokenServiceMissing16", RpcCode::kUnknown,
     Old("failed to authorize: failed to fetch anonymous token: unexpected status: 404 Not Found"),
     ErrorClass::kServerError},
    {"TokenServiceMissing23", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch oauth token: unexpected status from POST request to "
         "https://auth.example/token: 404 Not Found"),
     ErrorClass::kServerError},
    {"TokenServiceRefusesTheRequest", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch anonymous token: unexpected status from GET request to "
         "https://auth.example/token?scope=a: 400 Bad Request"),
     ErrorClass::kAccessDenied},
    {"CrioBadPassword", RpcCode::kUnknown,
     "initializing source: unable to retrieve auth token: invalid username/password: unauthorized: no",
     ErrorClass::kAccessDenied},
    {"Forbidden16", RpcCode::kUnknown,
     Layers("unexpected status code " + kUrl + ": 403 Forbidden - Server message: denied: no"),
     ErrorClass::kAccessDenied},
    {"Forbidden23", RpcCode::kUnknown,
     Layers("unexpected status from GET request to " + kUrl + ": 403 Forbidden\ndenied: no"),
     ErrorClass::kAccessDenied},
    {"ExpiredEcrToken", RpcCode::kUnknown,
     New("denied: Your authorization token has expired. Reauthenticate"), ErrorClass::kAccessDenied},
    {"GoogleDenied", RpcCode::kUnknown,
     New("Permission \"artifactregistry.repositories.downloadArtifacts\" denied on resource \"r\""),
     ErrorClass::kAccessDenied},
    {"BlockedCrio", RpcCode::kUnknown, "registry reg.example is blocked in /etc/containers/registries.conf",
     ErrorClass::kAccessDenied},
    {"NoPlatform16", RpcCode::kNotFound, Layers("no match for platform in manifest: not found"),
     ErrorClass::kPlatformMismatch},
    {"NoPlatform23", RpcCode::kNotFound,
     "get image config descriptor: no match for platform in manifest " + kDigest + ": not found",
     ErrorClass::kPlatformMismatch},
    {"NoPlatformCrio", RpcCode::kUnknown,
     "choosing an image from manifest list docker://reg.example/app:v1: no image found in manifest "
     "list for architecture \"arm64\", variant \"v8\", OS \"linux\"",
     ErrorClass::kPlatformMismatch},
    {"RangeRefused16", RpcCode::kUnknown,
     Layers("failed to copy: httpReadSeeker: failed open: unexpected status code " + kUrl +
            ": 416 Requested Range Not Satisfiable"),
     ErrorClass::kRangeRefused},
    {"RangeRefused21", RpcCode::kUnknown,
     Layers("failed to copy: httpReadSeeker: failed open: unexpected status from GET request to " + kUrl +
            ": 416 Range Not Satisfiable"),
     ErrorClass::kRangeRefused},
    {"UnknownManifestType", RpcCode::kNotFound,
     Layers("failed to copy: could not fetch content descriptor " + kDigest +
            " (application/json) from remote: not found"),
     ErrorClass::kUnsupportedImage},
    {"LoginPage", RpcCode::kNotFound,
     Layers("could not fetch content descriptor " + kDigest +
            " (text/html; charset=utf-8) from remote: not found"),
     ErrorClass::kServerError},
    {"LoginPageOfAMirror", RpcCode::kNotFound,
     Layers("failed to unpack image on snapshotter overlayfs: unexpected media type text/html for " +
            kDigest + ": not found"),
     ErrorClass::kServerError},
    {"ForeignPlatformOnly21", RpcCode::kNotFound,
     Layers("get image config descriptor: content digest " + kDigest + ": not found"),
     ErrorClass::kPlatformMismatch},
    {"SizeZero", RpcCode::kInvalidArgument,
     Layers("unable to fetch descriptor (" + kDigest +
            ") which reports content size of zero: invalid argument"),
     ErrorClass::kUnsupportedImage},
    {"LayerMissing", RpcCode::kNotFound,
     Layers("failed to copy: httpReadSeeker: failed open: could not fetch content descriptor " + kDigest +
            " (application/vnd.docker.image.rootfs.diff.tar.gzip) from remote: not found"),
     ErrorClass::kContentMissing},
    {"ConfigMissing", RpcCode::kNotFound,
     Layers("could not fetch content descriptor " + kDigest +
            " (application/vnd.docker.container.image.v1+json) from remote: not found"),
     ErrorClass::kContentMissing},
    {"ManifestByDigestMissing", RpcCode::kNotFound,
     Layers("failed to copy: httpReadSeeker: failed open: content at " + kUrl + " not found: not found"),
     ErrorClass::kContentMissing},
    {"TagMissing16", RpcCode::kNotFound, Old("reg.example/app:v1: not found"), ErrorClass::kNotFound},
    {"TagMissing23", RpcCode::kNotFound, New("reg.example/app:v1: not found"), ErrorClass::kNotFound},
    {"NoHostLeft23", RpcCode::kNotFound, New("no resolve hosts: not found"), ErrorClass::kNotFound},
    {"TagMissingCrio", RpcCode::kUnknown, "reading manifest v1 in reg.example/app: manifest unknown",
     ErrorClass::kNotFound},
    {"NameUnknownCrio", RpcCode::kUnknown, "reading manifest v1 in reg.example/app: name unknown",
     ErrorClass::kNotFound},
    {"Gone", RpcCode::kUnknown, New("unexpected status from HEAD request to " + kUrl + ": 410 Gone"),
     ErrorClass::kNotFound},
    {"WrongDigest", RpcCode::kFailedPrecondition,
     Layers("failed commit on ref \"layer-" + kDigest + "\": unexpected commit digest " + kDigest +
            ", expected " + kDigest + ": failed precondition"),
     ErrorClass::kCorrupt},
    {"WrongDiffId", RpcCode::kUnknown, Layers("wrong diff id calculated on extraction \"" + kDigest + "\""),
     ErrorClass::kCorrupt},
    {"Error503", RpcCode::kUnknown,
     New("unexpected status from HEAD request to " + kUrl + ": 503 Service Unavailable"),
     ErrorClass::kServerError},
    {"Error500Old", RpcCode::kUnknown,
     Old("pulling from host reg.example failed with status code [manifests v1]: 500 Internal Server "
         "Error"),
     ErrorClass::kServerError},
    {"Error503Crio", RpcCode::kUnknown,
     "fetching blob: invalid status code from registry 503 (Service Unavailable)", ErrorClass::kServerError},
    {"RedirectLoop", RpcCode::kUnknown,
     Old("failed to do request: Head \"/v2/app/manifests/v1\": stopped after 10 redirects"),
     ErrorClass::kServerError},
    {"Status400", RpcCode::kUnknown,
     Old("pulling from host reg.example failed with status code [manifests v1]: 400 Bad Request"),
     ErrorClass::kServerError},
    {"Status408", RpcCode::kUnknown,
     New("unexpected status from HEAD request to " + kUrl + ": 408 Request Timeout"),
     ErrorClass::kServerError},
    {"Status451", RpcCode::kUnknown,
     New("unexpected status from HEAD request to " + kUrl + ": 451 Unavailable For Legal Reasons"),
     ErrorClass::kAccessDenied});

// The server may write of its own disk, certificates and network: that says nothing of the node's.
TEST_ROWS(
    ServersWords, ClassifyTest,
    {"NetworkInABody23", RpcCode::kUnknown,
     Layers("failed to copy: httpReadSeeker: failed open: unexpected status from GET request to " + kUrl +
            ": 503 Service Unavailable\nunavailable: dial tcp 10.0.0.9:5432: connect: connection "
            "refused"),
     ErrorClass::kServerError},
    {"DiskInAMessage16", RpcCode::kUnknown,
     Layers("unexpected status code " + kUrl +
            ": 500 Internal Server Error - Server message: unknown: write /blobs: no space left on "
            "device"),
     ErrorClass::kServerError},
    {"CertificateInARefusal", RpcCode::kUnknown,
     New("pull access denied, repository does not exist or may require authorization: server message: "
         "x509: certificate has expired: authorization failed"),
     ErrorClass::kAccessDenied},
    {"CodeWithoutAStatus", RpcCode::kUnknown, New("denied: the mirror got: 404 Not Found, manifest unknown"),
     ErrorClass::kAccessDenied},
    {"AServerThatSaysNothing", RpcCode::kUnknown, "x: server message", ErrorClass::kUnknown},
    {"TheKernelsDenialIsNoRegistrys", RpcCode::kUnknown,
     Layers("failed to extract layer " + kDigest + ": failed to mount /tmp/m1: permission denied: unknown"),
     ErrorClass::kUnpackFailed},
    {"NorIsThatOfASnapshot", RpcCode::kUnknown,
     Layers("failed to prepare extraction snapshot \"extract-1\": permission denied: unknown"),
     ErrorClass::kUnpackFailed},
    {"GrpcsOwnWordIsNoCode", RpcCode::kUnknown,
     Layers("failed to extract layer " + kDigest + ": exit status 1: unknown"), ErrorClass::kUnpackFailed},
    {"BlobGone23", RpcCode::kUnknown,
     Layers("failed to copy: httpReadSeeker: failed open: unexpected status from GET request to " + kUrl +
            ": 410 Gone"),
     ErrorClass::kContentMissing});

TEST_ROWS(
    ImageAndRuntime, ClassifyTest,
    {"BadName", RpcCode::kUnknown,
     "failed to parse image reference \"UPPER/app\": repository name must be lowercase",
     ErrorClass::kInvalidReference},
    {"ShortNameCrio", RpcCode::kUnknown,
     "short name mode is enforcing, but image name busybox:latest returns ambiguous list",
     ErrorClass::kInvalidReference},
    {"NoAliasCrio", RpcCode::kUnknown,
     "short-name \"busybox\" did not resolve to an alias and no unqualified-search registries are "
     "defined",
     ErrorClass::kInvalidReference},
    {"Schema1New", RpcCode::kInvalidArgument,
     New("schema 1 image manifests are no longer supported since containerd v2.0: invalid argument"),
     ErrorClass::kUnsupportedImage},
    {"ArtifactLayers16", RpcCode::kUnknown,
     Layers("failed to extract layer " + kDigest +
            ": failed to get stream processor for application/vnd.cncf.helm: no processor for "
            "media-type: unknown"),
     ErrorClass::kUnsupportedImage},
    {"ManifestNotJson", RpcCode::kUnknown,
     Layers("children: invalid desc " + kDigest + ": invalid character '<' looking for beginning of value"),
     ErrorClass::kUnsupportedImage},
    {"NoSnapshotter", RpcCode::kInvalidArgument,
     Layers("unable to initialize unpacker: no unpack platforms defined: invalid argument"),
     ErrorClass::kUnpackFailed},
    {"ExtractFailed", RpcCode::kUnknown, Layers("failed to extract layer " + kDigest + ": exit status 1"),
     ErrorClass::kUnpackFailed},
    {"ParentSnapshotGone", RpcCode::kNotFound,
     Layers("failed to prepare extraction snapshot \"extract-1\": parent snapshot does not exist: not "
            "found"),
     ErrorClass::kUnpackFailed},
    {"DecodedAuth", RpcCode::kUnknown, "invalid decoded auth: \"thesecret\\x00\"",
     ErrorClass::kBadCredentialFormat},
    {"BadBase64", RpcCode::kUnknown, "illegal base64 data at input byte 4", ErrorClass::kBadCredentialFormat},
    {"WatchdogCrio", RpcCode::kUnknown, "pull image: context canceled", ErrorClass::kRuntimeProgressTimeout},
    {"RuntimesOwnDeadline", RpcCode::kUnknown, Layers("context deadline exceeded"), ErrorClass::kTimeout},
    {"CodeNotFound", RpcCode::kNotFound, "gone", ErrorClass::kNotFound},
    {"CodePermissionDenied", RpcCode::kPermissionDenied, "no", ErrorClass::kAccessDenied},
    {"CodeUnauthenticated", RpcCode::kUnauthenticated, "no", ErrorClass::kAccessDenied},
    {"CodeExhausted", RpcCode::kResourceExhausted, "no", ErrorClass::kRuntimeError},
    {"CodeInvalid", RpcCode::kInvalidArgument, "no", ErrorClass::kInvalidReference},
    {"CodePrecondition", RpcCode::kFailedPrecondition, "namespace is required", ErrorClass::kRuntimeError},
    {"CodeDeadline", RpcCode::kDeadlineExceeded, "late", ErrorClass::kTimeout},
    {"NothingKnown", RpcCode::kUnknown, "something new", ErrorClass::kUnknown});

// Names that are made of the words that rules look for (C15).
std::string Missing(const std::string& name) {
  return "failed to pull and unpack image \"" + name + "\": failed to resolve reference \"" + name +
         "\": " + name + ": not found";
}
Row MissingRow(const std::string& row, const std::string& name) {
  return {row, RpcCode::kNotFound, Missing(name), ErrorClass::kNotFound, {name}};
}

TEST_ROWS(Names, ClassifyTest, MissingRow("Denied", "reg.example/x/denied:v1"),
          MissingRow("Unauthorized", "reg.example/unauthorized:latest"),
          MissingRow("NoSpace", "reg.example/team/no-space:v1"),
          MissingRow("TooMany", "reg.example/app:toomanyrequests"),
          {"TagOfOldHeadError", RpcCode::kUnknown,
           Missing("reg.example/app:toomanyrequests") + "pulling from host reg.example failed with status "
                                                        "code [manifests toomanyrequests]: 403 Forbidden",
           ErrorClass::kAccessDenied, Strings{"reg.example/app:toomanyrequests"}},
          {"NameInUrl", RpcCode::kUnknown,
           New("unexpected status from HEAD request to "
               "https://reg.example/v2/toomanyrequests/manifests/denied: 500 Internal Server Error"),
           ErrorClass::kServerError},
          {"NormalisedNameBesideTheOneSent", RpcCode::kNotFound, Missing("docker.io/library/denied:latest"),
           ErrorClass::kNotFound, Strings{"denied:latest", "docker.io/library/denied:latest"}},
          {"ShortNameLeavesWordsWhole", RpcCode::kUnknown,
           Old("failed to do request: Head \"" + kUrl +
               "\": dial tcp 10.0.0.1:443: connect: connection refused"),
           ErrorClass::kUnreachable, Strings{"c"}},
          {"TagInWordsOfCrio", RpcCode::kUnknown,
           "reading manifest toomanyrequests in reg.example/app: manifest unknown", ErrorClass::kNotFound});

TEST_ROWS(Cuts, ClassifyTest,
          {"ArtifactEcho", RpcCode::kUnknown,
           "unable to pull image or OCI artifact: pull image err: initializing source: reading manifest v1 "
           "in reg.example/app: manifest unknown; artifact err: get manifest: 401 Unauthorized",
           ErrorClass::kNotFound},
          {"MirrorDenied", RpcCode::kUnknown,
           "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: "
           "unauthorized: authentication required]): reg.example/app:v1: reading manifest v1 in "
           "reg.example/app: manifest unknown",
           ErrorClass::kNotFound},
          {"ParenthesesBehindMirrors", RpcCode::kUnknown,
           "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: "
           "pinging container registry mirror.example: StatusCode: 404, \"\"]): reg.example/app:v1: reading "
           "manifest v1 in reg.example/app: denied: user (anonymous): no",
           ErrorClass::kAccessDenied},
          {"ABodyBehindMirrors", RpcCode::kUnknown,
           "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: "
           "reading manifest v1 in mirror.example/app: manifest unknown]): reg.example/app:v1: Requesting "
           "bearer token: decoding bearer token (last URL \"https://auth.example/token\", body start "
           "\"<html>\"): invalid character '<' looking for beginning of value",
           ErrorClass::kServerError},
          {"MirrorsFailed", RpcCode::kUnknown,
           "initializing source docker://reg.example/app:v1: (Mirrors also failed: [mirror.example/app:v1: "
           "reading manifest v1 in mirror.example/app: manifest unknown]): reg.example/app:v1: pinging "
           "container registry reg.example: Get \"https://reg.example/v2/\": dial tcp 10.0.0.1:443: "
           "connect: connection refused",
           ErrorClass::kUnreachable});

// A request that got no answer says nothing about the image, whatever the words behind it: they are Go's, or
// the reason phrase of a proxy that refuses to connect (seen on containerd 1.6.20 and 2.1.9).
TEST_ROWS(
    Unanswered, ClassifyTest,
    {"ProxyWantsALogin16", RpcCode::kUnknown,
     Old("failed to do request: Head \"" + kUrl + "\": Proxy Authentication Required"),
     ErrorClass::kUnreachable},
    {"ProxyWantsALogin21", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": Proxy Authentication Required"),
     ErrorClass::kUnreachable},
    {"ProxyUnauthorized", RpcCode::kUnknown, New("failed to do request: Head \"" + kUrl + "\": Unauthorized"),
     ErrorClass::kUnreachable},
    {"ProxyForbids", RpcCode::kUnknown, New("failed to do request: Head \"" + kUrl + "\": Forbidden"),
     ErrorClass::kUnreachable},
    {"ProxyInItsOwnWords", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": denied: by policy"), ErrorClass::kUnreachable},
    {"ProxyCannotReachIt", RpcCode::kUnknown, New("failed to do request: Head \"" + kUrl + "\": Bad Gateway"),
     ErrorClass::kUnreachable},
    {"ProxyOfATokenService", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch oauth token: Post \"https://auth.example/token\": Forbidden"),
     ErrorClass::kUnreachable},
    {"ProxyOfCrio", RpcCode::kUnknown,
     "unable to pull image or OCI artifact: pull image err: initializing source docker://reg.example/app:v1: "
     "pinging container registry reg.example: Get \"https://reg.example/v2/\": Unauthorized",
     ErrorClass::kUnreachable},
    {"NoHttp", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": malformed HTTP status code \"garbage\""),
     ErrorClass::kServerError},
    {"DescriptorsOfTheRuntime", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": dial tcp 10.0.0.1:443: socket: too many open files"),
     ErrorClass::kRuntimeError},
    {"EndedByTheRuntime", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": context canceled"),
     ErrorClass::kRuntimeProgressTimeout},
    {"DeadlineOfTheRuntime", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl + "\": context deadline exceeded"), ErrorClass::kTimeout});

// An answer that cannot be read is the mistake of its server, and none of the runtime (seen on
// containerd 1.6.20 and 2.1.9).
TEST_ROWS(
    Unreadable, ClassifyTest,
    {"ATokenThatIsNone", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch anonymous token: unable to decode token response: invalid "
         "character '<' looking for beginning of value"),
     ErrorClass::kServerError},
    {"NoToken", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch anonymous token: authorization server did not include a token "
         "in the response"),
     ErrorClass::kServerError},
    {"TokenOfTwoLines", RpcCode::kUnknown,
     New("failed to do request: Head \"" + kUrl +
         "\": net/http: invalid header field value for \"Authorization\""),
     ErrorClass::kServerError},
    {"RealmWithoutAScheme", RpcCode::kUnknown,
     New("failed to authorize: failed to fetch anonymous token: Get \"?scope=a\": unsupported protocol "
         "scheme "
         "\"\""),
     ErrorClass::kServerError},
    {"NoRealm", RpcCode::kUnknown, New("no realm specified for token auth challenge"),
     ErrorClass::kServerError},
    {"ChunkLength", RpcCode::kUnknown, Layers("failed to copy: invalid byte in chunk length"),
     ErrorClass::kServerError},
    {"ChunkTooLarge", RpcCode::kUnknown, Layers("failed to copy: http chunk length too large"),
     ErrorClass::kServerError},
    {"Chunks", RpcCode::kUnknown, Layers("failed to copy: malformed chunked encoding"),
     ErrorClass::kServerError},
    {"Gzip", RpcCode::kUnknown, Layers("failed to copy: gzip: invalid header"), ErrorClass::kServerError},
    {"GzipOfALayer", RpcCode::kUnknown,
     Layers("failed to extract layer " + kDigest + ": gzip: invalid checksum"), ErrorClass::kUnpackFailed},
    {"Encoding", RpcCode::kUnknown,
     Layers("failed to copy: httpReadSeeker: failed open: unsupported Content-Encoding algorithm: br"),
     ErrorClass::kServerError});

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
const std::string kCrioTextsDigest =
    "sha256:1111111111111111111111111111111111111111111111111111111111111111";

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

TEST_ROWS(StatusesOfTheManifest, CrioShapeTest, {kManifest, "denied", ErrorClass::kAccessDenied},
          {kManifest, "StatusCode: 402, \"pay\"", ErrorClass::kAccessDenied},
          {kManifest, "StatusCode: 404, \"\"", ErrorClass::kNotFound},
          {kManifest, "StatusCode: 408, \"slow\"", ErrorClass::kServerError},
          {kManifest, "StatusCode: 407, \"proxy\"", ErrorClass::kUnreachable},
          {kManifest, "StatusCode: 429, \"\"", ErrorClass::kRateLimited},
          {kManifest, Http("500 Internal Server Error"), ErrorClass::kServerError},
          {kManifest, Http("599 Whatever"), ErrorClass::kServerError},
          {kManifest, "unknown: unknown error", ErrorClass::kServerError},
          {kManifest, "unavailable: later", ErrorClass::kServerError},
          {kManifest, "name invalid: too long", ErrorClass::kInvalidReference});

// The words of a server do not describe the node.
TEST_ROWS(WordsOfTheServer, CrioShapeTest,
          {kManifest, "StatusCode: 400, \"no space left on device\"", ErrorClass::kServerError},
          {kManifest, "StatusCode: 418, \"x509: denied: manifest unknown\"", ErrorClass::kServerError},
          {kManifest, "unknown: dial tcp: lookup upstream: no such host", ErrorClass::kServerError},
          {kManifest, "denied: connection refused", ErrorClass::kAccessDenied},
          {kManifest, "StatusCode: 403, \"pull rate limit\"", ErrorClass::kRateLimited},
          {kManifest, "denied: Rate exceeded", ErrorClass::kRateLimited});

TEST_ROWS(PingAndTokenSayNothingOfTheImage, CrioShapeTest,
          {kPing, "StatusCode: 410, \"gone\"", ErrorClass::kServerError},
          {kPing, "StatusCode: 407, \"proxy\"", ErrorClass::kUnreachable},
          {kPing, Http("502 Bad Gateway"), ErrorClass::kServerError},
          {kToken, Http("400 Bad Request"), ErrorClass::kAccessDenied},
          {kToken, Http("401 Unauthorized"), ErrorClass::kAccessDenied},
          {kToken, Http("404 Not Found"), ErrorClass::kServerError},
          {kToken, Http("410 Gone"), ErrorClass::kServerError},
          {kToken, Http("429 Too Many Requests"), ErrorClass::kRateLimited});

// These have no "initializing source" of their own in the texts of CRI-O, which changes nothing.
TEST_ROWS(BlobsAndDocuments, CrioShapeTest,
          {"reading blob " + kCrioTextsDigest + ": fetching blob", "StatusCode: 404, \"no\"",
           ErrorClass::kContentMissing},
          {"reading blob " + kCrioTextsDigest + ": fetching blob", "denied", ErrorClass::kAccessDenied},
          {"reading blob " + kCrioTextsDigest + ": fetching blob",
           "invalid status code from registry 403 (Forbidden)", ErrorClass::kAccessDenied},
          {"writing blob: adding layer with blob \"" + kCrioTextsDigest + "\"",
           "unpacking failed (error: exit status 1; output: archive/tar: invalid tar header)",
           ErrorClass::kUnpackFailed},
          {"initializing image from source docker://reg.example/a:v1",
           "invalid character '<' looking for beginning of value", ErrorClass::kServerError},
          {"initializing image from source docker://reg.example/a:v1", "no FSLayers in manifest",
           ErrorClass::kUnsupportedImage},
          {"initializing image from source docker://reg.example/a:v1",
           "unsupported image-specific operation on artifact with type \"application/x\"",
           ErrorClass::kUnsupportedImage});

// C14, substring by substring: each by itself decides the class.

struct Words {
  std::string_view rule;
  std::string_view text;
  ErrorClass error_class;
};

constexpr Words kWords[] = {
    {"1", "SignatureValidationFailed", ErrorClass::kSignatureRejected},
    {"1", "Source image rejected", ErrorClass::kSignatureRejected},
    {"1", "is rejected by policy", ErrorClass::kSignatureRejected},
    {"1", "A signature was required", ErrorClass::kSignatureRejected},
    {"1", "None of the signatures were accepted", ErrorClass::kSignatureRejected},
    {"2", "image verifier a blocked pull", ErrorClass::kSignatureRejected},
    {"2", "image verifier a blocking pull", ErrorClass::kSignatureRejected},
    {"2", "blocked pull of", ErrorClass::kSignatureRejected},
    {"2", "blocking pull of", ErrorClass::kSignatureRejected},
    {"2a", "invalid policy in \"/p\": EOF", ErrorClass::kRuntimeError},
    {"3", "no space left on device", ErrorClass::kDiskFull},
    {"3", "disk quota exceeded", ErrorClass::kDiskFull},
    {"4", "read-only file system", ErrorClass::kDiskFault},
    {"4", "input/output error", ErrorClass::kDiskFault},
    {"4", "structure needs cleaning", ErrorClass::kDiskFault},
    {"5", "429 Too Many Requests", ErrorClass::kRateLimited},
    {"5", "toomanyrequests", ErrorClass::kRateLimited},
    {"5", "too many requests to registry", ErrorClass::kRateLimited},
    {"5", "StatusCode: 429", ErrorClass::kRateLimited},
    {"5", "pull rate limit", ErrorClass::kRateLimited},
    {"5", "Rate exceeded", ErrorClass::kRateLimited},
    {"6", "x509:", ErrorClass::kTlsError},
    {"6", "certificate signed by unknown authority", ErrorClass::kTlsError},
    {"6", "certificate has expired", ErrorClass::kTlsError},
    {"6", "certificate is valid for", ErrorClass::kTlsError},
    {"6", "tls: handshake failure", ErrorClass::kTlsError},
    {"6", "server gave HTTP response to HTTPS client", ErrorClass::kTlsError},
    {"7", "no such host", ErrorClass::kDnsFailure},
    {"7", "server misbehaving", ErrorClass::kDnsFailure},
    {"7", "Temporary failure in name resolution", ErrorClass::kDnsFailure},
    {"7", "lookup reg.example: i/o timeout", ErrorClass::kDnsFailure},
    {"7", "dial tcp: lookup reg.example: cannot unmarshal DNS message", ErrorClass::kDnsFailure},
    {"8", "connection refused", ErrorClass::kUnreachable},
    {"8", "no route to host", ErrorClass::kUnreachable},
    {"8", "network is unreachable", ErrorClass::kUnreachable},
    {"8", "connection reset by peer", ErrorClass::kUnreachable},
    {"8", "dial tcp 10.0.0.1:443: i/o timeout", ErrorClass::kUnreachable},
    {"8", "TLS handshake timeout", ErrorClass::kUnreachable},
    {"8", "timeout awaiting response headers", ErrorClass::kUnreachable},
    {"8", "Client.Timeout exceeded", ErrorClass::kUnreachable},
    {"8", "proxyconnect tcp", ErrorClass::kUnreachable},
    {"8", "RegistryUnavailable", ErrorClass::kUnreachable},
    {"8", "unexpected EOF", ErrorClass::kUnreachable},
    {"8", "Head: EOF", ErrorClass::kUnreachable},
    {"8", "read tcp 10.0.0.1:5->10.0.0.2:443: i/o timeout", ErrorClass::kUnreachable},
    {"8", "connection timed out", ErrorClass::kUnreachable},
    {"8", "use of closed network connection", ErrorClass::kUnreachable},
    {"8", "http2: server sent GOAWAY and closed the connection", ErrorClass::kUnreachable},
    {"8", "stream error: stream ID 3; CANCEL", ErrorClass::kUnreachable},
    {"8b", "Head \"https://a\": Forbidden", ErrorClass::kUnreachable},
    {"8a", "rejecting 5243327 byte manifest", ErrorClass::kUnsupportedImage},
    {"9", "pull access denied", ErrorClass::kAccessDenied},
    {"9", "insufficient_scope", ErrorClass::kAccessDenied},
    {"9", "authorization failed", ErrorClass::kAccessDenied},
    {"9", "no basic auth credentials", ErrorClass::kAccessDenied},
    {"9", "401 Unauthorized", ErrorClass::kAccessDenied},
    {"9", "unauthorized: no", ErrorClass::kAccessDenied},
    {"9", "authentication required", ErrorClass::kAccessDenied},
    {"9", "invalid username/password", ErrorClass::kAccessDenied},
    {"9", "incorrect username or password", ErrorClass::kAccessDenied},
    {"10", "403 Forbidden", ErrorClass::kAccessDenied},
    {"10", "denied: no", ErrorClass::kAccessDenied},
    {"10", "requested access to the resource is denied", ErrorClass::kAccessDenied},
    {"10", "Permission \"a.b\" denied on resource", ErrorClass::kAccessDenied},
    {"10", "authorization token has expired", ErrorClass::kAccessDenied},
    {"10", "StatusCode: 403", ErrorClass::kAccessDenied},
    {"10", "403 (Forbidden)", ErrorClass::kAccessDenied},
    {"11", "no match for platform", ErrorClass::kPlatformMismatch},
    {"11", "no image found in manifest list for architecture", ErrorClass::kPlatformMismatch},
    {"11", "no image found in image index for architecture", ErrorClass::kPlatformMismatch},
    {"11", "does not match the specified platform", ErrorClass::kPlatformMismatch},
    {"11", "get image config descriptor: content digest sha256:a: not found", ErrorClass::kPlatformMismatch},
    {"12a", "unexpected media type text/html for sha256:a: not found", ErrorClass::kServerError},
    {"12a", "unexpected media type application/json for sha256:a: not found", ErrorClass::kUnsupportedImage},
    {"12a", "could not fetch content descriptor sha256:a (application/json)", ErrorClass::kUnsupportedImage},
    {"12a", "could not fetch content descriptor sha256:a (text/html)", ErrorClass::kServerError},
    {"12b", "could not fetch content descriptor", ErrorClass::kContentMissing},
    {"12b", "content at URL not found", ErrorClass::kContentMissing},
    {"13", "manifest unknown", ErrorClass::kNotFound},
    {"13", "name unknown", ErrorClass::kNotFound},
    {"13", "repository name not known to registry", ErrorClass::kNotFound},
    {"13", "manifest for a:v1 not found", ErrorClass::kNotFound},
    {"13", "404 Not Found", ErrorClass::kNotFound},
    {"13", "404 (Not Found)", ErrorClass::kNotFound},
    {"13", "StatusCode: 404", ErrorClass::kNotFound},
    {"13", "was deleted or has expired", ErrorClass::kNotFound},
    {"14", "unexpected commit digest", ErrorClass::kCorrupt},
    {"14", "unexpected commit size", ErrorClass::kCorrupt},
    {"14", "wrong diff id", ErrorClass::kCorrupt},
    {"14", "failed size validation", ErrorClass::kCorrupt},
    {"14", "digest mismatch", ErrorClass::kCorrupt},
    {"14", "does not match config's DiffID", ErrorClass::kCorrupt},
    {"15", "500 Internal Server Error", ErrorClass::kServerError},
    {"15", "502 Bad Gateway", ErrorClass::kServerError},
    {"15", "503 Service Unavailable", ErrorClass::kServerError},
    {"15", "504 Gateway Timeout", ErrorClass::kServerError},
    {"15", "StatusCode: 502", ErrorClass::kServerError},
    {"15", "invalid status code from registry 503", ErrorClass::kServerError},
    {"15", "stopped after 10 redirects", ErrorClass::kServerError},
    {"16", "failed to parse image reference", ErrorClass::kInvalidReference},
    {"16", "invalid reference format", ErrorClass::kInvalidReference},
    {"16", "repository name must be lowercase", ErrorClass::kInvalidReference},
    {"16", "short name mode is enforcing", ErrorClass::kInvalidReference},
    {"16", "did not resolve to an alias", ErrorClass::kInvalidReference},
    {"16", "cannot specify 64-byte hexadecimal", ErrorClass::kInvalidReference},
    {"17", "no longer supported since containerd", ErrorClass::kUnsupportedImage},
    {"17", "schema 1 image manifests are no longer supported", ErrorClass::kUnsupportedImage},
    {"17", "unsupported media type", ErrorClass::kUnsupportedImage},
    {"17", "failed to convert", ErrorClass::kUnsupportedImage},
    {"17", "no processor for media-type", ErrorClass::kUnsupportedImage},
    {"17", "invalid desc sha256:a", ErrorClass::kUnsupportedImage},
    {"17", "no signatures", ErrorClass::kUnsupportedImage},
    {"18", "no unpack platforms defined", ErrorClass::kUnpackFailed},
    {"18", "unable to resolve snapshotter", ErrorClass::kUnpackFailed},
    {"18", "snapshotter not loaded", ErrorClass::kUnpackFailed},
    {"18", "failed to extract layer", ErrorClass::kUnpackFailed},
    {"18", "failed to prepare extraction snapshot", ErrorClass::kUnpackFailed},
    {"18", "failed to mount", ErrorClass::kUnpackFailed},
    {"19", "registry a is blocked in", ErrorClass::kAccessDenied},
    {"20", "invalid decoded auth", ErrorClass::kBadCredentialFormat},
    {"20", "illegal base64 data", ErrorClass::kBadCredentialFormat},
    {"20", "parse server address", ErrorClass::kBadCredentialFormat},
    {"21", "context canceled", ErrorClass::kRuntimeProgressTimeout},
    {"22", "context deadline exceeded", ErrorClass::kTimeout},
};

TEST(ClassifyRules, EachSubstringDecidesByItself) {
  for (const Words& words : kWords) {
    for (const std::string& text : {std::string(words.text), base::ToLower(words.text)}) {
      EXPECT_EQ(Classify(RpcCode::kUnknown, "failed to pull: " + text, {}), words.error_class)
          << "rule " << words.rule << ": " << text;
    }
  }
}

// "First match wins": the words of two rules in one text, in either order, are the earlier rule's.
TEST(ClassifyRules, TheEarlierRuleWins) {
  struct Pair {
    std::string_view first, second;
  };
  for (const Pair& pair : {
           Pair{"is rejected by policy", "no space left on device"},
           Pair{"blocked pull of", "read-only file system"},
           Pair{"no space left on device", "failed to extract layer"},
           Pair{"input/output error", "failed to mount"},
           Pair{"toomanyrequests", "requested access to the resource is denied"},
           Pair{"x509:", "failed to authorize: 401 Unauthorized"},
           Pair{"no such host", "401 Unauthorized"},
           Pair{"connection refused", "authorization failed"},
           Pair{"rejecting 5243327 byte manifest", "404 Not Found"},
           Pair{"pull access denied", "404 Not Found"},
           Pair{"403 Forbidden", "name unknown"},
           Pair{"no match for platform", "manifest unknown"},
           Pair{"could not fetch content descriptor", "manifest unknown"},
           Pair{"404 Not Found", "context canceled"},
           Pair{"wrong diff id", "failed to extract layer"},
           Pair{"500 Internal Server Error", "failed to extract layer"},
           Pair{"no processor for media-type", "failed to extract layer"},
           Pair{"failed to extract layer", "context canceled"},
           Pair{"illegal base64 data", "context deadline exceeded"},
       }) {
    std::string first(pair.first), second(pair.second);
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
    EXPECT_EQ(Classify(RpcCode::kUnavailable, text, {}), ErrorClass::kRuntimeDown) << text;
    EXPECT_NE(Classify(RpcCode::kUnknown, text, {}), ErrorClass::kRuntimeDown) << text;
    EXPECT_NE(Classify(RpcCode::kUnavailable, "failed to pull and unpack image: " + text, {}),
              ErrorClass::kRuntimeDown)
        << text;
  }
}

}  // namespace
}  // namespace prefetch::cri::classify_test
