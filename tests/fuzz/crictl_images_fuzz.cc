// Reads the output of crictl, which names any image that was pulled on that node.

#include "fuzz/target.h"
#include "list/draft.h"

FUZZ_TARGET(text) {
  using namespace prefetch;
  doc::Problems problems("fuzz.json");
  for (const image::Reference& reference : list::ReadCrictlImages(text, problems)) {
    if (reference.Normalized().empty()) std::abort();
  }
}
