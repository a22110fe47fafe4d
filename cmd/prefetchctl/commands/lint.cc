// The options and examples of `prefetchctl lint`.
#include "ctl/lint.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "commands/command.h"
#include "ctl/terminal.h"
#include "screen/lint_report.h"

namespace prefetch::ctl {

Command LintCommand(CLI::App& command, Context& context) {
  auto options = std::make_shared<LintOptions>();
  auto rules = std::make_shared<bool>(false);
  FilenameOption(command, options->files);
  command.add_option("--list", options->lists,
                     "List files, or directories of list files; - is standard input (repeatable)");
  command.add_option("--select", options->select, "Only these rules: ids or their beginnings, PF101,PF2");
  command.add_option("--ignore", options->ignore, "Skip these rules");
  command.add_flag("--rules", *rules, "Print all rules, and the remedy for each");
  ManifestFlagOptions(command, options->manifests);
  OneOf<LintOutput>(command.add_option("-o,--output", options->output, "Output format [text]"));
  command.footer(R"(
Finds images on no list, unused entries, and pull policies that contact the registry for present images. The
command reads manifests and lists only. It asks no cluster, registry or agent. Pipe rendered templates to
standard input.

A comment switches a rule off where it stands:  # prefetchctl: ignore=PF201 the mirror is on this node

Exit code:
  0  clean; notes do not count
  1  warnings or errors
  2  bad input, with all errors

Examples:
  prefetchctl lint -f deploy/ --list images.yaml
  helm template ci/ | prefetchctl lint -f - --list images.yaml --ignore PF102
  prefetchctl lint -f 'jobs/*.yaml' --list lists/ --select PF1 -o sarif > lint.sarif
  prefetchctl lint --rules)");
  return [&context, options, rules] {
    if (*rules) {
      std::cout << screen::LintRulesText(StdoutTerminal().width);
      return static_cast<int>(kOk);
    }
    if (options->files.empty() || options->lists.empty()) {
      return RejectInput({"lint needs manifests (-f) and lists (--list)"}, std::cerr);
    }
    const Terminal terminal = StdoutTerminal();
    options->color = terminal.color;
    // 0 means no wrapping: other programs read the lines of a pipe.
    options->width = terminal.interactive ? terminal.width : 0;
    return Lint(context.call, *options, std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
