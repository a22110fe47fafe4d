// EXPECT_OK / ASSERT_OK: a Status or Result that must not have failed, with its message if it has.
#pragma once

#include <gtest/gtest.h>

#include "base/result.h"

namespace prefetch::rig {

template <typename StatusOrResult>
testing::AssertionResult IsOk(const StatusOrResult& outcome) {
  if (outcome.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << base::EnumName(outcome.error().code()) << ": "
                                     << outcome.error().message();
}

}  // namespace prefetch::rig

#define EXPECT_OK(expression) EXPECT_TRUE(::prefetch::rig::IsOk(expression))
#define ASSERT_OK(expression) ASSERT_TRUE(::prefetch::rig::IsOk(expression))
