// TEST_TABLE and TEST_ROWS: a table test and its rows. The name of a row is a part of its test's name.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "base/enum_name.h"

namespace prefetch::tests {

// Names a test after its row's member `name`, or after the row if it is an enumerator; else after the row's
// index.
inline constexpr auto kRowName = [](const auto& row) {
  if constexpr (requires { row.param.name; })
    return std::string(row.param.name);
  else if constexpr (std::is_enum_v<std::decay_t<decltype(row.param)>>)
    return std::string(base::EnumName(row.param));
  else
    return std::to_string(row.index);
};

}  // namespace prefetch::tests

// Defines suite.name, which runs for each row; the type of a row comes last. The body has it as `row`.
#define TEST_TABLE(suite, name, ...) TEST_TABLE_F(suite, name, testing::Test, __VA_ARGS__)

// The same on a fixture.
#define TEST_TABLE_F(suite, name, fixture, ...)                                   \
  class suite : public fixture, public testing::WithParamInterface<__VA_ARGS__> { \
   protected:                                                                     \
    void CheckRow(const ParamType& row);                                          \
  };                                                                              \
  TEST_P(suite, name) {                                                           \
    CheckRow(GetParam());                                                         \
  }                                                                               \
  void suite::CheckRow(const ParamType& row)

// Runs the tests of `suite` with each row.
#define TEST_ROWS(prefix, suite, ...)                                                                    \
  INSTANTIATE_TEST_SUITE_P(prefix, suite, testing::ValuesIn(std::vector<suite::ParamType>{__VA_ARGS__}), \
                           ::prefetch::tests::kRowName)
