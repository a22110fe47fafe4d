// Suites of tests/system on the CRI-O of the folder that PREFETCH_CLUSTER_BIN names.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "cluster/crio.h"
#include "cluster/programs.h"
#include "cluster/world.h"

namespace prefetch::cluster {
namespace {

int Main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* folder = std::getenv("PREFETCH_CLUSTER_BIN");
  if (folder == nullptr) {
    std::fprintf(stderr, "PREFETCH_CLUSTER_BIN must name a folder of programs: see tests/README.md\n");
    return 2;
  }
  UseFolder(folder);
  if (PathOf("crio").empty()) {
    std::printf("no crio: its tests are left out\n");
    GTEST_FLAG_SET(filter, "-*");
    return RUN_ALL_TESTS();
  }
  const OnCrio on_crio;
  return RunInWorld([] { return RUN_ALL_TESTS(); });
}

}  // namespace
}  // namespace prefetch::cluster

int main(int argc, char** argv) {
  return prefetch::cluster::Main(argc, argv);
}
