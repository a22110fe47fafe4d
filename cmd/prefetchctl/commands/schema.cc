// The options and examples of `prefetchctl schema` and `prefetchctl docs`. The latter reads all commands from
// CLI11's own tree, so that the reference shows exactly what can be parsed.
#include "ctl/schema.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "commands/command.h"
#include "reference/pages.h"
#include "reference/schema.h"

namespace prefetch::ctl {
namespace {

reference::CommandOption ShownOption(const CLI::Option& option) {
  reference::CommandOption shown{
      .names = option.get_name(option.get_positional(), true), .value = "", .help = option.get_description()};
  // CLI11 names a flag that switches something off "--no-x{false}".
  shown.names = shown.names.substr(0, shown.names.find('{'));
  if (option.get_type_size_max() > 0 && option.get_expected_max() > 0 && !option.get_positional()) {
    shown.value = ValueLabel(option);
  }
  if (!option.get_default_str().empty()) shown.help += " [" + option.get_default_str() + "]";
  if (option.get_required()) shown.help += " (required)";
  return shown;
}

void CollectHelp(const CLI::App& app, const std::string& words,
                 std::vector<reference::CommandHelp>& commands) {
  if (app.get_require_subcommand_min() == 0) {
    reference::CommandHelp command{
        .words = words, .help = app.get_description(), .options = {}, .footer = app.get_footer()};
    for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
      if (option->get_group().empty() || option->check_lname("help")) continue;
      command.options.push_back(ShownOption(*option));
    }
    commands.push_back(std::move(command));
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::string& group = below->get_group();
    // Hidden commands are left out, except `verdict`, which the pages explain.
    if (group.empty() && below->get_name() != "verdict") continue;
    CollectHelp(*below, (words.empty() ? "" : words + " ") + below->get_name(), commands);
  }
}

}  // namespace

Command SchemaCommand(CLI::App& command, Context&) {
  auto document = std::make_shared<std::string>();
  command.add_option("DOCUMENT", *document, base::Join(reference::DocumentNames(), ", "))
      ->required()
      ->check(CLI::IsMember(reference::DocumentNames()));
  command.footer(R"(
Prints a JSON Schema (draft 2020-12), for editors and validators:
  list    image lists, kind ImageList
  agent   the agent's configuration, kind AgentConfiguration
  status  prefetchctl status -o json, and GET /v1/status
  check   request and answer of POST /v1/check, and prefetchctl check -o json

A schema does not know rules between fields: prefetchctl list check and the agent do. For editors with the
yaml-language-server, this comment in the first line names the schema:
  # yaml-language-server: $schema=list.schema.json

Exit code: 0 printed, 2 bad input.

Examples:
  prefetchctl schema list > list.schema.json
  prefetchctl schema agent > agent.schema.json)");
  return [document] { return PrintSchema(*document, std::cout, std::cerr); };
}

Command DocsCommand(CLI::App& command, Context&) {
  auto target = std::make_shared<std::string>();
  command.add_option("PAGE", *target, "A page, or a directory that gets all of them")->required();
  command.footer(R"(
Prints a reference page, or writes all of them: list, configuration, flags, api, metrics, reasons, lint,
exit-codes.

Exit code: 0 written, 2 bad input.

Examples:
  prefetchctl docs exit-codes
  prefetchctl docs deploy/docs/reference)");
  return [&command, target] {
    std::vector<reference::CommandHelp> commands;
    CollectHelp(*command.get_parent(), "", commands);
    return PrintDocs(*target, reference::Pages(commands), std::cout, std::cerr);
  };
}

}  // namespace prefetch::ctl
