#include "soak/growth.h"

#include <algorithm>

namespace prefetch::tests::soak {
namespace {

struct Figure {
  const char* name;
  std::size_t Sample::*value;
  double factor;      // that it may be larger by
  std::size_t allow;  // and by this more
};

constexpr Figure kFigures[] = {
    {"private bytes", &Sample::private_bytes, 1.1, 512 << 10},
    {"descriptors", &Sample::descriptors, 1, 4},
    {"threads", &Sample::threads, 1, 2},
    {"children", &Sample::children, 1, 0},
    {"leases", &Sample::leases, 1, 0},
    {"log bytes", &Sample::log_bytes, 1.5, 4096},
    // States that an image at rest may be in; a failure's counter has a bound of its own (MostCounted).
    {"lines of gauges", &Sample::gauge_lines, 1, 8},
};

std::size_t Median(const std::vector<Sample>& samples, std::size_t from, std::size_t to,
                   std::size_t Sample::*value) {
  std::vector<std::size_t> values;
  for (std::size_t i = from; i < to; i++) values.push_back(samples[i].*value);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

std::vector<std::string> Growth(const std::vector<Sample>& samples) {
  std::vector<std::string> grew;
  if (samples.size() < kFewestSamples) return grew;
  const std::size_t quarter = samples.size() / 4;
  for (const Figure& figure : kFigures) {
    const std::size_t before = Median(samples, quarter, 2 * quarter, figure.value);
    const std::size_t now = Median(samples, samples.size() - quarter, samples.size(), figure.value);
    const auto most = static_cast<std::size_t>(figure.factor * static_cast<double>(before)) + figure.allow;
    if (now <= most) continue;
    grew.push_back(std::string(figure.name) + " grew from " + std::to_string(before) + " to " +
                   std::to_string(now) + ", and " + std::to_string(most) + " is allowed");
  }
  return grew;
}

}  // namespace prefetch::tests::soak
