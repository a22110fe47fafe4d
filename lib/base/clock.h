// Time, handed in. Decisions take a TimePoint as an argument; only the rim asks a Clock.
#pragma once

#include <chrono>
#include <string>

namespace prefetch::base {

// Monotonic: for every delay, deadline and age. A clock that jumps does it no harm.
using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;
// The time of day, for status, logs, and windows of the day (plan/desired.h). It decides nothing else.
using WallTime = std::chrono::system_clock::time_point;

// Any thread may call. Owned by main (SystemClock) or by a test (FakeClock in tests/fakes).
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the monotonic time, by which everything is decided.
  virtual TimePoint Now() const = 0;
  // Returns the time of day, which may jump.
  virtual WallTime Wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  WallTime Wall() const override { return std::chrono::system_clock::now(); }
};

// RFC 3339, UTC, whole seconds: "2026-08-01T10:00:00Z".
std::string Rfc3339(WallTime time);

}  // namespace prefetch::base
