#include "image/pull_error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace prefetch::image::pull_error_test {
namespace {

TEST(ErrorClass, EachHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(ErrorClass::kUnknown); i++) {
    std::string name(ErrorClassName(static_cast<ErrorClass>(i)));
    EXPECT_FALSE(name.empty()) << i;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(ErrorClassName(ErrorClass::kAccessDenied), "AccessDenied");
}

// The next credential is tried when this one was refused, never when the registry is down.
TEST(ErrorClass, OnlyARefusedCredentialIsACredentialRefusal) {
  for (int i = 0; i <= static_cast<int>(ErrorClass::kUnknown); i++) {
    auto error_class = static_cast<ErrorClass>(i);
    bool refusal =
        error_class == ErrorClass::kAccessDenied || error_class == ErrorClass::kBadCredentialFormat;
    EXPECT_EQ(IsCredentialRefusal(error_class), refusal) << ErrorClassName(error_class);
  }
}

}  // namespace
}  // namespace prefetch::image::pull_error_test
