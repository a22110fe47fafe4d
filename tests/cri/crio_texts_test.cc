// C30: what a real CRI-O said, text by text, and what its parts mean where only one of them changes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "cri/classify.h"

namespace prefetch::cri::crio_texts_test {
namespace {

using image::ErrorClass;

constexpr std::size_t kTexts = 75;

std::string ClassOf(const std::string& code, const std::string& text, const std::string& name) {
  static const std::map<std::string, RpcCode> kCodes = {{"Unknown", RpcCode::kUnknown},
                                                        {"Canceled", RpcCode::kCancelled}};
  return std::string(image::ErrorClassName(Classify(kCodes.at(code), text, {name})));
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
const std::string kDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

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

class CrioShapeTest : public testing::TestWithParam<Shape> {};

TEST_P(CrioShapeTest, StepAndStatusDecide) {
  const Shape& shape = GetParam();
  const std::string text = Said(shape.step, shape.cause);
  EXPECT_EQ(ClassOf("Unknown", text, "reg.example/a:v1"), std::string(image::ErrorClassName(shape.expect)))
      << text;
}

INSTANTIATE_TEST_SUITE_P(
    StatusesOfTheManifest, CrioShapeTest,
    testing::Values(Shape{kManifest, "denied", ErrorClass::kAccessDenied},
                    Shape{kManifest, "StatusCode: 402, \"pay\"", ErrorClass::kAccessDenied},
                    Shape{kManifest, "StatusCode: 404, \"\"", ErrorClass::kNotFound},
                    Shape{kManifest, "StatusCode: 408, \"slow\"", ErrorClass::kServerError},
                    Shape{kManifest, "StatusCode: 407, \"proxy\"", ErrorClass::kUnreachable},
                    Shape{kManifest, "StatusCode: 429, \"\"", ErrorClass::kRateLimited},
                    Shape{kManifest, Http("500 Internal Server Error"), ErrorClass::kServerError},
                    Shape{kManifest, Http("599 Whatever"), ErrorClass::kServerError},
                    Shape{kManifest, "unknown: unknown error", ErrorClass::kServerError},
                    Shape{kManifest, "unavailable: later", ErrorClass::kServerError},
                    Shape{kManifest, "name invalid: too long", ErrorClass::kInvalidReference}));

// What a server writes is not what happened on the node.
INSTANTIATE_TEST_SUITE_P(
    WordsOfTheServer, CrioShapeTest,
    testing::Values(
        Shape{kManifest, "StatusCode: 400, \"no space left on device\"", ErrorClass::kServerError},
        Shape{kManifest, "StatusCode: 418, \"x509: denied: manifest unknown\"", ErrorClass::kServerError},
        Shape{kManifest, "unknown: dial tcp: lookup upstream: no such host", ErrorClass::kServerError},
        Shape{kManifest, "denied: connection refused", ErrorClass::kAccessDenied},
        Shape{kManifest, "StatusCode: 403, \"pull rate limit\"", ErrorClass::kRateLimited},
        Shape{kManifest, "denied: Rate exceeded", ErrorClass::kRateLimited}));

INSTANTIATE_TEST_SUITE_P(PingAndTokenSayNothingOfTheImage, CrioShapeTest,
                         testing::Values(Shape{kPing, "StatusCode: 410, \"gone\"", ErrorClass::kServerError},
                                         Shape{kPing, "StatusCode: 407, \"proxy\"", ErrorClass::kUnreachable},
                                         Shape{kPing, Http("502 Bad Gateway"), ErrorClass::kServerError},
                                         Shape{kToken, Http("400 Bad Request"), ErrorClass::kAccessDenied},
                                         Shape{kToken, Http("401 Unauthorized"), ErrorClass::kAccessDenied},
                                         Shape{kToken, Http("404 Not Found"), ErrorClass::kServerError},
                                         Shape{kToken, Http("410 Gone"), ErrorClass::kServerError},
                                         Shape{kToken, Http("429 Too Many Requests"),
                                               ErrorClass::kRateLimited}));

// These have no "initializing source" of their own in the texts of CRI-O, which changes nothing.
INSTANTIATE_TEST_SUITE_P(
    BlobsAndDocuments, CrioShapeTest,
    testing::Values(Shape{"reading blob " + kDigest + ": fetching blob", "StatusCode: 404, \"no\"",
                          ErrorClass::kContentMissing},
                    Shape{"reading blob " + kDigest + ": fetching blob", "denied", ErrorClass::kAccessDenied},
                    Shape{"reading blob " + kDigest + ": fetching blob",
                          "invalid status code from registry 403 (Forbidden)", ErrorClass::kAccessDenied},
                    Shape{"writing blob: adding layer with blob \"" + kDigest + "\"",
                          "unpacking failed (error: exit status 1; output: archive/tar: invalid tar header)",
                          ErrorClass::kUnpackFailed},
                    Shape{"initializing image from source docker://reg.example/a:v1",
                          "invalid character '<' looking for beginning of value", ErrorClass::kServerError},
                    Shape{"initializing image from source docker://reg.example/a:v1",
                          "no FSLayers in manifest", ErrorClass::kUnsupportedImage},
                    Shape{"initializing image from source docker://reg.example/a:v1",
                          "unsupported image-specific operation on artifact with type \"application/x\"",
                          ErrorClass::kUnsupportedImage}));

}  // namespace
}  // namespace prefetch::cri::crio_texts_test
