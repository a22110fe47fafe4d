// Time zones by their names in the tz database. The rules are built in, so nodes and images need no tzdata,
// and every node of a fleet reads a list alike. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace prefetch::base {

// The offset of a zone from UTC, by the rule that is in force from this version's tz database on. Times in
// the past may have had other rules.
class TimeZone {
 public:
  TimeZone() = default;  // UTC
  // Returns nullopt if the name is unknown, or if no rule expresses the zone's clock (Morocco's follows
  // Ramadan). Names are those of the tz database: "Europe/Berlin", "UTC", "Etc/GMT-1".
  static std::optional<TimeZone> Find(std::string_view name);

  std::string_view name() const { return name_; }

  // Returns seconds to add to UTC.
  std::chrono::seconds OffsetAt(std::chrono::sys_seconds at) const;
  // Returns the first change of the offset after `at`; nullopt if there is none.
  std::optional<std::chrono::sys_seconds> NextChange(std::chrono::sys_seconds at) const;

  friend bool operator==(const TimeZone& a, const TimeZone& b) { return a.name_ == b.name_; }
  friend auto operator<=>(const TimeZone& a, const TimeZone& b) { return a.name_ <=> b.name_; }

 private:
  // A day of the year such as "M3.5.0/1": the last Sunday of March, at 1:00 on the clock before the change.
  struct Change {
    unsigned month = 1, week = 1, weekday = 0;  // week 5: the last of the month; weekday 0: Sunday
    std::chrono::seconds at{7200};

    std::chrono::sys_seconds LocalIn(std::chrono::year year) const;
  };
  class Parser;

  std::string_view name_ = "UTC";  // of the table
  std::chrono::seconds standard_{0}, summer_{0};
  bool has_dst_ = false;
  Change to_summer_, to_standard_;
};

}  // namespace prefetch::base
