// "-" for standard input, wherever files are named.
#include <gtest/gtest.h>

#include <string>

#include "system/command_folder.h"

namespace prefetch::system::stdin_command_test {
namespace {

const std::string kYaml =
    "# ours\napiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n- image: "
    "q.io/b:v1\n";
const std::string kPlain = "# ours\n\nq.io/a:v1\nq.io/b:v1\n";
const std::string kJson =
    R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList","images":[{"image":"q.io/a:v1"},{"image":"q.io/b:v1"}]})";
const std::string kPods = R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod",
  "metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"q.io/z:v1"}]}}]})";

struct StdinCase {
  std::string name;
  Words words;
  std::string input;
  int exit;
  std::string out, err;  // what each has to hold
};
class StdinCommand : public CommandFolder, public testing::WithParamInterface<StdinCase> {};

TEST_P(StdinCommand, IsRead) {
  scratch_.Write("two.txt", "q.io/a:v1\nq.io/b:v1\n");
  scratch_.Write("pod.yaml",
                 "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: \"q.io/a:v1\"}]}\n");
  rig::Ran ran = Run(GetParam().words, GetParam().input);
  EXPECT_EQ(ran.exit, (rig::Exit{GetParam().exit, 0})) << ran.out << ran.err;
  EXPECT_NE(ran.out.find(GetParam().out), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find(GetParam().err), std::string::npos) << ran.err;
  ExpectPlacesOrName(ran.err);
}

INSTANTIATE_TEST_SUITE_P(
    All, StdinCommand,
    testing::Values(
        StdinCase{"CheckYaml", {"list", "check", "-"}, kYaml, 0, "stdin: 2 entries, sha256:", ""},
        StdinCase{"CheckPlain", {"list", "check", "-"}, kPlain, 0, "stdin: 2 entries, sha256:", ""},
        StdinCase{"CheckJson", {"list", "check", "-"}, kJson, 0, "stdin: 2 entries, sha256:", ""},
        StdinCase{"CheckNothing", {"list", "check", "-"}, "", 0, "stdin: 0 entries", "lists no images"},
        StdinCase{
            "CheckDevStdin", {"list", "check", "/dev/stdin"}, kYaml, 0, "stdin: 2 entries, sha256:", ""},
        StdinCase{"LockDevStdin",
                  {"list", "lock", "/dev/stdin"},
                  kYaml,
                  2,
                  "",
                  "a lock is written beside its list"},
        StdinCase{"Generate",
                  {"generate", "--platform", "generic", "--list", "/dev/stdin", "--image", "q.io/p:1"},
                  kPlain,
                  0,
                  "  stdin.txt: |\n",
                  ""},
        StdinCase{"GenerateWithAMistake",
                  {"generate", "--platform", "generic", "--list", "-", "--image", "q.io/p:1"},
                  kYaml + "x: 1\n",
                  2,
                  "",
                  "stdin:7:1: x: "},
        StdinCase{"CheckWithFiles", {"list", "check", "two.txt", "-"}, kYaml, 0, "two.txt: 2 entries", ""},
        StdinCase{"CheckABadName", {"list", "check", "-"}, "q.io/A\n", 2, "", "stdin:1:1: "},
        StdinCase{"CheckABadKey", {"list", "check", "-"}, kYaml + "x: 1\n", 2, "", "stdin:7:1: x: "},
        StdinCase{"CheckNoText", {"list", "check", "-"}, "\xff\xfe", 2, "", "not text in UTF-8"},
        StdinCase{
            "CheckTooMuch", {"list", "check", "-"}, std::string(2 << 20, '#'), 2, "", "stdin is longer than"},
        StdinCase{"Print", {"list", "print", "-"}, kPlain, 0, "- image: q.io/a:v1\n", ""},
        StdinCase{"Diff",
                  {"list", "diff", "two.txt", "-"},
                  kYaml + "- image: q.io/c:v1\n",
                  1,
                  "+ q.io/c:v1  stdin:7",
                  ""},
        StdinCase{
            "DiffOfItself", {"list", "diff", "-", "-"}, kYaml, 2, "", "standard input can be one thing only"},
        StdinCase{
            "Import", {"list", "import", "--list", "-", "-o", "txt"}, kYaml, 0, "# stdin:5\nq.io/a:v1\n", ""},
        StdinCase{"Lock", {"list", "lock", "-"}, kYaml, 2, "", "a lock is written beside its list"},
        StdinCase{"LintList", {"lint", "-f", "pod.yaml", "--list", "-"}, kYaml, 0, "stdin:6:3", ""},
        StdinCase{"LintListWithAnIgnore",
                  {"lint", "-f", "pod.yaml", "--list", "-"},
                  "q.io/a:v1\n# prefetchctl: ignore=PF102 for later\nq.io/b:v1\n",
                  0,
                  "clean: 1 file",
                  ""},
        StdinCase{"LintBoth",
                  {"lint", "-f", "-", "--list", "-"},
                  kYaml,
                  2,
                  "",
                  "standard input can be one thing only"},
        StdinCase{"WaitList", {"wait", "--list", "-", "--timeout", "1s"}, "q.io/A\n", 2, "", "stdin:1:1: "},
        StdinCase{"Allowlist", {"export", "kubelet-allowlist", "--list", "-"}, kPlain, 0, "q.io/a", ""},
        StdinCase{"AuditPods", {"audit", "-f", "-", "--list", "two.txt"}, kPods, 1, "q.io/z:v1", ""},
        StdinCase{
            "AuditNoPods", {"audit", "-f", "-", "--list", "two.txt"}, "no", 2, "", "prefetchctl: stdin: "}),
    [](const auto& row) { return row.param.name; });

// What is read from a pipe has the hash that the file has.
TEST_F(CommandFolder, TheHashOfAListIsItsContents) {
  scratch_.Write("two.yaml", kYaml);
  std::string file = Run({"list", "print", "two.yaml", "-o", "hash"}).out;
  std::string piped = Run({"list", "print", "-", "-o", "hash"}, kPlain).out;
  EXPECT_EQ(piped.substr(0, 71), file.substr(0, 71));
  EXPECT_TRUE(piped.substr(71).starts_with("  (list)\n")) << piped;
  EXPECT_TRUE(piped.ends_with("  stdin\n")) << piped;
}

}  // namespace
}  // namespace prefetch::system::stdin_command_test
