// Points in time as files, the API server, agents and registries write them. The readers of RFC 3339 agree,
// and each time that was read can be written and read again.
#include <chrono>
#include <ctime>

#include "base/clock.h"
#include "base/text.h"
#include "doc/duration.h"
#include "fuzz/target.h"
#include "http/headers.h"
#include "kube/decode.h"
#include "registry/response.h"
#include "status/rows.h"

namespace {

using namespace prefetch;
using std::chrono::seconds;

const base::WallTime kNow = base::WallTime(seconds(1'790'000'000));

// Within the times that each reader holds: status until 2116, kube takes what is later than 2200 as that.
bool IsNear(std::string_view text) {
  return text > "1850" && text < "2110";
}

void JudgeRfc3339(const std::string& text) {
  const bool is_time = doc::ParseTimestamp(text).has_value();
  const auto of_kube = kube::ParseRfc3339(text);
  const auto of_status = status::ParseTime(text);
  if (of_kube.has_value() != is_time || (of_status && !is_time)) std::abort();
  if (!of_kube || !IsNear(text)) return;
  // Agents write UTC only, as Z.
  if (of_status.has_value() != text.ends_with('Z') || (of_status && of_status != of_kube)) std::abort();
  const std::string shown = base::Rfc3339(*of_kube);
  if (kube::ParseRfc3339(shown) != of_kube || status::ParseTime(shown) != of_kube) std::abort();
  // A time in UTC is shown as it was written, but for an hour of one digit.
  if (of_status && text[13] == ':' && shown.substr(0, 19) != text.substr(0, 19)) std::abort();
}

// An HTTP date, in the one spelling that servers have to write.
std::string HttpDate(base::WallTime time) {
  const std::time_t since = std::chrono::system_clock::to_time_t(time);
  std::tm utc{};
  if (::gmtime_r(&since, &utc) == nullptr) std::abort();
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return {text, length};
}

void JudgeHttpDate(std::string_view text) {
  const auto date = http::ParseDate(text);
  if (date && http::ParseDate(HttpDate(*date)) != date) std::abort();
  // Its words are no longer than those that a date has; the first one, the day of the week, is not read.
  std::vector<std::string_view> words = base::Split(base::TrimSpace(text), ' ');
  words.erase(words.begin());
  for (std::string_view word : words) {
    if (date && word.find_first_not_of("0123456789") == std::string_view::npos &&
        base::ParseUint(word) > 2200U)
      std::abort();
  }
}

}  // namespace

FUZZ_TARGET(input) {
  const std::string text(input);
  JudgeRfc3339(text);
  JudgeHttpDate(text);
  const auto of_kube = kube::ParseRetryAfter(text, kNow);
  if (of_kube && (of_kube->count() < 0 || *of_kube > std::chrono::hours(24))) std::abort();
  for (std::string_view date :
       {std::string_view(), std::string_view(text), std::string_view("Wed, 21 Oct 2015 07:28:00 GMT")}) {
    const auto of_registry = registry::ParseRetryAfter(text, date, kNow);
    if (of_registry && (*of_registry < seconds(1) || *of_registry > std::chrono::hours(6))) std::abort();
  }
  // A plain number of seconds means the same to both, within their bounds.
  const auto number = base::ParseUint(base::TrimSpace(text));
  if (number && *number >= 1 && *number <= 21600 && text.size() <= 20) {
    if (of_kube != seconds(*number) || registry::ParseRetryAfter(text, "", kNow) != seconds(*number))
      std::abort();
  }
  if (const auto limit = registry::ParseRateLimit(text)) {
    if (limit->window.count() < 0 || limit->window > std::chrono::hours(24 * 365)) std::abort();
  }
}
