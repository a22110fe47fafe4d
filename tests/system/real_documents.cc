// Every status and check document that prefetchctl prints in a suite is valid for the JSON Schema that it
// prints, too. The validator is Debian's python3-jsonschema.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "base/subprocess.h"
#include "doc/json.h"
#include "doc/write.h"
#include "system/node.h"

namespace prefetch::system::real_documents {
namespace {

// Limit for each kind; suites poll the status thousands of times.
constexpr std::size_t kMostDocuments = 200;

// By the name of their schema: "status", "check".
std::map<std::string, std::set<std::string>>& Seen() {
  static std::map<std::string, std::set<std::string>> seen;
  return seen;
}

void Note(const std::string& out) {
  doc::Problems problems("output");
  auto root = doc::ParseJson(out, problems);
  const doc::Node* kind = root ? root->Find("kind") : nullptr;
  if (kind == nullptr || (kind->text != "NodeStatus" && kind->text != "CheckResult")) return;
  std::set<std::string>& documents = Seen()[kind->text == "NodeStatus" ? "status" : "check"];
  if (documents.size() < kMostDocuments) documents.insert(doc::WriteJson(*root));
}

std::string OutputOf(const std::vector<std::string>& argv, const std::string& input) {
  base::Command command{.argv = argv, .environment = {"PYTHONUTF8=1"}};
  command.max_output = 1 << 24;
  auto ran = base::RunProcess(base::Call().Within(std::chrono::seconds(60)), command, input);
  if (ran && ran->end == base::ProcessEnd::kExited && ran->code == 0)
    return std::string(ran->output.Reveal());
  ADD_FAILURE() << argv.front() << ": " << (ran ? ran->errors : ran.error().message());
  return "";
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name;
  return value == nullptr ? "" : value;
}

class Validation : public testing::Environment {
 public:
  void SetUp() override { Node::OnPrinted(Note); }
  void TearDown() override {
    for (const auto& [command, documents] : Seen()) {
      doc::Problems problems("schema");
      auto schema = doc::ParseJson(OutputOf({Variable("PREFETCHCTL"), "schema", command}, ""), problems);
      ASSERT_TRUE(schema);
      std::string input = doc::WriteJson(*schema) + "\n";
      for (const std::string& document : documents) input += document + "\n";
      std::string verdicts;
      for (std::size_t i = 0; i < documents.size(); i++) verdicts += "ok\n";
      EXPECT_EQ(
          OutputOf({"/usr/bin/python3", Variable("PREFETCH_SOURCE") + "/tests/reference/validate.py"}, input),
          verdicts)
          << command;
    }
  }
};

const testing::Environment* const kValidation = testing::AddGlobalTestEnvironment(new Validation);

}  // namespace
}  // namespace prefetch::system::real_documents
