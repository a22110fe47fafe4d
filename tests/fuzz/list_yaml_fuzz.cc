// A list comes from anybody who may write the ConfigMap. Accepted lists survive their canonical form.
#include <cstdint>
#include <cstdlib>

#include "doc/write.h"
#include "list/canonical.h"
#include "list/image_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  constexpr list::Capabilities kAll{.refresh = true, .touch = true, .registry_checks = true};
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"l.yaml", "l.json"}) {
    auto content = list::DecodeSource(name, bytes, kAll);
    if (!content) continue;
    std::string yaml = doc::WriteYaml(list::CanonicalForm(*content));
    auto again = list::DecodeSource("canonical.yaml", yaml, kAll);
    if (!again || list::SourceHash(*again) != list::SourceHash(*content)) std::abort();
  }
  return 0;
}
