// /metrics of a node whose every text is a secret.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "agent/answering_node.h"
#include "status/planted.h"

namespace prefetch::agent::public_metrics_test {
namespace {

using sample::kPlanted;
using sample::Planted;

// The text of both listeners: names of credentials, registries' messages, digests, paths and kubelet's
// settings are planted.
std::string Metrics(Audience audience) {
  AnsweringNode node(sample::PlantedNode());
  node.metrics.CredentialsFound({.providers = {{.name = Planted("provider"),
                                                .matched = true,
                                                .outcome = credentials::ProviderOutcome::kOk,
                                                .ran_for = std::chrono::seconds(1)}}});
  return node.Answer(audience, {.path = "/metrics"}).body;
}

TEST(PublicMetrics, TellNothingThatIsPlanted) {
  const std::string open = Metrics(Audience::kPodNetwork);
  EXPECT_EQ(open.find(kPlanted), std::string::npos) << open.substr(open.find(kPlanted), 200);
  EXPECT_NE(open.find("prefetchd_ready 0"), std::string::npos) << open;
  EXPECT_NE(Metrics(Audience::kLocal).find(Planted("provider")), std::string::npos);
}

}  // namespace
}  // namespace prefetch::agent::public_metrics_test
