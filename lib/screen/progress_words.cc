#include "screen/document_words.h"

#include <algorithm>

#include "base/text.h"
#include "status/words.h"

namespace prefetch::screen {

std::string PullWords(const StatusPull& pull) {
  if (!pull.bytes_done) return {};
  return status::TransferWords(*pull.bytes_done, pull.bytes_total.value_or(0),
                               pull.bytes_per_second.value_or(0));
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
    words += wait.count() > 0 ? ", again in " + base::HumanTime(wait) : ", again now";
  } else if (pull.state == "Failed") {
    words += ", not again until the list changes";
  }
  return words;
}

}  // namespace prefetch::screen
