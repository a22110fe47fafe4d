#include "ctl/commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/fs.h"
#include "ctl/manifest_files.h"
#include "ctl/ran.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::ctl::generate_test {
namespace {

Ran Make(GenerateFlags flags) {
  flags.options.platform = "generic";
  flags.capabilities = kAllCapabilities;
  return tests::Run([&](auto& out, auto& err) { return Generate(flags, out, err); });
}

struct KeyCase {
  std::string name;
  std::string file, text;
  std::string key;  // in the ConfigMap
};

TEST_TABLE(Key, IsAListFilesNameWhateverTheFilesIs, KeyCase) {
  tests::TempDir dir;
  Ran ran = Make({.lists = {dir.Write(row.file, row.text)}});
  EXPECT_TRUE(Prints(ran, kOk, "\n  " + row.key + ": |\n"));
}

const std::string kYaml =
    "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n";

TEST_ROWS(Rows, Key, {"Plain", "images.txt", "q.io/a:v1\n", "images.txt"},
          {"Yaml", "images.yaml", kYaml, "images.yaml"},
          {"OtherContent", "images.yaml", "q.io/a:v1\n", "images.yaml"},
          {"Hidden", ".images", "q.io/a:v1\n", "images.txt"}, {"DotsOnly", "...", "q.io/a:v1\n", "list.txt"});

struct MistakeCase {
  std::string name;
  GenerateFlags flags;
};

TEST_TABLE(GenerateRefused, WithNothingOnStandardOutput, MistakeCase) {
  Ran ran = Make(row.flags);
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
}

TEST_ROWS(Rows, GenerateRefused, {"Image", {.options = {.image = "q.io/A"}}},
          {"Version", {.options = {.kubelet_version = "0.9"}}},
          {"Component", {.options = {.components = {"nothing"}}}},
          {"List", {.lists = {"/nowhere/images.txt"}}}, {"Folder", {.output = "/nowhere/deep/"}});

TEST(Generate, AFolderHasAFileForEachObjectInOrder) {
  tests::TempDir dir;
  Ran ran = Make({.output = dir / "out/"});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.out, "");
  std::vector<std::string> names = *base::ListDirectory(dir / "out", 100);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names.front(), "00-namespace-prefetchd.yaml");
  EXPECT_EQ(names.back().substr(2), "-daemonset-prefetchd.yaml");
}

TEST(Generate, AFolderThatLacksFilesIsToldSo) {
  tests::TempDir dir;
  dir.Write("out/02-serviceaccount-prefetchd.yaml/file", "");
  const Ran ran = Make({.output = dir / "out/"});
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, "02-serviceaccount-prefetchd.yaml: Is a directory: "));
  EXPECT_HAS(ran.err, "out/ has only 2 of ");
}

// Numbers and ConfigMaps' hashes differ between runs, and an old DaemonSet could be applied last.
TEST(Generate, AFolderWithFilesOfAnotherRunIsNoted) {
  tests::TempDir dir;
  const GenerateFlags flags{.output = dir / "out/"};
  EXPECT_EQ(Make(flags).exit, kOk);
  dir.Write("out/kustomization.yaml", "");
  EXPECT_LACKS(Make(flags).err, "is not from this run");
  dir.Write("out/16-daemonset-prefetchd.yaml", "");
  const Ran again = Make(flags);
  EXPECT_EQ(again.exit, kOk);
  EXPECT_HAS(again.err, "out/16-daemonset-prefetchd.yaml is not from this run");
  EXPECT_TRUE(base::ReadFile(dir / "out/16-daemonset-prefetchd.yaml", 1)) << "it may be another instance's";
}

TEST(Generate, AFileHasWhatStandardOutputHas) {
  tests::TempDir dir;
  EXPECT_EQ(Make({.output = dir / "all.yaml"}), (Ran{kOk, "", Make({}).err}));
  EXPECT_EQ(*base::ReadFile(dir / "all.yaml", 1 << 22), Make({}).out);
}

TEST(Generate, WritesIntoNoneOfItsInputs) {
  tests::TempDir dir;
  const std::string list = dir.Write("lists/images.txt", "q.io/a:v1\n"),
                    config = dir.Write("agent.yaml", "{}\n");
  const std::string folder = dir / "lists";
  const std::pair<std::string, std::string> rows[] = {
      {list, list},     {list, folder + "/../lists/images.txt"},
      {folder, list},   {folder, folder + "/new.yaml"},
      {folder, folder}, {folder, folder + "/"}};
  for (const auto& [input, output] : rows) {
    EXPECT_TRUE(
        OnlyComplains(Make({.lists = {input}, .output = output}), kBadInput, "into the input " + input));
    EXPECT_TRUE(OnlyComplains(tests::Run([&, &in = input, &to = output](auto& out, auto& err) {
                                return GenerateTouchDaemonSet({in}, {}, to, out, err);
                              }),
                              kBadInput, "into the input " + input));
  }
  EXPECT_TRUE(OnlyComplains(Make({.lists = {list}, .agent_config = config, .output = config}), kBadInput,
                            "into the input " + config));
  EXPECT_EQ(*base::ReadFile(list, 100), "q.io/a:v1\n");
  EXPECT_EQ(base::ListDirectory(folder, 100)->size(), 1U);
  EXPECT_EQ(Make({.lists = {list}, .output = folder + "/below/"}).exit, kOk);
}

TEST(Generate, NotesAKubeletThatIsNewerThanTheRules) {
  EXPECT_LACKS(Make({.options = {.kubelet_version = "1.36"}}).err, "is newer than the rules");
  Ran ran = Make({.options = {.kubelet_version = "1.99"}});
  EXPECT_TRUE(Complains(ran, kOk, "note: kubelet 1.99 is newer than the rules that this release knows"));
}

TEST(GenerateTouchDaemonSet, LeavesOutWhatMustNotBeTouched) {
  tests::TempDir dir;
  const std::string head = "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n";
  std::string list = dir.Write("images.yaml", head +
                                                  "- image: q.io/a:v1\n- {image: q.io/b:v1, open: Never}\n"
                                                  "- {image: q.io/c:v1, platforms: [linux/arm64]}\n");
  auto make = [](const std::vector<std::string>& lists) {
    return tests::Run([&](auto& out, auto& err) { return GenerateTouchDaemonSet(lists, {}, "", out, err); });
  };
  Ran ran = make({list});
  EXPECT_TRUE(Prints(ran, kOk, "q.io/a:v1"));
  EXPECT_LACKS(ran.out, "q.io/b:v1");
  EXPECT_LACKS(ran.out, "q.io/c:v1");
  EXPECT_HAS(ran.err, "note: q.io/c:v1 is left out: it is for some nodes only (platforms, nodeSelector)\n");
  EXPECT_EQ(make({}).exit, kBadInput);
  EXPECT_EQ(make({dir / "none.yaml"}).exit, kBadInput);
}

struct ConfigCase {
  std::string name;
  std::string text;  // of agent.yaml, below kind
  std::string error;
};

// Agents of these manifests would reject the configuration, for its values or for values beside the
// DaemonSet's flags. The error has prefetchd's own words.
TEST_TABLE(GenerateWithConfig, ThatPrefetchdRefuses, ConfigCase) {
  tests::TempDir dir;
  const std::string file = dir.Write(
      "my.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n" + row.text + "\n");
  Ran ran = Make({.lists = {dir.Write("images.txt", "q.io/a:v1\n")}, .agent_config = file});
  EXPECT_TRUE(OnlyComplains(ran, kBadInput, file + ": no agent would start: "));
  EXPECT_HAS(ran.err, row.error);
}

TEST_ROWS(Rows, GenerateWithConfig, {"OldKubelet", "kubeletVersion: '1.20'", "kubeletVersion: "},
          {"Listen", "gateTimeout: soon", "gateTimeout: must be a duration such as"},
          {"NoKubelet", "kubelet: none",
           "--kubelet-proc: needs a kubelet, and --kubelet=none declares that there is none"},
          {"OfKubeletsApi", "kubeletAddress: 10.0.0.7:10250",
           "kubeletAddress: has a meaning only with --kubelet-api"},
          {"AllAtOnce", "registry: sometimes\nlogLevel: loud", "registry: must be auto, pull or none\n"});

const std::string kPullSecretYaml =
    "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\npullSecrets:\n- name: team-a\n"
    "  path: /etc/prefetchd/secrets/team-a\n  allowRepositories: [q.io/a]\n  sources: [images.txt]\n";

TEST(GeneratePullSecret, IsMountedWhereTheConfigurationDeclaresIt) {
  tests::TempDir dir;
  GenerateFlags flags{.lists = {dir.Write("images.txt", "q.io/a:v1\n")},
                      .agent_config = dir.Write("agent.yaml", kPullSecretYaml)};
  EXPECT_TRUE(Complains(Make(flags), kOk, "nothing is mounted at /etc/prefetchd/secrets/team-a"));

  flags.options.mounted_pull_secrets = {"team-a"};
  Ran ran = Make(flags);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_HAS(ran.out,
             "- name: pull-secret-team-a\n          mountPath: /etc/prefetchd/secrets/team-a\n"
             "          readOnly: true\n");
  EXPECT_HAS(ran.out, "- name: pull-secret-team-a\n        secret:\n          secretName: team-a\n");
  EXPECT_HAS(ran.err, "usable by every pod of the node");
  EXPECT_LACKS(ran.err, "nothing is mounted");

  flags.agent_config.clear();
  Ran undeclared = Make(flags);
  EXPECT_TRUE(
      Complains(undeclared, kBadInput, "no entry of pullSecrets has the path /etc/prefetchd/secrets/team-a"));
  flags.options.mounted_pull_secrets = {"Team_A"};
  EXPECT_EQ(Make(flags).exit, kBadInput);
}

// Spellings for the admission policy of components/policy.

const std::string kDigest = "@sha256:" + std::string(64, '1');

struct AlikeCase {
  std::string name, written;
  std::set<std::string> expect;
};

TEST_TABLE(Alike, IsWhatKubeletMakesTheSameOf, AlikeCase) {
  std::set<std::string> spellings;
  AddSpellings(*image::Reference::Parse(row.written), spellings);
  EXPECT_EQ(spellings, row.expect);
}

TEST_ROWS(Rows, Alike, {"Tag", "q.io/a:v1", {"q.io/a:v1"}}, {"NoTag", "nginx", {"nginx", "nginx:latest"}},
          {"Latest", "nginx:latest", {"nginx", "nginx:latest"}},
          {"Port", "localhost:5000/a", {"localhost:5000/a", "localhost:5000/a:latest"}},
          {"Digest", "q.io/a" + kDigest, {"q.io/a" + kDigest}},
          {"LatestAndDigest", "q.io/a:latest" + kDigest, {"q.io/a:latest" + kDigest}});

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
  EXPECT_TRUE(Complains(ran, kBadInput,
                        "the policy takes up to 10000 spellings of images and 1 MiB, not 10002 spellings"));
}

}  // namespace
}  // namespace prefetch::ctl::generate_test
