// A plain list. As many entries at most as it has lines, each with a name that parses again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "list/image_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto content = list::DecodeSource("l.txt", bytes, {});
  if (!content) return 0;
  auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
  if (content->entries.size() > lines) std::abort();
  for (const list::ListEntry& entry : content->entries) {
    if (!image::Reference::Parse(entry.image.reference.SpecImage())) std::abort();
    if (entry.at.line == 0 || entry.at.line > lines) std::abort();
  }
  return 0;
}
