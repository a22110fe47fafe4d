// Real documents against the schemas: answers of the program, examples of the pages, lists that are accepted.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "doc/yaml.h"
#include "list/image_list.h"
#include "reference/validator.h"
#include "status/check_document.h"
#include "status/kubelet_sample.h"
#include "status/planted.h"

#include "status/sample.h"
#include "status/status_json.h"
#include "text_of.h"

namespace prefetch::reference::documents_test {
namespace {

namespace fs = std::filesystem;
using doc::Node;
using tests::JsonOf;
using tests::Root;
using tests::Validated;

std::string OneLine(const std::string& json) {
  return doc::WriteJson(JsonOf(json));
}

// Nothing but the members that the schema names.
void Close(Node& schema) {
  const bool open = schema.Find("properties") != nullptr && schema.Find("additionalProperties") == nullptr;
  for (doc::Member& member : schema.members) Close(member.value);
  for (Node& item : schema.items) Close(item);
  if (open) schema.Set("additionalProperties", Node::Bool(false));
}

Node Closed(Document document) {
  Node schema = SchemaOf(document);
  Close(schema);
  return schema;
}

void ExpectValid(const Node& schema, const std::map<std::string, std::string>& documents) {
  std::vector<std::string> names, texts;
  for (const auto& [name, text] : documents) {
    names.push_back(name);
    texts.push_back(text);
  }
  const std::vector<std::string> verdicts = Validated(schema, texts);
  for (std::size_t i = 0; i < names.size(); i++) EXPECT_EQ(verdicts[i], "ok") << names[i];
}

// By name, those of this kind among the golden files of the screens.
std::map<std::string, std::string> Golden(const std::string& kind) {
  std::map<std::string, std::string> documents;
  for (const auto& file : fs::directory_iterator(Root() + "/tests/testdata/screen")) {
    if (file.path().extension() != ".json") continue;
    const std::string text = ::prefetch::tests::TextOf(file.path());
    if (text.find("\"kind\"") == std::string::npos) continue;
    Node root = JsonOf(text);
    const Node* found = root.Find("kind");
    if (found != nullptr && found->text == kind) documents[file.path().filename()] = doc::WriteJson(root);
  }
  return documents;
}

std::map<std::string, std::string> CachedStatusTexts() {
  std::map<std::string, std::string> documents = Golden("NodeStatus");
  const std::map<std::string, plan::Snapshot> snapshots = {
      {"planted", sample::PlantedNode()},
      {"peaceful", sample::PeacefulNode()},
      {"stale", sample::StaleNode()},
      {"spelled", sample::KubeletNodeOf({sample::SpelledTwice(), sample::ForPodsWithASecret(),
                                         sample::ForTwoPods(), sample::ClosedByOthers()})}};
  for (const auto& [name, snapshot] : snapshots) {
    documents[name] = OneLine(status::StatusJson(snapshot));
    documents[name + " over TCP"] = OneLine(status::PublicStatusJson(snapshot));
  }
  return documents;
}

TEST(StatusSchema, DescribesEveryMemberOfRealDocuments) {
  EXPECT_GE(CachedStatusTexts().size(), 16U);
  ExpectValid(Closed(Document::kStatus), CachedStatusTexts());
}

TEST(StatusSchema, ADocumentOfALaterVersionIsValid) {
  Node root = JsonOf(CachedStatusTexts().at("peaceful"));
  root.Set("newMember", Node::Bool(true));
  for (doc::Member& member : root.members) {
    if (member.key == "reason") member.value = Node::String("NewReason");
  }
  const std::string later = doc::WriteJson(root);
  ExpectValid(SchemaOf(Document::kStatus), {{"later", later}});
  EXPECT_NE(Validated(Closed(Document::kStatus), {later})[0], "ok");
}

TEST(CheckSchema, DescribesEveryMemberOfRealDocuments) {
  std::map<std::string, std::string> documents = Golden("CheckResult");
  EXPECT_GE(documents.size(), 1U);
  status::CheckResult result{.node = "n1", .time = base::WallTime(), .ok = true};
  result.answers = {{.image = "a", .policy = "Never", .ok = true, .result = "Starts", .reason = "OpenToNode"},
                    {.image = "b", .policy = "Always", .result = "Refused", .reason = "InvalidImageName"}};
  documents["answer"] = OneLine(status::CheckResultJson(result));
  for (const auto& file : fs::directory_iterator(Root() + "/tests/fuzz/corpus/check_request")) {
    if (status::ParseCheckRequest(::prefetch::tests::TextOf(file.path()))) {
      documents[file.path().filename()] = OneLine(::prefetch::tests::TextOf(file.path()));
    }
  }
  EXPECT_GE(documents.size(), 4U);
  ExpectValid(Closed(Document::kCheck), documents);
}

// ---- promises

// "images[].pull.state" of all lines of this kind.
std::set<std::string> Promised(const std::string& kind) {
  std::set<std::string> paths;
  const std::string promises = ::prefetch::tests::TextOf(Root() + "/tests/testdata/screen/v1-fields.txt");
  for (std::string_view line : base::Split(promises, '\n')) {
    if (!line.starts_with(kind + " ")) continue;
    line.remove_prefix(kind.size() + 1);
    std::string path(line.substr(0, line.rfind(' ')));
    if (!path.ends_with("[]")) paths.insert(path);
  }
  return paths;
}

TEST(Fields, EachPromisedMemberIsDescribed) {
  for (const auto& [kind, fields] :
       {std::pair("NodeStatus", StatusFields()), std::pair("CheckResult", CheckResultFields())}) {
    std::set<std::string> described;
    for (const Field& field : fields) {
      EXPECT_TRUE(described.insert(field.path).second) << field.path << " has two rows";
    }
    for (const std::string& path : Promised(kind)) {
      if (path.starts_with("kubelet.sources.")) continue;  // a map
      EXPECT_TRUE(described.contains(path)) << kind << " " << path;
    }
  }
}

TEST(Fields, EachHasWordsForPeople) {
  for (const Fields& fields :
       {ListFields(), AgentFields(), StatusFields(), CheckRequestFields(), CheckResultFields()}) {
    for (const Field& field : fields) {
      EXPECT_FALSE(field.help.empty() || field.help.ends_with('.')) << field.path;
      EXPECT_EQ(field.help.find("]("), std::string::npos) << field.path << ": editors show no links";
    }
  }
}

// ---- examples

// The texts of ```yaml blocks of a page, and whole files of YAML.
std::vector<std::string> YamlOf(const fs::path& file) {
  const std::string text = ::prefetch::tests::TextOf(file);
  if (file.extension() != ".md") return {text};
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string_view line : base::Split(text, '\n')) {
    if (line.starts_with("```")) {
      if (!inside && line == "```yaml") {
        blocks.emplace_back();
        inside = true;
      } else {
        inside = false;
      }
    } else if (inside) {
      blocks.back() += std::string(line) + "\n";
    }
  }
  return blocks;
}

// Documents of our kinds in a tree of YAML, also those inside ConfigMaps.
void Find(const Node& node, const std::string& place,
          std::map<std::string, std::map<std::string, std::string>>& found) {
  const Node* kind = node.Find("kind");
  if (kind != nullptr && (kind->text == "ImageList" || kind->text == "AgentConfiguration")) {
    found[kind->text][place] = doc::WriteJson(node);
  }
  if (node.kind == Node::Kind::kString && node.text.find("prefetchd.dev/v1alpha1") != std::string::npos) {
    doc::Problems problems("inner");
    auto inner = doc::ParseYaml(node.text, problems);
    if (inner && inner->kind == Node::Kind::kMapping) Find(*inner, place + " (inside)", found);
  }
  for (const doc::Member& member : node.members) Find(member.value, place + "." + member.key, found);
  for (std::size_t i = 0; i < node.items.size(); i++) {
    Find(node.items[i], place + "[" + std::to_string(i) + "]", found);
  }
}

TEST(Examples, OfPagesAndManifestsAreValid) {
  std::map<std::string, std::map<std::string, std::string>> found;
  std::vector<fs::path> files = {Root() + "/README.md"};
  for (const auto& file : fs::recursive_directory_iterator(Root() + "/deploy")) {
    const std::string ending = file.path().extension();
    if (ending == ".md" || ending == ".yaml") files.push_back(file.path());
  }
  for (const fs::path& file : files) {
    for (const std::string& text : YamlOf(file)) {
      if (text.find("kind: ImageList") == std::string::npos &&
          text.find("kind: AgentConfiguration") == std::string::npos) {
        continue;
      }
      doc::Problems problems(file);
      auto roots = doc::ParseYamlDocuments(text, problems);
      ASSERT_TRUE(roots && problems.empty()) << file << ": " << text;
      for (const Node& root : *roots) {
        Find(root,
             fs::relative(file, Root()).string() + " " + std::to_string(found.size()) + "." +
                 std::to_string(found["ImageList"].size() + found["AgentConfiguration"].size()),
             found);
      }
    }
  }
  EXPECT_GE(found["ImageList"].size(), 4U);
  EXPECT_GE(found["AgentConfiguration"].size(), 2U);
  ExpectValid(SchemaOf(Document::kList), found["ImageList"]);
  ExpectValid(SchemaOf(Document::kAgent), found["AgentConfiguration"]);
}

// Inputs of the fuzzer, and lists of the tests: those that are accepted are valid.
TEST(ListSchema, AcceptedListsAreValid) {
  std::map<std::string, std::string> documents;
  for (const char* folder : {"/tests/fuzz/corpus/list_yaml", "/tests/testdata/manifest"}) {
    for (const auto& file : fs::directory_iterator(Root() + folder)) {
      if (!file.is_regular_file()) continue;
      const std::string text = ::prefetch::tests::TextOf(file.path());
      const std::string name = file.path().filename();
      if (!list::DecodeSource(name + ".yaml", text, {.touch = true})) continue;
      doc::Problems problems(name);
      auto root = doc::ParseYaml(text, problems);
      documents[folder + name] = root ? doc::WriteJson(*root) : "null";
    }
  }
  documents["empty"] = "null";
  documents["no images"] = R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList","images":null})";
  EXPECT_GE(documents.size(), 3U);
  ExpectValid(SchemaOf(Document::kList), documents);
}

}  // namespace
}  // namespace prefetch::reference::documents_test
