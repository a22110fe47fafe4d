#include "deploy/generate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "deploy/kustomization.h"
#include "doc/node.h"
#include "must.h"

namespace prefetch::deploy::touch_daemon_set_test {
namespace {

std::vector<std::string> Images(std::size_t n) {
  std::vector<std::string> images;
  for (std::size_t i = 0; i < n; i++) images.push_back("r.io/a" + std::to_string(i) + ":v1");
  return images;
}

std::vector<doc::Node> DaemonSets(const Generated& generated) {
  std::vector<doc::Node> found;
  for (const doc::Node& document : generated.documents) {
    if (TextAt(document, {"kind"}) == "DaemonSet") found.push_back(document);
  }
  return found;
}

TEST(TouchDaemonSets, TwentyImagesEachInTheListsOrder) {
  auto generated = tests::Must(GenerateTouchDaemonSets(EmbeddedFiles(), Images(45)));
  std::vector<doc::Node> sets = DaemonSets(*generated);
  ASSERT_EQ(sets.size(), 3U);
  std::size_t seen = 0;
  for (std::size_t i = 0; i < sets.size(); i++) {
    std::string name = "prefetchd-touch-" + std::to_string(i);
    EXPECT_EQ(TextAt(sets[i], {"metadata", "name"}), name);
    EXPECT_EQ(TextAt(sets[i], {"metadata", "namespace"}), "prefetchd-touch");
    const char* kKey = "app.kubernetes.io/instance";
    EXPECT_EQ(TextAt(sets[i], {"spec", "selector", "matchLabels", kKey}), name)
        << "else one would take over the other's pods";
    EXPECT_EQ(TextAt(sets[i], {"spec", "template", "metadata", "labels", kKey}), name);
    const doc::Node* containers = ValueAt(sets[i], {"spec", "template", "spec", "containers"});
    ASSERT_NE(containers, nullptr);
    EXPECT_LE(containers->items.size(), 20U);
    for (const doc::Node& container : containers->items) {
      EXPECT_EQ(TextAt(container, {"image"}), "r.io/a" + std::to_string(seen++) + ":v1");
      EXPECT_EQ(TextAt(container, {"imagePullPolicy"}), "IfNotPresent");
    }
  }
  EXPECT_EQ(seen, 45U);
  EXPECT_EQ(TextAt(generated->documents.front(), {"kind"}), "Namespace") << "in the order of creation";
  EXPECT_EQ(generated->notes.size(), 1U) << "what it grants is said";
}

const NodeChoice kControlPlanes{.selectors = {"node-role.kubernetes.io/control-plane=true"}};

// How many notes say that no node is left.
std::size_t NotesOnControlPlanes(const std::vector<std::string>& notes) {
  return static_cast<std::size_t>(std::count_if(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("only with --include-control-plane") != std::string::npos;
  }));
}

TEST(TouchDaemonSets, ASelectorOfControlPlanesNeedsThemIncluded) {
  auto without = tests::Must(GenerateTouchDaemonSets(EmbeddedFiles(), Images(1), kControlPlanes));
  EXPECT_EQ(NotesOnControlPlanes(without->notes), 1U);
  NodeChoice included = kControlPlanes;
  included.control_plane = true;
  auto with = tests::Must(GenerateTouchDaemonSets(EmbeddedFiles(), Images(1), included));
  EXPECT_EQ(NotesOnControlPlanes(with->notes), 0U);
}

// The overlays kind and k3s include control planes by themselves.
TEST(Generate, OnlyWhereControlPlanesAreLeftOutIsASelectorOfThemNoted) {
  for (const std::string& platform : Platforms(EmbeddedFiles())) {
    auto generated =
        tests::Must(Generate(EmbeddedFiles(), {.platform = platform,
                                               .lists = {{.name = "images.txt", .text = "r.io/a:v1\n"}},
                                               .nodes = kControlPlanes}));
    EXPECT_EQ(NotesOnControlPlanes(generated->notes), platform == "kind" || platform == "k3s" ? 0U : 1U)
        << platform;
  }
}

TEST(TouchDaemonSets, NoRightsComeAlong) {
  auto generated = tests::Must(GenerateTouchDaemonSets(EmbeddedFiles(), Images(1)));
  for (const doc::Node& document : generated->documents) {
    EXPECT_EQ(TextAt(document, {"kind"}).find("Role"), std::string::npos);
  }
}

TEST(TouchDaemonSets, NothingAndTooMuchAreRefused) {
  EXPECT_FALSE(GenerateTouchDaemonSets(EmbeddedFiles(), {}));
  EXPECT_TRUE(GenerateTouchDaemonSets(EmbeddedFiles(), Images(2000)));
  const auto error = tests::MustFail(GenerateTouchDaemonSets(EmbeddedFiles(), Images(2001)));
  EXPECT_NE(error.message().find("--touch"), std::string::npos);
}

}  // namespace
}  // namespace prefetch::deploy::touch_daemon_set_test
