#include "pulling/image_facts.h"

#include <gtest/gtest.h>

namespace prefetch::pulling::image_facts_test {
namespace {

// An image's own tag and digest are not among its other names, and the digest that a reference names is its
// own.
TEST(ToLocal, KnowsItsOwnNames) {
  const std::string a = "sha256:" + std::string(64, 'a'), b = "sha256:" + std::string(64, 'b');
  const image::LocalImage image{.id = "sha256:id",
                                .repo_tags = {"r.io/app:v1", "r.io/app:v2"},
                                .repo_digests = {"r.io/app@" + a, "r.io/app@" + b, "other.io/app@" + a}};
  const std::vector<std::string> names = {"r.io/app:v1", "r.io/app:v2", "r.io/app@" + a, "r.io/app@" + b,
                                          "other.io/app@" + a};
  const plan::Local tag = ToLocal(image, *image::Reference::Parse("r.io/app:v1"), names);
  EXPECT_EQ(tag.id, "sha256:id");
  EXPECT_EQ(tag.digest, a);
  EXPECT_EQ(tag.other_digests, std::vector<std::string>{b});
  EXPECT_EQ(tag.aliases, (std::vector<std::string>{"r.io/app:v2", "r.io/app@" + b, "other.io/app@" + a}));
  const plan::Local digest = ToLocal(image, *image::Reference::Parse("r.io/app@" + b), names);
  EXPECT_EQ(digest.digest, b);
  EXPECT_EQ(digest.aliases,
            (std::vector<std::string>{"r.io/app:v1", "r.io/app:v2", "r.io/app@" + a, "other.io/app@" + a}));
}

}  // namespace
}  // namespace prefetch::pulling::image_facts_test
