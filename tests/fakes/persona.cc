#include "fakes/persona.h"

#include <cstdlib>

#include "base/redactor.h"
#include "fakes/crio_words.h"

namespace prefetch::tests {
namespace {

using cri::RpcCode;
using image::ErrorClass;
using Words = RuntimeWords;

const std::string kSomeDigest = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

std::string UrlOf(const std::string& name) {
  return "https://" + name.substr(0, name.find('/')) + "/v2/x/manifests/y";
}

// Returns the cause, in words that the runtimes share.
Words Cause(Persona persona, ErrorClass error_class, const std::string& name) {
  bool old = persona == Persona::kContainerd16;
  std::string request = "failed to do request: Head \"" + UrlOf(name) + "\": ";
  auto http = [&](const std::string& status) {
    return old ? "pulling from host h failed with status code [manifests y]: " + status
               : "unexpected status from HEAD request to " + UrlOf(name) + ": " + status;
  };
  switch (error_class) {
    case ErrorClass::kCancelled:
      return {RpcCode::kCancelled, "stopped"};
    case ErrorClass::kTimeout:
      return {RpcCode::kDeadlineExceeded, "context deadline exceeded"};
    case ErrorClass::kRuntimeDown:
      return {RpcCode::kUnavailable, "Socket closed"};
    case ErrorClass::kRuntimeUnsupported:
      return {RpcCode::kUnimplemented, "unknown service"};
    case ErrorClass::kRuntimeProgressTimeout:
      return {RpcCode::kCancelled, "context canceled"};
    case ErrorClass::kRuntimeError:
      return {RpcCode::kFailedPrecondition, "precondition"};
    case ErrorClass::kSignatureRejected:
      return {RpcCode::kUnknown, "image verifier v blocked pull of " + name + " for reason: no"};
    case ErrorClass::kDiskFull:
      return {RpcCode::kUnknown, "failed to copy: write /var/lib/x/data: no space left on device"};
    case ErrorClass::kDiskFault:
      return {RpcCode::kUnknown, "failed to copy: write /var/lib/x/data: input/output error"};
    case ErrorClass::kRateLimited:
      return {RpcCode::kUnknown, http("429 Too Many Requests")};
    case ErrorClass::kTlsError:
      return {RpcCode::kUnknown, request + "x509: certificate signed by unknown authority"};
    case ErrorClass::kDnsFailure:
      return {RpcCode::kUnknown, request + "dial tcp: lookup h: no such host"};
    case ErrorClass::kUnreachable:
      return {RpcCode::kUnknown, request + "dial tcp 10.0.0.1:443: connect: connection refused"};
    case ErrorClass::kAccessDenied:
      if (old) return {RpcCode::kUnknown, http("401 Unauthorized")};
      return {RpcCode::kUnknown,
              "pull access denied, repository does not exist or may require authorization: authorization "
              "failed: no basic auth credentials"};
    case ErrorClass::kPlatformMismatch:
      return {RpcCode::kNotFound, "no match for platform in manifest: not found"};
    case ErrorClass::kUnsupportedImage:
      return {RpcCode::kUnknown,
              "failed to extract layer " + kSomeDigest +
                  ": failed to get stream processor for a/b: no processor for media-type: unknown"};
    case ErrorClass::kContentMissing:
      return {RpcCode::kNotFound, "could not fetch content descriptor " + kSomeDigest +
                                      " (application/vnd.oci.image.layer.v1.tar) from remote: not found"};
    case ErrorClass::kNotFound:
      return {RpcCode::kNotFound, name + ": not found"};
    case ErrorClass::kCorrupt:
      return {RpcCode::kFailedPrecondition, "failed commit on ref \"layer-" + kSomeDigest +
                                                "\": unexpected commit digest " + kSomeDigest +
                                                ": failed precondition"};
    case ErrorClass::kServerError:
      return {RpcCode::kUnknown, http("503 Service Unavailable")};
    case ErrorClass::kRangeRefused:
      return {RpcCode::kUnknown, http("416 Requested Range Not Satisfiable")};
    case ErrorClass::kInvalidReference:
      return {RpcCode::kUnknown,
              "failed to parse image reference \"" + name + "\": invalid reference format"};
    case ErrorClass::kUnpackFailed:
      return {RpcCode::kUnknown, "failed to extract layer " + kSomeDigest + ": exit status 1"};
    case ErrorClass::kBadCredentialFormat:
      return {RpcCode::kUnknown, "illegal base64 data at input byte 4"};
    case ErrorClass::kUnknown:
      break;
  }
  return {RpcCode::kUnknown, "something else"};
}

// Returns the text before the cause (C16).
std::string Envelope(Persona persona, const std::string& name) {
  switch (persona) {
    case Persona::kContainerd16:
      return "failed to pull and unpack image \"" + name + "\": failed to resolve reference \"" + name +
             "\": ";
    case Persona::kContainerd23:
      return "failed to pull and unpack image \"" + name + "\": failed to resolve image: ";
    case Persona::kCrio:  // its texts are whole (CrioWords)
    case Persona::kCrio134:
      return "";
  }
  std::abort();
}

// Failures of the connection have nothing around them, since nobody was left to add it.
bool IsOfTheConnection(ErrorClass error_class) {
  return error_class == ErrorClass::kRuntimeDown || error_class == ErrorClass::kRuntimeUnsupported ||
         error_class == ErrorClass::kCancelled;
}

}  // namespace

bool IsCrio(Persona persona) {
  return persona == Persona::kCrio || persona == Persona::kCrio134;
}

image::RuntimeInfo InfoOf(Persona persona) {
  switch (persona) {
    case Persona::kContainerd16:
      return {"containerd", "1.6.20~ds1", {true, "/etc/containerd/certs.d", {}}};
    case Persona::kContainerd23:
      return {"containerd", "v2.3.4"};
    case Persona::kCrio:
      return {"cri-o", "1.36.3"};
    case Persona::kCrio134:
      return {"cri-o", "1.34.2"};
  }
  std::abort();
}

bool HasContentApi(Persona persona) {
  return !IsCrio(persona);
}

int RefusedTries(Persona persona) {
  return persona == Persona::kContainerd16 ? 5 : persona == Persona::kContainerd23 ? 4 : 2;
}

cri::CallError Heard(const RuntimeWords& words, const std::string& name) {
  return {cri::Classify(words.code, words.text, {name}),
          base::SanitizedText(words.text, cri::kMaxQuotedBytes)};
}

cri::CallError Say(Persona persona, ErrorClass error_class, const std::string& name,
                   const std::string& asked) {
  Words words = Cause(persona, error_class, name);
  if (error_class == ErrorClass::kCancelled) return {error_class, words.text};
  if (IsOfTheConnection(error_class)) return Heard(words, name);
  if (IsCrio(persona)) {
    if (auto of_crio = CrioWords(error_class, name, asked.empty() ? name : asked))
      return Heard(*of_crio, name);
    words.text = "unable to pull image: " + words.text;
  }
  words.text = Envelope(persona, name) + words.text;
  return Heard(words, name);
}

}  // namespace prefetch::tests
