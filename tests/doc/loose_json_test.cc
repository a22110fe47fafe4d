#include "doc/loose_json.h"

#include <gtest/gtest.h>

namespace prefetch::doc::loose_json_test {
namespace {

using Texts = std::vector<std::string>;

TEST(LooseJson, ReadsMembersOfEveryType) {
  const LooseJson root = LooseJson::Parse(
      R"({"text":"a\u0000b","number":18446744073709551615,"list":[{"x":"1"},2],"object":{"b":0,"a":null},"none":null})");
  EXPECT_EQ(root.Text("text"), std::string("a\0b", 3));
  EXPECT_EQ(root.Number("number"), std::uint64_t{18446744073709551615U});
  ASSERT_EQ(root.Member("list").Items().size(), 2U);
  EXPECT_EQ(root.Member("list").Items()[0].Text("x"), "1");
  EXPECT_EQ(root.Member("object").Names(), (Texts{"a", "b"}));
  EXPECT_TRUE(root.Member("object").HasContent());
  EXPECT_FALSE(root.Member("none").HasContent());
}

TEST(LooseJson, OfAnotherTypeIsNotKnown) {
  const LooseJson root = LooseJson::Parse(R"({"n":-1,"f":1.5,"t":"5","o":{},"a":[]})");
  for (const char* name : {"n", "f", "t", "o", "a", "gone"}) {
    EXPECT_EQ(root.Number(name), std::nullopt) << name;
    EXPECT_EQ(root.Member(name).Names(), Texts{}) << name;
    EXPECT_EQ(root.Member(name).Items().size(), 0U) << name;
    EXPECT_EQ(root.Member(name).Member("x").Text("y"), "") << name;
    EXPECT_FALSE(root.Member(name).HasContent()) << name;
  }
  EXPECT_EQ(root.Text("n"), "");
  EXPECT_TRUE(root.Member("o").IsObject());
  EXPECT_TRUE(root.Member("a").IsArray());
}

TEST(LooseJson, CannotBeReadIsNull) {
  const std::string deep = std::string(66, '[') + std::string(66, ']');
  for (const std::string& text : {std::string(), std::string("<html>"), std::string("{"), std::string("{} x"),
                                  deep, std::string(100000, '[')}) {
    const LooseJson root = LooseJson::Parse(text);
    EXPECT_FALSE(root.IsObject() || root.IsArray()) << text.substr(0, 80);
    EXPECT_EQ(root.Text("x"), "");
  }
}

// A stranger's 4 MiB must not take 200 MiB to read.
TEST(LooseJson, TooManyValuesAreNotRead) {
  const auto list_of = [](std::size_t count) {
    std::string text = R"({"quoted \" [,": ",[{", "list":[0)";
    for (std::size_t i = 1; i < count; i++) text += ",0";
    return text + "]}";
  };
  EXPECT_EQ(LooseJson::Parse(list_of(99'990)).Member("list").Items().size(), 99'990U);
  EXPECT_FALSE(LooseJson::Parse(list_of(100'010)).IsObject());
  EXPECT_FALSE(LooseJson::Parse("/* \" */" + list_of(3)).IsObject()) << "a comment";
}

TEST(LooseJson, AValueKeepsItsDocument) {
  LooseJson inner = LooseJson::Parse(R"({"a":{"b":"c"}})").Member("a");
  LooseJson copy = inner;
  inner = LooseJson::Parse("null");
  EXPECT_EQ(copy.Text("b"), "c");
}

}  // namespace
}  // namespace prefetch::doc::loose_json_test
