#include "ctl/completion.h"

#include <gtest/gtest.h>

#include <string>

#include "golden.h"

namespace prefetch::ctl::completion_test {
namespace {

// A program with what a command line can have of each kind, and words that a shell would not leave alone.
std::vector<CompletionCommand> Program() {
  return {{.words = {}, .help = "the program", .options = {{.names = {"--version"}, .help = "its version"}}},
          {.words = {"list"}, .help = "lists", .options = {}},
          {.words = {"list", "print"},
           .help = "prints one [canonical]: it's \"good\"",
           .options = {{.names = {"-o", "--output"},
                        .help = "a form: 'yaml'",
                        .takes_value = true,
                        .values = {"yaml", "json"}},
                       {.names = {"--list"}, .help = "a file", .takes_value = true, .values = {}}},
           .takes_arguments = true,
           .arguments = {}},
          {.words = {"completion"},
           .help = "this",
           .options = {},
           .takes_arguments = true,
           .arguments = {"bash", "zsh"}}};
}

TEST(Completion, ScriptsOfBothShells) {
  tests::ExpectGolden("ctl/completion.bash", BashCompletion(Program()));
  tests::ExpectGolden("ctl/completion.zsh", ZshCompletion(Program()));
}

}  // namespace
}  // namespace prefetch::ctl::completion_test
