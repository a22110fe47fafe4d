#include "agent/cluster/own_addresses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>

#include "fakes/fake_clock.h"
#include "temp_dir.h"

namespace prefetch::agent::own_addresses_test {
namespace {

kube::GetEnv Environment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

using Addresses = std::vector<std::string>;

TEST(OwnAddresses, AreThoseOfTheNodeObjectAndOfTheApiServer) {
  tests::FakeClock clock;
  OwnAddresses own(
      Environment({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}, {"KUBERNETES_PORT_443_TCP_ADDR", "fd00::1"}}),
      clock);
  own.SetNode({"192.0.2.7", "2001:db8::7"});
  EXPECT_EQ(own.Get({}), (std::vector<std::string>{"192.0.2.7", "2001:db8::7", "10.96.0.1", "fd00::1"}));
  own.SetNode({"192.0.2.8"});
  EXPECT_EQ(own.Get({}), (std::vector<std::string>{"192.0.2.8", "10.96.0.1", "fd00::1"}))
      << "within a minute";
}

TEST(OwnAddresses, ANameOfTheApiServerIsResolved) {
  tests::FakeClock clock;
  OwnAddresses named(Environment({{"KUBERNETES_SERVICE_HOST", "localhost"}}), clock);
  const Addresses found = named.Get({}).value();
  EXPECT_TRUE(std::find(found.begin(), found.end(), "127.0.0.1") != found.end() ||
              std::find(found.begin(), found.end(), "::1") != found.end());
  EXPECT_EQ(OwnAddresses(Environment({}), clock).Get({}), Addresses()) << "outside of a cluster";
}

// DNS as a test sets it; a name without addresses is unknown.
struct FakeDns {
  std::map<std::string, std::vector<std::string>> answers;
  std::binary_semaphore open{1};  // taken while DNS does not answer

  static OwnAddresses::Resolve Of(std::shared_ptr<FakeDns> dns) {
    return [dns = std::move(dns)](const std::string& name) {
      dns->open.acquire();
      std::vector<std::string> found = dns->answers[name];
      dns->open.release();
      return found;
    };
  }
};

TEST(OwnAddresses, AnAddressStaysForAnHourAfterDnsNamedItLast) {
  tests::FakeClock clock;
  const auto dns = std::make_shared<FakeDns>();
  OwnAddresses own(
      Environment({{"KUBERNETES_SERVICE_HOST", "a.test"}, {"KUBERNETES_PORT_443_TCP_ADDR", "b.test"}}), clock,
      "", "", FakeDns::Of(dns));
  dns->answers = {{"a.test", {"192.0.2.1"}}, {"b.test", {"192.0.2.9"}}};
  EXPECT_EQ(own.Get({}), (Addresses{"192.0.2.1", "192.0.2.9"}));
  dns->answers = {{"a.test", {}}, {"b.test", {"192.0.2.8"}}};
  EXPECT_EQ(own.Get({}), (Addresses{"192.0.2.1", "192.0.2.9"})) << "within a minute";
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(own.Get({}), (Addresses{"192.0.2.1", "192.0.2.8", "192.0.2.9"}));
  clock.Advance(std::chrono::hours(1));
  EXPECT_EQ(own.Get({}), (Addresses{"192.0.2.1", "192.0.2.8"})) << "DNS does not know a.test";
  dns->answers["a.test"] = {"192.0.2.2"};
  clock.Advance(std::chrono::minutes(1));
  EXPECT_EQ(own.Get({}), (Addresses{"192.0.2.2", "192.0.2.8"}));
}

TEST(OwnAddresses, CallersDoNotWaitForDnsBeyondTheirDeadline) {
  tests::FakeClock clock;
  const auto dns = std::make_shared<FakeDns>();
  OwnAddresses own(
      Environment({{"KUBERNETES_SERVICE_HOST", "a.test"}, {"KUBERNETES_PORT_443_TCP_ADDR", "fd00::1"}}),
      clock, "", "", FakeDns::Of(dns));
  dns->answers = {{"a.test", {"192.0.2.1"}}};
  dns->open.acquire();
  const base::Call expired{std::chrono::steady_clock::now(), {}};
  EXPECT_EQ(own.Get(expired), std::nullopt);
  dns->open.release();
  EXPECT_EQ(own.Get({}), (Addresses{"fd00::1", "192.0.2.1"})) << "the first answer is waited for";
  clock.Advance(std::chrono::minutes(1));
  dns->open.acquire();
  EXPECT_EQ(own.Get(expired), (Addresses{"fd00::1", "192.0.2.1"}));
  EXPECT_EQ(own.Get({}), (Addresses{"fd00::1", "192.0.2.1"})) << "one caller waits, and all others do not";
  dns->open.release();
}

TEST(OwnAddresses, ANameIsResolvedOnceAMinuteAndSoonerUntilItIsKnown) {
  tests::FakeClock clock;
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const auto known = std::make_shared<std::atomic<bool>>(false);
  OwnAddresses own(Environment({{"KUBERNETES_SERVICE_HOST", "a.test"}}), clock, "", "",
                   [asked, known](const std::string& name) {
                     ++*asked;
                     return *known && name == "a.test" ? Addresses{"192.0.2.1"} : Addresses{};
                   });
  for (int i = 0; i < 3; i++) EXPECT_EQ(own.Get({}), std::nullopt) << "it may have any address";
  EXPECT_EQ(*asked, 2) << "two names";
  *known = true;
  clock.Advance(std::chrono::seconds(5));
  EXPECT_EQ(own.Get({}), Addresses{"192.0.2.1"}) << "no pod may name it as an address for long";
  clock.Advance(std::chrono::seconds(59));
  own.Get({});
  EXPECT_EQ(*asked, 4);
  clock.Advance(std::chrono::seconds(1));
  own.Get({});
  EXPECT_EQ(*asked, 6);
}

TEST(OwnAddresses, GatewaysAreAmongThem) {
  const std::string route =
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "eth0\t00000000\t0100F40A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "eth0\t0000F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
  const std::string zero(32, '0');
  const std::string ipv6 =
      zero + " 00 " + zero +
      " 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth0\n" + zero + " 00 " +
      zero + " 00 " + zero + " ffffffff 00000001 00000000 00200200       lo\n";
  EXPECT_EQ(GatewaysOf(route, ipv6), (std::vector<std::string>{"10.244.0.1", "fd00::1"}));
  EXPECT_TRUE(GatewaysOf("eth0\t0\tno\n\n", "short\n").empty());
  tests::TempDir dir;
  tests::FakeClock clock;
  OwnAddresses own(Environment({}), clock, dir.Write("route", route), dir / "absent");
  EXPECT_EQ(own.Get({}), std::vector<std::string>{"10.244.0.1"});
  own.SetNode({"192.0.2.7"});
  EXPECT_EQ(own.Get({}), (Addresses{"10.244.0.1", "192.0.2.7"}));
  own.SetNode({"192.0.2.7", "127.0.0.1"});
  EXPECT_EQ(own.Get({}), (Addresses{"192.0.2.7", "127.0.0.1"}))
      << "on the node's network, they are other machines";
}

}  // namespace
}  // namespace prefetch::agent::own_addresses_test
