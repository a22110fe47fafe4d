// The way to an API server, and the last word when it lets nobody in.
#include "ctl/cluster.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "temp_dir.h"

namespace prefetch::ctl::cluster_test {
namespace {

TEST(Cluster, AKubeconfigThatIsNamedIsTheOnlyPlace) {
  tests::TempDir folder;
  auto none = Cluster::Open({.kubeconfig = folder / "none", .context = ""});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find(folder / "none"), std::string::npos) << none.error().message();
  const std::string good = folder.Write("config", R"({"apiVersion":"v1","kind":"Config","current-context":"c",
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],"users":[{"name":"u","user":{}}],
"clusters":[{"name":"k","cluster":{"server":"http://127.0.0.1:1"}}]})");
  EXPECT_TRUE(Cluster::Open({.kubeconfig = good, .context = ""}).ok());
  auto other = Cluster::Open({.kubeconfig = good, .context = "no-such"});
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message().find("no-such"), std::string::npos) << other.error().message();
}

TEST(Cluster, AMissingRightComesWithWhatGrantsIt) {
  const base::Error error =
      ToUserError({.kind = kube::ApiError::kForbidden, .message = "list nodes: nodes is forbidden"});
  EXPECT_EQ(error.code(), base::Code::kPermissionDenied);
  EXPECT_EQ(
      error.message(),
      "a right is missing, list nodes (deploy/examples/fleet-viewer.yaml grants what is needed): nodes is "
      "forbidden");
  EXPECT_EQ(ToUserError({.kind = kube::ApiError::kTimeout, .message = "list nodes: too late"}).message(),
            "list nodes: too late");
}

TEST(EnvironmentProxies, CapitalsCountFirst) {
  const std::map<std::string, std::string> variables = {{"HTTPS_PROXY", "http://big:1"},
                                                        {"https_proxy", "http://small:1"},
                                                        {"HTTP_PROXY", ""},
                                                        {"http_proxy", "http://small:2"},
                                                        {"NO_PROXY", ".svc"}};
  const http::CurlOptions options = EnvironmentProxies([&](const char* name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  EXPECT_EQ(options.https_proxy, "http://big:1");
  EXPECT_EQ(options.http_proxy, "http://small:2");
  EXPECT_EQ(options.no_proxy, ".svc");
  EXPECT_EQ(options.proxy, "");
}

}  // namespace
}  // namespace prefetch::ctl::cluster_test
