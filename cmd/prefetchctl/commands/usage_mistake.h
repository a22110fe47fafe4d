// UsageMistake: CLI11's complaint about a command line, as a sentence that says what to write.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace prefetch::ctl {

// `command` is the command that was recognised. A complaint of a form that is not known stays as CLI11 words
// it.
std::string UsageMistake(const CLI::App& command, const CLI::ParseError& error);

}  // namespace prefetch::ctl
