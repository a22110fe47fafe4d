// A list comes from anybody who may write the ConfigMap. Accepted lists survive their canonical form.

#include "doc/write.h"
#include "fuzz/target.h"
#include "list/canonical.h"
#include "list/image_list.h"

FUZZ_TARGET(bytes) {
  using namespace prefetch;
  constexpr list::Capabilities kAll{.refresh = true, .touch = true, .registry_checks = true};
  for (const char* name : {"l.yaml", "l.json"}) {
    auto content = list::DecodeSource(name, bytes, kAll);
    if (!content) continue;
    std::string yaml = doc::WriteYaml(list::CanonicalForm(*content));
    auto again = list::DecodeSource("canonical.yaml", yaml, kAll);
    if (!again || list::SourceHash(*again) != list::SourceHash(*content)) std::abort();
  }
}
