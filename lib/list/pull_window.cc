// The field `pullWindow`.
#include <algorithm>

#include "list/entry_fields.h"

namespace prefetch::list {
namespace {

using doc::Need;
using doc::Node;
using doc::ObjectReader;
using std::chrono::minutes;

constexpr minutes kDay = plan::PullWindow{}.end;

// Reads "22:00", and as an end also "24:00".
std::optional<minutes> ReadTime(ObjectReader& object, const char* key, minutes most) {
  std::optional<std::string> text = object.String(key, Need::kRequired);
  if (!text) return std::nullopt;
  auto digit = [&](std::size_t at) { return (*text)[at] - '0'; };
  const bool digits = text->size() == 5 && (*text)[2] == ':' && text->find_first_not_of("0123456789") == 2 &&
                      text->find_first_not_of("0123456789", 3) == std::string::npos;
  if (digits) {
    const minutes time(60 * (10 * digit(0) + digit(1)) + 10 * digit(3) + digit(4));
    if (digit(3) < 6 && time <= most) return time;
  }
  object.Fail(key, "must be a time of the day, such as 06:30");
  return std::nullopt;
}

unsigned ReadDays(ObjectReader& object) {
  std::optional<doc::Reader> list = object.Find("days");
  if (!list) return plan::kEveryDay;
  unsigned days = 0;
  for (const doc::Reader& item : list->Items()) {
    std::optional<unsigned> day = item.Enum<unsigned>(
        {{"Mon", 0}, {"Tue", 1}, {"Wed", 2}, {"Thu", 3}, {"Fri", 4}, {"Sat", 5}, {"Sun", 6}});
    if (day) days |= 1U << *day;
  }
  if (list->node().items.empty()) list->Fail("must name a day, or be left out");
  return days;
}

}  // namespace

std::optional<std::vector<plan::PullWindow>> ReadPullWindow(ObjectReader& object) {
  std::optional<ObjectReader> written = object.Object("pullWindow");
  if (!written) return std::nullopt;
  plan::PullWindow window;
  const std::optional<minutes> start = ReadTime(*written, "start", kDay - minutes(1));
  const std::optional<minutes> end = ReadTime(*written, "end", kDay);
  if (start && end && *start == *end) {
    written->Fail("end", "must differ from start; the whole day is 00:00 to 24:00");
  }
  window.start = start.value_or(window.start);
  window.end = end.value_or(window.end);
  window.days = ReadDays(*written);
  if (std::optional<std::string> name = written->String("timeZone")) {
    std::optional<base::TimeZone> zone = base::TimeZone::Find(*name);
    if (zone) window.zone = *zone;
    if (!zone) {
      written->Fail("timeZone",
                    "must be a name of the tz database, such as Europe/Berlin, that this version knows; "
                    "Etc/GMT-1 is UTC+1");
    }
  }
  written->Finish();
  // The whole of every day is no limit: an entry so ends a default.
  const bool always = window.start == minutes(0) && window.end == kDay && window.days == plan::kEveryDay;
  return always ? std::vector<plan::PullWindow>() : std::vector{window};
}

Node PullWindowNode(const plan::PullWindow& window) {
  Node node = Node::Mapping();
  node.Set("start", Node::String(plan::TimeOfDay(window.start)));
  node.Set("end", Node::String(plan::TimeOfDay(window.end)));
  if (window.days != plan::kEveryDay) {
    std::vector<Node> days;
    for (unsigned bit = 0; bit < plan::kDayNames.size(); bit++) {
      if ((window.days >> bit & 1U) != 0) days.push_back(Node::String(plan::kDayNames[bit]));
    }
    node.Set("days", Node::Sequence(std::move(days)));
  }
  if (window.zone != base::TimeZone()) node.Set("timeZone", Node::String(std::string(window.zone.name())));
  return node;
}

}  // namespace prefetch::list
