#include "cri/failure_reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace prefetch::cri {

namespace {

// Separates two parts of a text.
constexpr std::string_view kBetween = ": ";

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
std::optional<int> NumberAt(std::string_view text) {
  int status = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 3), status);
  if (error != std::errc() || end != text.data() + 3 || status < 100) return std::nullopt;
  // Four digits are no status of HTTP: a port, or a size.
  if (text.size() > 3 && text[3] >= '0' && text[3] <= '9') return std::nullopt;
  return status;
}

std::optional<int> StatusAt(std::string_view text) {
  for (std::string_view words : kStatusWords) {
    if (text.starts_with(words)) return NumberAt(text.substr(words.size()));
  }
  return std::nullopt;
}

std::string_view CodeOf(std::string_view part) {
  auto found =
      std::find_if(kCodes.begin(), kCodes.end(), [&](const CodeWords& code) { return code.words == part; });
  return found == kCodes.end() ? std::string_view() : found->code;
}

// Splits the text at `at`: the runtime's own words go into `own`, and the words that it quotes from a server
// into `quoted`. A server can write anything, so its words must not be taken for the runtime's.
void Quote(FailureReading& reading, std::string_view text, std::size_t at) {
  at = std::min(at, text.size());
  reading.own = text.substr(0, at);
  reading.quoted = text.substr(at);
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
bool ReadContainerds(FailureReading& reading, std::string_view text, std::size_t at, std::size_t next) {
  const std::string_view part = text.substr(at, next - at - kBetween.size());
  const std::string_view rest = text.substr(std::min(next, text.size()));
  if (part == "server message") {
    reading.code = CodeOf(rest.substr(0, rest.find(kBetween)));
    Quote(reading, text, next);
    return true;
  }
  if (AnnouncesStatus(part)) {
    reading.status = NumberAt(rest).value_or(0);
    if (reading.status == 0) return false;
    Quote(reading, text, next + std::min({rest.find('\n'), rest.find(" - server message: "), rest.size()}));
    return true;
  }
  const std::string_view code = CodeOf(part);
  if (reading.source != ErrorSource::kContainerd || code.empty() || IsGrpcCodeName(code)) return false;
  reading.code = code;
  Quote(reading, text, at);
  return true;
}

// The same for containers/image. Once it has named itself, a status or a code is the server's.
bool ReadContainersImages(FailureReading& reading, std::string_view text, std::size_t at, std::size_t next) {
  reading.status = StatusAt(text.substr(at)).value_or(0);
  reading.code = CodeOf(text.substr(at, next - at - kBetween.size()));
  if (reading.status == 0 && reading.code.empty()) return false;
  Quote(reading, text, at);
  return true;
}

}  // namespace

// Go programs join the causes of an error by colons, the outermost first. So the parts are read from left to
// right, until a part names a status or a code.
FailureReading ReadFailure(std::string_view text) {
  FailureReading reading{.own = text};
  for (std::size_t at = 0, next = 0; at <= text.size(); at = next) {
    next = std::min(text.find(kBetween, at), text.size()) + kBetween.size();
    const std::string_view part = text.substr(at);
    auto step = std::find_if(kSteps.begin(), kSteps.end(),
                             [&](const StepWords& words) { return part.starts_with(words.begin); });
    if (step != kSteps.end()) {
      reading.source = step->source;
      // The last step counts: outer parts name what was wanted, inner ones where it failed.
      if (step->step != Step::kUnknown) reading.step = step->step;
    } else if (reading.source == ErrorSource::kContainersImage ? ReadContainersImages(reading, text, at, next)
                                                               : ReadContainerds(reading, text, at, next)) {
      break;
    }
  }
  return reading;
}

namespace {

using image::ErrorClass;

// A row matches if everything that it names holds. `words` may be anywhere in the text.
struct FailureRow {
  ErrorClass error_class;
  Step step = Step::kUnknown;  // of any
  int from = 0;                // HTTP statuses from `from` to `to`
  int to = 0;
  std::string_view code = {};
  std::string_view words = {};
  ErrorSource source = ErrorSource::kUnknown;  // any

  bool Matches(const FailureReading& reading) const {
    auto has = [&](std::string_view text) { return text.find(words) != std::string_view::npos; };
    return (source == ErrorSource::kUnknown || source == reading.source) &&
           (step == Step::kUnknown || step == reading.step) &&
           (from == 0 || (reading.status >= from && reading.status <= to)) &&
           (code.empty() || code == reading.code) &&
           (words.empty() || has(reading.own) || has(reading.quoted));
  }
};

constexpr ErrorSource kOfCrio = ErrorSource::kContainersImage;

// First match wins. Statuses as registry rule R22 has them.
constexpr std::array kFailures = std::to_array<FailureRow>({
    // A token service says nothing about the image: its 404 is a wrong address of the service.
    {ErrorClass::kAccessDenied, Step::kToken, 400, 403},
    {ErrorClass::kUnreachable, Step::kToken, 407, 407},
    {ErrorClass::kRateLimited, Step::kToken, 429, 429},
    {ErrorClass::kServerError, Step::kToken, 100, 999},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "", "decoding bearer token"},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "name unknown"},
    {ErrorClass::kServerError, Step::kToken, 0, 0, "manifest unknown"},
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
     kOfCrio},
    {ErrorClass::kCorrupt, Step::kBlob, 0, 0, "", "digest did not match"},
    {ErrorClass::kUnpackFailed, Step::kUnpack, 0, 0, "", "unpacking failed", kOfCrio},
});

}  // namespace

std::optional<ErrorClass> ClassOfFailure(const FailureReading& reading) {
  // A row of one step comes before the row of any step for the same status or code.
  auto row = std::find_if(kFailures.begin(), kFailures.end(),
                          [&](const FailureRow& failure) { return failure.Matches(reading); });
  if (row == kFailures.end()) return std::nullopt;
  return row->error_class;
}

}  // namespace prefetch::cri
