// Manifests against the DaemonSet of an installation: both made here, by other options.
#include "deploy/installed.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "deploy/generate.h"
#include "deploy/kustomization.h"
#include "doc/node.h"

namespace prefetch::deploy::installed_test {
namespace {

const ListFile kList{"images.yaml", "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages: []\n"};
const ListFile kNewList{"images.yaml",
                        "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages: [{image: a.io/b}]\n"};

std::vector<doc::Node> Make(GenerateOptions options) {
  options.platform = "eks";
  if (options.lists.empty()) options.lists = {kList};
  auto made = Generate(EmbeddedFiles(), options);
  EXPECT_TRUE(made) << (made ? "" : made.error().message());
  return made ? std::move(made->documents) : std::vector<doc::Node>();
}

doc::Node DaemonSetOf(GenerateOptions options) {
  for (doc::Node& one : Make(std::move(options))) {
    if (doc::TextAt(one, {"kind"}) == "DaemonSet") return std::move(one);
  }
  return {};
}

using Words = std::vector<std::string>;

TEST(Installed, TheImageIsThatOfTheAgent) {
  EXPECT_EQ(ImageOfAgent(DaemonSetOf({.image = "r.io/prefetchd:1"})), "r.io/prefetchd:1");
  EXPECT_EQ(ImageOfAgent(doc::Node::Mapping()), "");
}

TEST(Installed, NothingIsTakenAwayByTheSameOptionsOrMore) {
  const GenerateOptions options{.components = {"node-gate", "fleet"}, .image = "r.io/prefetchd:1"};
  EXPECT_EQ(RemovedSettings(DaemonSetOf(options), Make(options), true), Words());
  EXPECT_EQ(RemovedSettings(DaemonSetOf({}), Make(options), true), Words());
  // A list's new text and a new image are why manifests are applied again.
  EXPECT_EQ(
      RemovedSettings(
          DaemonSetOf(options),
          Make({.components = {"node-gate", "fleet"}, .lists = {kNewList}, .image = "r.io/prefetchd:2"}),
          true),
      Words());
}

TEST(Installed, AllThatNewOptionsLackIsNamed) {
  const doc::Node runs =
      DaemonSetOf({.components = {"node-gate"},
                   .lists = {kList, {"team-b.txt", "q.io/a:v1\n"}},
                   .kubelet_version = "1.36",
                   .port = 9478,
                   .image_pull_secrets = {"registry"},
                   .mounted_pull_secrets = {"team-a"},
                   .nodes = {.selectors = {"pool=ci"}, .tolerations = {"dedicated"}, .control_plane = true},
                   .startup_taint_key = "example.com/cold"});
  const Words gone = RemovedSettings(runs, Make({}), true);
  EXPECT_EQ(gone,
            (Words{"--listen=[$(POD_IP)]:9478", "--node-condition", "--node-label", "--startup-taint",
                   "--startup-taint-key=example.com/cold", "the ConfigMap prefetchd-list-team-b",
                   "the Secret team-a", "the node selector pool=ci", "the pull secret registry",
                   "the toleration of dedicated", "the toleration of example.com/cold",
                   "the toleration of prefetchd.dev/not-ready", "the variable PREFETCHD_KUBELET_VERSION=1.36",
                   "the choice of nodes (--include-control-plane)"}));
}

TEST(Installed, AConfigurationIsTakenAwayUnlessANewOneIsGiven) {
  const std::string config =
      "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\ncheckPull: true\n";
  const doc::Node runs = DaemonSetOf({.agent_config = config});
  const Words gone = RemovedSettings(runs, Make({}), true);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_TRUE(gone[0].starts_with("the configuration in the ConfigMap prefetchd-agent-")) << gone[0];
  EXPECT_EQ(RemovedSettings(runs, Make({}), false), Words());
}

}  // namespace
}  // namespace prefetch::deploy::installed_test
