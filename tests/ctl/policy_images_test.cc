// Spellings for the admission policy of components/policy.
#include "ctl/generate.h"

#include <gtest/gtest.h>

#include <string>

#include "ctl/exit_code.h"
#include "ctl/ran.h"
#include "temp_dir.h"

namespace prefetch::ctl::policy_images_test {
namespace {

using tests::Ran;

const std::string kDigest = "@sha256:" + std::string(64, '1');

struct AlikeCase {
  std::string name, written;
  std::set<std::string> expect;
};

class Alike : public testing::TestWithParam<AlikeCase> {};

TEST_P(Alike, IsWhatKubeletMakesTheSameOf) {
  std::set<std::string> spellings;
  AddSpellings(*image::Reference::Parse(GetParam().written), spellings);
  EXPECT_EQ(spellings, GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Alike,
    testing::Values(AlikeCase{"Tag", "q.io/a:v1", {"q.io/a:v1"}},
                    AlikeCase{"NoTag", "nginx", {"nginx", "nginx:latest"}},
                    AlikeCase{"Latest", "nginx:latest", {"nginx", "nginx:latest"}},
                    AlikeCase{"Port", "localhost:5000/a", {"localhost:5000/a", "localhost:5000/a:latest"}},
                    AlikeCase{"Digest", "q.io/a" + kDigest, {"q.io/a" + kDigest}},
                    AlikeCase{"LatestAndDigest", "q.io/a:latest" + kDigest, {"q.io/a:latest" + kDigest}}),
    [](const auto& row) { return row.param.name; });

Ran Export(const std::vector<std::string>& lists) {
  return tests::Run([&](auto& out, auto& err) { return ExportPolicy(lists, out, err); });
}

TEST(ExportPolicy, HasEverySpellingOfEverySourceOnce) {
  tests::TempDir dir;
  const std::string first = dir.Write("a.txt", "nginx\nq.io/a:v1\n");
  const std::string second = dir.Write("b.txt", "docker.io/library/nginx:latest\nq.io/a:v1\n");
  Ran ran = Export({first, second});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(
      ran.out.ends_with("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: prefetchd-policy\n"
                        "  namespace: prefetchd\n  labels:\n    prefetchd.dev/policy: images\ndata:\n  "
                        "images: |\n    docker.io/library/nginx\n"
                        "    docker.io/library/nginx:latest\n    nginx\n    nginx:latest\n    q.io/a:v1\n"))
      << ran;
}

TEST(ExportPolicy, AListOfNothingFindsNothing) {
  tests::TempDir dir;
  Ran ran = Export({dir.Write("a.txt", "")});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(ran.out.ends_with("data:\n  images: \"\"\n")) << ran;
}

TEST(ExportPolicy, RefusesAListWithMistakesAndOneThatIsTooLarge) {
  tests::TempDir dir;
  Ran ran = Export({dir.Write("a.txt", "q.io/A\n")});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
  std::vector<std::string> lists;
  for (const char* prefix : {"a", "b", "c"}) {
    std::string text;
    for (int i = 0; i < 3334; i++) text += "q.io/" + (prefix + std::to_string(i)) + ":v1\n";
    lists.push_back(dir.Write(std::string(prefix) + prefix + ".txt", text));
  }
  ran = Export(lists);
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_NE(ran.err.find("the policy takes up to 10000 spellings of images and 1 MiB, not 10002 spellings"),
            std::string::npos)
      << ran;
}

}  // namespace
}  // namespace prefetch::ctl::policy_images_test
