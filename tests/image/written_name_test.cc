#include "image/reference.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::image::written_name_test {
namespace {

TEST(WrittenName, IsWithoutTagAndDigest) {
  const struct {
    std::string image, name;
    bool registry;
  } rows[] = {{"nginx", "nginx", false},
              {"nginx:1.27", "nginx", false},
              {"acme/app:v1", "acme/app", false},
              {"reg:5000/a", "reg:5000/a", true},
              {"reg:5000/a:v1@sha256:0", "reg:5000/a", true},
              {"localhost/a@sha256:0", "localhost/a", true},
              {"q.io/a", "q.io/a", true},
              {"", "", false}};
  for (const auto& row : rows) {
    EXPECT_EQ(WrittenName(row.image), row.name);
    EXPECT_EQ(NamesRegistry(row.image), row.registry) << row.image;
  }
}

}  // namespace
}  // namespace prefetch::image::written_name_test
