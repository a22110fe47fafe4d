// Manifests, and the comments in them, come from anybody's repository. Every finding has a rule and a place,
// and all outputs can be written.

#include "doc/json.h"
#include "fuzz/target.h"
#include "manifest/lint/linter.h"
#include "screen/lint_report.h"

FUZZ_TARGET(bytes) {
  using namespace prefetch;
  namespace lint = manifest::lint;
  lint::ListedImage listed{.reference = *image::Reference::Parse("q.io/a:v1"), .place = {"l.txt", {1, 1}}};
  lint::Linter linter(lint::ListedImages({listed}), {}, {});
  doc::Problems problems("fuzz.yaml");
  linter.Add(manifest::ReadManifests(bytes, problems), lint::Ignores::Read("fuzz.yaml", bytes));
  lint::LintResult result = linter.Finish();
  for (const lint::Finding& finding : result.findings) {
    if (finding.message.empty() || finding.place.at.line == 0) std::abort();
  }
  for (const std::string& json : {screen::LintJson(result), screen::LintSarif(result, "0")}) {
    doc::Problems nobodys("json");
    if (!doc::ParseJson(json, nobodys, doc::JsonRules::kStrict, {.bytes = 64 << 20, .nodes = 10'000'000}))
      std::abort();
  }
  if (screen::LintText(result, {}).empty() || screen::LintGithub(result).empty()) std::abort();
}
