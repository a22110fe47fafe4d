// Reads all commands from CLI11's own tree, so that the reference shows exactly what can be parsed.
#include "reference/files.h"

#include <CLI/CLI.hpp>
#include <iterator>
#include <utility>

#include "base/fs.h"
#include "commands/command.h"
#include "deploy/kustomization.h"
#include "doc/write.h"
#include "reference/pages.h"
#include "reference/schema.h"

namespace prefetch::reference {
namespace {

constexpr std::size_t kMostPageBytes = 1 << 20;
constexpr const char* kPages[] = {"list",    "configuration", "flags", "api",
                                  "metrics", "reasons",       "lint",  "exit-codes"};

CommandOption ShownOption(const CLI::Option& option) {
  CommandOption shown{
      .names = option.get_name(option.get_positional(), true), .value = "", .help = option.get_description()};
  // CLI11 names a flag that switches something off "--no-x{false}".
  shown.names = shown.names.substr(0, shown.names.find('{'));
  if (ctl::TakesValue(option) && !option.get_positional()) shown.value = ctl::ValueLabel(option);
  if (!option.get_default_str().empty()) shown.help += " [" + option.get_default_str() + "]";
  if (option.get_required()) shown.help += " (required)";
  return shown;
}

void CollectHelp(const CLI::App& app, const std::string& words, std::vector<CommandHelp>& commands) {
  if (app.get_require_subcommand_min() == 0) {
    CommandHelp command{
        .words = words, .help = app.get_description(), .options = {}, .footer = app.get_footer()};
    for (const CLI::Option* option : ctl::ShownOptions(app)) {
      if (!option->check_lname("help")) command.options.push_back(ShownOption(*option));
    }
    commands.push_back(std::move(command));
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    CollectHelp(*below, (words.empty() ? "" : words + " ") + below->get_name(), commands);
  }
}

std::vector<CommandHelp> Commands() {
  ctl::Context context;
  CLI::App app;
  app.require_subcommand(1);
  ctl::AddCommands(app, context);
  std::vector<CommandHelp> commands;
  CollectHelp(app, "", commands);
  return commands;
}

}  // namespace

base::Result<std::vector<File>> Files(const std::string& deploy) {
  std::vector<File> files;
  const Blocks blocks = BlocksOf(Commands());
  for (const char* name : kPages) {
    const std::string path = std::string("docs/reference/") + name + ".md";
    auto page = base::ReadFile(deploy + "/" + path, kMostPageBytes);
    if (!page) return std::move(page).error();
    files.push_back({path, GeneratedPage(*page, blocks)});
  }
  for (std::size_t i = 0; i < std::size(deploy::kSchemas); i++) {
    files.push_back({std::string("schemas/") + deploy::kSchemas[i] + ".json",
                     doc::WritePrettyJson(SchemaOf(static_cast<Document>(i)))});
  }
  return files;
}

}  // namespace prefetch::reference
