// Image names. A name that parses must parse again from its normalised form, to the same name.

#include "fuzz/target.h"
#include "image/reference.h"

FUZZ_TARGET(text) {
  using prefetch::image::Reference;
  auto reference = Reference::Parse(text);
  if (!reference) return;
  auto again = Reference::Parse(reference->Normalized());
  if (!again || !(*again == *reference) || !Reference::Parse(reference->SpecImage())) std::abort();
}
