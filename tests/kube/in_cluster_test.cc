#include "kube/cluster.h"

#include <gtest/gtest.h>

#include <map>

#include "temp_dir.h"

namespace prefetch::kube::in_cluster_test {
namespace {

struct InClusterCase {
  std::string name;
  std::map<std::string, std::string> environment;
  std::vector<std::string> files;
  std::string server;   // or
  std::string problem;  // what the error says
};
class InClusterTest : public testing::TestWithParam<InClusterCase> {};
TEST_P(InClusterTest, IsFoundOrExplained) {
  tests::TempDir dir;
  for (const std::string& file : GetParam().files) dir.Write(file, file + "\n");
  auto get_env = [](const std::string& name) -> std::optional<std::string> {
    auto found = GetParam().environment.find(name);
    return found == GetParam().environment.end() ? std::nullopt : std::optional(found->second);
  };
  auto cluster = InCluster(get_env, dir.path());
  if (!cluster) {
    ASSERT_FALSE(GetParam().problem.empty()) << cluster.error().message();
    EXPECT_NE(cluster.error().message().find(GetParam().problem), std::string::npos)
        << cluster.error().message();
    return;
  }
  EXPECT_EQ(cluster->server, GetParam().server);
  EXPECT_EQ(cluster->token_file, dir / "token");
  EXPECT_EQ(cluster->ca_file, dir / "ca.crt");
  EXPECT_EQ(cluster->name_space, GetParam().files.size() == 3 ? "namespace" : "");
  EXPECT_TRUE(cluster->verify);
}

const std::vector<std::string> kAll = {"token", "ca.crt", "namespace"};
std::map<std::string, std::string> At(const std::string& host, const std::string& port) {
  return {{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", port}};
}
INSTANTIATE_TEST_SUITE_P(
    InCluster, InClusterTest,
    testing::Values(
        InClusterCase{"V4", At("10.96.0.1", "443"), kAll, "https://10.96.0.1:443", ""},
        InClusterCase{"V6", At("fd00:10:96::1", "6443"), kAll, "https://[fd00:10:96::1]:6443", ""},
        InClusterCase{"Name", At("kubernetes.default.svc", "443"), kAll, "https://kubernetes.default.svc:443",
                      ""},
        InClusterCase{
            "NoNamespace", At("10.96.0.1", "443"), {"token", "ca.crt"}, "https://10.96.0.1:443", ""},
        InClusterCase{"NoPod", {}, kAll, "", "this is no pod of a cluster"},
        InClusterCase{"HalfAPod", {{"KUBERNETES_SERVICE_HOST", "h"}}, kAll, "", "this is no pod"},
        InClusterCase{"EmptyHost", At("", "443"), kAll, "", "this is no pod"},
        InClusterCase{"Port", At("10.96.0.1", "443/x"), kAll, "", "KUBERNETES_SERVICE_PORT is no port"},
        InClusterCase{"LargePort", At("10.96.0.1", "65536"), kAll, "", "is no port"},
        InClusterCase{"Host", At("a@b", "443"), kAll, "", "KUBERNETES_SERVICE_HOST is no address"},
        InClusterCase{"NoToken", At("10.96.0.1", "443"), {"ca.crt"}, "", "/token: No such file"},
        InClusterCase{"NoAuthority", At("10.96.0.1", "443"), {"token"}, "", "/ca.crt: No such file"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::kube::in_cluster_test
