#include "report/progress_words.h"

#include <algorithm>

#include "base/text.h"
#include "report/text_layout.h"

namespace prefetch::report {
namespace {

// "412 of 680 MB": the unit once where it is the same.
std::string OfTotal(std::uint64_t done, std::uint64_t total) {
  std::string have = base::HumanBytes(done), all = base::HumanBytes(total);
  std::size_t unit = have.find(' ');
  if (have.substr(unit) == all.substr(all.find(' '))) have.resize(unit);
  return have + " of " + all;
}

}  // namespace

std::string PullWords(const StatusPull& pull) {
  if (!pull.bytes_done) return {};
  std::uint64_t done = *pull.bytes_done, total = pull.bytes_total.value_or(0);
  std::uint64_t rate = pull.bytes_per_second.value_or(0);
  std::string words = total == 0 ? base::HumanBytes(done) + " so far" : OfTotal(std::min(done, total), total);
  if (rate > 0) words += ", " + base::HumanBytes(rate) + "/s";
  if (rate > 0 && total > done) {
    words += ", about " + HumanTime(std::chrono::seconds((total - done + rate - 1) / rate)) + " left";
  }
  return words;
}

std::string PercentWord(const StatusPull& pull) {
  std::uint64_t total = pull.bytes_total.value_or(0);
  if (!pull.bytes_done || total == 0) return {};
  double share = static_cast<double>(std::min(*pull.bytes_done, total)) / static_cast<double>(total);
  return std::to_string(static_cast<int>(share * 100)) + " %";
}

std::string RetryWords(const StatusPull& pull, const std::optional<base::WallTime>& now) {
  if (pull.attempts == 0 || pull.state == "Done") return {};
  std::string words = "tried " + (pull.attempts == 1 ? "once" : std::to_string(pull.attempts) + " times");
  if (pull.next_attempt_at && now) {
    auto wait = std::chrono::duration_cast<std::chrono::seconds>(*pull.next_attempt_at - *now);
    words += wait.count() > 0 ? ", again in " + HumanTime(wait) : ", again now";
  } else if (pull.state == "Failed") {
    words += ", not again until the list changes";
  }
  return words;
}

}  // namespace prefetch::report
