// prefetchctl list diff, import and lock, and export --for openshift, as built: with an agent that is played
// and a real registry.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

#include "base/text.h"
#include "fakes/fake_registry.h"
#include "list/lock.h"
#include "rig/expect_has.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/registry.h"
#include "rows.h"
#include "system/command_folder.h"

namespace prefetch::system::list_command_test {
namespace {

class ListCommand : public CommandFolder {
 protected:
  std::string List(const std::string& images) {
    return "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n" + images;
  }
};

TEST_F(ListCommand, OpenAlwaysIsForAgentsThatTouch) {
  scratch_.Write("images.yaml", List("- {image: q.io/b:v1, open: Always}\n"));
  rig::Ran ran = Run({"list", "check", "images.yaml"});
  EXPECT_EQ(ran.exit, (rig::Exit{2, 0}));
  EXPECT_HAS(ran.err, "--touch is off");
  EXPECT_EQ(Run({"list", "check", "--touch", "images.yaml"}).exit, rig::Exit{});
  EXPECT_EQ(Run({"list", "print", "images.yaml"}).exit, (rig::Exit{2, 0}));
  EXPECT_HAS(Run({"list", "print", "--touch", "images.yaml"}).out, "open: Always");
  const Words generate = {"generate",    "--platform", "generic", "--list",
                          "images.yaml", "--image",    "q.io/p:1"};
  EXPECT_EQ(Run(generate).exit, (rig::Exit{2, 0}));
  Words with_touch = generate;
  with_touch.insert(with_touch.end(), {"--component", "touch"});
  EXPECT_EQ(Run(with_touch).exit, rig::Exit{});
}

// A digest is that of a name, however a source spells it.
TEST_F(ListCommand, TwoSpellingsAreTwoEntriesAndOneImage) {
  scratch_.Write("images.txt", "nginx:1.27\nx:v1\ndocker.io/library/nginx:1.27\n");
  rig::Ran ran = Run({"list", "check", "images.txt"});
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("images.txt: 3 entries, sha256:")) << ran.out;
  ran = Run({"list", "print", "images.txt"});
  EXPECT_HAS(ran.out, "- image: nginx:1.27\n- image: x:v1\n- image: docker.io/library/nginx:1.27\n");
  scratch_.Write("twice.txt", "nginx:1.27\nx:v1\nnginx:1.27\n");
  ran = Run({"list", "check", "twice.txt"});
  EXPECT_EQ(ran.exit, rig::Exit{});
  EXPECT_HAS(ran.err, "warning: twice.txt:3: is nginx:1.27, which is in line 1 already");
}

// The content decides how a list is read.
TEST_F(ListCommand, AListFileMayHaveAnyName) {
  scratch_.Write("images", "q.io/a:v1\n");
  scratch_.Write("images.list", List("- image: q.io/a:v1\n"));
  scratch_.Write("images.txt", List("- image: q.io/a:v1\n"));
  scratch_.Write("pod.yaml",
                 "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: \"q.io/a:v1\"}]}\n");
  for (const auto& [name, key] :
       {std::pair("images", "images.txt"), std::pair("images.list", "images.list.yaml"),
        std::pair("images.txt", "images.txt")}) {
    rig::Ran ran = Run({"list", "check", name});
    EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
    EXPECT_TRUE(ran.out.starts_with(std::string(name) + ": 1 entry, sha256:")) << ran.out;
    for (const Words& words : {Words{"list", "print", name}, Words{"lint", "-f", "pod.yaml", "--list", name},
                               Words{"list", "import", "--list", name, "-o", "txt"},
                               Words{"list", "export", "--for", "kubelet", "--list", name},
                               Words{"generate", "touch-daemonset", "--list", name}}) {
      EXPECT_EQ(Run(words).exit, rig::Exit{}) << words[0] << " " << words[1] << " " << name;
    }
    ran = Run({"generate", "--platform", "generic", "--list", name, "--image", "q.io/p:1"});
    EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
    EXPECT_HAS(ran.out, "\n  " + std::string(key) + ": |\n");
  }
}

TEST_F(ListCommand, ImportOfEverything) {
  scratch_.Write(
      "deploy/app.yaml",
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: q.io/a:v1\n  - image: q.io/b:v1\n");
  scratch_.Write("deploy/values.yaml", "image: q.io/none:v1\n");
  scratch_.Write("plain.txt", "# ours\nq.io/c:v1\nq.io/a:v1\n");
  scratch_.Write("src/Dockerfile", "FROM q.io/d:v1 # prefetch\nFROM q.io/not:v1\n");
  scratch_.Write("src/op.yaml", "args:\n- --solver-image=q.io/f:v1\n");
  scratch_.Write("src/picture.bin", std::string("# prefetch \xff\xfe", 13));
  std::string crictl =
      R"({"images":[{"repoTags":["q.io/e:v1"]},{"repoTags":["registry.k8s.io/pause:3.10"]}]})";
  rig::Ran ran =
      Run({"list", "import", "-f", "deploy", "--list", "plain.txt", "--marker", "# prefetch",
           "--marker=-image", "--in", "src", "--crictl", "-", "--exclude", "registry.k8s.io/pause"},
          crictl);
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  EXPECT_EQ(ran.out,
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
            "- image: q.io/a:v1  # deploy/app.yaml:5, plain.txt:3\n"
            "- image: q.io/b:v1  # deploy/app.yaml:6\n"
            "- image: q.io/c:v1  # plain.txt:2\n"
            "- image: q.io/d:v1  # src/Dockerfile:1\n"
            "- image: q.io/e:v1  # stdin\n"
            "- image: q.io/f:v1  # src/op.yaml:2 (seen, policy unknown)\n");
  // The printed list passes lint against the files that it was made from.
  scratch_.Write("images.yaml", ran.out);
  EXPECT_EQ(Run({"lint", "-f", "deploy", "--list", "images.yaml"}).exit, (rig::Exit{0, 0}));
}

TEST_F(ListCommand, ImportNamesWhatItDoesNotSee) {
  scratch_.Write(
      "farm.yaml",
      "apiVersion: acme.io/v1\nkind: Farm\nmetadata: {name: big}\nspec: {size: 3}\n---\n"
      "apiVersion: acme.io/v1\nkind: Shed\nmetadata: {name: s}\nspec: {baseImage: \"q.io/shed:1\"}\n");
  const std::string left_out =
      "farm.yaml:2:1: Farm big may run pods, and no image of it was found here (Farm.acme.io)\n";
  rig::Ran ran = Run({"list", "import", "-f", "farm.yaml"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  EXPECT_EQ(ran.err, left_out);
  EXPECT_EQ(ran.out, "# Not in this list:\n# " + left_out +
                         "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
                         "- image: q.io/shed:1  # farm.yaml:9 (seen, policy unknown)\n");
}

struct RefusalCase {
  std::string name;
  Words arguments;
  std::string says;
};
TEST_TABLE_F(ListRefusal, IsASentence, ListCommand, RefusalCase) {
  scratch_.Write("good.txt", "q.io/a:v1\n");
  rig::Ran ran = Run(row.arguments, "{}");
  EXPECT_EQ(ran.exit, (rig::Exit{2, 0})) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_HAS(ran.err, row.says);
  ExpectPlacesOrName(ran.err);
}
TEST_ROWS(All, ListRefusal, {"DiffOfOne", {"list", "diff", "good.txt"}, "give two FILEs, or one with --node"},
          {"DiffOfTwoAndANode", Words{"list", "diff", "good.txt", "good.txt", "--node"},
           "give one FILE with --node"},
          {"DiffOfNone", {"list", "diff", "good.txt", "none.txt"}, "none.txt"},
          {"ImportOfNothing", {"list", "import"}, "no input: give -f, --list, --from, "},
          {"ImportWithoutMarker", {"list", "import", "--in", "good.txt"}, "--marker"});

class ListLock : public ListCommand {
 protected:
  std::string Push(const std::string& repository, const std::string& tag, std::uint64_t seed) {
    rig::User user = registry_.user();
    rig::Pusher pusher(registry_.address(), user.name, base::Secret(user.password));
    auto pushed =
        pusher.Push({.repository = repository, .tag = tag, .layers = {{.seed = seed, .size = 4096}}});
    EXPECT_OK(pushed);
    return pushed ? pushed->digest : "";
  }
  std::string Name(const std::string& image) { return registry_.address() + "/" + image; }
  void SetUp() override {
    ASSERT_OK(registry_.Start());
    rig::User user = registry_.user();
    std::string auth = base::Base64Encode(user.name + ":" + user.password);
    scratch_.Write("docker.json",
                   R"({"auths":{")" + registry_.address() + R"(":{"auth":")" + auth + R"("}}})");
  }
  rig::Ran Lock(const Words& more) {
    Words words = {"list", "lock", "--docker-config", "docker.json", "--timeout", "30s"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }

  rig::Registry registry_{scratch_, "registry", {{"ann", "s3cr3t-of-lock"}}};
};

TEST_F(ListLock, TagsBecomeDigestsAndAreWatched) {
  std::string one = Push("team/one", "v1", 1), two = Push("team/two", "v1", 2);
  std::string three = Name("team/three@sha256:" + std::string(64, 'c'));
  scratch_.Write("images.yaml", List("- image: " + Name("team/one:v1") + "\n- image: " + Name("team/two:v1") +
                                     "\n- image: " + three + "\n"));
  rig::Ran ran = Lock({"images.yaml"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  EXPECT_HAS(ran.out, "images.yaml: 3 images locked, 3 changed\n");
  auto lock = list::ReadLock(TextOf("images.yaml.lock"), "lock");
  ASSERT_OK(lock);
  EXPECT_EQ(*lock, (list::ListLock{{Name("team/one:v1"), one},
                                   {Name("team/two:v1"), two},
                                   {three, "sha256:" + std::string(64, 'c')}}));
  ran = Lock({"--check", "images.yaml"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.out << ran.err;
  EXPECT_EQ(ran.out, "images.yaml: 3 images, 0 changed since it was locked\n");

  // A lock is what OpenShift's pins are made of.
  ran = Run({"list", "export", "--for", "openshift", "--list", "images.yaml", "--pool", "ci"});
  EXPECT_EQ(ran.exit, (rig::Exit{0, 0})) << ran.err;
  EXPECT_EQ(
      base::ReplaceAll(ran.out.substr(ran.out.find('\n') + 1), "\"", ""),
      "apiVersion: machineconfiguration.openshift.io/v1\nkind: PinnedImageSet\nmetadata:\n  name: prefetchd\n"
      "  labels:\n    machineconfiguration.openshift.io/role: ci\nspec:\n  pinnedImages:\n  - name: " +
          Name("team/one@" + one) + "\n  - name: " + three + "\n  - name: " + Name("team/two@" + two) + "\n");

  // The tag moves: --check reports it and writes nothing; locking again follows it.
  std::string moved = Push("team/one", "v1", 3), before = TextOf("images.yaml.lock");
  ran = Lock({"--check", "images.yaml"});
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.err;
  EXPECT_HAS(ran.out, "~ " + Name("team/one:v1") + "  moved from " + one.substr(0, 19) + " to " +
                          moved.substr(0, 19) + "\n");
  EXPECT_EQ(TextOf("images.yaml.lock"), before);
  EXPECT_EQ(Lock({"images.yaml"}).exit, (rig::Exit{0, 0}));
  EXPECT_EQ(list::ReadLock(TextOf("images.yaml.lock"), "lock")->at(Name("team/one:v1")), moved);
}

// A registry that is played, on loopback, and a list of many of its tags.
class LockOfMany : public ListCommand {
 protected:
  void HasTags(int count) {
    std::string list;
    for (int i = 0; i < count; i++) {
      std::string tag = "v" + std::to_string(i);
      registry_.Put("team/app", tag);
      list += registry_.address() + "/team/app:" + tag + "\n";
    }
    scratch_.Write("many.txt", list);
  }
  rig::Ran Lock(const std::string& timeout) {
    return Run({"list", "lock", "--docker-config", "/dev/null", "--timeout", timeout, "many.txt"});
  }

  tests::FakeRegistry registry_;
};

TEST_F(LockOfMany, APersonNeedNotWaitAsANodeDoes) {
  HasTags(200);
  auto started = std::chrono::steady_clock::now();
  rig::Ran ran = Lock("60s");
  auto took = std::chrono::steady_clock::now() - started;
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.err;
  EXPECT_HAS(ran.out, "many.txt: 200 images locked");
  EXPECT_EQ(registry_.lines().size(), 400U) << "the digest of each tag, and its manifest";
  EXPECT_GE(took, std::chrono::milliseconds(2900)) << "100 requests at once, then 100 a second";
  EXPECT_LE(took, std::chrono::seconds(20)) << "an agent would take 38 s";
}

TEST_F(LockOfMany, ARegistryThatAsksForPatienceGetsIt) {
  HasTags(30);
  std::atomic<int> asked = 0;
  std::atomic<bool> patience = true;
  registry_.Answer([&](const tests::WireRequest&) -> std::optional<tests::FakeReply> {
    if (asked++ < 10 || !patience.exchange(false)) return std::nullopt;
    return tests::FakeReply{.status = 429, .headers = {{"Retry-After", "1"}}};
  });
  rig::Ran ran = Lock("60s");
  EXPECT_EQ(ran.exit, rig::Exit{}) << ran.out << ran.err;
  EXPECT_HAS(ran.out, "many.txt: 30 images locked");
  EXPECT_HAS(ran.err, registry_.address() + " limits requests: continuing in ");
  EXPECT_LE(asked, 70) << "nobody was asked meanwhile";
}

TEST_F(LockOfMany, PatienceBeyondTheTimeoutIsNotWaitedFor) {
  HasTags(3);
  registry_.Always({.status = 429, .headers = {{"Retry-After", "600"}}});
  auto started = std::chrono::steady_clock::now();
  rig::Ran ran = Lock("30s");
  EXPECT_LE(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
  EXPECT_EQ(ran.exit, (rig::Exit{4, 0})) << ran.out << ran.err;
  EXPECT_HAS(ran.err, registry_.address() + "/team/app:v0: RateLimited: ");
  EXPECT_TRUE(
      ran.err.ends_with("\n" + registry_.address() + ": 2 more of its images could not be asked for\n"))
      << ran.err;
}

TEST_F(ListLock, ATagThatIsNotThereIsANo) {
  Push("team/one", "v1", 1);
  scratch_.Write("images.txt", Name("team/one:v1") + "\n" + Name("team/one:v2") + "\n");
  rig::Ran ran = Lock({"images.txt"});
  EXPECT_EQ(ran.exit, (rig::Exit{1, 0})) << ran.out;
  EXPECT_HAS(ran.err, Name("team/one:v2") + ": TagMissing");
  EXPECT_EQ(TextOf("images.txt.lock"), "");  // whole or not at all
  EXPECT_LACKS(ran.err, "s3cr3t");
}

// "-" for standard input, wherever files are named.

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
TEST_TABLE_F(StdinCommand, IsRead, CommandFolder, StdinCase) {
  scratch_.Write("two.txt", "q.io/a:v1\nq.io/b:v1\n");
  scratch_.Write("pod.yaml",
                 "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, image: \"q.io/a:v1\"}]}\n");
  rig::Ran ran = Run(row.words, row.input);
  EXPECT_EQ(ran.exit, (rig::Exit{row.exit, 0})) << ran.out << ran.err;
  EXPECT_HAS(ran.out, row.out);
  EXPECT_HAS(ran.err, row.err);
  ExpectPlacesOrName(ran.err);
}

TEST_ROWS(
    All, StdinCommand, {"CheckYaml", {"list", "check", "-"}, kYaml, 0, "stdin: 2 entries, sha256:", ""},
    {"CheckPlain", {"list", "check", "-"}, kPlain, 0, "stdin: 2 entries, sha256:", ""},
    {"CheckJson", {"list", "check", "-"}, kJson, 0, "stdin: 2 entries, sha256:", ""},
    {"CheckNothing", {"list", "check", "-"}, "", 0, "stdin: 0 entries", "lists no images"},
    {"CheckDevStdin", {"list", "check", "/dev/stdin"}, kYaml, 0, "stdin: 2 entries, sha256:", ""},
    {"LockDevStdin", Words{"list", "lock", "/dev/stdin"}, kYaml, 2, "", "a lock is written beside its list"},
    {"Generate", Words{"generate", "--platform", "generic", "--list", "/dev/stdin", "--image", "q.io/p:1"},
     kPlain, 0, "  stdin.txt: |\n", ""},
    {"GenerateWithAMistake", Words{"generate", "--platform", "generic", "--list", "-", "--image", "q.io/p:1"},
     kYaml + "x: 1\n", 2, "", "stdin:7:1: x: "},
    {"CheckWithFiles", {"list", "check", "two.txt", "-"}, kYaml, 0, "two.txt: 2 entries", ""},
    {"CheckABadName", {"list", "check", "-"}, "q.io/A\n", 2, "", "stdin:1:1: "},
    {"CheckABadKey", {"list", "check", "-"}, kYaml + "x: 1\n", 2, "", "stdin:7:1: x: "},
    {"CheckNoText", {"list", "check", "-"}, "\xff\xfe", 2, "", "not text in UTF-8"},
    {"CheckTooMuch", {"list", "check", "-"}, std::string(2 << 20, '#'), 2, "", "stdin is longer than"},
    {"Print", {"list", "print", "-"}, kPlain, 0, "- image: q.io/a:v1\n", ""},
    {"Diff", Words{"list", "diff", "two.txt", "-"}, kYaml + "- image: q.io/c:v1\n", 1, "+ q.io/c:v1  stdin:7",
     ""},
    {"DiffOfItself", {"list", "diff", "-", "-"}, kYaml, 2, "", "standard input can be one thing only"},
    {"Import", {"list", "import", "--list", "-", "-o", "txt"}, kYaml, 0, "# stdin:5\nq.io/a:v1\n", ""},
    {"Lock", {"list", "lock", "-"}, kYaml, 2, "", "a lock is written beside its list"},
    {"LintList", {"lint", "-f", "pod.yaml", "--list", "-"}, kYaml, 0, "stdin:6:3", ""},
    {"LintListWithAnIgnore", Words{"lint", "-f", "pod.yaml", "--list", "-"},
     "q.io/a:v1\n# prefetchctl: ignore=PF102 for later\nq.io/b:v1\n", 0, "clean: 1 file", ""},
    {"LintBoth", Words{"lint", "-f", "-", "--list", "-"}, kYaml, 2, "",
     "standard input can be one thing only"},
    {"WaitList", {"wait", "--list", "-", "--timeout", "1s"}, "q.io/A\n", 2, "", "stdin:1:1: "},
    {"Allowlist", {"list", "export", "--for", "kubelet", "--list", "-"}, kPlain, 0, "q.io/a", ""},
    {"AuditPods", {"audit", "-f", "-", "--list", "two.txt"}, kPods, 1, "q.io/z:v1", ""},
    {"AuditNoPods", {"audit", "-f", "-", "--list", "two.txt"}, "no", 2, "", "prefetchctl: stdin: "});

// A list from a pipe has the same hash as its file.
TEST_F(CommandFolder, TheHashOfAListIsItsContents) {
  scratch_.Write("two.yaml", kYaml);
  std::string file = Run({"list", "print", "two.yaml", "-o", "hash"}).out;
  std::string piped = Run({"list", "print", "-", "-o", "hash"}, kPlain).out;
  EXPECT_EQ(piped.substr(0, 71), file.substr(0, 71));
  EXPECT_TRUE(piped.substr(71).starts_with("  (list)\n")) << piped;
  EXPECT_TRUE(piped.ends_with("  stdin\n")) << piped;
}

}  // namespace
}  // namespace prefetch::system::list_command_test
