#include "kube/kubelet_api.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "fakes/certificates.h"
#include "fakes/fake_api_server.h"
#include "fakes/fake_clock.h"
#include "fakes/front.h"
#include "fakes/rbac.h"
#include "golden.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "must.h"
#include "rows.h"
#include "serve.h"
#include "temp_dir.h"

namespace prefetch::kube::kubelet_api_test {
namespace {

struct MetricsCase {
  std::string name, text;
  KubeletMetrics expect;
};
TEST_TABLE(MetricsTest, AreRead, MetricsCase) {
  EXPECT_EQ(ParseKubeletMetrics(row.text), row.expect);
}
TEST_ROWS(
    Kubelet, MetricsTest,
    {"Both",
     "# HELP kubelet_credential_provider_config_info [ALPHA] x\n"
     "kubelet_credential_provider_config_info{hash=\"sha256:ab12\"} 1\n"
     "kubernetes_feature_enabled{name=\"AllAlpha\",stage=\"ALPHA\"} 0\n"
     "kubernetes_feature_enabled{name=\"KubeletEnsureSecretPulledImages\",stage=\"BETA\"} 1\n",
     {"sha256:ab12", true}},
    {"Off", "kubernetes_feature_enabled{stage=\"\",name=\"KubeletEnsureSecretPulledImages\"} 0", {{}, false}},
    {"OtherNames",
     "kubernetes_feature_enabled{name=\"KubeletEnsureSecretPulledImagesX\"} 1\n"
     "kubelet_credential_provider_config_info_total{hash=\"x\"} 1\n",
     {}},
    {"EmptyHash", "kubelet_credential_provider_config_info{hash=\"\"} 1\n", {}},
    {"OtherValue", "kubernetes_feature_enabled{name=\"KubeletEnsureSecretPulledImages\"} 7\n", {}},
    {"Broken", "kubelet_credential_provider_config_info{hash=\"x\nkubernetes_feature_enabled{name\n{\n", {}},
    {"Nothing", "", {}});

class KubeletApiTest : public testing::Test {
 protected:
  KubeletApiTest() : kubelet_ca_(dir_.path(), "kubelet"), cluster_ca_(dir_.path(), "cluster") {
    server_ = tests::Serve([](const http::ServerRequest& request) { return Kubelet(request); });
    tests::KeyPair pair = kubelet_ca_.Server("node");
    front_ = std::make_unique<tests::Front>(tests::FrontOptions{pair.certificate_file, pair.key_file, ""});
    front_->ForwardTo(server_->port());
  }

  static http::ServerResponse Kubelet(const http::ServerRequest& request) {
    if (request.headers.Get("Authorization") != "Bearer t0p") return {.status = 401};
    if (request.path == "/configz") {
      return http::JsonResponse(
          200, R"({"kubeletconfig":{"imageGCLowThresholdPercent":80,"featureGates":{"A":true}}})");
    }
    return {.body = "kubelet_credential_provider_config_info{hash=\"h\"} 1\n"};
  }
  KubeletAddress Address() { return {"127.0.0.1", front_->port()}; }
  // An agent of that token, whose own cluster has another authority than its kubelets.
  Identity As(const std::string& token) {
    return Identity({.server = "https://api",
                     .ca_pem = cluster_ca_.certificate(),
                     .tls_server_name = "api.elsewhere",
                     .token = base::Secret(token)},
                    clock_);
  }

  tests::TempDir dir_;
  tests::CertificateAuthority kubelet_ca_, cluster_ca_;
  tests::FakeClock clock_;
  http::CurlClient client_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<tests::Front> front_;
  base::Call call_ = base::Call{}.Within(std::chrono::seconds(20));
};

TEST_F(KubeletApiTest, TellsItsConfigurationAndMetrics) {
  Identity identity = As("t0p");
  KubeletApi kubelet(client_, identity, clock_, kubelet_ca_.certificate());
  auto config = tests::Must(kubelet.GetConfig(call_, Address()));
  EXPECT_EQ(*config, R"({"imageGCLowThresholdPercent":80,"featureGates":{"A":true}})");
  auto metrics = tests::Must(kubelet.GetMetrics(call_, Address()));
  EXPECT_EQ(*metrics, (KubeletMetrics{"h", {}}));
}

TEST_F(KubeletApiTest, IsNotAskedUnlessItCanBeVerified) {
  Identity identity = As("t0p");
  KubeletApi none(client_, identity, clock_, "");
  const auto error = tests::MustFail(none.GetConfig(call_, Address()));
  EXPECT_EQ(error.kind, ApiError::kTlsError);
  EXPECT_NE(error.message.find("not asked"), std::string::npos);
  EXPECT_EQ(front_->accepted(), 0);
  KubeletApi wrong(client_, identity, clock_, cluster_ca_.certificate());
  EXPECT_EQ(wrong.GetMetrics(call_, Address()).failure().kind, ApiError::kTlsError);
}

TEST_F(KubeletApiTest, SaysWhatIsRefused) {
  Identity identity = As("other");
  KubeletApi kubelet(client_, identity, clock_, kubelet_ca_.certificate());
  const auto error = tests::MustFail(kubelet.GetConfig(call_, Address()));
  EXPECT_EQ(error.kind, ApiError::kUnauthorized);
  EXPECT_EQ(error.message, "get /configz of the kubelet on 127.0.0.1: the server answered 401");
}

// With the rights of deploy/components/kubelet-api, and with each but one.
struct RightCase {
  std::string name, verb, resource;  // what is taken away; no resource: nothing
};
TEST_TABLE(KubeletRights, AreEnoughAndEachIsNeeded, RightCase) {
  auto shipped = tests::Must(
      base::ReadFile(tests::Testdata() + "/../../deploy/components/kubelet-api/rbac.yaml", 1 << 20));
  tests::FakeClock clock;
  tests::FakeApiServer api(clock);
  ASSERT_TRUE(
      api.LoadRbac(row.resource.empty() ? *shipped : tests::WithoutRight(*shipped, row.verb, row.resource)));
  api.Put("nodes/n1", "{}");
  tests::TempDir dir;
  tests::CertificateAuthority ca(dir.path(), "kubelet");
  const auto server = tests::Serve([&api](const http::ServerRequest& request) {
    const bool config = request.path == "/configz";
    int allowed = api.Review(request.headers.Get("Authorization").value_or(""), "get",
                             config ? "nodes/configz" : "nodes/metrics", "n1");
    return allowed == 200 ? http::JsonResponse(200, R"({"kubeletconfig":{}})")
                          : http::ErrorResponse(allowed, "no");
  });
  tests::KeyPair pair = ca.Server("node");
  tests::Front front({pair.certificate_file, pair.key_file, ""});
  front.ForwardTo(server->port());
  http::CurlClient client;
  Identity identity(
      {.server = api.url(), .token = base::Secret(api.AddServiceAccountToken("prefetchd", "prefetchd"))},
      clock);
  KubeletApi kubelet(client, identity, clock, ca.certificate());
  const auto cluster = MakeHttpApi(client, identity, clock);
  const base::Call call = base::Call{}.Within(std::chrono::seconds(20));
  const KubeletAddress address{"127.0.0.1", front.port()};
  auto kind = [](const auto& answer) {
    return answer ? "" : std::string(ApiErrorName(answer.failure().kind));
  };
  auto expected = [&](const std::string& resource) { return row.resource == resource ? "Forbidden" : ""; };
  EXPECT_EQ(kind(kubelet.GetConfig(call, address)), expected("nodes/configz"));
  EXPECT_EQ(kind(kubelet.GetMetrics(call, address)), expected("nodes/metrics"));
  EXPECT_EQ(kind(cluster->GetNode(call, "n1")), expected("nodes")) << "the version is learnt there";
}
TEST_ROWS(Kubelet, KubeletRights, {"Shipped", "", ""}, {"NoConfigz", "get", "nodes/configz"},
          {"NoMetrics", "get", "nodes/metrics"}, {"NoNodes", "get", "nodes"});

}  // namespace
}  // namespace prefetch::kube::kubelet_api_test
