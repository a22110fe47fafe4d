#include "registry/index_choice.h"

#include <gtest/gtest.h>

namespace prefetch::registry::index_choice_test {
namespace {

std::string Digest(char c) {
  return "sha256:" + std::string(64, c);
}

std::string Entry(char c, const std::string& os, const std::string& architecture,
                  const std::string& variant = "") {
  return R"({"digest":")" + Digest(c) + R"(","platform":{"os":")" + os + R"(","architecture":")" +
         architecture + R"(","variant":")" + variant + "\"}}";
}

// The letter of the chosen one, or the code of the failure.
std::string Choose(const std::vector<std::string>& entries, const image::Platform& node) {
  std::string list;
  for (const std::string& entry : entries) list += (list.empty() ? "" : ",") + entry;
  auto chosen = ChooseManifest(R"({"schemaVersion":2,"manifests":[)" + list + "]}", node);
  return chosen ? chosen->substr(7, 1) : std::string(base::EnumName(chosen.error().code()));
}

const image::Platform kAmd64{"linux", "amd64", ""}, kArm64{"linux", "arm64", ""},
    kArmV7{"linux", "arm", "v7"}, kArmV6{"linux", "arm", "v6"};

TEST(ChooseManifest, AsTheRuntimeChooses) {
  EXPECT_EQ(Choose({Entry('a', "linux", "arm64"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "386"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "windows", "amd64"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  // It does not know which level of amd64 the node is.
  EXPECT_EQ(Choose({Entry('a', "linux", "amd64", "v3"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "amd64", "v2"), Entry('b', "linux", "amd64", "v1")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "amd64", "v3")}, kAmd64), "NotFound");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm64", "v9"), Entry('b', "linux", "arm64")}, kArm64), "b");
  EXPECT_EQ(
      Choose({Entry('a', "linux", "arm64", "v9"), Entry('b', "linux", "arm64")}, {"linux", "arm64", "v9"}),
      "a");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm"), Entry('b', "linux", "arm64")}, kArm64), "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "ppc64le"), Entry('b', "linux", "s390x")}, {"linux", "s390x", ""}),
            "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "amd64", "fast"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "", "amd64")}, kAmd64), "a");
  // If an entry names no platform, the image's own configuration decides.
  const std::string silent = R"({"digest":")" + Digest('e') + R"("})";
  EXPECT_EQ(Choose({silent, Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({silent, Entry('b', "linux", "arm64")}, kAmd64), "e");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm64", "v8")}, kArm64), "a");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm64")}, {"linux", "arm64", "v8"}), "a");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm", "v5"), Entry('b', "linux", "arm", "v7"),
                    Entry('c', "linux", "arm", "v6")},
                   kArmV7),
            "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm", "v5"), Entry('b', "linux", "arm", "v7"),
                    Entry('c', "linux", "arm", "v6")},
                   kArmV6),
            "c");
  EXPECT_EQ(Choose({Entry('a', "unknown", "unknown"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "amd64"), Entry('b', "linux", "amd64")}, kAmd64), "a");
  EXPECT_EQ(Choose({Entry('a', "linux", "s390x"), Entry('b', "unknown", "unknown")}, kAmd64), "NotFound");
  EXPECT_EQ(Choose({}, kAmd64), "NotFound");
  EXPECT_EQ(
      Choose({R"({"digest":"sha256:short","platform":{"os":"linux","architecture":"amd64"}})", "5", "null"},
             kAmd64),
      "NotFound");
}

TEST(ChooseManifest, ForeignPlatformsAreIgnored) {
  EXPECT_EQ(Choose({Entry('a', "linux", "386")}, kAmd64), "NotFound");
  EXPECT_EQ(Choose({Entry('a', "linux", "386"), Entry('b', "linux", "amd64")}, kAmd64), "b");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm", "v7")}, kArm64), "NotFound");
  EXPECT_EQ(Choose({Entry('a', "linux", "arm", "v6")}, kArmV7), "a");
}

// Its tree would take more memory than the agent has for it.
TEST(ChooseManifest, AnIndexOfTooManyValuesIsNone) {
  std::string values;
  for (int i = 0; i < 140'000; i++) values += "0,";
  auto chosen = ChooseManifest(
      R"({"manifests":[)" + Entry('a', "linux", "amd64") + R"(],"x":[)" + values + "0]}", kAmd64);
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code(), base::Code::kInvalidArgument);
}

TEST(ChooseManifest, WhatIsNoIndex) {
  for (std::string_view text : {"", "{}", "[]", R"({"manifests":{}})", R"({"manifests":5})", "<html>"}) {
    auto chosen = ChooseManifest(text, kAmd64);
    ASSERT_FALSE(chosen) << text;
    EXPECT_EQ(chosen.error().code(), base::Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace prefetch::registry::index_choice_test
