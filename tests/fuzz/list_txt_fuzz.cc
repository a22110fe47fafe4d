// A plain list. As many entries at most as it has lines, each with a name that parses again.
#include <algorithm>

#include "fuzz/target.h"
#include "list/image_list.h"

FUZZ_TARGET(bytes) {
  using namespace prefetch;
  auto content = list::DecodeSource("l.txt", bytes, {});
  if (!content) return;
  auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
  if (content->entries.size() > lines) std::abort();
  for (const list::ListEntry& entry : content->entries) {
    if (!image::Reference::Parse(entry.image.reference.SpecImage())) std::abort();
    if (entry.at.line == 0 || entry.at.line > lines) std::abort();
  }
}
