#include "cri/failure_reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace prefetch::cri {
namespace {

// How a part of the text between colons begins, and whose step that is.
struct StepWords {
  std::string_view begin;
  Speaker speaker;
  Step step;
};
constexpr std::array kSteps = std::to_array<StepWords>({
    {"initializing source ", Speaker::kContainersImage, Step::kManifest},
    {"pinging container registry ", Speaker::kContainersImage, Step::kPing},
    {"unable to retrieve auth token", Speaker::kContainersImage, Step::kToken},
    {"requesting bearer token", Speaker::kContainersImage, Step::kToken},
    {"decoding bearer token", Speaker::kContainersImage, Step::kToken},
    {"reading manifest ", Speaker::kContainersImage, Step::kManifest},
    {"initializing image from source ", Speaker::kContainersImage, Step::kDocument},
    {"choosing an image from manifest list ", Speaker::kContainersImage, Step::kDocument},
    {"reading blob ", Speaker::kContainersImage, Step::kBlob},
    {"fetching blob", Speaker::kContainersImage, Step::kBlob},
    {"writing blob", Speaker::kContainersImage, Step::kBlob},
    {"adding layer with blob ", Speaker::kContainersImage, Step::kUnpack},
    {"failed to resolve reference ", Speaker::kContainerd, Step::kManifest},
    {"failed to resolve image", Speaker::kContainerd, Step::kManifest},
    {"failed to authorize", Speaker::kContainerd, Step::kToken},
    {"failed to fetch anonymous token", Speaker::kContainerd, Step::kToken},
    {"failed to fetch oauth token", Speaker::kContainerd, Step::kToken},
    {"failed to copy", Speaker::kContainerd, Step::kBlob},
    {"failed to extract layer ", Speaker::kContainerd, Step::kUnpack},
});

// The OCI codes as docker/distribution's Go library spells them, and the messages that stand for some.
struct CodeWords {
  std::string_view words, code;
};
constexpr std::array kCodes = std::to_array<CodeWords>({
    {"unauthorized", "unauthorized"},
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

// What comes before the number of an HTTP status in containers/image's texts.
constexpr std::array<std::string_view, 3> kStatusWords = {
    "statuscode: ", "received unexpected http status: ", "invalid status code from registry "};

std::optional<int> NumberAt(std::string_view text) {
  int status = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 3), status);
  if (error != std::errc() || end != text.data() + 3 || status < 100) return std::nullopt;
  if (text.size() > 3 && text[3] >= '0' && text[3] <= '9') return std::nullopt;
  return status;
}

std::optional<int> StatusAt(std::string_view text) {
  for (std::string_view words : kStatusWords) {
    if (text.starts_with(words)) return NumberAt(text.substr(words.size()));
  }
  return std::nullopt;
}

// containerd's shapes: "unexpected status from HEAD request to <...>: 418 I'm a teapot",
// "pulling from host <...> failed with status code [manifests <...>]: 401 Unauthorized".
std::optional<int> ContainerdStatus(std::string_view text) {
  std::size_t at = std::min(text.find("unexpected status"), text.find("failed with status code"));
  if (at == std::string_view::npos) return std::nullopt;
  for (at = text.find(": ", at); at != std::string_view::npos; at = text.find(": ", at + 1)) {
    std::string_view rest = text.substr(at + 2);
    bool ends = rest.size() <= 3 || rest[3] == ' ';
    if (auto status = NumberAt(rest); status && ends) return status;
  }
  return std::nullopt;
}

std::string_view CodeOf(std::string_view part) {
  auto found =
      std::find_if(kCodes.begin(), kCodes.end(), [&](const CodeWords& code) { return code.words == part; });
  return found == kCodes.end() ? std::string_view() : found->code;
}

// Leaves in `own` what stands before `at`, and in `quoted` the rest.
void Quote(FailureReading& reading, std::string_view text, std::size_t at) {
  reading.own = text.substr(0, at);
  reading.quoted = text.substr(at);
}

}  // namespace

FailureReading ReadFailure(std::string_view text) {
  FailureReading reading{.own = text};
  std::size_t at = 0;
  while (at <= text.size()) {
    std::string_view rest = text.substr(at);
    std::size_t colon = rest.find(": ");
    std::string_view part = rest.substr(0, colon);
    auto step = std::find_if(kSteps.begin(), kSteps.end(),
                             [&](const StepWords& words) { return part.starts_with(words.begin); });
    if (step != kSteps.end()) {
      reading.speaker = step->speaker;
      reading.step = step->step;
    } else if (reading.speaker == Speaker::kContainersImage) {
      // From here on it is the server that speaks.
      reading.status = StatusAt(rest).value_or(0);
      reading.code = CodeOf(part);
      if (reading.status != 0 || !reading.code.empty()) {
        Quote(reading, text, at);
        return reading;
      }
    }
    if (colon == std::string_view::npos) break;
    at += colon + 2;
  }
  if (reading.speaker != Speaker::kContainersImage) reading.status = ContainerdStatus(text).value_or(0);
  return reading;
}

}  // namespace prefetch::cri
