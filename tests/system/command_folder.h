// prefetchctl as built, run in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "must.h"
#include "rig/binary.h"
#include "rig/process.h"
#include "rig/scratch.h"
#include "text_of.h"

namespace prefetch::system {

using Words = std::vector<std::string>;

// Every line of it has the place that it is about, or is said in the program's name.
inline void ExpectPlacesOrName(const std::string& errors) {
  static const std::regex said("(prefetchctl: |note: |warning: |[^ ]+:[0-9]+(:[0-9]+)?: ).+");
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) EXPECT_TRUE(std::regex_match(line, said)) << line;
}

class CommandFolder : public testing::Test {
 protected:
  // `words` with the folder for a working directory and `input` for standard input. No credentials of this
  // machine's owner, and no proxy.
  rig::Ran Run(const Words& words, const std::string& input = "") {
    std::string script = "cd " + scratch_.path() + " && exec \"$@\" <stdin.txt";
    scratch_.Write("stdin.txt", input);
    rig::Command command{{"sh", "-c", script, "sh", rig::Prefetchctl()},
                         {{"HOME", scratch_.path()}, {"http_proxy", ""}, {"HTTP_PROXY", ""}}};
    command.argv.insert(command.argv.end(), words.begin(), words.end());
    return *tests::Must(rig::RunProgram(command, std::chrono::seconds(60)));
  }
  std::string TextOf(const std::string& name) { return tests::TextSoFar(scratch_ / name); }

  rig::Scratch scratch_;
};

}  // namespace prefetch::system
