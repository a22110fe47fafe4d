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
