#include "doc/node.h"

#include <gtest/gtest.h>

#include "doc/json.h"
#include "doc/write.h"

namespace prefetch::doc::path_test {
namespace {

Node Parsed(const std::string& json) {
  Problems problems("x");
  return ParseJson(json, problems).value_or(Node());
}

TEST(Path, LeadsToValues) {
  Node root = Parsed(R"({"metadata":{"name":"n1","count":3},"items":[{"a":"b"}]})");
  EXPECT_EQ(TextAt(root, {"metadata", "name"}), "n1");
  EXPECT_EQ(TextAt(root, {"metadata", "count"}), "") << "a number is no text";
  EXPECT_EQ(TextAt(root, {"metadata", "none"}), "");
  EXPECT_EQ(TextAt(root, {"metadata", "name", "deeper"}), "");
  EXPECT_EQ(ValueAt(root, {"metadata", "count"})->integer, 3);
  EXPECT_EQ(ValueAt(root, {}), &root);
  EXPECT_EQ(ValueAt(root, {"none", "at all"}), nullptr);
  ASSERT_EQ(ItemsAt(root, {"items"}).size(), 1U);
  EXPECT_EQ(TextAt(ItemsAt(root, {"items"})[0], {"a"}), "b");
  EXPECT_TRUE(ItemsAt(root, {"metadata"}).empty());
  EXPECT_TRUE(ItemsAt(root, {"none"}).empty());
}

TEST(Edit, ChangesWhatIsThereAndAddsWhatIsNot) {
  Node root = Parsed(R"({"a":1,"list":[{"v":1},{"v":2}]})");
  Put(root, "a", Node::Int(2));
  Put(Sub(Sub(root, "b"), "c"), "d", Node::String("x"));
  ForEachAt(root, {"list", "v"}, 0, [](Node& value) { value = Node::Bool(true); });
  EXPECT_EQ(WriteJson(root), R"({"a":2,"list":[{"v":true},{"v":true}],"b":{"c":{"d":"x"}}})");
  Remove(root, "list");
  Remove(root, "none");
  EXPECT_EQ(Find(root, "list"), nullptr);
  EXPECT_EQ(Find(root, "a")->integer, 2);
}

}  // namespace
}  // namespace prefetch::doc::path_test
