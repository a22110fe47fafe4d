// Manifests come from anybody's repository. Each use of an image has a name and a place in the text. An
// image's policy is the strongest one of all its uses.
#include <algorithm>

#include "fuzz/target.h"
#include "manifest/image_use.h"
#include "manifest/read.h"

FUZZ_TARGET(bytes) {
  using namespace prefetch;
  auto lines = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
  for (bool always : {false, true}) {
    doc::Problems problems("fuzz.yaml");
    manifest::Manifests read = manifest::ReadManifests(
        bytes, problems,
        {.policy = {.assume_always_pull = always}, .pod_template_paths = {"spec.template", "spec.*.*"}});
    for (const manifest::ImageUse& use : read.uses) {
      if (use.at.line == 0 || use.at.line > lines || use.image.empty() || use.path.empty()) std::abort();
      if (!use.pod || use.pod->source != "fuzz.yaml") std::abort();
      if (always && use.policy != image::PullPolicy::kAlways) std::abort();
    }
    std::size_t uses = 0;
    for (const manifest::UsedImage& wanted :
         manifest::CombineUses(read.uses, [](const manifest::ImageUse& use) { return use.policy; })) {
      uses += wanted.uses.size();
      for (const manifest::ImageUse& use : wanted.uses) {
        if (use.policy > wanted.policy) std::abort();
      }
    }
    if (uses != read.uses.size()) std::abort();
  }
}
