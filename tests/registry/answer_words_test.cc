// Meanings of a status, a content type, an error body and a broken exchange.
#include <gtest/gtest.h>

#include "base/text.h"
#include "registry/response.h"

namespace prefetch::registry::answer_words_test {
namespace {

using Kind = image::RegistryAnswerKind;

struct StatusCase {
  std::string name;
  Refusal refusal;
  Kind kind;
  std::string detail;
};

TEST(StatusTest, Table) {
  const StatusCase rows[] = {
      // R22, status by status. AnswerTest has the others.
      {"DigestInvalid", Refusal{.status = 400, .oci_code = "DIGEST_INVALID"}, Kind::kIndeterminate,
       "InvalidReference"},
      {"TagInvalid", {.status = 400, .oci_code = "TAG_INVALID"}, Kind::kIndeterminate, "InvalidReference"},
      {"ManifestInvalid", {.status = 400, .oci_code = "MANIFEST_INVALID"}, Kind::kServerError, "BadRequest"},
      {"Unauthenticated", {.status = 401}, Kind::kAccessDenied, "Unauthenticated"},
      {"BadCredentials", {.status = 401, .credential = true}, Kind::kAccessDenied, "BadCredentials"},
      {"InsufficientScope", Refusal{.status = 401, .insufficient_scope = true}, Kind::kAccessDenied,
       "InsufficientScope"},
      {"EcrExpired",
       Refusal{.status = 403, .oci_code = "DENIED", .body = "Your authorization token has expired"},
       Kind::kAccessDenied, "Forbidden"},
      {"GarDenied",
       Refusal{.status = 403, .body = "Permission \"x\" denied on resource (or it may not exist)"},
       Kind::kAccessDenied, "Forbidden"},
      {"ForbiddenForRate", Refusal{.status = 403, .body = "API Rate Limit exceeded"}, Kind::kRateLimited,
       "Forbidden"},
      {"ForbiddenForAbuse", {.status = 403, .body = "abuse detected"}, Kind::kRateLimited, "Forbidden"},
      {"CorporateIsNoRate", Refusal{.status = 403, .body = "corporate policy, please integrate"},
       Kind::kAccessDenied, "Forbidden"},
      {"ManifestUnknown", {.status = 404, .oci_code = "MANIFEST_UNKNOWN"}, Kind::kTagMissing, ""},
      {"NameUnknown", {.status = 404, .oci_code = "NAME_UNKNOWN"}, Kind::kTagMissing, "RepositoryMissing"},
      {"MethodAgain", {.status = 405}, Kind::kServerError, "Status405"},
      {"ProxyAuth", {.status = 407}, Kind::kUnreachable, "ProxyAuth"},
      {"TooEarly", {.status = 425}, Kind::kServerError, "Timeout"},
      {"Misdirected", {.status = 421}, Kind::kServerError, "Status421"},
      {"Upgrade", {.status = 426}, Kind::kServerError, "Status426"},
      {"SlowDown", {.status = 503, .body = "<Code>SlowDown</Code>"}, Kind::kRateLimited, "SlowDown"},
      {"Teapot", {.status = 418}, Kind::kServerError, "Status418"},
      {"NoContent", {.status = 204}, Kind::kServerError, "Status204"},
  };
  for (const StatusCase& row : rows) {
    SCOPED_TRACE(row.name);
    const StatusClass found = ClassOf(row.refusal);
    EXPECT_EQ(found.kind, row.kind);
    EXPECT_EQ(found.detail.name(), row.detail);
  }
}

TEST(ManifestKindOf, Table) {
  const struct {
    std::string type;
    ManifestKind containerd, crio;
  } rows[] = {
      {"application/vnd.docker.distribution.manifest.list.v2+json", ManifestKind::kIndex,
       ManifestKind::kIndex},
      {"application/vnd.oci.image.index.v1+json;", ManifestKind::kIndex, ManifestKind::kIndex},
      {"application/vnd.docker.distribution.manifest.v2+json", ManifestKind::kManifest,
       ManifestKind::kManifest},
      {"application/vnd.oci.image.manifest.v1+json; charset=utf-8", ManifestKind::kManifest,
       ManifestKind::kManifest},
      {"application/vnd.oci.image.manifest.v1+json ; charset=utf-8", ManifestKind::kUnknown,
       ManifestKind::kManifest},
      {"Application/VND.oci.image.manifest.v1+JSON", ManifestKind::kUnknown, ManifestKind::kManifest},
      {"application/vnd.docker.distribution.manifest.v1+json", ManifestKind::kSchema1,
       ManifestKind::kSchema1},
      {"application/vnd.docker.distribution.manifest.v1+prettyjws", ManifestKind::kSchema1,
       ManifestKind::kSchema1},
      {"text/plain", ManifestKind::kSchema1, ManifestKind::kSchema1},
      {"application/json", ManifestKind::kUnknown, ManifestKind::kUnknown},
      {"application/octet-stream", ManifestKind::kUnknown, ManifestKind::kUnknown},
      {"", ManifestKind::kUnknown, ManifestKind::kUnknown},
      {"Text/HTML; charset=utf-8", ManifestKind::kHtml, ManifestKind::kHtml},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ManifestKindOf(row.type, MediaTypeRules::kContainerd), row.containerd) << row.type;
    EXPECT_EQ(ManifestKindOf(row.type, MediaTypeRules::kCrio), row.crio) << row.type;
  }
}

TEST(ParseOciError, WhatABodyMayBe) {
  EXPECT_EQ(ParseOciError(R"({"errors":[{"code":"manifest_unknown","message":"m"},{"code":"B"}]})"),
            (OciError{"MANIFEST_UNKNOWN", "m"}));
  EXPECT_EQ(ParseOciError(R"({"errors":[{"code":5,"message":null}]})"), OciError{});
  for (std::string_view body : {"", "{}", "[]", "null", R"({"errors":{}})", R"({"errors":[]})",
                                R"({"errors":["x"]})", "<html>", R"({"errors":[{"code":"A")"}) {
    EXPECT_EQ(ParseOciError(body), OciError{}) << body;
  }
}

// The others are in client_answer_test.cc, where a server makes them.
TEST(AnswerToFault, Table) {
  const struct {
    http::Fault fault;
    Kind kind;
    std::string detail;
  } rows[] = {
      {http::Fault::kRequest, Kind::kIndeterminate, "Internal"},
      {http::Fault::kExcludedAddress, Kind::kUnreachable, "Address"},
      {http::Fault::kTls, Kind::kUnreachable, "Tls"},
      {http::Fault::kUntrustedCertificate, Kind::kUnreachable, "Tls"},
      {http::Fault::kProxy, Kind::kUnreachable, "Proxy"},
      {http::Fault::kProxyAuth, Kind::kUnreachable, "ProxyAuth"},
      {http::Fault::kTooLong, Kind::kIndeterminate, "TooLong"},
      {http::Fault::kEncoding, Kind::kIndeterminate, "NotAcceptable"},
  };
  for (const auto& row : rows) {
    auto answer = AnswerToFault(row.fault, base::Unavailable("why"));
    EXPECT_EQ(answer.kind, row.kind) << row.detail;
    EXPECT_EQ(answer.detail.name(), row.detail);
    EXPECT_EQ(answer.message, "why");
  }
}

}  // namespace
}  // namespace prefetch::registry::answer_words_test
