#include "base/time_zone.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

namespace prefetch::base::time_zone_test {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

struct Change {
  int month, week, weekday, at;
};
struct Zones {
  std::string rule;
  struct {
    int standard, summer;
    Change to_summer, to_standard;
  } numbers;
  std::string names;
};
const Zones kZones[] = {
#include "base/time_zone_rules.inc"
};

// The C library's reading of a rule, which needs no tz database.
class LibraryClock {
 public:
  explicit LibraryClock(const std::string& rule) {
    setenv("TZ", rule.c_str(), 1);
    tzset();
  }
  ~LibraryClock() {
    unsetenv("TZ");
    tzset();
  }
  seconds OffsetAt(sys_seconds at) const {
    const std::time_t time = at.time_since_epoch().count();
    std::tm local{};
    localtime_r(&time, &local);
    return seconds(local.tm_gmtoff);
  }
};

sys_seconds Utc(int year, unsigned month, unsigned day, int hour) {
  return sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day)) + hours(hour);
}

TEST(TimeZone, EveryRuleIsReadAsTheCLibraryReadsIt) {
  for (const Zones& zones : kZones) {
    const std::string name = zones.names.substr(0, zones.names.find(' '));
    std::optional<TimeZone> zone = TimeZone::Find(name);
    ASSERT_TRUE(zone) << name;
    LibraryClock library(zones.rule);
    for (sys_seconds at = Utc(2026, 1, 1, 0); at < Utc(2038, 1, 1, 0); at += hours(24 * 30)) {
      EXPECT_EQ(zone->OffsetAt(at), library.OffsetAt(at)) << name;
      std::optional<sys_seconds> change = zone->NextChange(at);
      if (!change) continue;
      for (sys_seconds near : {*change - seconds(1), *change}) {
        EXPECT_EQ(zone->OffsetAt(near), library.OffsetAt(near)) << name << near.time_since_epoch().count();
      }
      EXPECT_NE(library.OffsetAt(*change - seconds(1)), library.OffsetAt(*change)) << name;
    }
  }
}

TEST(TimeZone, EveryNameIsFound) {
  int names = 0;
  for (const Zones& zones : kZones) {
    for (std::string rest = zones.names; !rest.empty(); rest.erase(0, rest.find(' ') + 1)) {
      const std::string name = rest.substr(0, rest.find(' '));
      std::optional<TimeZone> zone = TimeZone::Find(name);
      ASSERT_TRUE(zone) << name;
      EXPECT_EQ(zone->name(), name);
      names++;
    }
  }
  EXPECT_GT(names, 500);
}

TEST(TimeZone, Berlin) {
  const TimeZone berlin = *TimeZone::Find("Europe/Berlin");
  EXPECT_EQ(berlin.OffsetAt(Utc(2027, 3, 28, 1) - seconds(1)), hours(1));
  EXPECT_EQ(berlin.OffsetAt(Utc(2027, 3, 28, 1)), hours(2));
  EXPECT_EQ(berlin.OffsetAt(Utc(2027, 10, 31, 1) - seconds(1)), hours(2));
  EXPECT_EQ(berlin.OffsetAt(Utc(2027, 10, 31, 1)), hours(1));
  EXPECT_EQ(berlin.NextChange(Utc(2026, 11, 27, 0)), Utc(2027, 3, 28, 1));
}

TEST(TimeZone, UtcIsTheDefault) {
  EXPECT_EQ(TimeZone().name(), "UTC");
  EXPECT_EQ(TimeZone(), *TimeZone::Find("UTC"));
  EXPECT_EQ(TimeZone().OffsetAt(Utc(2026, 7, 1, 0)), seconds(0));
  EXPECT_EQ(TimeZone().NextChange(Utc(2026, 7, 1, 0)), std::nullopt);
}

TEST(TimeZone, UnknownNames) {
  for (const char* name : {"", "Berlin", "Europe/Berlin ", "europe/berlin", "Europe/Berlin Europe/Bratislava",
                           "Factory", "Africa/Casablanca"}) {
    EXPECT_EQ(TimeZone::Find(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace prefetch::base::time_zone_test
