#include "soak/growth.h"

#include <gtest/gtest.h>

namespace prefetch::tests::soak {
namespace {

std::vector<Sample> Samples(std::size_t count, std::size_t Sample::*value, std::size_t start,
                            std::size_t step) {
  std::vector<Sample> samples(count);
  for (std::size_t i = 0; i < count; i++) samples[i].*value = start + i * step;
  return samples;
}

TEST(Growth, OfEachFigureIsNoticed) {
  EXPECT_EQ(Growth(Samples(20, &Sample::private_bytes, 8 << 20, 0)), std::vector<std::string>());
  EXPECT_EQ(Growth(Samples(20, &Sample::private_bytes, 8 << 20, 1 << 10)), std::vector<std::string>());
  EXPECT_EQ(Growth(Samples(20, &Sample::private_bytes, 8 << 20, 200 << 10)).size(), 1U);
  for (auto value : {&Sample::descriptors, &Sample::threads, &Sample::children, &Sample::leases})
    EXPECT_EQ(Growth(Samples(20, value, 20, 1)).size(), 1U);
  EXPECT_EQ(Growth(Samples(20, &Sample::log_bytes, 10'000, 3000)).size(), 1U);
  EXPECT_EQ(Growth(Samples(20, &Sample::gauge_lines, 80, 1)).size(), 1U);
}

TEST(Growth, OneSampleOfManyIsNone) {
  std::vector<Sample> samples = Samples(20, &Sample::descriptors, 20, 0);
  samples.back().descriptors = 400;
  EXPECT_EQ(Growth(samples), std::vector<std::string>());
}

// The caches of an agent that has just started fill.
TEST(Growth, OfTheFirstQuarterIsNone) {
  std::vector<Sample> samples = Samples(20, &Sample::private_bytes, 9 << 20, 0);
  for (std::size_t i = 0; i < 5; i++) samples[i].private_bytes = 1 << 20;
  EXPECT_EQ(Growth(samples), std::vector<std::string>());
}

TEST(Growth, OfFewSamplesIsUnknown) {
  EXPECT_EQ(Growth(Samples(kFewestSamples - 1, &Sample::leases, 0, 5)), std::vector<std::string>());
  EXPECT_EQ(Growth(Samples(kFewestSamples, &Sample::leases, 0, 5)).size(), 1U);
}

}  // namespace
}  // namespace prefetch::tests::soak
