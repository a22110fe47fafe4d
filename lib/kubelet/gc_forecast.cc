#include "kubelet/gc_forecast.h"

#include <algorithm>

#include "base/text.h"
#include "doc/duration.h"

namespace prefetch::kubelet {
namespace {

// A warning comes once the disk is this close to the high threshold, in percent of its capacity.
constexpr std::uint64_t kNearPercent = 5;

using Candidates = std::vector<const GcImage*>;

// Returns `percent` of `bytes`, rounded down. Whole hundreds are divided first, so that no product overflows.
std::uint64_t Percent(std::uint64_t bytes, int percent) {
  auto part = static_cast<std::uint64_t>(std::clamp(percent, 0, 101));
  return bytes / 100 * part + bytes % 100 * part / 100;
}

Candidates InOrder(const std::vector<GcImage>& images) {
  Candidates order;
  for (const GcImage& image : images) {
    if (!image.pinned) order.push_back(&image);
  }
  // K42: kubelet takes images in the order in which it saw them.
  std::stable_sort(order.begin(), order.end(),
                   [](const GcImage* a, const GcImage* b) { return a->first_seen_age > b->first_seen_age; });
  return order;
}

// Returns the least that is available while kubelet does not collect. With one byte less, usage rounded up to
// whole percents is at the high threshold (K41), hence 101 and the extra byte.
std::uint64_t LeastAvailable(const GcRules& rules, std::uint64_t capacity) {
  int free_percent = 101 - rules.high_percent;
  std::uint64_t floor = Percent(capacity, free_percent);
  bool exact = capacity % 100 * static_cast<std::uint64_t>(std::clamp(free_percent, 0, 101)) % 100 == 0;
  return exact ? floor : floor + 1;
}

GcSpacePass PassFor(const GcRules& rules, const ImageDisk& disk, const Candidates& order) {
  std::uint64_t available = std::min(disk.available_bytes, disk.capacity_bytes);
  std::uint64_t least = LeastAvailable(rules, disk.capacity_bytes);
  bool due = available < least;
  GcSpacePass pass{.bytes_to_high = due ? 0 : available - least + 1};
  std::uint64_t available_then = available - std::min(available, pass.bytes_to_high);
  std::uint64_t target = Percent(disk.capacity_bytes, 100 - rules.low_percent);
  pass.target_bytes = target - std::min(target, available_then);
  if (pass.target_bytes == 0) return pass;
  // imageMinimumGCAge protects an image only for a collection that runs now. In a later one it will be old
  // enough.
  const auto is_old_enough = [&](const GcImage* image) {
    return !due || image->first_seen_age >= rules.minimum_age;
  };
  pass.images = static_cast<std::size_t>(std::count_if(order.begin(), order.end(), is_old_enough));
  return pass;
}

std::string Images(std::size_t count) {
  return std::to_string(count) + " of these images";
}

std::string SpaceWarning(const GcRules& rules, const GcSpacePass& pass) {
  std::string when = pass.bytes_to_high == 0
                         ? "The image disk is over kubelet's high threshold of "
                         : base::HumanBytes(pass.bytes_to_high) +
                               " more bring the image disk to kubelet's high threshold of ";
  return when + std::to_string(rules.high_percent) + " %: it then removes images that no container uses, " +
         base::HumanBytes(pass.target_bytes) + " in all, and " + Images(pass.images) +
         " may be among the first.";
}

std::string AgeWarning(const GcRules& rules, std::size_t count) {
  std::string age = doc::FormatDuration(rules.maximum_age);
  return "imageMaximumGCAge is " + age + ": once kubelet has been up for longer than that it removes " +
         Images(count) +
         " at every check, even if they were just pulled, unless a container has used them "
         "within " +
         age + ".";
}

std::vector<std::string> Warnings(const GcRules& rules, const ImageDisk& disk, const GcForecast& forecast) {
  std::vector<std::string> out;
  bool near = forecast.space && forecast.space->bytes_to_high <= Percent(disk.capacity_bytes, kNearPercent);
  if (near && forecast.space->images > 0) out.push_back(SpaceWarning(rules, *forecast.space));
  // K34: such a collection deletes records even of images that stay.
  if (near) {
    out.emplace_back(
        "A collection for space also drops kubelet's records of images that stay, in use or not, so that the "
        "verdict on them may change.");
  }
  const std::size_t count = forecast.order.size();
  if (rules.maximum_age.count() > 0 && count > 0) out.push_back(AgeWarning(rules, count));
  if (count > 0 && !out.empty()) {
    out.push_back("Whether a container uses " + Images(count) + " is not known; they are counted as unused.");
  }
  return out;
}

}  // namespace

GcForecast ForecastGc(const GcRules& rules, const ImageDisk& disk, const std::vector<GcImage>& images) {
  GcForecast forecast;
  const bool ages = rules.maximum_age.count() > 0;
  const Candidates order = InOrder(images);
  // With both switched off kubelet does not look at all; with the maximum age alone it collects on a full
  // disk, too.
  if (disk.capacity_bytes > 0 && (rules.high_percent < 100 || ages)) {
    forecast.space = PassFor(rules, disk, order);
  }
  if (!forecast.space && !ages) return forecast;
  for (const GcImage* image : order) forecast.order.push_back(image->id);
  if (!images.empty()) forecast.warnings = Warnings(rules, disk, forecast);
  return forecast;
}

}  // namespace prefetch::kubelet
