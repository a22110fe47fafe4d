#include "base/time_zone.h"

namespace prefetch::base {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;

// Returns the name as the table has it, with the table's lifetime; empty if it has none. `names` have a blank
// behind each.
std::string_view NameIn(std::string_view names, std::string_view name) {
  for (std::string_view rest = names; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    if (rest.substr(0, end) == name) return rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  return {};
}

year YearOf(sys_seconds at) {
  return std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(at)).year();
}

}  // namespace

std::optional<TimeZone> TimeZone::Find(std::string_view name) {
  struct Zones {
    std::string_view posix;  // the rule as a TZ variable has it
    Rule rule;
    std::string_view names;
  };
  static constexpr Zones kZones[] = {
#include "base/time_zone_rules.inc"
  };
  for (const Zones& zones : kZones) {
    const std::string_view known = NameIn(zones.names, name);
    if (!known.empty()) return TimeZone(known, zones.rule);
  }
  return std::nullopt;
}

sys_seconds TimeZone::Change::LocalIn(year in) const {
  const std::chrono::year_month of = in / std::chrono::month(month);
  const std::chrono::weekday day(weekday);
  const sys_days date = week == 5 ? sys_days(of / day[std::chrono::last]) : sys_days(of / day[week]);
  return date + minutes(at);
}

std::optional<sys_seconds> TimeZone::NextChange(sys_seconds at) const {
  if (rule_.standard == rule_.summer) return std::nullopt;
  std::optional<sys_seconds> next;
  const year now = YearOf(at);
  // The time of a change is on the clock that it ends.
  for (year in : {now - std::chrono::years(1), now, now + std::chrono::years(1)}) {
    for (sys_seconds change : {rule_.to_summer.LocalIn(in) - minutes(rule_.standard),
                               rule_.to_standard.LocalIn(in) - minutes(rule_.summer)}) {
      if (change > at && (!next || change < *next)) next = change;
    }
  }
  return next;
}

seconds TimeZone::OffsetAt(sys_seconds at) const {
  const minutes standard(rule_.standard);
  std::optional<sys_seconds> next = NextChange(at);
  if (!next) return standard;
  // The next change ends what is in force.
  const year in = YearOf(*next + standard);
  return *next == rule_.to_summer.LocalIn(in) - standard ? standard : minutes(rule_.summer);
}

}  // namespace prefetch::base
