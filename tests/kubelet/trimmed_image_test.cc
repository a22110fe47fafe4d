#include "kubelet/settings.h"

#include <gtest/gtest.h>

namespace prefetch::kubelet::trimmed_image_test {
namespace {

// K17.
TEST(TrimmedImage, KeepsTheSpellingSince136) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  struct Row {
    std::string written, since_136, before;
  };
  for (const Row& row :
       {Row{"nginx:1.27", "nginx", "docker.io/library/nginx"},
        Row{"nginx", "nginx", "docker.io/library/nginx"},
        Row{"library/nginx:1", "library/nginx", "docker.io/library/nginx"},
        Row{"reg.io/a/b:v1@" + digest, "reg.io/a/b", "reg.io/a/b"},
        Row{"reg.io/a/b@" + digest, "reg.io/a/b", "reg.io/a/b"},
        Row{"reg:5000/a:latest", "reg:5000/a", "reg:5000/a"}, Row{"reg:5000/a", "reg:5000/a", "reg:5000/a"},
        Row{"foo.io:5000", "foo.io", "docker.io/library/foo.io"},
        Row{"index.docker.io/a/b", "index.docker.io/a/b", "docker.io/a/b"}}) {
    image::Reference image = *image::Reference::Parse(row.written);
    for (unsigned minor : {36U, 37U})
      EXPECT_EQ(TrimmedImage(image, {1, minor}), row.since_136) << row.written;
    for (unsigned minor : {33U, 34U, 35U})
      EXPECT_EQ(TrimmedImage(image, {1, minor}), row.before) << row.written;
  }
}

}  // namespace
}  // namespace prefetch::kubelet::trimmed_image_test
