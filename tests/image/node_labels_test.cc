#include "image/pod_coordinates.h"

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

}  // namespace
}  // namespace prefetch::image::node_labels_test
