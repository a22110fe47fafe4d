// The suite on the real programs of one folder. PREFETCH_CLUSTER_BIN names it.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cluster/programs.h"
#include "cluster/real_node.h"
#include "cluster/world.h"

namespace prefetch::cluster {
namespace {

constexpr int kNoPrograms = 2;

class ControlPlaneOfAll : public testing::Environment {
 public:
  void TearDown() override { EndSharedControlPlane(); }
};

void LeaveOut(const std::string& tests, const char* why) {
  std::printf("%s: its tests are left out\n", why);
  const std::string filter = GTEST_FLAG_GET(filter);
  GTEST_FLAG_SET(filter, filter + (filter.find('-') == std::string::npos ? "-" : ":") + tests);
}

int RunTests(int argc, char** argv) {
  std::printf("%s\n", Versions().c_str());
  testing::InitGoogleTest(&argc, argv);
  // Leaves out tests that need a program which is not in the folder.
  if (PathOf("crio").empty()) LeaveOut("*Crio*:*/crio:*/openshift", "no crio");
  if (OlderKubelet().empty()) LeaveOut("*AnUpgradeOfKubelet*", "no older kubelet");
  testing::AddGlobalTestEnvironment(new ControlPlaneOfAll);
  return RUN_ALL_TESTS();
}

// A node with an agent that has one image, until somebody ends it.
int KeepRunning() {
  ControlPlane* control_plane = SharedControlPlane();
  if (control_plane == nullptr) return 1;
  RealNode node(*control_plane);
  node.node().HasList({node.PushPause("tools/pause")});
  node.StartAgent();
  const std::string enter = "nsenter --target " + PidOfWorld() + " --mount --net --pid -- ";
  const std::string folder = node.node().scratch().path();
  std::printf("Up: %s\nLook around from another terminal:\n", Versions().c_str());
  std::printf("  %s%s --kubeconfig %s get nodes,pods -A\n", enter.c_str(), PathOf("kubectl").c_str(),
              control_plane->Kubeconfig("admin").c_str());
  std::printf("  %s%s status --agent unix://%s/agent.sock\n", enter.c_str(), std::getenv("PREFETCHCTL"),
              folder.c_str());
  std::printf("  %s%s --address %s --namespace k8s.io images ls\n", enter.c_str(), PathOf("ctr").c_str(),
              node.node().containerd().socket().c_str());
  std::printf("Logs, configuration and kubelet's root: %s\nCtrl-C takes everything away.\n", folder.c_str());
  std::fflush(stdout);
  for (;;) ::pause();
}

int Main(int argc, char** argv) {
  const char* folder = std::getenv("PREFETCH_CLUSTER_BIN");
  if (folder == nullptr) {
    std::fprintf(stderr, "PREFETCH_CLUSTER_BIN must name a folder of programs: see tests/README.md\n");
    return kNoPrograms;
  }
  auto missing = MissingPrograms(folder);
  for (const MissingProgram& program : missing)
    std::fprintf(stderr, "%s has no %s: %s\n", folder, program.name.c_str(), program.where.c_str());
  if (!missing.empty()) return kNoPrograms;
  UseFolder(folder);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--programs") {
    std::printf("%s\n", Versions().c_str());
    return 0;
  }
  if (mode == "--keep") return RunInWorld(KeepRunning);
  return RunInWorld([&] { return RunTests(argc, argv); });
}

}  // namespace
}  // namespace prefetch::cluster

int main(int argc, char** argv) {
  return prefetch::cluster::Main(argc, argv);
}
