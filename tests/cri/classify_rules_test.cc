// C14, substring by substring: each by itself decides the class.
#include <gtest/gtest.h>

#include "base/text.h"
#include "cri/classify.h"

namespace prefetch::cri::classify_rules_test {
namespace {

using image::ErrorClass;

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
}  // namespace prefetch::cri::classify_rules_test
