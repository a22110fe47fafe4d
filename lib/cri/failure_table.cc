#include "cri/failure_reading.h"

#include <algorithm>
#include <array>

namespace prefetch::cri {
namespace {

using image::ErrorClass;

// All that a row names must hold: `words` stand anywhere in the text.
struct FailureRow {
  ErrorClass error_class;
  Step step = Step::kUnknown;  // of any
  int from = 0;                // HTTP statuses from `from` to `to`
  int to = 0;
  std::string_view code = {};
  std::string_view words = {};
  Speaker speaker = Speaker::kUnknown;  // any

  bool Matches(const FailureReading& reading) const {
    auto has = [&](std::string_view text) { return text.find(words) != std::string_view::npos; };
    return (speaker == Speaker::kUnknown || speaker == reading.speaker) &&
           (step == Step::kUnknown || step == reading.step) &&
           (from == 0 || (reading.status >= from && reading.status <= to)) &&
           (code.empty() || code == reading.code) &&
           (words.empty() || has(reading.own) || has(reading.quoted));
  }
};

constexpr Speaker kOfCrio = Speaker::kContainersImage;

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
  auto row = std::find_if(kFailures.begin(), kFailures.end(),
                          [&](const FailureRow& failure) { return failure.Matches(reading); });
  if (row == kFailures.end()) return std::nullopt;
  return row->error_class;
}

}  // namespace prefetch::cri
