#include <gtest/gtest.h>

#include <string>

#include "ctl/exit_code.h"
#include "ctl/fake_agent.h"
#include "ctl/list.h"
#include "ctl/ran.h"
#include "temp_dir.h"

namespace prefetch::ctl::list_import_test {
namespace {

using tests::Ran;

const char kPod[] = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: c, image: \"q.io/a:v1\"}\n";

Ran Import(const ListImportOptions& options, tests::FakeAgent* agent = nullptr) {
  return tests::Run([&](auto& out, auto& err) {
    if (agent == nullptr) return ImportList({}, nullptr, nullptr, options, out, err);
    AgentClient client = agent->Client();
    return ImportList({}, &client, nullptr, options, out, err);
  });
}

TEST(ListImport, EachImageOnceWithAllItsPlaces) {
  tests::TempDir dir;
  const std::string pod = dir.Write("pod.yaml", kPod), list = dir.Write("a.txt", "q.io/b:v1\nq.io/a:v1\n");
  Ran ran = Import({.manifests = {pod}, .lists = {list}, .output = list::DraftOutput::kText});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.out, "# " + pod + ":5, a.txt:2\nq.io/a:v1\n# a.txt:1\nq.io/b:v1\n");
}

TEST(ListImport, LeavesOutWhatAPatternMatches) {
  tests::TempDir dir;
  ListImportOptions options{.lists = {dir.Write("a.txt", "nginx:1\nq.io/b:v1\n")},
                            .exclude = {"docker.io/*"},
                            .output = list::DraftOutput::kText};
  Ran ran = Import(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.out.find("nginx"), std::string::npos) << "patterns are for normalised names";
  EXPECT_NE(ran.out.find("q.io/b:v1\n"), std::string::npos);
}

TEST(ListImport, AnImageListAmongManifestsIsNotPassedOverInSilence) {
  tests::TempDir dir;
  const std::string list = dir.Write(
      "images.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: q.io/a:v1\n");
  for (const Ran& ran : {Import({.manifests = {list}}), Import({.foreign = {list}})}) {
    EXPECT_EQ(ran.exit, kBadInput) << ran;
    EXPECT_NE(ran.err.find("images.yaml is an image list: --list imports it\n"), std::string::npos) << ran;
  }
  const Ran beside = Import({.manifests = {list, dir.Write("pod.yaml", kPod)}});
  EXPECT_EQ(beside.exit, kOk) << beside;
  EXPECT_NE(beside.err.find("--list imports it"), std::string::npos) << beside;
}

TEST(ListImport, AnEmptyListIsNoResult) {
  tests::TempDir dir;
  const std::string farm = dir.Write("farm.yaml", "apiVersion: acme.io/v1\nkind: Farm\nspec: {size: 3}\n");
  const std::string list = dir.Write("a.txt", "q.io/b:v1\n");
  for (const Ran& ran : {Import({.manifests = {farm}}), Import({.lists = {list}, .exclude = {"q.io/*"}})}) {
    EXPECT_EQ(ran.exit, kBadInput) << ran;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find("no image was found, and an empty list makes every node ready"), std::string::npos)
        << ran;
  }
}

// As `kubectl get -o yaml` of many objects: longer than one document may be.
TEST(ListImport, AnotherToolsOutputMayBeLongerThanAnyDocument) {
  tests::TempDir dir;
  std::string text = "---\n" + std::string(kPod);
  for (int i = 0; i < 12; i++) text += "---\n" + std::string(1 << 20, '#') + "\n";
  text += "---\napiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {name: c, image: \"q.io/last:v1\"}\n";
  Ran ran = Import({.foreign = {dir.Write("all.yaml", text)}, .output = list::DraftOutput::kText});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find("\nq.io/a:v1\n"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("\nq.io/last:v1\n"), std::string::npos) << ran;
}

TEST(ListImport, WhatCrictlAndMarkersSay) {
  tests::TempDir dir;
  ListImportOptions options{
      .crictl = {dir.Write("images.json", R"({"images":[{"id":"x","repoTags":["q.io/c:v1"]}]})")},
      .markers = {"# prefetch"},
      .marked = {dir.Write("Dockerfile", "FROM q.io/d:v1 # prefetch\nFROM q.io/e:v1\n")},
      .output = list::DraftOutput::kText};
  Ran ran = Import(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find("q.io/c:v1\n"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find("q.io/d:v1\n"), std::string::npos) << ran;
  EXPECT_EQ(ran.out.find("q.io/e:v1"), std::string::npos) << ran;
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
                            .output = list::DraftOutput::kText};
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
  const std::string unread = manifest +
                             ":24:1: Runner shop may run pods, and no image of it was found here "
                             "(Runner.acme.example)";
  EXPECT_EQ(Import({.foreign = {manifest, other}, .output = list::DraftOutput::kText}),
            (Ran{kOk,
                 "# Not in this list:\n# " + unread + "\n# " + manifest + ":20\nq.io/db:17\n# " + other +
                     ":12\nq.io/wget:1\n",
                 unread + "\n"}));
}

TEST(ListImport, WhatANodeHas) {
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, tests::kTwoImages);
  EXPECT_EQ(Import({.output = list::DraftOutput::kText}, &agent),
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
  EXPECT_EQ(ran.exit, kBadInput);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("none.yaml: there is no such file or folder"), std::string::npos) << ran;
  EXPECT_NE(ran.err.find("images.json:1:1: images: is required"), std::string::npos) << ran;
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

TEST(ListImport, AStopIsNoResult) {
  std::stop_source stop;
  stop.request_stop();
  base::Call call;
  call.stop = stop.get_token();
  EXPECT_EQ(
      tests::Run([&](auto& out, auto& err) { return ImportList(call, nullptr, nullptr, {}, out, err); }),
      (Ran{kInterrupted, "", ""}));
}

}  // namespace
}  // namespace prefetch::ctl::list_import_test
