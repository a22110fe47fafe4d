// `prefetchctl plan` against a registry on loopback, and without one.
#include "ctl/fleet_plan.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "ctl/exit_code.h"
#include "ctl/ran.h"
#include "fakes/fake_registry.h"
#include "temp_dir.h"

namespace prefetch::ctl::fleet_plan_test {
namespace {

using tests::Ran;

Ran Plan(const PlanOptions& options) {
  const config::GetEnv nothing = [](const char*) -> const char* { return nullptr; };
  return tests::Run([&](auto& out, auto& err) { return PlanFleet({}, options, nothing, out, err); });
}

TEST(FleetPlan, OneSizeForEachImageNeedsNoRegistry) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.yaml",
                                     "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
                                     "- image: docker.io/library/nginx:1.27\n  priority: 10\n"
                                     "- image: q.io/a:v1\n- image: q.io/b:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 300, .registry_rate = 1000, .image_size = 400});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_EQ(ran.out,
            R"(3 images, 1.2 GB for each node; 300 nodes, 360 GB in all

REGISTRY   IMAGES  A NODE  ALL NODES  PULLS  REQUESTS
docker.io  1       400 MB  120 GB     300    3300
q.io       2       800 MB  240 GB     600    6600

PRIORITY  IMAGES  A NODE  ON A NODE AFTER  ON ALL NODES AFTER
10        1       400 MB  4 s              2 min
0         2       800 MB  12 s             6 min

By a rollout of the DaemonSet: 10 waves of 30 nodes, 36 s each, 6 min in all

START JITTER  IN THE FIRST SECOND  REQUESTS/S THEN  ALL NODES READY AFTER
0 s           2700                 28               6 min
60 s          45                   28               6 min
10 min        9                    16               10 min
60 min        9                    3                60 min
)");
  EXPECT_TRUE(ran.err.starts_with("warning: docker.io: 300 pulls, and Docker Hub allows 100 in 6 h")) << ran;
}

TEST(FleetPlan, AWindowThatIsTooShortIsAWarning) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.yaml",
                                     "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
                                     "- image: q.io/a:v1\n  pullWindow: {start: '22:00', end: '22:05'}\n"
                                     "- image: q.io/b:v1\n");
  PlanOptions options{.lists = {list}, .nodes = 300, .registry_rate = 1000, .image_size = 400};
  Ran ran = Plan(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find("\nPULLWINDOW          IMAGES  A NODE  OPEN FOR  ON ALL NODES AFTER\n"
                         "22:00 to 22:05 UTC  1       400 MB  5 min     2 min\n\n"),
            std::string::npos)
      << ran;
  EXPECT_EQ(ran.err, "");
  options.nodes = 900;
  options.json = true;
  ran = Plan(options);
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find(R"("windows":[{"pullWindow":"22:00 to 22:05 UTC","images":1,"nodeBytes":400000000,)"
                         R"("openSeconds":300,"fleetSeconds":360}])"),
            std::string::npos)
      << ran;
  EXPECT_TRUE(ran.err.starts_with("warning: pullWindow 22:00 to 22:05 UTC: 1 image needs 6 min")) << ran;
}

tests::FakeManifest ImageManifest(const std::string& layer, int bytes) {
  return {
      .content_type = "application/vnd.oci.image.manifest.v1+json",
      .body = R"({"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"digest":"sha256:c)" +
              layer + R"(","size":1000000},"layers":[{"digest":"sha256:)" + layer + R"(","size":)" +
              std::to_string(bytes) + "}]}"};
}

TEST(FleetPlan, RegistriesTellTheSizes) {
  tests::FakeRegistry registry;
  registry.Put("team/a", "v1", ImageManifest("a", 99000000));
  registry.Put("team/b", "v1", ImageManifest("b", 49000000));
  tests::TempDir dir;
  const std::string name = registry.address() + "/team/";
  const std::string list = dir.Write("images.txt", name + "a:v1\n" + name + "b:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 2, .json = true});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find(R"("nodeBytes":150000000)"), std::string::npos) << ran;
  EXPECT_NE(ran.out.find(R"("pulls":4,"requests":16)"), std::string::npos) << ran;
  dir.Write("images.txt", name + "a:v1\n" + name + "gone:v1\n");
  ran = Plan({.lists = {list}, .nodes = 2});
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_TRUE(ran.out.starts_with("2 images, 100 MB for each node; 2 nodes, 200 MB in all\n")) << ran;
  EXPECT_NE(ran.err.find(name + "gone:v1 counts with size 0: "), std::string::npos) << ran;
}

TEST(FleetPlan, ThePlatformChoosesTheManifest) {
  tests::FakeRegistry registry;
  const std::string amd = registry.Put("a", "amd64", ImageManifest("x", 99000000));
  const std::string arm = registry.Put("a", "arm64", ImageManifest("y", 49000000));
  const auto listed = [](const std::string& digest, const char* architecture) {
    return R"({"digest":")" + digest + R"(","platform":{"os":"linux","architecture":")" + architecture +
           "\"}}";
  };
  registry.Put("a", "v1",
               {.body = R"({"schemaVersion":2,"manifests":[)" + listed(amd, "amd64") + "," +
                        listed(arm, "arm64") + "]}"});
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", registry.address() + "/a:v1\n");
  for (const auto& [platform, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {"linux/amd64", R"("nodeBytes":100000000)"}, {"linux/arm64", R"("nodeBytes":50000000)"}}) {
    Ran ran = Plan({.lists = {list}, .nodes = 1, .platform = platform, .json = true});
    EXPECT_EQ(ran.exit, kOk) << ran;
    EXPECT_NE(ran.out.find(says), std::string::npos) << ran;
  }
}

TEST(FleetPlan, AManifestThatCannotBeReadIsNamed) {
  tests::FakeRegistry registry;
  tests::TempDir dir;
  const std::string name = registry.address() + "/a:v1";
  const std::string list = dir.Write("images.txt", name + "\n");
  // The second size is larger than any blob.
  for (const char* body : {R"({"layers":[]})", R"({"config":{"digest":"sha256:c","size":9223372036854775807},
                                               "layers":[]})"}) {
    registry.Put("a", "v1", {.content_type = "application/vnd.oci.image.manifest.v1+json", .body = body});
    Ran ran = Plan({.lists = {list}, .nodes = 2});
    EXPECT_EQ(ran.exit, kNegative) << ran;
    EXPECT_NE(ran.err.find(name + " counts with size 0: its manifest cannot be read\n"), std::string::npos)
        << ran;
  }
}

TEST(FleetPlan, ARegistryThatAsksForPatienceGetsItWithinTheTimeout) {
  tests::FakeRegistry registry;
  registry.Put("a", "v1", ImageManifest("x", 99000000));
  std::atomic<const char*> wait = "1";
  registry.Answer([&](const tests::WireRequest&) -> std::optional<tests::FakeReply> {
    const char* once = wait.exchange(nullptr);
    if (once == nullptr) return std::nullopt;
    return tests::FakeReply{.status = 429, .headers = {{"Retry-After", once}}};
  });
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", registry.address() + "/a:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 1});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.err.find(" limits requests: continuing in 1 s"), std::string::npos) << ran;
  wait = "3600";
  ran = Plan({.lists = {list}, .nodes = 1});
  EXPECT_EQ(ran.exit, kNegative) << ran;
  EXPECT_NE(ran.err.find("/a:v1 counts with size 0: "), std::string::npos) << ran;
}

TEST(FleetPlan, SizesBeyondAllDisksStayTheLargestNumber) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", "q.io/a:v1\nq.io/b:v1\n");
  Ran ran = Plan({.lists = {list}, .nodes = 100000, .image_size = 10'000'000'000'000'000, .json = true});
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_NE(ran.out.find(R"("nodeBytes":9223372036854775807)"), std::string::npos) << ran;
  EXPECT_EQ(ran.out.find(":-"), std::string::npos) << ran;
}

TEST(FleetPlan, BadInputIsNamed) {
  tests::TempDir dir;
  const std::string list = dir.Write("images.txt", "q.io/a:v1\n");
  for (const auto& [options, says] : std::initializer_list<std::pair<PlanOptions, const char*>>{
           {{.lists = {list}}, "--nodes must be a number from 1"},
           {{.lists = {list}, .nodes = 1, .node_rate = 0}, "--node-rate"},
           {{.lists = {list}, .nodes = 1, .start_jitter = "-1s"}, "--start-jitter must be"},
           {{.lists = {list}, .nodes = 1, .platform = "linux"}, "--platform: "},
           {{.lists = {dir / "none.yaml"}, .nodes = 1}, "none.yaml"}}) {
    Ran ran = Plan(options);
    EXPECT_EQ(ran.exit, kBadInput) << ran;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran;
  }
}

}  // namespace
}  // namespace prefetch::ctl::fleet_plan_test
