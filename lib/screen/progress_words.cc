#include "screen/document_words.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

// The first bytes are told within a second.
constexpr std::chrono::seconds kJustBegun{3};

}  // namespace

std::string TimeOfPull(const StatusPull& pull, const std::optional<base::WallTime>& now) {
  const bool runs = pull.state == "Pulling" || pull.state == "Unpacking";
  if (!runs || pull.bytes_done || !pull.started_at || !now) return {};
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(*now - *pull.started_at);
  return took < kJustBegun ? "" : base::HumanTime(took);
}

std::string NoBytesWords(const StatusDocument& document) {
  if (document.runtime_name.empty() || document.runtime_name == "containerd") return {};
  const bool any = std::any_of(document.images.begin(), document.images.end(), [](const StatusImage& image) {
    return image.pull.state == "Pulling" && !image.pull.bytes_done;
  });
  return any ? document.runtime_name + " reports no progress of pulls: SIZE shows their duration" : "";
}

std::string PullWords(const StatusPull& pull, const std::optional<base::WallTime>& now) {
  if (!pull.bytes_done) {
    const std::string time = TimeOfPull(pull, now);
    return time.empty() ? "" : "under way for " + time;
  }
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
