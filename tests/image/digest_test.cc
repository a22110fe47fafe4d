#include "image/reference.h"

#include <gtest/gtest.h>

#include <string>

namespace prefetch::image::digest_test {
namespace {

TEST(IsDigest, KnownAlgorithmExactLengthLowerCase) {
  const struct {
    std::string text;
    bool is_digest;
  } rows[] = {
      {"sha256:" + std::string(64, 'f'), true},
      {"sha384:" + std::string(96, '0'), true},
      {"sha512:" + std::string(128, 'a'), true},
      {"sha256:" + std::string(63, 'f'), false},
      {"sha256:" + std::string(65, 'f'), false},
      {"sha256:" + std::string(64, 'F'), false},
      {"sha256:" + std::string(64, 'g'), false},
      {"SHA256:" + std::string(64, 'f'), false},
      {"md5:" + std::string(32, 'f'), false},
      {"sha1:" + std::string(40, 'f'), false},
      {"sha512:" + std::string(64, 'f'), false},
      {std::string(64, 'f'), false},
      {"", false},
      {":", false},
      {"sha256:", false},
      {"sha256:" + std::string(64, 'f') + "\n", false},
  };
  for (const auto& row : rows) EXPECT_EQ(IsDigest(row.text), row.is_digest) << row.text;
}

}  // namespace
}  // namespace prefetch::image::digest_test
