// Markers stand in files of any kind. Each marked image has a place in the file, and a name.
#include <algorithm>

#include "fuzz/target.h"
#include "list/draft.h"

FUZZ_TARGET(bytes) {
  using namespace prefetch;
  auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
  doc::Problems problems("fuzz.txt");
  for (const list::NamedImage& image : list::ReadMarkedImages(bytes, "# prefetch", problems)) {
    if (image.at.line == 0 || image.at.line > lines || image.at.column == 0) std::abort();
    if (image.reference.Normalized().empty()) std::abort();
  }
}
