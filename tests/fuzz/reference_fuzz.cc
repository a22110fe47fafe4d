// Image names. A name that parses must parse again from its normalised form, to the same name.
#include <cstdint>
#include <cstdlib>

#include "image/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using prefetch::image::Reference;
  auto reference = Reference::Parse({reinterpret_cast<const char*>(data), size});
  if (!reference) return 0;
  auto again = Reference::Parse(reference->Normalized());
  if (!again || !(*again == *reference) || !Reference::Parse(reference->SpecImage())) std::abort();
  return 0;
}
