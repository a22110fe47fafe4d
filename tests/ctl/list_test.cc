// `list check` and `list print`.
#include "ctl/commands.h"

#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include <atomic>
#include <string>

#include "base/fs.h"
#include "ctl/fake_agent.h"
#include "ctl/manifest_files.h"
#include "ctl/ran.h"
#include "fakes/fake_registry.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::list_test {
namespace {

Ran Check(const std::vector<std::string>& paths) {
  return tests::Run(
      [&](auto& out, auto& err) { return ListCheck({}, nullptr, paths, kAllCapabilities, out, err); });
}
Ran Print(const std::vector<std::string>& paths, ListOutput output, bool sorted = false) {
  return tests::Run(
      [&](auto& out, auto& err) { return ListPrint(paths, output, sorted, kAllCapabilities, out, err); });
}

TEST(ListCheck, ALineForEachGoodFile) {
  tests::TempDir dir;
  dir.Write("b.txt", "q.io/a:v1\n");
  dir.Write("a.txt", "q.io/a:v1\nq.io/b:v1\n");
  Ran ran = Check({dir.path()});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_TRUE(ran.out.starts_with("a.txt: 2 entries, sha256:")) << ran;
  EXPECT_HAS(ran.out, "\nb.txt: 1 entry, sha256:");
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
    EXPECT_HAS(ran.err, mistake);
  }
}

TEST(ListCheck, AFolderWithoutListsIsAMistake) {
  tests::TempDir dir;
  dir.Write("notes.md", "x");
  const std::string says =
      "prefetchctl: " + dir.path() + ": no list file (.txt, .yaml, .yml, .json) is in this folder\n";
  EXPECT_EQ(Check({dir.path()}), (Ran{kBadInput, "", says}));
  // Other lists, also in a folder below, do not make up for it.
  const Ran ran = Check({dir.path() + "/", dir / "team", dir.Write("team/a.txt", "q.io/a:v1\n")});
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.err, says);
}

TEST(ListCheck, AnAgentsWordIsANoteAndItsAbsenceAnError) {
  tests::TempDir dir;
  std::string list = dir.Write("a.txt", "q.io/a:v1\n"), bad = dir.Write("bad.txt", "q.io/A\n");
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, tests::kTwoImages);
  auto check = [&](const std::string& path) {
    return tests::Run([&](auto& out, auto& err) {
      const AgentClient client = agent.Client();
      return ListCheck({}, &client, {path}, kAllCapabilities, out, err);
    });
  };
  EXPECT_EQ(check(list).exit, kOk);
  EXPECT_EQ(check(bad).exit, kBadInput);
  EXPECT_EQ(agent.asked().size(), 1U) << "of a list that is bad no agent is asked";
  agent.Answers("/v1/status", 200,
                R"({"apiVersion":"prefetchd.dev/v1","kind":"NodeStatus","hidden":["images.aliases"]})");
  EXPECT_HAS(check(list).err, "ask over its local socket");
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
  EXPECT_HAS(hash.out, "  a.txt\n");
  const std::string first = hash.out.substr(0, hash.out.find('\n'));
  EXPECT_TRUE(first.ends_with("  (list)")) << hash << "the hash that `wait --hash` waits for";
}

TEST(ListPrint, SortedWithoutRepeatedLines) {
  tests::TempDir dir;
  Ran ran =
      Print({dir.Write("a.txt", "q.io/b:v1\nq.io/a:v2\nq.io/b:v1\nq.io/a:v1\n")}, ListOutput::kYaml, true);
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

const std::string kHead = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n";

struct DiffCase {
  std::string name;
  std::string from, to;  // entries
  int exit;
  std::string out;
};

TEST_TABLE(TwoLists, Differ, DiffCase) {
  tests::TempDir dir;
  ListDiffOptions options{
      .files = {dir.Write("from.yaml", kHead + row.from), dir.Write("to.yaml", kHead + row.to)}};
  EXPECT_EQ(tests::Run([&](auto& out, auto& err) { return DiffTwoLists(options, out, err); }),
            (Ran{row.exit, row.out, ""}));
}

TEST_ROWS(Rows, TwoLists, {"Same", "- image: q.io/a:v1\n", "- image: q.io/a:v1\n", kOk, "no difference\n"},
          {"Changed", "- image: q.io/a:v1\n", "- {image: q.io/a:v1, priority: 3}\n", kNegative,
           "~ q.io/a:v1  priority: default → 3\n1 changed\n"},
          {"AllAtOnce", "- image: q.io/a:v1\n- {image: q.io/b:v1, priority: 3}\n",
           "- {image: q.io/b:v1, refresh: IfDigestChanged}\n- image: q.io/c:v1\n", kNegative,
           "- q.io/a:v1  from.yaml:4\n"
           "~ q.io/b:v1  priority: 3 → default, refresh: default → IfDigestChanged\n"
           "+ q.io/c:v1  to.yaml:5\n1 added, 1 removed, 1 changed\n"});

TEST(ListDiff, SaysTheMistakesOfBothAndComparesNothing) {
  tests::TempDir dir;
  ListDiffOptions options{.files = {dir.Write("a.txt", "q.io/A\n"), dir.Write("b.txt", "q.io/B\n")}};
  Ran ran = tests::Run([&](auto& out, auto& err) { return DiffTwoLists(options, out, err); });
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, "a.txt:1:1: "));
  EXPECT_HAS(ran.err, "b.txt:1:1: ");
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

const char kPod[] = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: c, image: \"q.io/a:v1\"}\n";

Ran Import(const ListImportOptions& options, tests::FakeAgent* agent = nullptr) {
  return tests::Run([&](auto& out, auto& err) {
    if (agent == nullptr) return ImportList({}, nullptr, nullptr, options, out, err);
    AgentClient client = agent->Client();
    return ImportList({}, &client, nullptr, options, out, err);
  });
}

TEST(ListImport, LeavesOutWhatAPatternMatches) {
  tests::TempDir dir;
  ListImportOptions options{.lists = {dir.Write("a.txt", "nginx:1\nq.io/b:v1\n")},
                            .exclude = {"docker.io/*"},
                            .output = list::DraftOutput::kTxt};
  Ran ran = Import(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_LACKS(ran.out, "nginx") << "patterns are for normalised names";
  EXPECT_HAS(ran.out, "q.io/b:v1\n");
}

TEST(ListImport, AnImageListAmongManifestsIsNotPassedOverInSilence) {
  tests::TempDir dir;
  const std::string list = dir.Write(
      "images.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n");
  for (const Ran& ran : {Import({.manifests = {list}}), Import({.foreign = {list}})}) {
    EXPECT_TRUE(Complains(ran, kBadInput, "images.yaml is an image list: --list imports it\n"));
  }
  const Ran beside = Import({.manifests = {list, dir.Write("pod.yaml", kPod)}});
  EXPECT_TRUE(Complains(beside, kOk, "--list imports it"));
}

TEST(ListImport, AnotherToolsListAmongManifestsIsNotPassedOverInSilence) {
  tests::TempDir dir;
  const std::string cache = dir.Write("cache.yaml",
                                      "apiVersion: kubefledged.io/v1alpha2\nkind: ImageCache\n"
                                      "spec: {cacheSpec: [{images: ['q.io/a:v1']}]}\n");
  const std::string why = "cache.yaml has a list of images (ImageCache.kubefledged.io): --from imports it\n";
  EXPECT_TRUE(Complains(Import({.manifests = {cache}}), kBadInput, why));
  EXPECT_TRUE(Complains(Import({.manifests = {cache, dir.Write("pod.yaml", kPod)}}), kOk, why));
  EXPECT_EQ(Import({.foreign = {cache}}).err, "");
}

TEST(ListImport, ImagesThatOnlyAnotherToolCanNameAreNoted) {
  tests::TempDir dir;
  const std::string table = dir.Write("t", "IMAGE TAG IMAGE-ID SIZE\nq.io/a v1 1 5MB\nq.io/b <none> 2 5MB\n");
  const std::string why =
      table + ": 1 image has no tag but a digest: give the output of crictl images -o json\n";
  EXPECT_EQ(Import({.foreign = {table}, .output = list::DraftOutput::kTxt}),
            (Ran{kOk, "# Not in this list:\n# " + why + "# " + table + ":2\nq.io/a:v1\n", why}));
}

TEST(ListImport, AListThatNoAgentTakesIsAWarning) {
  tests::TempDir dir;
  std::string many, large;
  for (int i = 0; i <= 5000; i++) many += "q.io/a:" + std::to_string(i) + "\n";
  for (int i = 0; i < 5000; i++) large += "q.io/" + std::string(200, 'a') + ":" + std::to_string(i) + "\n";
  const std::string limits =
      " bytes, and a source holds at most 5000 in 1048576: split it (deploy/docs/change-the-list.md)\n";
  for (const std::string& text : {many, large}) {
    const Ran ran = Import({.foreign = {dir.Write("names", text)}, .output = list::DraftOutput::kTxt});
    EXPECT_TRUE(Complains(ran, kOk, "warning: the list has 500"));
    EXPECT_HAS(ran.err, limits);
    EXPECT_HAS(ran.out, ":4999\n");
  }
  many.resize(many.rfind('q'));
  EXPECT_EQ(Import({.foreign = {dir.Write("names", many)}}).err, "");
}

TEST(ListImport, AnEmptyListIsNoResult) {
  tests::TempDir dir;
  const std::string farm = dir.Write("farm.yaml", "apiVersion: acme.io/v1\nkind: Farm\nspec: {size: 3}\n");
  const std::string list = dir.Write("a.txt", "q.io/b:v1\n");
  for (const Ran& ran : {Import({.manifests = {farm}}), Import({.lists = {list}, .exclude = {"q.io/*"}})}) {
    EXPECT_TRUE(
        OnlyComplains(ran, kBadInput, "no image was found, and an empty list makes every node ready"));
  }
}

// As `kubectl get -o yaml` of many objects: longer than one document may be.
TEST(ListImport, AnotherToolsOutputMayBeLongerThanAnyDocument) {
  tests::TempDir dir;
  std::string text = "---\n" + std::string(kPod);
  for (int i = 0; i < 12; i++) text += "---\n" + std::string(1 << 20, '#') + "\n";
  text += "---\napiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: c, image: \"q.io/last:v1\"}\n";
  Ran ran = Import({.foreign = {dir.Write("all.yaml", text)}, .output = list::DraftOutput::kTxt});
  EXPECT_TRUE(Prints(ran, kOk, "\nq.io/a:v1\n"));
  EXPECT_HAS(ran.out, "\nq.io/last:v1\n");
}

TEST(ListImport, ImagesInArgumentsAndVariablesByTheirMarkers) {
  tests::TempDir dir;
  const std::string text =
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: operator}\nspec:\n  template:\n    spec:\n"
      "      containers:\n      - name: manager\n        image: q.io/operator:v1\n        args:\n"
      "        - --solver-image=q.io/solver:v1\n        - -entrypoint-image\n        - q.io/entrypoint:v1\n"
      "        env:\n        - name: RELATED_IMAGE_MAIN\n          value: q.io/main:v1\n";
  const std::string file = dir.Write("operator.yaml", text);
  ListImportOptions options{.manifests = {file},
                            .markers = {"-image=", "-entrypoint-image", "RELATED_IMAGE_"},
                            .marked = {file},
                            .output = list::DraftOutput::kTxt};
  const std::string seen = " (seen, policy unknown)\n";
  EXPECT_EQ(Import(options), (Ran{kOk,
                                  "# " + file + ":13" + seen + "q.io/entrypoint:v1\n# " + file + ":16" +
                                      seen + "q.io/main:v1\n# " + file + ":9\nq.io/operator:v1\n# " + file +
                                      ":11" + seen + "q.io/solver:v1\n",
                                  ""}));
}

// As `helm get manifest` and `helm get hooks` print them: every document has its template above it, some
// templates render to nothing, and the output ends with an empty line.
TEST(ListImport, AHelmReleaseWithItsHooks) {
  tests::TempDir dir;
  const std::string release =
      "---\n# Source: shop/templates/serviceaccount.yaml\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n"
      "  name: shop\n---\n# Source: shop/templates/ingress.yaml\n---\n"
      "# Source: shop/charts/db/templates/primary.yaml\napiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n"
      "  name: shop-db\nspec:\n  template:\n    spec:\n      containers:\n        - name: db\n"
      "          image: \"q.io/db:17\"\n---\n# Source: shop/templates/runner.yaml\n"
      "apiVersion: acme.example/v1\nkind: Runner\nmetadata:\n  name: shop\nspec:\n  replicas: 2\n\n";
  const std::string hooks =
      "---\n# Source: shop/templates/tests/test-connection.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n"
      "  name: \"shop-test-connection\"\n  annotations:\n    \"helm.sh/hook\": test\nspec:\n  containers:\n"
      "    - name: wget\n      image: q.io/wget:1\n  restartPolicy: Never\n\n";
  const std::string manifest = dir.Write("manifest.yaml", release), other = dir.Write("hooks.yaml", hooks);
  const std::string unread =
      manifest + ":24:1: Runner shop may run pods, and no image of it was found here (Runner.acme.example)";
  EXPECT_EQ(Import({.foreign = {manifest, other}, .output = list::DraftOutput::kTxt}),
            (Ran{kOk,
                 "# Not in this list:\n# " + unread + "\n# " + manifest + ":20\nq.io/db:17\n# " + other +
                     ":12\nq.io/wget:1\n",
                 unread + "\n"}));
}

TEST(ListImport, WhatANodeHas) {
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, tests::kTwoImages);
  EXPECT_EQ(Import({.output = list::DraftOutput::kTxt}, &agent),
            (Ran{kOk, "# node ci-7\nq.io/a:v1\n# node ci-7\nq.io/b:v1\n", ""}));
  agent.Goes(base::Unavailable("refused"));
  EXPECT_EQ(Import({}, &agent).exit, kUnreachable);
}

TEST(ListImport, PrintsNothingBesideAMistake) {
  tests::TempDir dir;
  ListImportOptions options{.manifests = {dir.Write("pod.yaml", kPod), dir / "none.yaml"},
                            .crictl = {dir.Write("images.json", "{}")},
                            .markers = {"# prefetch"},
                            .marked = {dir.Write("Dockerfile", "FROM q.io/d:v1\n")}};
  Ran ran = Import(options);
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, "none.yaml: there is no such file or folder"));
  EXPECT_HAS(ran.err, "images.json:1:1: images: is required");
}

TEST(ListImport, AnImageThatAToolFillsInIsAMistakeWithItsCure) {
  tests::TempDir dir;
  const std::string pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: ";
  const std::string file = dir.Write("ko.yaml", pod + "'ko://q.io/cmd'}]}\n");
  const std::string upper = dir.Write("upper.yaml", pod + "q.io/A}]}\n");
  const std::string why = ":3:31: spec.containers[0].image is no valid image reference: ";
  EXPECT_EQ(Import({.manifests = {file, upper}}),
            (Ran{kBadInput, "",
                 file + why + "ko://q.io/cmd: read the output of the tool that fills it in\n" + upper + why +
                     "q.io/A\n"}));
}

TEST(ListImport, AMarkerThatNobodyUsesIsAMistake) {
  tests::TempDir dir;
  ListImportOptions options{.markers = {"# x"}, .marked = {dir.Write("Dockerfile", "FROM q.io/d:v1\n")}};
  EXPECT_EQ(Import(options),
            (Ran{kBadInput, "", "prefetchctl: no line with the marker \"# x\" was found\n"}));
}

TEST(ListImport, OnlyBinaryFilesOfAFolderAreSearchedForNoMarker) {
  tests::TempDir dir;
  const std::string latin = dir.Write("ci/Dockerfile", "FROM q.io/b:1 # prefetch \xE9\n");
  const std::string program = dir.Write("ci/program", std::string("\0\xE9 q.io/c:1 # prefetch\n", 23));
  ListImportOptions options{
      .markers = {"# prefetch"}, .marked = {dir / "ci"}, .output = list::DraftOutput::kTxt};
  const std::string from_latin = "# " + latin + ":1\nq.io/b:1\n";
  EXPECT_EQ(Import(options), (Ran{kOk, from_latin, ""}));
  options.marked = {latin, program};
  EXPECT_EQ(Import(options), (Ran{kOk, from_latin + "# " + program + ":1\nq.io/c:1\n", ""}));
}

// Root may read any file.
TEST(ListImport, AFileOfAFolderThatCannotBeReadIsAMistake) {
  tests::TempDir dir;
  const std::string closed = dir.Write("closed", "FROM q.io/b:1 # prefetch\n");
  dir.Write("open", "FROM q.io/a:1 # prefetch\n");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0600), 0);
  ASSERT_EQ(::chmod((dir / "open").c_str(), 0644), 0);
  ::setfsuid(65534);
  ASSERT_EQ(::setfsuid(-1), 65534) << "the tests run as root";
  const Ran ran = Import({.markers = {"# prefetch"}, .marked = {dir.path()}});
  ::setfsuid(0);
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, closed));
  EXPECT_HAS(ran.err, "Permission denied");
}

TEST(ListImport, AStopIsNoResult) {
  std::stop_source stop;
  stop.request_stop();
  base::Call call;
  call.stop = stop.get_token();
  EXPECT_EQ(
      tests::Run([&](auto& out, auto& err) { return ImportList(call, nullptr, nullptr, {}, out, err); }),
      (Ran{kInterrupted, "", ""}));
}

// `list lock`, alone and with a registry.

const std::string kOne = "sha256:" + std::string(64, '1'), kTwo = "sha256:" + std::string(64, '2');

Ran Lock(const ListLockOptions& options) {
  const config::GetEnv nothing = [](const char*) -> const char* { return nullptr; };
  return tests::Run([&](auto& out, auto& err) { return LockLists({}, options, nothing, out, err); });
}

TEST(ListLock, CheckTellsWhatIsOtherAndWritesNothing) {
  tests::TempDir dir;
  const std::string list = dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  ASSERT_EQ(Lock({.files = {list}}),
            (Ran{kOk, "+ q.io/a@" + kOne + "  sha256:111111111111\na.txt: 1 image locked, 1 changed\n", ""}));
  const std::string before = *base::ReadFile(list + ".lock", 1 << 20);
  dir.Write("a.txt", "q.io/a@" + kTwo + "\n");
  Ran ran = Lock({.files = {list}, .check = true});
  EXPECT_TRUE(Prints(ran, kNegative, "+ q.io/a@" + kTwo));
  EXPECT_HAS(ran.out, "- q.io/a@" + kOne + "  not on the list any more\n");
  EXPECT_EQ(*base::ReadFile(list + ".lock", 1 << 20), before);
}

class LockOfARegistry : public testing::Test {
 protected:
  // Locks app:v1 of a registry whose manifest has this type and text.
  Ran LockOf(const tests::FakeManifest& manifest, NodeRuntime runtime) {
    digest_ = registry_.Put("app", "v1", manifest);
    return Lock({.files = {dir_.Write("a.txt", registry_.address() + "/app:v1\n")}, .runtime = runtime});
  }
  bool locked() {
    auto lock = base::ReadFile(dir_ / "a.txt.lock", 1 << 20);
    return lock && lock->find(digest_) != std::string::npos;
  }

  tests::TempDir dir_;
  tests::FakeRegistry registry_;
  std::string digest_;
};

constexpr const char* kIndexType = "application/vnd.oci.image.index.v1+json";

TEST_F(LockOfARegistry, WhatOnlyContainerdRefusesIsAWarningForCrio) {
  const tests::FakeManifest odd{.content_type = "application/octet-stream", .body = "{\"schemaVersion\":2}"};
  const std::string why =
      "answered with the type \"application/octet-stream\", which containerd does not take for a manifest";
  Ran ran = LockOf(odd, NodeRuntime::kContainerd);
  EXPECT_TRUE(Complains(ran, kNegative, "/app:v1: Indeterminate: " + registry_.address() + " " + why));
  EXPECT_FALSE(locked());
  ran = LockOf(odd, NodeRuntime::kCrio);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.err, "warning: " + registry_.address() + "/app:v1: containerd would not pull it: " +
                         registry_.address() + " " + why + "; only a pull can tell whether CRI-O does\n");
  EXPECT_TRUE(locked());
}

// containerd resolves by HEAD, and CRI-O does not send it.
TEST_F(LockOfARegistry, AHeadThatIsRefusedIsNoErrorForCrio) {
  registry_.AnswerHead({.status = 501});
  EXPECT_EQ(LockOf({}, NodeRuntime::kContainerd).exit, kUnreachable);
  EXPECT_EQ(LockOf({}, NodeRuntime::kCrio).exit, kOk);
  EXPECT_TRUE(locked());
}

// CRI-O sends GET alone, so an answer to containerd's HEAD and GET says nothing about it.
TEST_F(LockOfARegistry, ADeniedGetIsNotLockedForCrio) {
  std::atomic<bool> head = false;
  registry_.Answer([&head](const tests::WireRequest& request) -> std::optional<tests::FakeReply> {
    if (request.method == "HEAD") head = true;
    if (head || request.target.find("/manifests/") == std::string::npos) return std::nullopt;
    return tests::FakeReply{.status = 403};
  });
  EXPECT_EQ(LockOf({}, NodeRuntime::kCrio).exit, kNegative);
  EXPECT_FALSE(locked());
  EXPECT_EQ(LockOf({}, NodeRuntime::kContainerd).exit, kOk);
  EXPECT_TRUE(locked());
}

TEST_F(LockOfARegistry, WhatBothTakeIsLockedWithoutAWord) {
  for (NodeRuntime runtime : {NodeRuntime::kContainerd, NodeRuntime::kCrio}) {
    const Ran ran = LockOf({.content_type = kIndexType, .body = "{\"schemaVersion\":2}"}, runtime);
    EXPECT_EQ(ran.exit, kOk);
    EXPECT_EQ(ran.err, "");
    EXPECT_TRUE(locked());
  }
}

TEST_F(LockOfARegistry, WhatCannotBeReadHereIsNoRefusalOfTheRegistry) {
  const std::string deep = std::string(40, '[') + std::string(40, ']');
  const Ran ran =
      LockOf({.content_type = kIndexType, .body = "{\"a\":" + deep + "}"}, NodeRuntime::kContainerd);
  EXPECT_TRUE(Complains(ran, kUnreachable, "only a pull can tell"));
  EXPECT_FALSE(locked());
}

// The registry has not seen the credential, so it has denied nothing.
TEST_F(LockOfARegistry, APluginThatFailsIsNoDenialAndIsNamed) {
  registry_.Always({.status = 401, .headers = {{"WWW-Authenticate", "Basic realm=\"x\""}}});
  const std::string providers = dir_.Write(
      "providers.yaml",
      "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n- name: prov\n"
      "  apiVersion: credentialprovider.kubelet.k8s.io/v1\n  defaultCacheDuration: 0s\n  matchImages: [\"" +
          registry_.address() + "\"]\n");
  ListLockOptions options{.files = {dir_.Write("a.txt", registry_.address() + "/app:v1\n")}};
  options.credentials.given["image-credential-provider-config"] =
      config::SourcedValue<std::string>{providers, "f"};
  options.credentials.given["image-credential-provider-bin-dir"] =
      config::SourcedValue<std::string>{dir_ / "bin", "f"};
  PlanOptions plan{.lists = options.files, .nodes = 1};
  plan.credentials = options.credentials;
  const config::GetEnv nothing = [](const char*) -> const char* { return nullptr; };
  struct Row {
    const char *program, *timeout, *says;
    int exit;
  };
  for (const Row& row : {
           Row{"", "9s", "warning: plugin directory: stat ", kUnreachable},
           Row{"#!/bin/sh\nexec sleep 99\n", "1s",
               " (provider \"prov\" failed: did not answer in the time that was left)\n", kTimedOut},
           Row{"#!/bin/sh\necho expired >&2\nexit 1\n", "9s",
               " asks for a password (provider \"prov\" failed: exited 1: expired)\n", kUnreachable},
       }) {
    if (*row.program != '\0') dir_.WriteProgram("bin/prov", row.program);
    plan.timeout = options.timeout = row.timeout;
    EXPECT_TRUE(Complains(Lock(options), row.exit, row.says));
    const Ran ran = tests::Run([&](auto& out, auto& err) { return PlanFleet({}, plan, nothing, out, err); });
    EXPECT_TRUE(Complains(ran, kNegative, row.says));
  }
}

struct LockMistake {
  std::string name;
  std::string timeout;
  std::string file;  // of a.txt, bad.txt, locked.txt
  std::string says;
};

TEST_TABLE(LockRefused, WithASentence, LockMistake) {
  tests::TempDir dir;
  dir.Write("a.txt", "q.io/a@" + kOne + "\n");
  dir.Write("bad.txt", "q.io/A\n");
  dir.Write("locked.txt", "q.io/a@" + kOne + "\n");
  dir.Write("locked.txt.lock", "kind: X\n");
  Ran ran = Lock({.files = {dir / row.file}, .timeout = row.timeout});
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, row.says));
  EXPECT_FALSE(base::KindOf(dir / "a.txt.lock"));
}

TEST_ROWS(Rows, LockRefused, {"NoDuration", "x", "a.txt", "--timeout must be a duration such as 90s or 5m"},
          {"NoTime", "0s", "a.txt", "--timeout must be"}, {"BadList", "5m", "bad.txt", "bad.txt:1:1: "},
          {"BadLock", "5m", "locked.txt", "locked.txt.lock:1:7: kind"});

}  // namespace
}  // namespace prefetch::ctl::list_test
