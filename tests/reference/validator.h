// The independent validator: Debian's python3-jsonschema on many documents at once.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "base/text.h"
#include "doc/json.h"
#include "doc/write.h"
#include "reference/schema.h"

namespace prefetch::reference::tests {

inline std::string Root() {
  const char* root = std::getenv("PREFETCH_SOURCE");
  return root == nullptr ? "." : root;
}

// For each document "ok", or the first mistake. Documents are JSON on one line.
inline std::vector<std::string> Validated(const doc::Node& schema,
                                          const std::vector<std::string>& documents) {
  std::string input = doc::WriteJson(schema) + "\n";
  for (const std::string& document : documents) input += document + "\n";
  base::Command command{.argv = {"/usr/bin/python3", Root() + "/tests/reference/validate.py"},
                        .environment = {"PYTHONUTF8=1"}};
  command.max_output = 1 << 24;
  auto ran = base::RunProcess(base::Call().Within(std::chrono::seconds(120)), command, input);
  std::vector<std::string> verdicts;
  if (!ran || ran->end != base::ProcessEnd::kExited || ran->code != 0) {
    ADD_FAILURE() << (ran ? ran->errors : ran.error().message());
    return std::vector<std::string>(documents.size());
  }
  const std::string output(ran->output.Reveal());
  for (std::string_view line : base::Split(output, '\n')) {
    if (!line.empty()) verdicts.emplace_back(line);
  }
  EXPECT_EQ(verdicts.size(), documents.size());
  verdicts.resize(documents.size());
  return verdicts;
}

inline doc::Node JsonOf(const std::string& text) {
  doc::Problems problems("document");
  auto root = doc::ParseJson(text, problems);
  EXPECT_TRUE(root) << text.substr(0, 200);
  return root ? *root : doc::Node();
}

}  // namespace prefetch::reference::tests
