// The rules of kustomize that the tree deploy/ relies on, row by row; deploy_test.py holds the whole of it
// against kustomize itself.
#include "deploy/build.h"

#include <gtest/gtest.h>

#include <string>

#include "doc/json.h"
#include "doc/write.h"
#include "rows.h"

namespace prefetch::deploy::patches_test {
namespace {

doc::Node Json(const std::string& text) {
  doc::Problems problems("x.json");
  auto node = doc::ParseJson(text, problems);
  EXPECT_TRUE(node && problems.empty()) << text;
  return node ? *std::move(node) : doc::Node();
}

struct MergeCase {
  std::string name, object, patch, expect;
};

TEST_TABLE(MergePatchTest, Merges, MergeCase) {
  doc::Node object = Json(row.object);
  MergePatch(Json(row.patch), object);
  EXPECT_EQ(doc::WriteJson(object), row.expect);
}

TEST_ROWS(Merge, MergePatchTest, {"ScalarsAreReplaced", R"({"a":1,"b":2})", R"({"a":3})", R"({"a":3,"b":2})"},
          {"MappingsAreMerged", R"({"a":{"b":1}})", R"({"a":{"c":2}})", R"({"a":{"b":1,"c":2}})"},
          {"NullRemoves", R"({"a":{"b":1,"c":2}})", R"({"a":{"b":null}})", R"({"a":{"c":2}})"},
          {"OtherListsAreReplaced", R"({"args":["x"]})", R"({"args":["y"]})", R"({"args":["y"]})"},
          {"ListsWithoutKeyAreReplaced", R"({"tolerations":[{"key":"a"}]})",
           R"({"tolerations":[{"key":"b"}]})", R"({"tolerations":[{"key":"b"}]})"},
          {"NewItemsComeFirst", R"({"volumes":[{"name":"a"}]})", R"({"volumes":[{"name":"b"},{"name":"c"}]})",
           R"({"volumes":[{"name":"b"},{"name":"c"},{"name":"a"}]})"},
          {"KnownItemsAreMerged", R"({"env":[{"name":"a","value":""},{"name":"b"}]})",
           R"({"env":[{"name":"b","value":"1"}]})",
           R"({"env":[{"name":"b","value":"1"},{"name":"a","value":""}]})"},
          {"MountsGoByPath", R"({"volumeMounts":[{"name":"run","mountPath":"/a"}]})",
           R"({"volumeMounts":[{"name":"run","mountPath":"/b"}]})",
           R"({"volumeMounts":[{"name":"run","mountPath":"/b"},{"name":"run","mountPath":"/a"}]})"},
          {"PatchDeleteRemoves", R"({"volumes":[{"name":"a"},{"name":"b"}]})",
           R"({"volumes":[{"name":"a","$patch":"delete"}]})", R"({"volumes":[{"name":"b"}]})"},
          {"ListsThatWereNotThere", R"({})", R"({"volumes":[{"name":"a"}]})",
           R"({"volumes":[{"name":"a"}]})"});

struct JsonPatchCase {
  std::string name, operations, expect, error;
};

TEST_TABLE(JsonPatchTest, Operates, JsonPatchCase) {
  doc::Node object = Json(R"({"a":{"b/c":[1,2]},"d":"x"})");
  auto done = JsonPatch(Json(row.operations), object);
  EXPECT_EQ(done ? "" : done.error().message(), row.error);
  if (done) {
    EXPECT_EQ(doc::WriteJson(object), row.expect);
  }
}

TEST_ROWS(
    Json, JsonPatchTest,
    {"AddsAtTheEnd", R"([{"op":"add","path":"/a/b~1c/-","value":3}])", R"({"a":{"b/c":[1,2,3]},"d":"x"})",
     ""},
    {"AddsBefore", R"([{"op":"add","path":"/a/b~1c/0","value":3}])", R"({"a":{"b/c":[3,1,2]},"d":"x"})", ""},
    {"AddsAMember", R"([{"op":"add","path":"/e","value":{}}])", R"({"a":{"b/c":[1,2]},"d":"x","e":{}})", ""},
    {"Replaces", R"([{"op":"replace","path":"/a/b~1c/1","value":3},{"op":"replace","path":"/d","value":4}])",
     R"({"a":{"b/c":[1,3]},"d":4})", ""},
    {"Removes", R"([{"op":"remove","path":"/a/b~1c/0"},{"op":"remove","path":"/d"}])", R"({"a":{"b/c":[2]}})",
     ""},
    {"NoSuchParent", R"([{"op":"add","path":"/x/y","value":1}])", "", "there is nothing at /x/y"},
    {"NoSuchItem", R"([{"op":"replace","path":"/a/b~1c/2","value":1}])", "", "cannot replace 2"},
    {"NoSuchMember", R"([{"op":"remove","path":"/x"}])", "", "cannot remove x"},
    {"UnknownOperation", R"([{"op":"move","path":"/d","from":"/a"}])", "", "cannot move d"});

}  // namespace
}  // namespace prefetch::deploy::patches_test
