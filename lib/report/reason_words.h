// A reason in a person's words: one or two for a column, and a sentence that says what to do.
#pragma once

#include <string>
#include <string_view>

namespace prefetch::report {

struct ReasonWords {
  std::string state;   // "denied": at most 11 columns
  std::string advice;  // empty: nothing needs to be done, or the message says it already
};

// `reason` is the name as the status document has it. One of a newer agent is taken apart: "NewThing" is
// "new thing".
ReasonWords WordsFor(std::string_view reason);

// All reasons as a page of Markdown: deploy/reasons.md.
std::string ReasonsPage();

}  // namespace prefetch::report
