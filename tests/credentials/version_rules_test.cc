#include "credentials/provider_config.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::credentials::version_rules_test {
namespace {

// A2, A3, A12, A18 and A19.
TEST(VersionRules, WhatChangedWhen) {
  struct Row {
    unsigned minor;
    bool strict, directories, knows_token, allows_token, separate;
    std::string global;
  };
  for (const Row& row :
       {Row{31, false, false, false, false, false, "global"},
        Row{32, true, false, false, false, false, "global"},
        Row{33, true, false, true, false, true, "global"}, Row{34, true, true, true, true, true, "<global>"},
        Row{35, true, true, true, true, true, "<global>"}, Row{36, true, true, true, true, true, "<global>"},
        Row{37, true, true, true, true, true, "<global>"},
        Row{38, true, true, true, true, true, "<global>"}}) {
    image::KubeletVersion version{1, row.minor};
    EXPECT_EQ(DecodesStrictly(version), row.strict) << row.minor;
    EXPECT_EQ(ReadsConfigDirectories(version), row.directories) << row.minor;
    EXPECT_EQ(KnowsTokenAttributes(version), row.knows_token) << row.minor;
    EXPECT_EQ(AllowsTokenAttributes(version), row.allows_token) << row.minor;
    EXPECT_EQ(SeparatesKeyrings(version), row.separate) << row.minor;
    EXPECT_EQ(GlobalCacheKey(version), row.global) << row.minor;
  }
}

}  // namespace
}  // namespace prefetch::credentials::version_rules_test
