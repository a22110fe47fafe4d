#include "kubelet/settings.h"

#include <gtest/gtest.h>

#include <set>

namespace prefetch::kubelet::allowlist_test {
namespace {

// K12: which patterns kubelet starts with.
TEST(Allowlist, ValidatesAsKubeletDoes) {
  struct Row {
    std::string pattern;
    bool good_136, good_before;
  };
  for (const Row& row :
       {Row{"", false, false}, Row{"*", false, false}, Row{"foo*", false, false}, Row{"a/*/b", false, false},
        Row{"a/*/*", false, false}, Row{"/*", false, false}, Row{"repo/", false, false},
        Row{" reg.io/a", false, false}, Row{"reg.io/a/* ", false, false}, Row{"reg.io/a:v1", false, false},
        Row{"reg.io/a@sha256:" + std::string(64, 'a'), false, false}, Row{"reg.io/A", false, false},
        Row{"reg.io/a", true, true}, Row{"reg.io/*", true, true}, Row{"reg.io/a/*", true, true},
        Row{"docker.io/library/ubuntu", true, true}, Row{"ubuntu", true, false},
        Row{"index.docker.io/a/b", true, false}}) {
    EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, 36}).ok(), row.good_136) << row.pattern;
    for (unsigned minor : {33U, 34U, 35U}) {
      EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, minor}).ok(), row.good_before) << row.pattern;
    }
  }
}

TEST(Allowlist, TellsEveryPatternThatIsRefused) {
  auto list = Allowlist::Parse({"reg.io/a", "*", "reg.io/b:v1"}, {1, 36});
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().message(),
            "allowlist pattern \"*\": a * is allowed only as the last part, after a /\n"
            "allowlist pattern \"reg.io/b:v1\": must have no tag and no digest");
}

TEST(Allowlist, ComparesAsItsVersionDoes) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  struct Row {
    std::string pattern, image;
    bool since_136, before;
  };
  for (const Row& row :
       {Row{"test.io/a/b", "test.io/a/b", true, true}, Row{"test.io/a/b", "test.io/a/b:v1", true, false},
        Row{"test.io/a/b", "test.io/a/b" + digest, true, false},
        Row{"test.io/a/b", "test.io/a/bc", false, false}, Row{"test.io/a/b", "test.io/a/b/c", false, false},
        Row{"test.io/a/*", "test.io/a/b:v1", true, true},
        Row{"test.io/a/*", "test.io/a/b/c" + digest, true, true},
        Row{"test.io/a/*", "test.io/a:v1", false, false}, Row{"docker.io/library/*", "ubuntu", false, false},
        Row{"docker.io/library/ubuntu", "ubuntu", false, false}}) {
    image::Reference image = *image::Reference::Parse(row.image);
    for (unsigned minor : {36U, 37U}) {
      EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, minor})->Matches(image), row.since_136)
          << row.pattern << " " << row.image;
    }
    for (unsigned minor : {33U, 35U}) {
      EXPECT_EQ(Allowlist::Parse({row.pattern}, {1, minor})->Matches(image), row.before)
          << row.pattern << " " << row.image;
    }
  }
  EXPECT_TRUE(Allowlist::Parse({"ubuntu"}, {1, 36})->Matches(*image::Reference::Parse("ubuntu:24.04")));
  EXPECT_TRUE(
      Allowlist::Parse({"x.io/a", "x.io/a", "x.io/b"}, {1, 36})->Matches(*image::Reference::Parse("x.io/b")));
  EXPECT_FALSE(Allowlist().Matches(*image::Reference::Parse("x.io/b")));
}

}  // namespace
}  // namespace prefetch::kubelet::allowlist_test
