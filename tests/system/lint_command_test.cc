// prefetchctl lint, as built: the problems that people had with pull policies, found before anything runs.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "rows.h"
#include "system/command_folder.h"
#include "text_of.h"

namespace prefetch::system::lint_command_test {
namespace {

class Lint : public CommandFolder {
 protected:
  rig::Ran Run(Words more, const std::string& input = "") {
    more.insert(more.begin(), "lint");
    return CommandFolder::Run(more, input);
  }
  // Without the line that sums up, which has a time.
  std::string Findings(const rig::Ran& ran) {
    std::size_t end = ran.out.empty() ? 0 : ran.out.rfind('\n', ran.out.size() - 2) + 1;
    return ran.out.substr(0, end);
  }
};

std::string Pod(const std::string& name, const std::string& containers) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n" + containers;
}

// The preflight had IfNotPresent from its controller, the app Always: the check passed on a stale copy and
// the job hung on a tag that was gone. Neither policy is written in either manifest.
TEST_F(Lint, ACheckThatIsWeakerThanThePod) {
  scratch_.Write("images.txt", "quay.io/acme/app:v1\n");
  scratch_.Write("a.yaml",
                 Pod("build-1-precheck", "  containers: [{name: c, image: \"quay.io/acme/app:v1\"}]\n"));
  scratch_.Write("b.yaml", Pod("build-1", "  containers: [{name: app, image: \"quay.io/acme/app:v1\"}]\n"));
  Words arguments = {"-f", "a.yaml", "b.yaml", "--list", "images.txt", "--select", "PF204"};
  EXPECT_EQ(Run(arguments).exit, (rig::Exit{0, 0}));
  arguments.insert(arguments.end(), {"--default-policy", "Always", "--default-check-policy", "IfNotPresent"});
  rig::Ran ran = Run(arguments);
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.err;
  EXPECT_EQ(Findings(ran),
            "a.yaml:5:26  warning  PF204 container \"c\" has IfNotPresent where \"app\" of Pod build-1 has "
            "Always, for the same image: quay.io/acme/app:v1 (b.yaml:5:28)\n");
}

struct InputCase {
  std::string name;
  Words arguments;
  int exit;
  std::string out, err;  // what each has to hold
};
class LintInput : public Lint, public testing::WithParamInterface<InputCase> {
 protected:
  LintInput() {
    std::string good = Pod("p", "  containers: [{name: c, image: \"q.io/a:v1\"}]\n");
    std::string unlisted = Pod("p", "  containers: [{name: c, image: \"q.io/b:v1\"}]\n");
    scratch_.Write("list.txt", "q.io/a:v1\n");
    scratch_.Write("good.yaml", good);
    scratch_.Write("tree/one.yaml", good);
    scratch_.Write("tree/deep/two.yml", unlisted);
    scratch_.Write("tree/.git/three.yaml", "kind: [\n");
    scratch_.Write("tree/values.yaml", "replicas: 3\n");
    scratch_.Write("tree/notes.txt", "nothing\n");
    scratch_.Write("others/one.yaml", good);
    scratch_.Write("others/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n");
    scratch_.Write("others/twice.json", "{\"a\": 1, \"a\": 2}\n");
    scratch_.Write("others/snapcraft.yaml", "name: x\nparts: {p: {plugin: nil}}\nname: y\n");
    scratch_.Write("chart/t.yaml", "apiVersion: v1\nkind: Pod\nspec: {{ .Values.spec }}\n");
    scratch_.Write("noobject.yaml", "replicas: 3\n");
    scratch_.Write("bad.yaml", "kind: [\n");
    scratch_.Write("unknown.yaml", good +
                                       "---\napiVersion: acme.io/v1\nkind: Farm\nmetadata: {name: big}\n"
                                       "spec: {size: 3}\n");
    scratch_.Write("lists/a.txt", "q.io/a:v1\n");
  }
};

TEST_P(LintInput, IsUnderstoodOrRefused) {
  rig::Ran ran = Run(GetParam().arguments, Pod("p", "  containers: [{name: c, image: \"q.io/s:v1\"}]\n"));
  EXPECT_EQ(ran.exit, (rig::Exit{GetParam().exit, 0})) << ran.out << ran.err;
  EXPECT_NE(ran.out.find(GetParam().out), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find(GetParam().err), std::string::npos) << ran.err;
  ExpectPlacesOrName(ran.err);
  if (GetParam().err.empty()) {
    EXPECT_EQ(ran.err, "");
  }
}

TEST_ROWS(All, LintInput,
          {"AFile", {"-f", "good.yaml", "--list", "list.txt"}, 0, "clean: 1 file, 1 pod (", ""},
          {"AFolder", {"-f", "tree", "--list", "list.txt"}, 1, "1 error in 3 files, 2 pods", ""},
          {"StandardInput", {"-f", "-", "--list", "list.txt"}, 1, "stdin:5:26", ""},
          {"AListFolder", {"-f", "good.yaml", "--list", "lists"}, 0, "clean", ""},
          {"NoObject", Words{"-f", "noobject.yaml", "--list", "list.txt"}, 2, "",
           "noobject.yaml:1:1: kind: is required"},
          {"FilesOfOtherPrograms", {"-f", "others", "--list", "list.txt"}, 0, "clean: 4 files, 1 pod", ""},
          {"ATemplate", {"-f", "chart", "--list", "list.txt"}, 2, "", "looks like a template"},
          {"NoList", {"-f", "good.yaml"}, 2, "", "lint needs manifests (-f) and lists (--list)"},
          {"ABadRule", Words{"-f", "good.yaml", "--list", "list.txt", "--select", "X1"}, 2, "",
           "there is no rule X1"},
          {"ABadOutput", {"-f", "good.yaml", "--list", "list.txt", "-o", "xml"}, 2, "", "--output"},
          {"TheRules", {"--rules"}, 0, "PF304  error    invalid-reference", ""});

// Nobody may take a run that could not read everything for a clean one.
Words OfUnreadable(const std::string& output) {
  return {"-f", "bad.yaml", "good.yaml", "none.yaml", "--list", "list.txt", "-o", output};
}
const std::string kNone = "prefetchctl: none.yaml: there is no such file";
TEST_ROWS(Unreadable, LintInput,
          {"Text", OfUnreadable("text"), 2,
           "nothing found in the readable files: 2 files, 1 pod; 2 mistakes in reading", kNone},
          {"Json", OfUnreadable("json"), 2, "\"clean\":false", kNone},
          {"Sarif", OfUnreadable("sarif"), 2, "\"executionSuccessful\":false", kNone},
          {"Github", OfUnreadable("github"), 2,
           "::error file=bad.yaml,title=prefetchctl lint cannot read this::bad.yaml:2:1: ", kNone});

// A gate that does not see an object must not call the rest clean.
Words OfUnknown(const std::string& output) {
  return {"-f", "unknown.yaml", "--list", "list.txt", "-o", output};
}
TEST_ROWS(NotUnderstood, LintInput,
          {"Text", OfUnknown("text"), 1, "unknown.yaml:8:1  warning  PF107 Farm big may run pods", ""},
          {"Json", OfUnknown("json"), 1,
           "\"unread\":[{\"file\":\"unknown.yaml\",\"line\":8,\"column\":1,\"kind\":\"Farm.acme.io\","
           "\"namespace\":null,\"name\":\"big\",",
           ""},
          {"Sarif", OfUnknown("sarif"), 1, "\"ruleId\":\"PF107\"", ""},
          {"Github", OfUnknown("github"), 1,
           "::warning file=unknown.yaml,line=8,col=1,title=PF107 object-not-read::Farm big may run pods", ""},
          {"Accepted", Words{"-f", "unknown.yaml", "--list", "list.txt", "--allow-unread", "Farm"}, 0,
           "clean: 1 file", ""});

// kubectl get pods -A -o json of a cluster: longer than any one document may be.
TEST_F(Lint, AListIsReadItemByItem) {
  scratch_.Write("list.txt", "q.io/a:v1\n");
  const std::string padding(16000, 'x');
  std::string pods = "{\"apiVersion\": \"v1\",\n\"items\": [\n";
  for (int i = 0; i < 800; i++) {
    pods += std::string(i == 0 ? "" : ",\n") +
            R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p",)" + R"("annotations": {"x": ")" +
            padding + R"("}}, "spec": {"containers": [{"name": "c",)" + "\n" + R"("image": "q.io/)" +
            (i == 799 ? "b" : "a") + R"(:v1"}]}})";
  }
  rig::Ran ran = Run({"-f", "-", "--list", "list.txt"}, pods + "],\n\"kind\": \"List\"}\n");
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.err;
  EXPECT_EQ(Findings(ran),
            "stdin:1602:1  error    PF101 image is used but not listed: q.io/b:v1 (container \"c\")\n");
  EXPECT_NE(ran.out.find("1 error in 1 file, 800 pods"), std::string::npos) << ran.out;
  ran = Run({"-f", "-", "--list", "list.txt"}, pods);
  EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << "cut off";
  EXPECT_NE(ran.err.find("stdin:1602:"), std::string::npos) << ran.err;
}

TEST_F(Lint, AWrongPathIsAMistake) {
  scratch_.Write("list.txt", "q.io/a:v1\n");
  scratch_.Write("a.yaml", Pod("p", "  containers: [{name: c, image: \"q.io/a:v1\"}]\n"));
  rig::Ran ran = Run({"-f", "a.yaml", "--list", "list.txt", "--pod-template-path", "spec.tempalte"});
  EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << ran.out;
  EXPECT_EQ(ran.out.find("clean"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.err,
            "prefetchctl: --pod-template-path spec.tempalte: no object in these manifests has a pod there\n");
}

// deploy/docs/reference/lint.md has a row for each rule, with its name and severity.
TEST_F(Lint, ThePageHasEveryRule) {
  const char* page = std::getenv("PREFETCH_LINT_PAGE");
  ASSERT_NE(page, nullptr);
  std::string text = tests::TextOf(page);
  rig::Ran rules = Run({"--rules"});
  std::size_t count = 0;
  for (std::string_view line : base::Split(rules.out, '\n')) {
    if (!line.starts_with("PF")) continue;
    count++;
    std::string id(line.substr(0, 5));
    std::string severity(base::TrimSpace(line.substr(7, 9)));
    std::string name(line.substr(16));
    EXPECT_NE(text.find("\n| `" + id + "` | " + name + " | " + severity + " | "), std::string::npos) << line;
  }
  EXPECT_GE(count, 18U) << "rules are only added";
}

}  // namespace
}  // namespace prefetch::system::lint_command_test
