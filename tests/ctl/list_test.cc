// `list check` and `list print`.
#include "ctl/list.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ctl/exit_code.h"
#include "ctl/fake_agent.h"
#include "ctl/manifest_files.h"
#include "ctl/ran.h"
#include "temp_dir.h"

namespace prefetch::ctl::list_test {
namespace {

using tests::Ran;

Ran Check(const std::vector<std::string>& paths, const list::Capabilities& capabilities = kAllCapabilities) {
  return tests::Run([&](auto& out, auto& err) { return ListCheck(paths, capabilities, out, err); });
}
Ran Print(const std::vector<std::string>& paths, ListOutput output, ListOrder order = ListOrder::kAsListed) {
  return tests::Run(
      [&](auto& out, auto& err) { return ListPrint(paths, output, order, kAllCapabilities, out, err); });
}

TEST(ListCheck, ALineForEachGoodFile) {
  tests::TempDir dir;
  dir.Write("b.txt", "q.io/a:v1\n");
  dir.Write("a.txt", "q.io/a:v1\nq.io/b:v1\n");
  Ran ran = Check({dir.path()});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(ran.out.starts_with("a.txt: 2 entries, sha256:")) << ran;
  EXPECT_NE(ran.out.find("\nb.txt: 1 entry, sha256:"), std::string::npos) << ran;
  EXPECT_EQ(ran.err, "");
}

TEST(ListCheck, TellsAllMistakesAndStillWhatIsGood) {
  tests::TempDir dir;
  dir.Write("bad.txt", "q.io/A\nq.io/B\n");
  dir.Write("good.txt", "q.io/a:v1\n");
  Ran ran = Check({dir / "bad.txt", dir / "good.txt", dir / "none.txt"});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_TRUE(ran.out.starts_with("good.txt: 1 entry")) << ran;
  for (const char* mistake :
       {"bad.txt:1:1: ", "bad.txt:2:1: ", "none.txt: there is no such file or folder\n"}) {
    EXPECT_NE(ran.err.find(mistake), std::string::npos) << ran;
  }
}

TEST(ListCheck, JudgesForTheAgentsThatWillReadIt) {
  tests::TempDir dir;
  std::string list = dir.Write("a.yaml",
                               "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
                               "- {image: q.io/a:v1, open: Always}\n");
  EXPECT_EQ(Check({list}).exit, kOk);
  Ran ran = Check({list}, {});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_NE(ran.err.find("a.yaml:4:"), std::string::npos) << ran;
}

TEST(ListCheck, AFolderWithoutListsIsAMistake) {
  tests::TempDir dir;
  dir.Write("notes.md", "x");
  EXPECT_EQ(Check({dir.path()}),
            (Ran{kBadInput, "",
                 "prefetchctl: no list file (.txt, .yaml, .yml, .json) was found at these paths\n"}));
}

TEST(ListCheck, AnAgentsWordIsANoteAndItsAbsenceAnError) {
  tests::TempDir dir;
  std::string list = dir.Write("a.txt", "q.io/a:v1\n"), bad = dir.Write("bad.txt", "q.io/A\n");
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, tests::kTwoImages);
  auto check = [&](const std::string& path) {
    return tests::Run([&](auto& out, auto& err) {
      return ListCheckWithAgent({}, agent.Client(), {path}, kAllCapabilities, out, err);
    });
  };
  EXPECT_EQ(check(list).exit, kOk);
  EXPECT_EQ(check(bad).exit, kBadInput);
  EXPECT_EQ(agent.asked().size(), 1U) << "of a list that is bad no agent is asked";
  agent.Answers("/v1/status", 200,
                R"({"apiVersion":"prefetchd.dev/v1","kind":"NodeStatus","hidden":["images.aliases"]})");
  EXPECT_NE(check(list).err.find("ask over its local socket"), std::string::npos);
  agent.Goes(base::NotFound("no such socket"));
  EXPECT_EQ(check(list).exit, kUnreachable);
}

TEST(ListPrint, EachFormOfTheSameContent) {
  tests::TempDir dir;
  std::vector<std::string> lists = {dir.Write("a.txt", "q.io/a:v1\n"), dir.Write("b.txt", "q.io/b:v1\n")};
  Ran yaml = Print(lists, ListOutput::kYaml), json = Print(lists, ListOutput::kJson),
      hash = Print(lists, ListOutput::kHash);
  EXPECT_EQ(yaml.exit, kOk) << yaml;
  EXPECT_EQ(yaml.out,
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n---\n"
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/b:v1\n");
  EXPECT_EQ(std::count(json.out.begin(), json.out.end(), '\n'), 2) << json;
  EXPECT_NE(hash.out.find("  a.txt\n"), std::string::npos) << hash;
  const std::string first = hash.out.substr(0, hash.out.find('\n'));
  EXPECT_TRUE(first.ends_with("  (list)")) << hash << "the hash that `wait --hash` waits for";
}

TEST(ListPrint, SortedWithoutRepeatedLines) {
  tests::TempDir dir;
  Ran ran = Print({dir.Write("a.txt", "q.io/b:v1\nq.io/a:v2\nq.io/b:v1\nq.io/a:v1\n")}, ListOutput::kYaml,
                  ListOrder::kByName);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.out,
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n"
            "- image: q.io/a:v2\n- image: q.io/b:v1\n");
}

TEST(ListPrint, NothingOfAListThatIsBadInPart) {
  tests::TempDir dir;
  Ran ran = Print({dir.Write("a.txt", "q.io/a:v1\n"), dir.Write("b.txt", "q.io/B\n")}, ListOutput::kYaml);
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
}

TEST(ListFiles, StandardInputHasFourNames) {
  for (const char* name : {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}) EXPECT_TRUE(IsStdin(name));
  for (const char* name : {"", "stdin", "/dev/fd/3", "./-"}) EXPECT_FALSE(IsStdin(name)) << name;
}

TEST(ListFiles, NoPathsAreNoMistake) {
  Mistakes mistakes;
  EXPECT_TRUE(ReadListFiles({}, mistakes).sources.empty());
  EXPECT_TRUE(mistakes.empty());
}

}  // namespace
}  // namespace prefetch::ctl::list_test
