// URLs and Locations: what can be read can be read again, and no redirect leaves https.

#include "fuzz/target.h"
#include "registry/response.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  if (auto url = http::ParseAbsoluteUrl(text)) {
    auto again = http::ParseAbsoluteUrl(url->ToString());
    if (!again || !(*again == *url)) std::abort();
  }
  auto base = http::ParseAbsoluteUrl("https://reg.example:5000/v2/a/manifests/v1");
  auto next = registry::FollowRedirect({*base}, text);
  if (next && next->scheme != "https") std::abort();
}
