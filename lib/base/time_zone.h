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
  // A day of the year, such as the last Sunday of March, and a time on the clock before the change.
  struct Change {
    unsigned month, week, weekday;  // week 5: the last of the month; weekday 0: Sunday
    int at;                         // minutes of the day, which may be below 0, or of the next day

    std::chrono::sys_seconds LocalIn(std::chrono::year year) const;
  };
  struct Rule {
    int standard, summer;  // minutes to add to UTC; equal: no summer time
    Change to_summer, to_standard;
  };
  TimeZone(std::string_view name, const Rule& rule) : name_(name), rule_(rule) {}

  std::string_view name_ = "UTC";  // of the table
  Rule rule_{};
};

}  // namespace prefetch::base
