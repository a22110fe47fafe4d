#include "image/registry_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "image/registry_access.h"
#include "rows.h"

namespace prefetch::image::registry_answer_test {
namespace {

// The names stand in status, metrics and documents of others.
TEST(RegistryAnswer, EachKindHasTheNameThatTheSpecificationGivesIt) {
  EXPECT_EQ(base::NamesOf<RegistryAnswerKind>(),
            (std::vector<std::string>{"Same", "Moved", "TagMissing", "AccessDenied", "RateLimited",
                                      "Unreachable", "ServerError", "Indeterminate"}));
}

TEST(IsTransient, Table) {
  using Kind = RegistryAnswerKind;
  struct Row {
    Kind kind;
    RegistryDetail detail;
    bool passes;
  };
  const Row rows[] = {
      {Kind::kUnreachable, RegistryDetail::kTimeout, true},
      {Kind::kUnreachable, RegistryDetail::kReset, true},
      {Kind::kUnreachable, RegistryDetail::kDns, false},
      {Kind::kUnreachable, RegistryDetail::kTls, false},
      {Kind::kUnreachable, RegistryDetail::kStopped, false},
      {Kind::kServerError, RegistryDetail::Status(500), false},
      {Kind::kServerError, RegistryDetail::Status(501), false},
      {Kind::kServerError, RegistryDetail::Status(502), true},
      {Kind::kServerError, RegistryDetail::Status(503), true},
      {Kind::kServerError, RegistryDetail::Status(504), true},
      {Kind::kServerError, RegistryDetail::Status(505), false},
      {Kind::kServerError, RegistryDetail::kTimeout, false},  // it did answer, with 408
      {Kind::kRateLimited, RegistryDetail::kNone, false},
      {Kind::kTagMissing, RegistryDetail::kNone, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(IsTransient({.kind = row.kind, .detail = row.detail}), row.passes)
        << base::EnumName(row.kind) << " " << row.detail.name();
  }
}

TEST(RegistryDetail, HasTheNumberOfAStatusInItsName) {
  EXPECT_EQ(RegistryDetail(RegistryDetail::kNone).name(), "");
  EXPECT_EQ(RegistryDetail::Status(502).name(), "Status502");
}

struct ByPullRow {
  std::string name;
  std::vector<std::string> by_pull;
  std::string registry;
  bool expect;
};

TEST_TABLE(ByPullTest, IsByTheRegistrysHost, ByPullRow) {
  EXPECT_EQ(IsOnlyByPull({.by_pull = row.by_pull}, row.registry), row.expect);
}

TEST_ROWS(Hosts, ByPullTest, {"Nothing", {}, "ghcr.io", false}, {"All", {"*"}, "ghcr.io", true},
          {"Named", {"ghcr.io"}, "ghcr.io", true}, {"Another", {"ghcr.io"}, "quay.io", false},
          {"WithItsPort", {"r.acme.io:5000"}, "r.acme.io:5000", true},
          {"AnotherPort", {"r.acme.io"}, "r.acme.io:5000", false},
          {"DockerHub", {"docker.io"}, "docker.io", true},
          {"DockerHubsServer", {"registry-1.docker.io"}, "docker.io", true},
          {"DockerHubsOldName", {"index.docker.io"}, "docker.io", true},
          {"OnlyDockerHubHasSuch", {"registry-1.ghcr.io"}, "ghcr.io", false});

}  // namespace
}  // namespace prefetch::image::registry_answer_test
