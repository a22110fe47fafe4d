// A list comes from whoever may write the ConfigMap. What is accepted must survive its own canonical form.
#include <cstdint>
#include <cstdlib>

#include "config/canonical.h"
#include "config/image_list.h"
#include "doc/write.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace prefetch;
  constexpr config::Capabilities kAll{.refresh = true, .touch = true, .registry_checks = true};
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"l.yaml", "l.json"}) {
    auto content = config::DecodeSource(name, bytes, kAll);
    if (!content) continue;
    std::string yaml = doc::WriteYaml(config::CanonicalForm(*content));
    auto again = config::DecodeSource("canonical.yaml", yaml, kAll);
    if (!again || config::SourceHash(*again) != config::SourceHash(*content)) std::abort();
  }
  return 0;
}
