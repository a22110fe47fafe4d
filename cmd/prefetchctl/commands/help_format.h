// How --help shows options: the values that one can have as "text|json", and nothing of CLI11's own words.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class FormatterBase;
class Option;
}  // namespace CLI

namespace prefetch::ctl {

// All that the value of `option` can be. Empty: anything.
std::vector<std::string> ValuesOf(const CLI::Option& option);

// The same as "text|json", or its type: where it can be anything, or so much that the description lists it.
std::string ValueLabel(const CLI::Option& option);

// The text of --help in lines of at most `width` columns, but for its examples, which people copy.
std::string WrappedHelp(const std::string& help, std::size_t width);

// For the program and all its commands.
std::shared_ptr<CLI::FormatterBase> HelpFormat();

}  // namespace prefetch::ctl
