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

TEST(Completion, ScriptsOfTheShells) {
  tests::ExpectGolden("ctl/completion.fish", FishCompletion(Program()));
  tests::ExpectGolden("ctl/completion.bash", BashCompletion(Program()));
  tests::ExpectGolden("ctl/completion.zsh", ZshCompletion(Program()));
}

struct LineCase {
  std::string name;
  std::vector<std::string> words;  // the last one as far as it is typed
  std::string expect;              // as kubectl has it
};

class PluginCompletionTest : public testing::TestWithParam<LineCase> {};

TEST_P(PluginCompletionTest, IsWhatMayStandThere) {
  EXPECT_EQ(PluginCompletion(CompletionsOf(GetParam().words, Program())), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    , PluginCompletionTest,
    testing::Values(
        LineCase{"Commands", {""}, "list\tlists\ncompletion\tthis\n:4\n"},
        LineCase{"ACommandsBeginning", {"li"}, "list\tlists\n:4\n"},
        LineCase{"CommandsBelow", {"list", ""}, "print\tprints one [canonical]: it's \"good\"\n:4\n"},
        LineCase{"Options", {"list", "print", "--"}, "--output\ta form: 'yaml'\n--list\ta file\n:4\n"},
        LineCase{"ValuesOfAnOption", {"list", "print", "-o", "y"}, "yaml\n:4\n"},
        LineCase{"AValueBehindEquals", {"list", "print", "--output=y"}, "--output=yaml\n:4\n"},
        LineCase{"AFileForAnOption", {"list", "print", "--list", ""}, ":0\n"},
        LineCase{"AFileForAnArgument", {"list", "print", "-o", "yaml", ""}, ":0\n"},
        LineCase{"ArgumentsFromATable", {"completion", ""}, "bash\nzsh\n:4\n"},
        LineCase{"NothingBeginsSo", {"x"}, ":4\n"}, LineCase{"NoWord", {}, ":4\n"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::ctl::completion_test
