#include "ctl/commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "ctl/ran.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::lint_test {
namespace {

std::string Pod(const std::string& image) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: c, image: \"" +
         image + "\", imagePullPolicy: IfNotPresent}\n";
}

struct LintCase {
  std::string name;
  std::vector<std::string> files;  // below the folder
  std::vector<std::string> ignore;
  int exit;
  std::string out, err;  // what each has to hold
};

TEST_TABLE(Linted, EndsWithItsCode, LintCase) {
  tests::TempDir dir;
  dir.Write("good.yaml", Pod("q.io/a:v1"));
  dir.Write("unlisted.yaml", Pod("q.io/b:v1"));
  dir.Write("broken.yaml", "kind: [\n");
  LintOptions options{.lists = {dir.Write("list.txt", "q.io/a:v1\n")}, .ignore = row.ignore};
  for (const std::string& file : row.files) options.files.push_back(dir / file);
  Ran ran = tests::Run([&](auto& out, auto& err) { return Lint({}, options, out, err); });
  EXPECT_TRUE(Prints(ran, row.exit, row.out));
  EXPECT_HAS(ran.err, row.err);
}

TEST_ROWS(
    Rows, Linted, {"AFinding", {"unlisted.yaml"}, {}, kNegative, "PF101", ""},
    {"AFindingThatIsIgnored", {"unlisted.yaml"}, {"PF101"}, kOk, "", ""},
    {"FindingsBesideAMistake", {"unlisted.yaml", "broken.yaml"}, {}, kBadInput, "PF101", "broken.yaml:2:"},
    {"NoSuchRule", {"good.yaml"}, {"PF999"}, kBadInput, "", "PF999"});

TEST(Lint, OfAListThatIsBadSaysNothingOfManifests) {
  tests::TempDir dir;
  LintOptions options{.files = {dir.Write("pod.yaml", Pod("q.io/b:v1"))},
                      .lists = {dir.Write("list.txt", "q.io/A\n")},
                      .manifests = {.default_policy = "Sometimes"}};
  Ran ran = tests::Run([&](auto& out, auto& err) { return Lint({}, options, out, err); });
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, "--default-policy must be Never, IfNotPresent or Always"));
  EXPECT_HAS(ran.err, "list.txt:1:1: ");
}

// A shell's <(…) can be read once.
TEST(Lint, CommentsOfAListFromAPipeCount) {
  tests::TempDir dir;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string list = "q.io/a:v1\n# prefetchctl: ignore=PF102 of another repository\nq.io/unused:v1\n";
  ASSERT_EQ(::write(ends[1], list.data(), list.size()), static_cast<ssize_t>(list.size()));
  ::close(ends[1]);
  const LintOptions options{.files = {dir.Write("pod.yaml", Pod("q.io/a:v1"))},
                            .lists = {"/dev/fd/" + std::to_string(ends[0])}};
  Ran ran = tests::Run([&](auto& out, auto& err) { return Lint({}, options, out, err); });
  ::close(ends[0]);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_LACKS(ran.out, "PF102");
}

}  // namespace
}  // namespace prefetch::ctl::lint_test
