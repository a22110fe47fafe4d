#include "deploy/build.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "deploy/objects.h"
#include "doc/write.h"
#include "rows.h"

namespace prefetch::deploy::build_test {
namespace {

const std::string kHead = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

// A kustomization that says what is not understood here is refused, never rendered as something else.
struct RefusedCase {
  std::string name, kustomization, error;
};

TEST_TABLE(RefusedTest, IsRefused, RefusedCase) {
  std::string text = kHead + row.kustomization;
  Files files = {{"a/kustomization.yaml", text}, {"a/x.yaml", "kind: Service\nmetadata: {name: x}\n"}};
  auto built = Build(files, {.resources = {"a"}});
  ASSERT_FALSE(built);
  EXPECT_NE(built.error().message().find(row.error), std::string::npos) << built.error().message();
}

TEST_ROWS(Refused, RefusedTest, {"UnknownField", "replicas: []\n", "a/kustomization.yaml:3:1"},
          {"UnknownOption", "configMapGenerator:\n- name: m\n  envs: [x]\n", "envs"},
          {"LabelsWithoutSelectors", "labels:\n- pairs: {a: b}\n", "includeSelectors"},
          {"FileThatIsMissing", "resources: [y.yaml]\n", "a/y.yaml: there is no such file"},
          {"FolderThatIsMissing", "resources: [../b]\n", "b/kustomization.yaml: there is no such file"},
          {"FolderInItself", "resources: [../a]\n", "too deep"},
          {"PatchOfNothing", "resources: [x.yaml]\npatches:\n- patch: 'kind: Service'\n  target: {name: z}\n",
           "no object to change"},
          {"PatchThatCannotBeDone",
           "resources: [x.yaml]\npatches:\n- patch: '[{op: remove, path: /spec}]'\n  target: {name: x}\n",
           "cannot remove spec"},
          {"MergeOfNothing", "configMapGenerator:\n- name: m\n  behavior: merge\n", "no ConfigMap m"});

TEST(ConfigMapHash, IsKustomizes) {
  // As kustomize 5.6 renders a ConfigMap of this one file: prefetchd-list-team-b-bf6md55fhh.
  doc::Node map = MakeConfigMap("prefetchd-list-team-b", {{"Team_B.txt", "# plain\nghcr.io/acme/tool:v2\n"}});
  EXPECT_EQ(ConfigMapHash(map), "bf6md55fhh");
  EXPECT_EQ(WithoutHash("prefetchd-list-team-b-bf6md55fhh"), "prefetchd-list-team-b");
  EXPECT_EQ(WithoutHash("prefetchd-list-team-a6md5f0hhh"), "prefetchd-list-team-a6md5f0hhh");
}

TEST(ConfigMapHash, ChangesWithEachPart) {
  std::string hash = ConfigMapHash(MakeConfigMap("a", {{"k", "v"}}));
  EXPECT_NE(ConfigMapHash(MakeConfigMap("a", {{"k", "w"}})), hash);
  EXPECT_NE(ConfigMapHash(MakeConfigMap("a", {{"l", "v"}})), hash);
  EXPECT_NE(ConfigMapHash(MakeConfigMap("a", {{"k", "v"}, {"l", ""}})), hash);
}

TEST(Generate, APreflightsPortFollowsTheAgentsAndOpenShiftAllowsIt) {
  GenerateOptions options{
      .platform = "openshift", .components = {"preflight"}, .lists = {{"x.txt", ""}}, .port = 9999};
  auto generated = Generate(EmbeddedFiles(), options);
  ASSERT_TRUE(generated);
  std::string text;
  for (const doc::Node& document : generated->documents) text += doc::WriteJson(document);
  EXPECT_NE(text.find("\"hostPort\":9999"), std::string::npos);
  EXPECT_NE(text.find("\"allowHostPorts\":true"), std::string::npos);
}

TEST(Generate, AnOptionAtItsLimit) {
  GenerateOptions options{.platform = "generic",
                          .lists = {{"x.txt", std::string(kMostConfigMapBytes - 5, 'x')}}};
  EXPECT_TRUE(Generate(EmbeddedFiles(), options));
  options.lists[0].text += "x";
  EXPECT_FALSE(Generate(EmbeddedFiles(), options));
  options.lists[0].text = "";
  options.instance = std::string(40, 'a');
  EXPECT_TRUE(Generate(EmbeddedFiles(), options));
  options.instance += "a";
  EXPECT_FALSE(Generate(EmbeddedFiles(), options));
}

TEST(Generate, NoAgentsAccountIsNamedLikeThatOfTheComponentFleet) {
  for (const char* name : {"fleet", "fleet-ci"}) {
    auto generated = Generate(EmbeddedFiles(), {.platform = "generic", .instance = name});
    ASSERT_FALSE(generated) << name;
    EXPECT_NE(generated.error().message().find("choose another name"), std::string::npos);
  }
  EXPECT_TRUE(Generate(EmbeddedFiles(), {.platform = "generic", .instance = "fleets"}));
}

TEST(Generate, AnInstanceInANamespaceOfOthersIsNoted) {
  const auto notes = [](const char* name_space) {
    auto made =
        Generate(EmbeddedFiles(), {.platform = "generic", .instance = "ci", .name_space = name_space});
    return made ? base::Join(made->notes, "\n") : made.error().message();
  };
  EXPECT_NE(notes("prefetchd").find("in the namespace prefetchd, commands with --fleet"), std::string::npos);
  EXPECT_EQ(notes("images-of-ci"), notes(""));
}

TEST(Generate, ListsOfOneStemAreConfigMapsOfTheirOwn) {
  GenerateOptions options{.platform = "generic",
                          .lists = {{"a.txt", ""},
                                    {"b.txt", ""},
                                    {"B.yaml", ""},
                                    {"-.txt", ""},
                                    {"images-of-the-nightly-build-for-android_arm64.txt", ""}}};
  auto generated = Generate(EmbeddedFiles(), options);
  ASSERT_TRUE(generated);
  std::string text;
  for (const doc::Node& document : generated->documents) text += doc::WriteJson(document);
  for (const char* name : {"\"prefetchd-list-b-", "\"prefetchd-list-b-2-", "\"prefetchd-list-list-",
                           "\"prefetchd-list-images-of-the-nightly-build-for-android-"}) {
    EXPECT_NE(text.find(name), std::string::npos) << name;
  }
  // The API server takes no name with a dash at its end, as live-reload's would be.
  EXPECT_EQ(text.find("android--"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::deploy::build_test
