#include "faults/retries.h"

#include <algorithm>
#include <cstdio>

namespace prefetch::tests::faults {
namespace {

using plan::Reason;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

struct Burst {
  std::size_t most;
  std::chrono::seconds within;
};
// The first retry is at once, and chance may make the next pauses short: their means are 1, 2, 4, … s.
constexpr Burst kBursts[] = {{9, seconds(15)}, {30, minutes(5)}};

std::string RegistryOf(const std::string& image) {
  return image.substr(0, image.find('/'));
}

template <typename Longest>
base::WallTime::duration ExponentialBackoff(minutes first, int failures, Longest longest) {
  base::WallTime::duration pause = first;
  for (int i = 1; i < failures && pause < longest; i++) pause *= 2;
  return std::min<base::WallTime::duration>(pause, longest);
}

bool IsSlow(Reason reason) {
  return reason == Reason::kAccessDenied || reason == Reason::kNotFound;
}

std::string After(base::WallTime::duration time, Reason reason) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f s after ", std::chrono::duration<double>(time).count());
  return text + std::string(base::EnumName(reason));
}

}  // namespace

void Retries::Forget(const std::string& image) {
  for (auto* times : {&started_, &ended_}) times->erase(image);
  failed_.erase(image);
  bursts_.erase(image);
}

void Retries::NoteLimit(const std::string& registry, base::WallTime at) {
  Hold& hold = holds_[registry];
  if (at < hold.until) return;  // of a pull that was under way
  const int in_a_row = hold.in_a_row + 1;
  hold = {.since = at,
          .until = at + ExponentialBackoff(minutes(1), in_a_row, hours(1)),
          .free_from = hold.until,
          .in_a_row = in_a_row};
}

// The registry has answered otherwise. A Snapshot may show two ends at once, in the order of its images.
void Retries::NoteOtherAnswer(const std::string& registry, base::WallTime at) {
  const auto found = holds_.find(registry);
  if (found == holds_.end()) return;
  Hold& hold = found->second;
  if (at >= hold.until) {
    holds_.erase(found);
  } else if (at >= hold.free_from && at <= hold.since) {
    hold = {.since = hold.since, .until = hold.since + minutes(1), .free_from = hold.since, .in_a_row = 1};
  }
}

void Retries::NoteEnd(const plan::ImageState& image, const std::string& name) {
  const bool waits =
      image.pull.state == plan::PullState::kWaiting || image.pull.state == plan::PullState::kQueued;
  const bool failed = waits && image.phase == plan::Phase::kFailing;
  const base::WallTime at = *image.pull.finished_at;
  const bool limited = failed && image.reason == Reason::kRateLimited;
  limited ? NoteLimit(RegistryOf(name), at) : NoteOtherAnswer(RegistryOf(name), at);
  if (!failed) {
    failed_.erase(name);
    return;
  }
  const int slow_before = failed_.count(name) != 0 ? failed_[name].in_a_row : 0;
  failed_[name] = {.at = at, .reason = image.reason, .in_a_row = IsSlow(image.reason) ? slow_before + 1 : 0};
}

std::optional<std::string> Retries::TooSoon(const std::string& name, base::WallTime start) const {
  const auto hold = holds_.find(RegistryOf(name));
  if (hold != holds_.end() && start > hold->second.since && start < hold->second.until)
    return "is tried " + After(start - hold->second.since, Reason::kRateLimited) + " of its registry";
  const auto failure = failed_.find(name);
  if (failure == failed_.end() || !IsSlow(failure->second.reason)) return std::nullopt;
  const auto passed = start - failure->second.at;
  if (passed >= ExponentialBackoff(minutes(5), failure->second.in_a_row, hours(1))) return std::nullopt;
  return "is tried again " + After(passed, failure->second.reason);
}

std::optional<std::string> Retries::TooOften(const std::string& name, base::WallTime start) {
  std::deque<base::WallTime>& starts = bursts_[name];
  starts.push_back(start);
  while (start - starts.front() > std::rbegin(kBursts)->within) starts.pop_front();
  for (const Burst& burst : kBursts) {
    const auto count = static_cast<std::size_t>(std::count_if(
        starts.begin(), starts.end(), [&](base::WallTime at) { return start - at <= burst.within; }));
    if (count > burst.most)
      return "is tried again and again: " + std::to_string(count) + " times in " +
             std::to_string(burst.within.count()) + " s";
  }
  return std::nullopt;
}

std::optional<std::string> Retries::See(const plan::ImageState& image) {
  const std::string& name = image.desired->reference.written();
  const plan::PullStatus& pull = image.pull;
  std::optional<std::string> wrong;
  if (pull.started_at && (started_.count(name) == 0 || started_[name] != *pull.started_at)) {
    started_[name] = *pull.started_at;
    wrong = TooSoon(name, *pull.started_at);
    if (!wrong) wrong = TooOften(name, *pull.started_at);
  }
  const bool runs = pull.state == plan::PullState::kPulling || pull.state == plan::PullState::kUnpacking;
  if (!runs && pull.finished_at && (ended_.count(name) == 0 || ended_[name] != *pull.finished_at)) {
    ended_[name] = *pull.finished_at;
    NoteEnd(image, name);
  }
  return wrong;
}

}  // namespace prefetch::tests::faults
