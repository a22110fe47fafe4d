#include "cri/rpc.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "temp_dir.h"

namespace prefetch::cri::generation_test {
namespace {

class GenerationTest : public testing::Test {
 protected:
  tests::TempDir dir_;
  std::string socket_ = dir_ / "s.sock";
  Generation generation_{socket_};
};

TEST_F(GenerationTest, TheSameFileIsTheSameDaemon) {
  const std::uint64_t absent = generation_.Now();
  dir_.Write("s.sock", "");
  EXPECT_EQ(generation_.Now(), absent);  // the first that is seen
  EXPECT_EQ(generation_.Now(), absent);
}

TEST_F(GenerationTest, AFileThatIsMadeAnewIsAnother) {
  dir_.Write("s.sock", "");
  const std::uint64_t before = generation_.Now();
  std::filesystem::remove(socket_);
  EXPECT_EQ(generation_.Now(), before);  // it is away, which calls notice
  dir_.Write("s.sock", "");
  const std::uint64_t after = generation_.Now();
  EXPECT_NE(after, before);
  EXPECT_EQ(generation_.Now(), after);
}

TEST_F(GenerationTest, ASignIsOneWithoutAnotherFile) {
  dir_.Write("s.sock", "");
  const std::uint64_t before = generation_.Now();
  generation_.Raise();
  EXPECT_NE(generation_.Now(), before);
}

}  // namespace
}  // namespace prefetch::cri::generation_test
