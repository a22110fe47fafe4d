// The way to an API server, and the last word when it lets nobody in.
#include "ctl/cluster.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ctl/commands.h"
#include "ctl/ran.h"
#include "doc/node.h"
#include "fakes/fake_api_server.h"
#include "golden.h"
#include "http/curl_client.h"
#include "kube/http_api.h"
#include "rows.h"
#include "temp_dir.h"
#include "text_of.h"

namespace prefetch::ctl::cluster_test {
namespace {

using kube::ApiError;

TEST(Cluster, AKubeconfigThatIsNamedIsTheOnlyPlace) {
  tests::TempDir folder;
  const auto open = [](const ClusterOptions& options) {
    return tests::Run(
        [&](auto&, auto& err) { return WithCluster(options, err, [](kube::Api&) { return kOk; }); });
  };
  EXPECT_TRUE(Complains(open({.kubeconfig = folder / "none", .context = ""}), kUnreachable, folder / "none"));
  const std::string good = folder.Write("config", R"({"apiVersion":"v1","kind":"Config","current-context":"c",
"contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],"users":[{"name":"u","user":{}}],
"clusters":[{"name":"k","cluster":{"server":"http://127.0.0.1:1"}}]})");
  EXPECT_EQ(open({.kubeconfig = good, .context = ""}).exit, kOk);
  EXPECT_TRUE(Complains(open({.kubeconfig = good, .context = "no-such"}), kUnreachable, "no-such"));
}

TEST(Cluster, AMissingRightComesWithWhatGrantsIt) {
  const base::Error error =
      ToUserError({.kind = kube::ApiError::kForbidden, .message = "list nodes: nodes is forbidden"});
  EXPECT_EQ(error.code(), base::Code::kPermissionDenied);
  EXPECT_EQ(error.message(),
            "a right is missing, list nodes (deploy/examples/fleet-viewer.yaml grants what is needed): nodes "
            "is forbidden");
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

// The lists of what runs: workloads of an API server on loopback, with the rights that the example grants.

std::string Example() {
  return tests::TextOf(tests::Testdata() + "/../../deploy/examples/workload-list.yaml");
}

// `place` is "spec":{"containers":…} with what stands around it.
std::string Containers(const std::string& image) {
  return R"({"containers":[{"name":"c","image":")" + image + R"("}]})";
}
std::string Templated(const std::string& image) {
  return R"({"spec":{"template":{"spec":)" + Containers(image) + "}}}";
}
std::string PodOf(const std::string& image, const std::string& owner, const std::string& labels = "{}") {
  return R"({"metadata":{"labels":)" + labels + R"(,"ownerReferences":[)" + owner + R"(]},"spec":)" +
         Containers(image) + "}";
}
std::string Owner(const std::string& version, const std::string& kind, const std::string& name) {
  return R"({"apiVersion":")" + version + R"(","kind":")" + kind + R"(","name":")" + name +
         R"(","controller":true})";
}

class FromCluster : public testing::Test {
 protected:
  FromCluster()
      : server_(clock_),
        identity_({.server = server_.url(), .token_file = Token()}, clock_),
        api_(kube::MakeHttpApi(client_, identity_, clock_)) {
    EXPECT_TRUE(server_.LoadRbac(Example()).ok());
    server_.Put("deployments/shop/web", Templated("q.io/web:1"));
    server_.Put("statefulsets/shop/db", Templated("q.io/db:1"));
    server_.Put("daemonsets/infra/log", Templated("q.io/log:1"));
    server_.Put("cronjobs/shop/nightly", R"({"spec":{"jobTemplate":{"spec":{"template":{"spec":)" +
                                             Containers("q.io/nightly:1") + "}}}}}");
    server_.Put("jobs/ci/build", Templated("q.io/build:1"));
  }

  std::string Token() {
    return dir_.Write("token", server_.AddServiceAccountToken("prefetchd", "prefetchd-workload-lister"));
  }
  Ran Import(const ListImportOptions& options) {
    return tests::Run(
        [&](auto& out, auto& err) { return ImportList({}, nullptr, api_.get(), options, out, err); });
  }
  static ListImportOptions Of(std::vector<std::string> namespaces = {}) {
    return {.namespaces = std::move(namespaces), .output = list::DraftOutput::kTxt};
  }

  tests::TempDir dir_;
  base::SystemClock clock_;
  tests::FakeApiServer server_;
  http::CurlClient client_;
  kube::Identity identity_;
  std::unique_ptr<kube::Api> api_;
};

TEST_F(FromCluster, EveryWorkloadOfAllNamespacesIsNamed) {
  EXPECT_EQ(Import(Of()), (Ran{kOk,
                               "# Job ci/build\nq.io/build:1\n# StatefulSet shop/db\nq.io/db:1\n"
                               "# DaemonSet infra/log\nq.io/log:1\n# CronJob shop/nightly\nq.io/nightly:1\n"
                               "# Deployment shop/web\nq.io/web:1\n",
                               ""}));
}

TEST_F(FromCluster, ChosenNamespacesAlone) {
  EXPECT_EQ(Import(Of({"ci", "infra"})),
            (Ran{kOk, "# Job ci/build\nq.io/build:1\n# DaemonSet infra/log\nq.io/log:1\n", ""}));
  for (const std::string& request : server_.Requests()) {
    EXPECT_LACKS(request, "shop");
    EXPECT_TRUE(request.starts_with("GET ")) << request;
  }
}

TEST_F(FromCluster, ObjectsThatAReadControllerMakesAreLeftOut) {
  server_.Put("pods/shop/web-7f-x",
              PodOf("q.io/old:1", Owner("apps/v1", "ReplicaSet", "web-7f"), R"({"pod-template-hash":"7f"})"));
  server_.Put("pods/shop/db-0", PodOf("q.io/old:2", Owner("apps/v1", "StatefulSet", "db")));
  server_.Put("jobs/shop/nightly-1",
              R"({"metadata":{"ownerReferences":[)" + Owner("batch/v1", "CronJob", "nightly") +
                  R"(]},"spec":{"template":{"spec":)" + Containers("q.io/old:3") + "}}}");
  server_.Put("pods/shop/nightly-1-x", PodOf("q.io/old:4", Owner("batch/v1", "Job", "nightly-1")));
  server_.Put("pods/shop/etcd-cp", PodOf("q.io/old:5", Owner("v1", "Node", "cp")));
  Ran ran = Import(Of());
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_LACKS(ran.out, "q.io/old");
}

TEST_F(FromCluster, PodsOfOtherControllersAndOfNobodyCount) {
  server_.Put("pods/ci/runner", R"({"spec":)" + Containers("q.io/runner:1") + "}");
  server_.Put("pods/ci/roll-7f-x", PodOf("q.io/rollout:1", Owner("apps/v1", "ReplicaSet", "roll-7f"),
                                         R"({"pod-template-hash":"7f"})"));
  server_.Put("pods/ci/wf", PodOf("q.io/workflow:1", Owner("argoproj.io/v1alpha1", "Workflow", "wf")));
  // Another group's, and another namespace's.
  server_.Put("pods/ci/d", PodOf("q.io/kruise:1", Owner("apps.kruise.io/v1", "StatefulSet", "db")));
  server_.Put("pods/ci/e", PodOf("q.io/other:1", Owner("apps/v1", "StatefulSet", "db")));
  Ran ran = Import(Of());
  EXPECT_EQ(ran.exit, kOk) << ran;
  for (const char* text : {"# Pod ci/runner\nq.io/runner:1\n", "# Pod ci/roll-7f-x\nq.io/rollout:1\n",
                           "# Pod ci/wf\nq.io/workflow:1\n", "q.io/kruise:1\n", "q.io/other:1\n"}) {
    EXPECT_HAS(ran.out, text);
  }
}

TEST_F(FromCluster, ThousandsAreReadInPagesAndACountReplacesLongComments) {
  for (int i = 0; i < 120; i++) {
    server_.Put("deployments/many/d" + std::to_string(1000 + i), Templated("q.io/many:1"));
  }
  EXPECT_EQ(Import(Of({"many"})),
            (Ran{kOk, "# Deployment many/d1000, Deployment many/d1001 and 118 more\nq.io/many:1\n", ""}));
  int pages = 0;
  for (const std::string& request : server_.Requests()) {
    if (request.find("/deployments?limit=50") != std::string::npos) pages++;
  }
  EXPECT_EQ(pages, 3);
}

TEST_F(FromCluster, AListThatBeginsAnewCountsNothingTwice) {
  for (int i = 0; i < 60; i++) {
    server_.Put("deployments/many/d" + std::to_string(1000 + i), Templated("q.io/many:" + std::to_string(i)));
  }
  bool gone = false;
  server_.SetWatcher([&](const std::string& request) {
    if (request.find("continue=") == std::string::npos || gone) return;
    gone = true;
    server_.ExpireContinueTokens();
  });
  server_.Put("deployments/many/z", Templated("q.io/many:1"));
  EXPECT_TRUE(Prints(Import(Of({"many"})), kOk, "# Deployment many/d1001, Deployment many/z\nq.io/many:1\n"));
}

TEST_F(FromCluster, AnInvalidNameCostsTheOthersNothing) {
  server_.Put("deployments/shop/web", Templated("q.io/Web:1"));
  Ran ran = Import(Of({"shop"}));
  EXPECT_EQ(ran.exit, kOk) << ran;
  EXPECT_HAS(ran.err,
             "Deployment shop/web: spec.template.spec.containers[0].image is no valid image "
             "reference: q.io/Web:1\n");
  EXPECT_HAS(ran.out, "q.io/db:1\n");
  EXPECT_HAS(ran.out, "# Not in this list:\n# Deployment shop/web");
}

TEST_F(FromCluster, AConfigMapGetsTheListAndKeepsItsOtherKeys) {
  server_.Put("configmaps/prefetchd/prefetchd-workloads", R"({"data":{"other":"x"}})");
  ListImportOptions options{.namespaces = {"ci"}, .config_map = "prefetchd/prefetchd-workloads"};
  EXPECT_EQ(Import(options), (Ran{kOk, "configmap prefetchd/prefetchd-workloads: 1 image\n", ""}));
  auto stored = server_.Get("configmaps/prefetchd/prefetchd-workloads");
  ASSERT_TRUE(stored);
  EXPECT_EQ(doc::TextAt(*stored, {"data", "other"}), "x");
  EXPECT_EQ(doc::TextAt(*stored, {"data", "images.yaml"}),
            "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
            "- image: q.io/build:1  # Job ci/build\n");
}

TEST_F(FromCluster, AConfigMapStaysIfNoAgentTookTheList) {
  server_.Put("configmaps/prefetchd/prefetchd-workloads", R"({"data":{"images.yaml":"x"}})");
  tests::TempDir dir;
  std::string names;
  for (int i = 0; i < 5000; i++) names += "q.io/a:" + std::to_string(i) + "\n";
  ListImportOptions options{.foreign = {dir.Write("names", names)},
                            .namespaces = {"ci"},
                            .config_map = "prefetchd/prefetchd-workloads"};
  EXPECT_TRUE(OnlyComplains(Import(options), kBadInput, "the list has 5001 images in "));
  EXPECT_EQ(doc::TextAt(*server_.Get("configmaps/prefetchd/prefetchd-workloads"), {"data", "images.yaml"}),
            "x");
}

TEST_F(FromCluster, AConfigMapStaysIfNothingOrNotEverythingWasRead) {
  server_.Put("configmaps/prefetchd/prefetchd-workloads", R"({"data":{"images.yaml":"x"}})");
  ListImportOptions options{.namespaces = {"empty"}, .config_map = "prefetchd/prefetchd-workloads"};
  Ran ran = Import(options);
  EXPECT_TRUE(Complains(ran, kBadInput, "no image was found"));
  options.namespaces = {"ci"};
  server_.Fail({.status = 500, .retry_after = "", .body = "", .times = 9});
  ran = Import(options);
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  server_.Recover();
  EXPECT_EQ(doc::TextAt(*server_.Get("configmaps/prefetchd/prefetchd-workloads"), {"data", "images.yaml"}),
            "x");
  options.config_map = "prefetchd/another";
  ran = Import(options);
  EXPECT_EQ(ran.exit, kUnreachable) << ran;
  EXPECT_HAS(ran.err,
             "a right is missing, patch configmaps \"another\" in namespace \"prefetchd\" "
             "(deploy/examples/workload-list.yaml grants what is needed)");
}

using Numbers = std::vector<int>;

// Objects 0 to 9, three a page; what goes wrong comes first, in its order.
class Collection {
 public:
  explicit Collection(std::vector<ApiError> trouble, int after = 0)
      : trouble_(std::move(trouble)), after_(after) {}

  kube::Answer<kube::Page<int>> List(const kube::ListOptions& options) {
    asked_++;
    const int from = options.continue_token.empty() ? 0 : std::stoi(options.continue_token);
    if (from >= after_ && !trouble_.empty()) {
      kube::Failure failure{.kind = trouble_.front()};
      failure.retry_after = std::chrono::seconds(0);
      trouble_.erase(trouble_.begin());
      return failure;
    }
    kube::Page<int> page;
    for (int i = from; i < std::min(from + 3, 10); i++) page.items.push_back(i);
    if (from + 3 < 10) page.continue_token = std::to_string(from + 3);
    return page;
  }
  int asked() const { return asked_; }

 private:
  std::vector<ApiError> trouble_;
  const int after_;
  int asked_ = 0;
};

struct TroubleCase {
  std::string name;
  std::vector<ApiError> trouble;
  int after;  // comes when this object is reached
  bool whole;
  int asked;
};

TEST_TABLE(Listed, EachObjectOnceOrNotAtAll, TroubleCase) {
  Collection collection(row.trouble, row.after);
  auto all = ListAll<int>({}, {}, [&](const kube::ListOptions& options) { return collection.List(options); });
  EXPECT_EQ(collection.asked(), row.asked);
  ASSERT_EQ(static_cast<bool>(all), row.whole);
  EXPECT_EQ(all ? *all : Numbers(), all ? (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) : Numbers());
}

TEST_ROWS(Rows, Listed, {"NoTrouble", {}, 0, true, 4},
          {"ForgottenInTheMiddle", {ApiError::kGone}, 6, true, 7},
          {"BusyAtFirst", {ApiError::kTooManyRequests}, 0, true, 5},
          {"Twice", {ApiError::kGone, ApiError::kTooManyRequests}, 3, true, 8},
          {"ThreeTimes", {ApiError::kGone, ApiError::kGone, ApiError::kGone}, 0, false, 3},
          {"WhatDoesNotPass", {ApiError::kForbidden}, 3, false, 2});

TEST(ListAll, PagesThatNeverEndAreAFailure) {
  int asked = 0;
  auto all = ListAll<int>({}, {}, [&](const kube::ListOptions&) -> kube::Answer<kube::Page<int>> {
    if (++asked > 10'000) return kube::Failure{.kind = ApiError::kCancelled};
    return kube::Page<int>{.items = {}, .continue_token = "more"};
  });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.failure().kind, ApiError::kMalformed);
}

TEST(ListAll, SlowPagesEndWithTheTime) {
  int asked = 0;
  auto all = ListAll<int>({.deadline = std::chrono::steady_clock::now()}, {},
                          [&](const kube::ListOptions&) -> kube::Answer<kube::Page<int>> {
                            asked++;
                            return kube::Page<int>{.items = {}, .continue_token = "more"};
                          });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.failure().kind, ApiError::kMalformed);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace prefetch::ctl::cluster_test
