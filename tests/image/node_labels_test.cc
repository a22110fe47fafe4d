#include "image/node_labels.h"

#include <gtest/gtest.h>

namespace prefetch::image::node_labels_test {
namespace {

TEST(NodeLabels, AllPairsMustBeThere) {
  const NodeLabels labels{{"pool", "gpu"}, {"example.com/zone", ""}};
  EXPECT_TRUE(Selects({}, labels));
  EXPECT_TRUE(Selects({}, {}));
  EXPECT_TRUE(Selects({{"pool", "gpu"}}, labels));
  EXPECT_TRUE(Selects({{"example.com/zone", ""}}, labels));
  EXPECT_FALSE(Selects({{"pool", "ci"}}, labels));
  EXPECT_FALSE(Selects({{"pool", "gpu"}, {"zone", ""}}, labels)) << "an empty value is no missing label";
}

TEST(NodeLabels, RulesOfKubernetes) {
  const std::string longest(63, 'a');
  for (const std::string& key :
       {std::string("pool"), std::string("a.b_c-D9"), "node.kubernetes.io/" + longest, std::string("x/y")}) {
    EXPECT_TRUE(IsLabelKey(key)) << key;
  }
  for (const std::string& key :
       {std::string(), std::string("-a"), std::string("a."), std::string("a b"), std::string("/a"),
        std::string("A.com/a"), std::string("a..b/c"), std::string("a/b/c"), std::string("a/"), longest + "a",
        std::string(254, 'a') + "/b"}) {
    EXPECT_FALSE(IsLabelKey(key)) << key;
  }
  EXPECT_TRUE(IsLabelValue(""));
  EXPECT_TRUE(IsLabelValue("v1.36.2"));
  EXPECT_FALSE(IsLabelValue("a b"));
  EXPECT_FALSE(IsLabelValue(longest + "a"));
}

}  // namespace
}  // namespace prefetch::image::node_labels_test
