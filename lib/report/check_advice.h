// What a person can do about an image that a preflight stops at. Pure.
#pragma once

#include <string>

#include "report/check_document.h"
#include "report/check_items.h"

namespace prefetch::report {

// The best thing, as one sentence without its full stop; empty where the answer's own message says it all. By
// the answer's reason, which may be one of a newer agent.
std::string CheckAdvice(const CheckItem& item, const CheckAnswer& answer);

}  // namespace prefetch::report
