#include "fakes/crio_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "fakes/fake_store.h"
#include "image/reference.h"

namespace prefetch::tests {
namespace {

using cri::RpcCode;
using image::ErrorClass;

constexpr const char* kSomeBlob = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
constexpr const char* kBlobFile = "/var/tmp/container_images_storage1/1";
constexpr std::size_t kBodyShown = 50;

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Failures of the network, and those of the folder for downloads.
RuntimeWords Once(const std::string& cause) {
  return {RpcCode::kUnknown, "unable to pull image: " + cause};
}

// All others are told of the second try, too, which is for an artifact.
RuntimeWords Twice(const std::string& image, const std::string& artifact) {
  return {RpcCode::kUnknown,
          "unable to pull image or OCI artifact: pull image err: " + image + "; artifact err: " + artifact};
}

RuntimeWords OfTheManifest(const std::string& cause, const std::string& name, const std::string& asked) {
  const std::size_t end = std::min(asked.find_first_of(":@", asked.find('/')), asked.size());
  const std::string which = end < asked.size() ? asked.substr(end + 1) : "latest";
  const std::string step = "reading manifest " + which + " in " + asked.substr(0, end) + ": " + cause;
  return Twice("initializing source docker://" + name + ": " + step,
               "image reference: get manifest from ref: create image source: " + step);
}

RuntimeWords OfAnImage(const std::string& cause) {
  return Twice(cause, "image reference: reference is a container image, not an OCI artifact");
}

RuntimeWords OfThePing(const std::string& cause, const std::string& name, const std::string& asked) {
  return Once("initializing source docker://" + name + ": pinging container registry " + RegistryOf(asked) +
              ": Get \"https://" + RegistryOf(asked) + "/v2/\": " + cause);
}

RuntimeWords OfTheDownload(const std::string& cause) {
  return Once(std::string("writing blob: storing blob to file \"") + kBlobFile + "\": " + cause);
}

// The string behind `"key":`; empty: there is none.
std::string StringAt(const std::string& json, const std::string& key) {
  const std::string before = "\"" + key + "\":\"";
  const std::size_t begin = json.find(before);
  if (begin == std::string::npos) return "";
  const std::size_t from = begin + before.size();
  return json.substr(from, json.find('"', from) - from);
}

// Returns the text that distribution's registry/api/errcode makes of a registry's error.
std::string OciCause(const std::string& json) {
  static const std::array<std::pair<std::string_view, std::string_view>, 6> kKnown = {{
      {"UNAUTHORIZED", "authentication required"},
      {"DENIED", "requested access to the resource is denied"},
      {"MANIFEST_UNKNOWN", "manifest unknown"},
      {"NAME_UNKNOWN", "repository name not known to registry"},
      {"TOOMANYREQUESTS", "too many requests"},
      {"UNAVAILABLE", "service unavailable"},
  }};
  std::string code = StringAt(json, "code");
  std::string message = StringAt(json, "message");
  const auto* known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const auto& row) { return row.first == code; });
  if (known == kKnown.end()) return "unknown: " + message;
  if (json.find("\"detail\"") != std::string::npos) return message;
  std::replace(code.begin(), code.end(), '_', ' ');
  code = Lower(code);
  return message.empty() || message == known->second ? code : code + ": " + message;
}

std::string CauseOfAnswer(const std::string& status, const std::string& body) {
  const std::string code = status.substr(0, 3);
  if (code[0] == '5') return "received unexpected HTTP status: " + status;
  if (body.starts_with('{')) return OciCause(body);
  if (code == "401") return "authentication required";
  if (code == "429") return "toomanyrequests";
  const std::string shown = body.size() > kBodyShown ? body.substr(0, kBodyShown) + "..." : body;
  return "StatusCode: " + code + ", \"" + shown + "\"";
}

}  // namespace

RuntimeWords CrioWordsOfAnswer(const std::string& status, const std::string& body, const std::string& name,
                               const std::string& asked) {
  return OfTheManifest(CauseOfAnswer(status, body), name, asked);
}

RuntimeWords CrioWordsOfReset(bool nobody_listens) {
  const std::string reset = "read tcp 127.0.0.1:2->127.0.0.1:1: read: connection reset by peer";
  if (nobody_listens) {
    return OfTheDownload("happened during read: " + reset +
                         " (while reconnecting: Get \"http://127.0.0.1:1/v2/a/blobs/" + kSomeBlob +
                         "\": dial tcp 127.0.0.1:1: connect: connection refused)");
  }
  return OfTheDownload(
      "happened during read: (heuristic tuning data: total 2 @1.000 ms, last retry 1 @1.000 ms, last "
      "progress @ 1.000 ms): " +
      reset);
}

std::optional<RuntimeWords> CrioWordsOfName(const std::string& name) {
  if (name.empty()) return RuntimeWords{RpcCode::kUnknown, "no image specified"};
  if (name.find_first_not_of("0123456789abcdef") == std::string::npos) return std::nullopt;  // may be an id
  const std::string input = "cannot parse input: \"" + name + "\": ";
  if (!image::Reference::Parse(Lower(name)))
    return RuntimeWords{RpcCode::kUnknown, input + "invalid reference format"};
  const std::string first = name.find('/') == std::string::npos ? "" : RegistryOf(name);
  if (first != "localhost" && first.find_first_of(".:") == std::string::npos) {
    return RuntimeWords{RpcCode::kUnknown,
                        "short-name \"" + name +
                            "\" did not resolve to an alias and no unqualified-search registries are defined "
                            "in \"/etc/containers/registries.conf\""};
  }
  if (!image::Reference::Parse(name))
    return RuntimeWords{RpcCode::kUnknown, input + "repository name must be lowercase"};
  return std::nullopt;
}

std::optional<RuntimeWords> CrioWords(ErrorClass error_class, const std::string& name,
                                      const std::string& asked) {
  auto manifest = [&](const std::string& cause) { return OfTheManifest(cause, name, asked); };
  auto ping = [&](const std::string& cause) { return OfThePing(cause, name, asked); };
  const std::string blob = kSomeBlob;
  switch (error_class) {
    case ErrorClass::kAccessDenied:
      return manifest("unauthorized");
    case ErrorClass::kNotFound:
      return manifest("manifest unknown");
    case ErrorClass::kRateLimited:
      return manifest("toomanyrequests: You have reached your unauthenticated pull rate limit.");
    case ErrorClass::kServerError:
      return manifest("received unexpected HTTP status: 503 Service Unavailable");
    case ErrorClass::kPlatformMismatch:
      return Twice(
          "choosing an image from manifest list docker://" + name +
              ": no image found in image index for architecture \"arm64\", variant \"\", OS \"linux\"",
          "image reference: choose manifest instance: no image found in image index");
    case ErrorClass::kUnsupportedImage:
      return Twice("initializing image from source docker://" + name + ": unsupported schema version 0",
                   "image reference: parse manifest: unsupported schema version 0");
    case ErrorClass::kContentMissing:
      return OfAnImage("reading blob " + blob + ": fetching blob: blob unknown");
    case ErrorClass::kCorrupt:
      return OfAnImage(
          "writing blob: setting up to decompress blob: happened during read: Digest did not match, "
          "expected " +
          blob + ", got " + blob);
    case ErrorClass::kUnpackFailed:
      return OfAnImage("writing blob: adding layer with blob \"" + blob +
                       "\": unpacking failed (error: exit status 1; output: )");
    case ErrorClass::kSignatureRejected: {
      RuntimeWords words =
          OfAnImage("Source image rejected: A signature was required, but no signature exists");
      words.text = "SignatureValidationFailed: " + words.text;
      return words;
    }
    case ErrorClass::kTlsError:
      return ping("tls: failed to verify certificate: x509: certificate signed by unknown authority");
    case ErrorClass::kDnsFailure:
      return ping("dial tcp: lookup " + RegistryOf(asked) + ": no such host");
    case ErrorClass::kUnreachable: {
      RuntimeWords words = ping("dial tcp 10.0.0.1:443: connect: connection refused");
      words.text = "RegistryUnavailable: " + words.text;
      return words;
    }
    case ErrorClass::kDiskFull:
      return OfTheDownload(std::string("write ") + kBlobFile + ": no space left on device");
    case ErrorClass::kDiskFault:
      return OfTheDownload(std::string("write ") + kBlobFile + ": input/output error");
    case ErrorClass::kRuntimeProgressTimeout: {
      RuntimeWords words = OfTheDownload("happened during read: context canceled");
      words.code = RpcCode::kCancelled;
      return words;
    }
    case ErrorClass::kInvalidReference:  // without anything around it
      if (auto words = CrioWordsOfName(name)) return words;
      return RuntimeWords{RpcCode::kUnknown,
                          "cannot parse input: \"" + name + "\": invalid reference format"};
    default:
      return std::nullopt;
  }
}

}  // namespace prefetch::tests
