#include "screen/wait_view.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "screen/document_words.h"
#include "screen/text_layout.h"
#include "status/words.h"

namespace prefetch::screen {
namespace {

bool Missing(const StatusImage& image) {
  return image.required && image.applies && !image.ready;
}

bool HasFailedPermanently(const StatusImage& image) {
  return image.settled && image.phase == "Failing";
}

// Failures come before slow pulls.
std::vector<const StatusImage*> MissingImages(const StatusDocument& document) {
  std::vector<const StatusImage*> missing;
  for (const StatusImage& image : document.images) {
    if (Missing(image)) missing.push_back(&image);
  }
  std::stable_partition(missing.begin(), missing.end(),
                        [](const StatusImage* image) { return image->phase == "Failing"; });
  return missing;
}

std::string Ratio(const StatusDocument& document) {
  return std::to_string(document.required_ready) + " of " + std::to_string(document.required) + " ready";
}

// All running pulls as one, which began with the first of them.
StatusPull Together(const StatusDocument& document) {
  StatusPull sum;
  for (const StatusImage& image : document.images) {
    if (image.pull.state != "Pulling") continue;
    if (sum.state.empty() || (image.pull.started_at && image.pull.started_at < sum.started_at)) {
      sum.started_at = image.pull.started_at;
    }
    sum.state = image.pull.state;
    if (!image.pull.bytes_done) continue;
    sum.bytes_done = sum.bytes_done.value_or(0) + *image.pull.bytes_done;
    sum.bytes_total = sum.bytes_total.value_or(0) + image.pull.bytes_total.value_or(0);
    sum.bytes_per_second = sum.bytes_per_second.value_or(0) + image.pull.bytes_per_second.value_or(0);
  }
  return sum;
}

std::string Why(const StatusImage& image, const StatusDocument& document) {
  std::string why = image.message;
  std::string progress = image.pull.state == "Pulling" ? PullWords(image.pull, document.time) : "";
  if (!progress.empty()) why = progress;
  std::string retry = image.phase == "Failing" ? RetryWords(image.pull, document.time) : "";
  if (!retry.empty()) why += (why.empty() ? "" : "; ") + retry;
  return why;
}

struct Tally {
  std::size_t pulling = 0, queued = 0, failing = 0, for_good = 0;
  const StatusImage* first_failing = nullptr;  // of those for good, if there are any
};

Tally CountMissing(const StatusDocument& document) {
  Tally tally;
  for (const StatusImage& image : document.images) {
    if (!Missing(image)) continue;
    if (image.phase == "Failing") {
      tally.failing++;
      if (tally.first_failing == nullptr) tally.first_failing = &image;
      if (!HasFailedPermanently(image)) continue;
      if (tally.for_good++ == 0) tally.first_failing = &image;
    } else if (image.pull.state == "Pulling" || image.pull.state == "Unpacking") {
      tally.pulling++;
    } else {
      tally.queued++;
    }
  }
  return tally;
}

}  // namespace

std::string WaitLine(const StatusDocument& document, std::size_t width) {
  Tally tally = CountMissing(document);
  std::string line = Ratio(document);
  if (tally.pulling > 0) {
    std::string progress = PullWords(Together(document), document.time);
    line +=
        ", " + std::to_string(tally.pulling) + " pulling" + (progress.empty() ? "" : " (" + progress + ")");
  }
  if (tally.queued > 0) line += ", " + std::to_string(tally.queued) + " queued";
  if (tally.first_failing != nullptr) {
    line += ", " + std::to_string(tally.failing) + " failing" +
            (tally.for_good > 0 ? " (" + std::to_string(tally.for_good) + " for good)" : "") + ": " +
            status::WordsFor(tally.first_failing->reason).state + " " +
            ShortImage(tally.first_failing->image, 40);
  }
  if (!document.ready && document.reason != "ImagesNotReady" && !document.message.empty()) {
    line += ", " + base::ReplaceAll(document.message, "\n", " ");
  }
  return CutEnd(line, width);
}

std::string WaitKey(const StatusDocument& document) {
  Tally tally = CountMissing(document);
  std::string key = Ratio(document) + " " + document.reason + " " + std::to_string(tally.for_good);
  for (const StatusImage* image : MissingImages(document)) {
    if (image->phase == "Failing") key += " " + image->reason + " " + image->image;
  }
  return key;
}

std::vector<std::string> WaitDetails(const StatusDocument& document, std::size_t width, std::size_t most) {
  std::vector<std::string> lines;
  std::vector<const StatusImage*> images = MissingImages(document);
  images.erase(std::remove_if(images.begin(), images.end(),
                              [](const StatusImage* image) {
                                return image->phase != "Failing" && image->pull.state != "Pulling" &&
                                       image->pull.state != "Unpacking";
                              }),
               images.end());
  for (const StatusImage* image : images) {
    if (lines.size() + 1 == most && images.size() > most) {
      lines.push_back(CutEnd("  … " + std::to_string(images.size() - lines.size()) + " more", width));
      break;
    }
    std::string why = base::ReplaceAll(Why(*image, document), "\n", " ");
    lines.push_back(CutEnd("  " + PadRight(status::WordsFor(image->reason).state, 11) + "  " +
                               ShortImage(image->image, 40) + "  " + why,
                           width));
  }
  return lines;
}

std::string WaitResult(const StatusDocument& document, WaitEnd end, std::chrono::seconds waited,
                       std::size_t width) {
  std::string text;
  switch (end) {
    case WaitEnd::kReady:
      return "ready: " + Ratio(document) + " on node " + document.node + ", after " +
             base::HumanTime(waited) + "\n";
    case WaitEnd::kFailedFast:
      text = "failed: " + Ratio(document) + " on node " + document.node + "; something has failed for good\n";
      break;
    case WaitEnd::kTimedOut:
      text = "timed out after " + base::HumanTime(waited) + ": " + Ratio(document) + " on node " +
             document.node + "\n";
      break;
  }
  if (document.reason != "ImagesNotReady" && !document.ready)
    text += Paragraph(document.message, "  ", "    ", std::string::npos);  // whole: a log is searched for it
  std::size_t columns = std::max<std::size_t>(width, 60) - 15;
  for (const StatusImage* image : MissingImages(document)) {
    text += "  " + PadRight(status::WordsFor(image->reason).state, 11) + "  " +
            ShortImage(image->image, columns) + "\n";
    for (const std::string& line : Wrap(Why(*image, document), columns)) {
      text += std::string(15, ' ') + line + "\n";
    }
  }
  return text;
}

bool FailedPermanently(const StatusDocument& document) {
  bool any = false;
  for (const StatusImage& image : document.images) {
    if (!Missing(image)) continue;
    if (!HasFailedPermanently(image)) return false;
    any = true;
  }
  return any;
}

const StatusImage* FirstPermanentFailure(const StatusDocument& document) {
  auto found = std::find_if(document.images.begin(), document.images.end(), [](const StatusImage& image) {
    return Missing(image) && HasFailedPermanently(image);
  });
  return found == document.images.end() ? nullptr : &*found;
}

}  // namespace prefetch::screen
