#include <gtest/gtest.h>

#include <string>

#include "ctl/exit_code.h"
#include "ctl/fake_agent.h"
#include "ctl/list.h"
#include "ctl/ran.h"
#include "temp_dir.h"

namespace prefetch::ctl::list_diff_test {
namespace {

using tests::Ran;

const std::string kHead = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n";

struct DiffCase {
  std::string name;
  std::string from, to;  // entries
  int exit;
  std::string out;
};

class TwoLists : public testing::TestWithParam<DiffCase> {};

TEST_P(TwoLists, Differ) {
  tests::TempDir dir;
  ListDiffOptions options{.files = {dir.Write("from.yaml", kHead + GetParam().from),
                                    dir.Write("to.yaml", kHead + GetParam().to)}};
  EXPECT_EQ(tests::Run([&](auto& out, auto& err) { return DiffTwoLists(options, out, err); }),
            (Ran{GetParam().exit, GetParam().out, ""}));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TwoLists,
    testing::Values(DiffCase{"Same", "- image: q.io/a:v1\n", "- image: q.io/a:v1\n", kOk, "no difference\n"},
                    DiffCase{"AnotherOrder", "- image: q.io/a:v1\n- image: q.io/b:v1\n",
                             "- image: q.io/b:v1\n- image: q.io/a:v1\n", kOk, "no difference\n"},
                    DiffCase{"Added", "- image: q.io/a:v1\n", "- image: q.io/a:v1\n- image: q.io/b:v1\n",
                             kNegative, "+ q.io/b:v1  to.yaml:5\n1 added\n"},
                    DiffCase{"Removed", "- image: q.io/a:v1\n- image: q.io/b:v1\n", "- image: q.io/b:v1\n",
                             kNegative, "- q.io/a:v1  from.yaml:4\n1 removed\n"},
                    DiffCase{"Changed", "- image: q.io/a:v1\n", "- {image: q.io/a:v1, priority: 3}\n",
                             kNegative, "~ q.io/a:v1  priority: default → 3\n1 changed\n"}),
    [](const auto& row) { return row.param.name; });

TEST(ListDiff, SaysTheMistakesOfBothAndComparesNothing) {
  tests::TempDir dir;
  ListDiffOptions options{.files = {dir.Write("a.txt", "q.io/A\n"), dir.Write("b.txt", "q.io/B\n")}};
  Ran ran = tests::Run([&](auto& out, auto& err) { return DiffTwoLists(options, out, err); });
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("a.txt:1:1: "), std::string::npos) << ran;
  EXPECT_NE(ran.err.find("b.txt:1:1: "), std::string::npos) << ran;
}

TEST(ListDiff, WithANode) {
  tests::TempDir dir;
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, tests::kTwoImages);
  ListDiffOptions options{.files = {dir.Write("a.txt", "q.io/a:v1\nq.io/b:v1\nq.io/c:v1\n")}};
  auto diff = [&] {
    return tests::Run(
        [&](auto& out, auto& err) { return DiffListWithNode({}, agent.Client(), options, out, err); });
  };
  EXPECT_EQ(diff(), (Ran{kNegative,
                         "~ q.io/b:v1  not on the node: tag is gone\n"
                         "- q.io/c:v1  not on the list of node ci-7\n1 removed, 1 changed\n",
                         ""}));
  agent.Answers("/v1/status", 200, "{}");
  EXPECT_EQ(diff().exit, kUnreachable) << "what is no agent's word is no difference";
}

}  // namespace
}  // namespace prefetch::ctl::list_diff_test
