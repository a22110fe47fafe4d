// prefetchctl: the command line for operators, CI steps and init containers. commands/command.h has the table
// of commands.
#include "commands/program.h"

int main(int argc, char** argv) {
  return prefetch::ctl::RunProgram(argc, argv);
}
