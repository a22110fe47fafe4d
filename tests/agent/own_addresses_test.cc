#include "agent/cluster/own_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "fakes/fake_clock.h"

namespace prefetch::agent::own_addresses_test {
namespace {

kube::GetEnv Environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(OwnAddresses, AreThoseOfTheNodeObjectAndOfTheApiServer) {
  tests::FakeClock clock;
  OwnAddresses own(
      Environment({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_PORT_443_TCP_ADDR", "fd00::1"}}),
      clock);
  own.SetNode({"192.0.2.7", "2001:db8::7"});
  EXPECT_EQ(own.Get(), (std::vector<std::string>{"192.0.2.7", "2001:db8::7", "10.96.0.1", "fd00::1"}));
  own.SetNode({"192.0.2.8"});
  EXPECT_EQ(own.Get(), (std::vector<std::string>{"192.0.2.8", "10.96.0.1", "fd00::1"})) << "within a minute";
}

TEST(OwnAddresses, ANameOfTheApiServerIsResolved) {
  tests::FakeClock clock;
  OwnAddresses named(Environment({{"KUBERNETES_SERVICE_HOST", "localhost"}}), clock);
  const std::vector<std::string> found = named.Get();
  EXPECT_TRUE(std::find(found.begin(), found.end(), "127.0.0.1") != found.end() ||
              std::find(found.begin(), found.end(), "::1") != found.end());
  EXPECT_TRUE(OwnAddresses(Environment({}), clock).Get().empty()) << "outside of a cluster";
}

}  // namespace
}  // namespace prefetch::agent::own_addresses_test
