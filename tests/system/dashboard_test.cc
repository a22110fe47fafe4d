// The Grafana dashboard: a real Prometheus scrapes a real agent, and each panel's query returns data.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/text.h"
#include "doc/json.h"
#include "rig/expect_ok.h"
#include "rig/port.h"
#include "system/node.h"

namespace prefetch::system::dashboard_test {
namespace {

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr const char* kNamespace = "prefetchd";

struct Query {
  std::string panel, expression;
};

std::optional<doc::Node> Json(const std::string& text) {
  doc::Problems problems("answer");
  return doc::ParseJson(text, problems);
}

std::vector<Query> Queries() {
  std::vector<Query> queries;
  auto text = base::ReadFile(
      std::string(std::getenv("PREFETCH_DEPLOY")) + "/components/monitoring/dashboard.json", 1 << 20);
  EXPECT_OK(text);
  auto dashboard = Json(text ? *text : "");
  EXPECT_TRUE(dashboard);
  if (!dashboard) return queries;
  for (const doc::Node& panel : dashboard->Find("panels")->items) {
    for (const doc::Node& target : panel.Find("targets")->items) {
      queries.push_back(
          {panel.Find("title")->text, base::ReplaceAll(target.Find("expr")->text, "$namespace", kNamespace)});
    }
  }
  return queries;
}

// A Prometheus of the test's own, which scrapes one agent with the labels that the PodMonitor gives.
class Prometheus {
 public:
  explicit Prometheus(const rig::Scratch& scratch) : scratch_(scratch) {}

  void Start(const std::string& agent_url) {
    auto port = rig::FreePort();
    ASSERT_OK(port);
    const std::string address = "127.0.0.1:" + std::to_string(*port);
    url_ = "http://" + address;
    scratch_.Write("prometheus.yml",
                   "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: "
                   "prefetchd/prefetchd\n  static_configs:\n  - targets: ['" +
                       agent_url.substr(agent_url.find("//") + 2) + "']\n    labels: {namespace: " +
                       kNamespace + ", node: n1, pod: prefetchd-x, container: prefetchd}\n");
    ASSERT_OK(process_.Start({{"prometheus", "--config.file=" + (scratch_ / "prometheus.yml"),
                               "--storage.tsdb.path=" + (scratch_ / "prometheus"),
                               "--web.listen-address=" + address, "--log.level=warn"},
                              {}},
                             scratch_ / "prometheus.log"));
  }

  // Values of the series that an expression has now, as text: "NaN" is one.
  std::vector<std::string> Ask(const std::string& expression) const {
    auto ran = rig::RunProgram({{"curl", "--silent", "--max-time", "10", "--noproxy", "*", "--get",
                                 "--data-urlencode", "query=" + expression, url_ + "/api/v1/query"},
                                {}},
                               seconds(20));
    std::vector<std::string> values;
    auto answer = Json(ran ? ran->out : "");
    if (!answer || answer->Find("data") == nullptr) return values;
    for (const doc::Node& series : answer->Find("data")->Find("result")->items)
      values.push_back(series.Find("value")->items.at(1).text);
    return values;
  }
  // Is there a series, and does each have a number?
  bool HasData(const std::string& expression) const {
    const std::vector<std::string> values = Ask(expression);
    for (const std::string& value : values) {
      if (std::isnan(std::strtod(value.c_str(), nullptr))) return false;
    }
    return !values.empty();
  }

 private:
  const rig::Scratch& scratch_;
  std::string url_;
  rig::Process process_;
};

class Dashboard : public testing::Test {
 protected:
  // One that is there, one that never will be.
  void List(const std::string& more = "") {
    node_.HasListFile("images.yaml",
                      "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n- image: " + app_ +
                          "\n- {image: " + registry_->host() + "/absent:v1, required: false}\n" + more);
  }

  Node node_;
  std::unique_ptr<Host> registry_ = node_.AddRegistry("registry.example.test", {});
  std::string app_ = registry_->Push("app", "v1", {{1, kMegabyte}});
  std::string later_ = registry_->Push("later", "v1", {{2, kMegabyte}});
  Prometheus prometheus_{node_.scratch()};
};

TEST_F(Dashboard, EachPanelsQueryReturnsData) {
  List();
  node_.HasKubelet({"--kubelet-version", "1.36.2", "--kubelet-root", node_.scratch().path(),
                    "--kubelet-verification", "NeverVerifyPreloadedImages"});
  node_.StartAgent();
  ASSERT_EQ(node_.Ctl({"wait", "--timeout", "60s"}).exit, rig::Exit{}) << node_.AgentLog();
  prometheus_.Start(node_.NeighbourUrl());
  ASSERT_TRUE(rig::Eventually(seconds(60), [&] { return prometheus_.Ask("up == 1").size() == 1; }));
  // Rates need a pull between two scrapes.
  ASSERT_TRUE(rig::Eventually(
      seconds(30), [&] { return prometheus_.HasData("count_over_time(prefetchd_ready[1m]) > 1"); }));
  List("- image: " + later_ + "\n");
  const std::vector<Query> queries = Queries();
  ASSERT_GE(queries.size(), 15U);
  for (const Query& query : queries) {
    EXPECT_TRUE(rig::Eventually(seconds(30), [&] { return prometheus_.HasData(query.expression); }))
        << query.panel << ": " << query.expression << " returns "
        << base::Join(prometheus_.Ask(query.expression), ", ");
  }
  // The dashboard's variable: namespaces of this metric.
  EXPECT_TRUE(prometheus_.HasData("prefetchd_build_info{namespace=\"prefetchd\"}"));
  EXPECT_FALSE(prometheus_.HasData("prefetchd_no_such_metric")) << "a query without data is seen";
}

}  // namespace
}  // namespace prefetch::system::dashboard_test
