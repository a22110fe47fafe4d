#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace prefetch::base::result_test {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument("odd");
  return n / 2;
}

TEST(Result, CarriesValueOrError) {
  auto good = Half(4);
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 2);
  auto bad = Half(3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), Code::kInvalidArgument);
}

TEST(Result, WrapGrowsOutwardAndKeepsTheCode) {
  Error error = std::move(Half(1)).error().Wrap("halve").Wrap("page 3");
  EXPECT_EQ(error.message(), "page 3: halve: odd");
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
}

TEST(ResultDeathTest, UsingTheValueOfAFailureAborts) {
  EXPECT_DEATH((void)*Half(1), "");
}

TEST(FromErrno, KnowsWhatACallerCanDo) {
  EXPECT_EQ(FromErrno(ENOENT, "open x").code(), Code::kNotFound);
  EXPECT_EQ(FromErrno(EACCES, "open x").code(), Code::kPermissionDenied);
  EXPECT_EQ(FromErrno(ENOSPC, "write x").code(), Code::kResourceExhausted);
  EXPECT_EQ(FromErrno(ENOENT, "open x").message(), "open x: No such file or directory");
}

}  // namespace
}  // namespace prefetch::base::result_test
