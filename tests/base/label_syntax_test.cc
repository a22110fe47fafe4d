#include "base/label_syntax.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::base::label_syntax_test {
namespace {

const std::string kLongest(63, 'a');

TEST(LabelSyntax, Keys) {
  for (const std::string& key : {std::string("pool"), std::string("a.b_c-D9"),
                                 "node.kubernetes.io/" + kLongest, std::string("x/y"), kLongest + "a/b"}) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("-a"), std::string("a."), std::string("a b"), std::string("/a"),
        std::string("A.com/a"), std::string("a..b/c"), std::string("a.-b/c"), std::string("a/b/c"),
        std::string("a/"), kLongest + "a", std::string(254, 'a') + "/b"}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
}

TEST(LabelSyntax, KeysOfStartupTaints) {
  for (const char* key : {"example.com/not-ready", "startup-taint.cluster-autoscaler.kubernetes.io/prefetchd",
                          "ignore-taint.cluster-autoscaler.kubernetes.io/prefetchd"}) {
    EXPECT_TRUE(IsStartupTaintKey(key)) << key;
  }
  // Without a domain, of Kubernetes' own, and no key at all.
  for (const char* key :
       {"not-ready", "not/ready", "node.kubernetes.io/not-ready", "k8s.io/a",
        "startup-taint.cluster-autoscaler.kubernetes.io/",
        "startup-taint.cluster-autoscaler.kubernetes.io/a b", "example.com/a:NoSchedule", ""}) {
    EXPECT_FALSE(IsStartupTaintKey(key)) << key;
  }
}

TEST(LabelSyntax, PartsAndNames) {
  EXPECT_TRUE(IsLabelPart("v1.36.2"));
  EXPECT_FALSE(IsLabelPart(""));
  EXPECT_FALSE(IsLabelPart("a b"));
  EXPECT_FALSE(IsLabelPart(kLongest + "a"));
  EXPECT_TRUE(IsDnsLabel("ci-7"));
  EXPECT_FALSE(IsDnsLabel("ci.7"));
  EXPECT_FALSE(IsDnsLabel(kLongest + "a"));
  EXPECT_TRUE(IsDnsSubdomain("a.b-c"));
  EXPECT_FALSE(IsDnsSubdomain("a..b"));
}

}  // namespace
}  // namespace prefetch::base::label_syntax_test
