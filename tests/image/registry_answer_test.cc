#include "image/registry_answer.h"

#include <gtest/gtest.h>

namespace prefetch::image::registry_answer_test {
namespace {

// The names stand in status, metrics and documents of others.
TEST(RegistryAnswer, EachKindHasTheNameThatTheSpecificationGivesIt) {
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kSame), "Same");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kMoved), "Moved");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kTagMissing), "TagMissing");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kAccessDenied), "AccessDenied");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kRateLimited), "RateLimited");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kUnreachable), "Unreachable");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kServerError), "ServerError");
  EXPECT_EQ(RegistryAnswerName(RegistryAnswerKind::kIndeterminate), "Indeterminate");
}

}  // namespace
}  // namespace prefetch::image::registry_answer_test
