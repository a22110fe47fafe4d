#include "image/reference.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::image::pull_policy_test {
namespace {

TEST(PullPolicy, NamesAreExact) {
  for (PullPolicy policy : {PullPolicy::kNever, PullPolicy::kIfNotPresent, PullPolicy::kAlways}) {
    EXPECT_EQ(ParsePullPolicy(PullPolicyName(policy)), policy);
  }
  for (const char* text : {"", "never", "ALWAYS", "IfNotPresent ", "ifNotPresent"}) {
    EXPECT_EQ(ParsePullPolicy(text), std::nullopt) << text;
  }
  EXPECT_LT(PullPolicy::kNever, PullPolicy::kIfNotPresent);
  EXPECT_LT(PullPolicy::kIfNotPresent, PullPolicy::kAlways);
}

// kubelet's rule K2.
TEST(PullPolicy, DefaultFollowsTheTag) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const struct {
    std::string image;
    PullPolicy policy;
  } rows[] = {
      {"nginx", PullPolicy::kAlways},
      {"nginx:latest", PullPolicy::kAlways},
      {"reg:5000/x:latest" + digest, PullPolicy::kAlways},
      {"nginx:1.27", PullPolicy::kIfNotPresent},
      {"nginx:Latest", PullPolicy::kIfNotPresent},
      {"nginx" + digest, PullPolicy::kIfNotPresent},
      {"nginx:1.27" + digest, PullPolicy::kIfNotPresent},
      {"latest:1", PullPolicy::kIfNotPresent},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(DefaultPullPolicy(*Reference::Parse(row.image)), row.policy) << row.image;
  }
}

}  // namespace
}  // namespace prefetch::image::pull_policy_test
