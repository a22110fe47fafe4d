// Reads the output of crictl, which names any image that was pulled on that node.
#include <cstdint>
#include <cstdlib>

#include "list/draft.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  doc::Problems problems("fuzz.json");
  for (const image::Reference& reference :
       list::ReadCrictlImages({reinterpret_cast<const char*>(data), size}, problems)) {
    if (reference.Normalized().empty()) std::abort();
  }
  return 0;
}
