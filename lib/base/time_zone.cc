#include "base/time_zone.h"

#include <algorithm>

namespace prefetch::base {
namespace {

using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;

struct Zones {
  std::string_view rule, names;  // each name with a blank behind it
};

constexpr Zones kZones[] = {
#include "base/time_zone_rules.inc"
};

// Returns the name as the table has it, with the table's lifetime; empty if it has none.
std::string_view NameIn(const Zones& zones, std::string_view name) {
  for (std::string_view rest = zones.names; !rest.empty();) {
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

// Reads a rule of POSIX's TZ variable, as the table has them: names, offsets, and both or no changes of the
// form Mm.w.d. The test time_zone reads all of them.
class TimeZone::Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  void Read(TimeZone& zone) {
    SkipName();
    zone.standard_ = zone.summer_ = -Time();  // POSIX counts to the west
    if (text_.empty()) return;
    SkipName();
    zone.summer_ = text_.starts_with(',') ? zone.standard_ + std::chrono::hours(1) : -Time();
    zone.to_summer_ = ReadChange();
    zone.to_standard_ = ReadChange();
    zone.has_dst_ = true;
  }

 private:
  void SkipName() {
    const bool quoted = text_.starts_with('<');
    text_.remove_prefix(quoted ? text_.find('>') + 1
                               : std::min(text_.find_first_of("+-0123456789,"), text_.size()));
  }

  bool Skip(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  int Number() {
    int number = 0;
    while (!text_.empty() && text_.front() >= '0' && text_.front() <= '9') {
      number = number * 10 + (text_.front() - '0');
      text_.remove_prefix(1);
    }
    return number;
  }

  // [+-]hours[:minutes]
  seconds Time() {
    const bool negative = Skip('-');
    if (!negative) Skip('+');
    seconds time = std::chrono::hours(Number());
    if (Skip(':')) time += std::chrono::minutes(Number());
    return negative ? -time : time;
  }

  // ",M3.5.0/1"
  Change ReadChange() {
    Skip(',');
    Skip('M');
    Change change;
    change.month = static_cast<unsigned>(Number());
    Skip('.');
    change.week = static_cast<unsigned>(Number());
    Skip('.');
    change.weekday = static_cast<unsigned>(Number());
    if (Skip('/')) change.at = Time();
    return change;
  }

  std::string_view text_;
};

std::optional<TimeZone> TimeZone::Find(std::string_view name) {
  for (const Zones& zones : kZones) {
    const std::string_view known = NameIn(zones, name);
    if (known.empty()) continue;
    TimeZone zone;
    zone.name_ = known;
    Parser(zones.rule).Read(zone);
    return zone;
  }
  return std::nullopt;
}

sys_seconds TimeZone::Change::LocalIn(year in) const {
  const std::chrono::year_month of = in / std::chrono::month(month);
  const std::chrono::weekday day(weekday);
  const sys_days date = week == 5 ? sys_days(of / day[std::chrono::last]) : sys_days(of / day[week]);
  return date + at;
}

std::optional<sys_seconds> TimeZone::NextChange(sys_seconds at) const {
  if (!has_dst_) return std::nullopt;
  std::optional<sys_seconds> next;
  const year now = YearOf(at);
  // The time of a change is on the clock that it ends.
  for (year in : {now - std::chrono::years(1), now, now + std::chrono::years(1)}) {
    for (sys_seconds change : {to_summer_.LocalIn(in) - standard_, to_standard_.LocalIn(in) - summer_}) {
      if (change > at && (!next || change < *next)) next = change;
    }
  }
  return next;
}

seconds TimeZone::OffsetAt(sys_seconds at) const {
  std::optional<sys_seconds> next = NextChange(at);
  if (!next) return standard_;
  // The next change ends what is in force.
  const year in = YearOf(*next + standard_);
  return *next == to_summer_.LocalIn(in) - standard_ ? standard_ : summer_;
}

}  // namespace prefetch::base
