// URLs and Locations: what can be read can be read again, and no redirect leaves https.
#include <cstdint>
#include <cstdlib>

#include "registry/response.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto url = http::ParseAbsoluteUrl(text)) {
    auto again = http::ParseAbsoluteUrl(url->ToString());
    if (!again || !(*again == *url)) std::abort();
  }
  auto base = http::ParseAbsoluteUrl("https://reg.example:5000/v2/a/manifests/v1");
  auto next = registry::FollowRedirect({*base}, text);
  if (next && next->scheme != "https") std::abort();
  return 0;
}
