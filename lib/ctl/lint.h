// `prefetchctl lint`: manifests against lists, offline.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/call.h"
#include "ctl/manifest_files.h"

namespace prefetch::ctl {

enum class LintOutput { kText, kJson, kGithub, kSarif };

// Options as written on the command line.
struct LintOptions {
  std::vector<std::string> files;  // files, folders, patterns; "-" is standard input
  std::vector<std::string> lists;
  std::vector<std::string> select, ignore;
  ManifestFlags manifests;
  LintOutput output = LintOutput::kText;
  bool color = false;
  std::size_t width = 0;  // of the terminal; 0: there is none
};

// Findings go to `out`, mistakes in files and options to `err`. Exit code: 0 clean (notes do not count), 1
// warnings or errors, 2 bad input: then the findings are those of the readable files.
int Lint(const base::Call& call, const LintOptions& options, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
