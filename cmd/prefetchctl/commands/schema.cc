// The options, examples and work of `prefetchctl schema`.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "commands/command.h"
#include "ctl/exit_code.h"
#include "deploy/kustomization.h"

namespace prefetch::ctl {

Command SchemaCommand(CLI::App& command, Context&) {
  const std::vector<std::string> documents(std::begin(deploy::kSchemas), std::end(deploy::kSchemas));
  auto document = std::make_shared<std::string>();
  command.add_option("DOCUMENT", *document, base::Join(documents, ", "))
      ->required()
      ->check(CLI::IsMember(documents));
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
  return [document] {
    std::cout << deploy::EmbeddedFiles().at("schemas/" + *document + ".json");
    return kOk;
  };
}

}  // namespace prefetch::ctl
