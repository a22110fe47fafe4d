// TEST_ROWS: the rows of a table test, each of which is named in the test's name.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prefetch::tests {

// Names a test after its row's member `name`.
inline constexpr auto kRowName = [](const auto& row) { return std::string(row.param.name); };

}  // namespace prefetch::tests

// Runs the tests of `suite`, which is a testing::TestWithParam of a struct with a member `name`, with each
// row.
#define TEST_ROWS(prefix, suite, ...)                                                                    \
  INSTANTIATE_TEST_SUITE_P(prefix, suite, testing::ValuesIn(std::vector<suite::ParamType>{__VA_ARGS__}), \
                           ::prefetch::tests::kRowName)
