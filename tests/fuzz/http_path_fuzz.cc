// Request targets come from anybody who reaches the port. An accepted target must keep the promises of url.h.

#include "base/text.h"
#include "fuzz/target.h"
#include "http/url.h"

FUZZ_TARGET(text) {
  auto target = prefetch::http::ParseTarget(text);
  if (target) {
    if (target->path.empty() || target->path.front() != '/') std::abort();
    if (target->path.find('\0') != std::string::npos || !prefetch::base::IsUtf8(target->path)) std::abort();
    if (target->query.size() > 100) std::abort();
    auto again = prefetch::http::ParseTarget(prefetch::base::PercentEncode(target->path, "/"));
    if (!again || again->path != target->path) std::abort();
  }
  if (prefetch::base::PercentDecode(prefetch::base::PercentEncode(text)) != text) std::abort();
  if (prefetch::http::DisplayUrl(text).find_first_of("?#") != std::string::npos) std::abort();
}
