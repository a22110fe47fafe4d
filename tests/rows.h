// TEST_ROWS: the rows of a table test. The name of a row is a part of its test's name.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace prefetch::tests {

// Names a test after its row's member `name`; without one, after the row's index.
inline constexpr auto kRowName = [](const auto& row) {
  if constexpr (requires { row.param.name; })
    return std::string(row.param.name);
  else
    return std::to_string(row.index);
};

}  // namespace prefetch::tests

// Runs the tests of `suite`, a testing::TestWithParam, with each row.
#define TEST_ROWS(prefix, suite, ...)                                                                    \
  INSTANTIATE_TEST_SUITE_P(prefix, suite, testing::ValuesIn(std::vector<suite::ParamType>{__VA_ARGS__}), \
                           ::prefetch::tests::kRowName)
