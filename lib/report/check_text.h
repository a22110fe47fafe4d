// The screen of `prefetchctl check`, which in an init container is also its termination message. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/check_document.h"
#include "report/check_items.h"

namespace prefetch::report {

struct CheckTextOptions {
  bool unknown_passes = false;  // an answer Unknown is no failure
  std::size_t width = 0;        // of the terminal; 0: one line an image, however long
};

// Whether a pod may be started on this answer.
bool Passes(const CheckAnswer& answer, bool unknown_passes);

// The answer to the image of that number; nullptr: it was not decided in time.
const CheckAnswer* DecidedAnswer(const CheckResult& result, std::size_t item);

// What is to be said of the image of that number, with its reason and what to do about it.
std::string CheckSays(const std::vector<CheckItem>& items, const CheckResult& result, std::size_t item);
// That it was not decided in time, and how far its pull is where that is known.
std::string UndecidedWords(const CheckResult& result, std::size_t item);
// The line that sums up, without its line break.
std::string CheckSummary(const std::vector<CheckItem>& items, const CheckResult& result, bool unknown_passes);

// One line an image, those that fail last, and each of them tells image, node and reason by itself; then a
// line that sums up. `result` has the answers to `items` by their number; those that are missing, or have no
// result, were not decided in time.
std::string CheckText(const std::vector<CheckItem>& items, const CheckResult& result,
                      const CheckTextOptions& options);

}  // namespace prefetch::report
