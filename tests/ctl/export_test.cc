// A list as settings of kubelet, and as OpenShift's PinnedImageSet.
#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <string>

#include "ctl/ran.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::export_test {
namespace {

const std::string kOne = "sha256:" + std::string(64, '1'), kTwo = "sha256:" + std::string(64, '2');

struct Lists {
  std::string list, lock;
};

Ran Pin(const Lists& lists, ExportOptions options = {}) {
  tests::TempDir dir;
  options.lists = {dir.Write("a.txt", lists.list)};
  if (!lists.lock.empty()) dir.Write("a.txt.lock", lists.lock);
  return tests::Run([&](auto& out, auto& err) { return ExportPinnedImageSet(options, out, err); });
}

std::string LockOf(const std::string& image, const std::string& digest) {
  return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageLock\nimages:\n- image: " + image +
         "\n  digest: " + digest + "\n";
}

TEST(PinnedImageSet, NamesEachImageByDigestOnceAndSorted) {
  Ran ran = Pin({"q.io/b:v1\nq.io/a@" + kTwo + "\nq.io/a:v1@" + kTwo + "\n", LockOf("q.io/b:v1", kOne)},
                {.name = "ci", .pool = "builders"});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(
      ran.out.ends_with("apiVersion: machineconfiguration.openshift.io/v1\n"
                        "kind: PinnedImageSet\n"
                        "metadata:\n"
                        "  name: ci\n"
                        "  labels:\n"
                        "    machineconfiguration.openshift.io/role: builders\n"
                        "spec:\n"
                        "  pinnedImages:\n"
                        "  - name: q.io/a@" +
                        kTwo + "\n  - name: q.io/b@" + kOne + "\n"))
      << ran;
}

TEST(PinnedImageSet, SaysEachTagThatHasNoDigest) {
  Ran ran = Pin({"q.io/a:v1\nq.io/b:v1\n", ""});
  EXPECT_EQ(ran,
            (Ran{kBadInput, "",
                 "prefetchctl: a.txt:1: q.io/a:v1 has no digest: run prefetchctl list lock a.txt first\n"
                 "prefetchctl: a.txt:2: q.io/b:v1 has no digest: run prefetchctl list lock a.txt first\n"}));
}

TEST(PinnedImageSet, RefusesNothingAndTooMuch) {
  EXPECT_EQ(Pin({"# nothing yet\n", ""}),
            (Ran{kBadInput, "", "prefetchctl: there is no image in the list to pin\n"}));
  std::string many;
  for (int i = 0; i < 501; i++) many += "q.io/a" + std::to_string(i) + "@" + kOne + "\n";
  EXPECT_TRUE(Complains(Pin({many, ""}), kBadInput, "at most 500 images, not 501: split the list"));
  EXPECT_EQ(Pin({many.substr(0, many.rfind('\n', many.size() - 2) + 1), ""}).exit, kOk);
}

TEST(PinnedImageSet, ALockThatIsNoneIsAMistake) {
  EXPECT_TRUE(Complains(Pin({"q.io/a:v1\n", "kind: X\n"}), kBadInput, "a.txt.lock:1:7: kind"));
}

Ran Allow(const std::string& list, ExportOptions options) {
  tests::TempDir dir;
  options.lists = {dir.Write("a.txt", list)};
  return tests::Run([&](auto& out, auto& err) { return ExportAllowlist(options, out, err); });
}

struct AllowCase {
  std::string name;
  ExportOptions options;
  std::string has, has_not;
};

TEST_TABLE(Allowlist, IsForItsKubelet, AllowCase) {
  Ran ran = Allow("q.io/team/app:v1\n", row.options);
  EXPECT_TRUE(Prints(ran, kOk, row.has));
  EXPECT_LACKS(ran.out, row.has_not);
}

TEST_ROWS(Rows, Allowlist, {"ExactNamesSince136", {.kubelet_version = "1.36"}, "- q.io/team/app\n", "/*\n"},
          {"FoldersBefore", {.kubelet_version = "v1.35.2"}, "- \"q.io/team/*\"\n", "team/app\n"},
          {"TheNextMajor", {.kubelet_version = "2.0"}, "- q.io/team/app\n", "/*\n"});

TEST(AllowlistInput, IsForAgentsThatTouchAndAskRegistries) {
  const Ran ran = Allow(
      "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
      "- {image: 'q.io/team/app:v1', open: Always, refresh: Always}\n",
      {});
  EXPECT_TRUE(Prints(ran, kOk, "- q.io/team/app\n"));
}

TEST(AllowlistRefusal, SaysAllMistakesAtOnce) {
  Ran ran = Allow("q.io/A\n", {.kubelet_version = "1.36.x"});
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, "--kubelet-version must be a version such as "));
  EXPECT_HAS(ran.err, "a.txt:1:1: ");
  EXPECT_HAS(Allow("# nothing\n", {}).err, "no image in the list");
  EXPECT_HAS(Allow("nginx:1.27\nreg.io/a:v1\n", {.kubelet_version = "v1.35.2"}).err,
             "write \"docker.io/library/nginx:1.27\" in the list and in the pods");
  for (const char* old : {"1.20", "1.32"})
    EXPECT_HAS(Allow("q.io/a:v1\n", {.kubelet_version = old}).err, "has no allowlist");
}

}  // namespace
}  // namespace prefetch::ctl::export_test
