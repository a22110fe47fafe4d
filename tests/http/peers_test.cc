#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "http/addresses.h"

namespace prefetch::http::peers_test {
namespace {

in6_addr Address(std::string_view text) {
  const auto address = ToIpv6(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(in6_addr{});
}

TEST(Peers, WhichAddresses) {
  const struct {
    std::string address;
    bool loopback_too, elsewhere;
  } rows[] = {
      {"192.0.2.1", true, true},
      {"10.0.0.1", true, true},
      {"172.16.0.1", true, true},
      {"192.168.1.1", true, true},
      {"100.64.0.1", true, true},
      {"127.0.0.1", true, false},
      {"127.9.9.9", true, false},
      {"0.0.0.0", false, false},
      {"0.1.2.3", false, false},
      {"169.254.169.254", false, false},
      {"169.253.0.1", true, true},
      {"224.0.0.1", false, false},
      {"255.255.255.255", false, false},
      {"2001:db8::1", true, true},
      {"fd00::1", true, true},
      {"fd00:ec2::254", false, false},
      {"fd20:ce::254", false, false},
      {"fd20:ce::253", true, true},
      {"168.63.129.16", false, false},
      {"168.63.129.17", true, true},
      {"100.100.100.200", false, false},
      {"::ffff:100.100.100.200", false, false},
      {"::1", true, false},
      {"::", false, false},
      {"fe80::1", false, false},
      {"febf::1", false, false},
      {"ff02::1", false, false},
      {"::ffff:192.0.2.1", true, true},
      {"::ffff:127.0.0.1", true, false},
      {"::ffff:169.254.1.1", false, false},
      {"64:ff9b:1::169.254.169.254", false, false},
      {"64:ff9b:1::127.0.0.1", true, false},
      {"64:ff9b:1::192.0.2.1", true, true},
      {"64:ff9b:1::c0:2:ff00:0", true, true},
  };
  for (const auto& row : rows) {
    const in6_addr address = Address(row.address);
    EXPECT_TRUE(IsAllowed(AddressPolicy::kAny, address)) << row.address;
    EXPECT_EQ(IsAllowed(AddressPolicy::kAllowLoopback, address), row.loopback_too) << row.address;
    EXPECT_EQ(IsAllowed(AddressPolicy::kNoLoopback, address), row.elsewhere) << row.address;
  }
}

// Addresses of hosts that a stranger names. kOtherHosts excludes this machine's own addresses.
TEST(Peers, WhichAddressesOfAStranger) {
  const struct {
    std::string address;
    bool others, publicly;
  } rows[] = {
      {"192.0.2.1", true, true},
      {"10.0.0.1", true, false},
      {"172.16.0.1", true, false},
      {"172.31.255.255", true, false},
      {"172.32.0.1", true, true},
      {"192.168.1.1", true, false},
      {"100.64.0.1", true, false},
      {"100.128.0.1", true, true},
      {"127.0.0.1", false, false},
      {"169.254.169.254", false, false},
      {"0.0.0.0", false, false},
      {"2001:db8::1", true, true},
      {"fd00::1", true, false},
      {"fec0::1", true, false},
      {"::1", false, false},
      {"::ffff:10.0.0.1", true, false},
      {"64:ff9b::10.0.0.1", true, false},
      {"64:ff9b::127.0.0.1", false, false},
      {"64:ff9b::192.0.2.1", true, true},
      {"2002:a00:1::1", true, false},
      {"2002:7f00:1::", false, false},
      {"::ffff:127.0.0.1", false, false},
      {"198.51.100.7", false, false},
      {"192.0.2.77", false, false},
      {"::ffff:198.51.100.7", false, false},
      {"64:ff9b::198.51.100.7", false, false},
      {"64:ff9b:1::198.51.100.7", false, false},
      {"64:ff9b:1:2:3:4:192.0.2.77", false, false},
      {"64:ff9b:1::169.254.169.254", false, false},
      {"64:ff9b:1::192.0.2.1", false, false},
      {"64:ff9b:1:c633:64:700::", false, false},
      {"2002:c633:6407::1", false, false},
      {"2002:c000:24d::", false, false},
      {"2002:c000:201::1", true, true},
  };
  for (const auto& row : rows) {
    const in6_addr address = Address(row.address);
    EXPECT_EQ(IsAllowed(AddressPolicy::kOtherHosts, address, {"192.0.2.77", "198.51.100.7"}), row.others)
        << row.address;
    EXPECT_EQ(IsAllowed(AddressPolicy::kPublic, address, {"192.0.2.77", "198.51.100.7"}), row.publicly)
        << row.address;
  }
  ifaddrs* all = nullptr;
  ASSERT_EQ(::getifaddrs(&all), 0);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool ip = one->ifa_addr != nullptr &&
                    (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6);
    EXPECT_FALSE(ip && IsAllowed(AddressPolicy::kOtherHosts, *ToIpv6(*one->ifa_addr))) << one->ifa_name;
    if (!ip || one->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    EXPECT_FALSE(IsAllowed(AddressPolicy::kOtherHosts, Address("64:ff9b::" + std::string(text)))) << text;
  }
  ::freeifaddrs(all);
  EXPECT_FALSE(IsAllowed(AddressPolicy::kOtherHosts, Address("2001:db8::7"), {"2001:db8::7"}));
  EXPECT_FALSE(IsAllowed(AddressPolicy::kOtherHosts, Address("192.0.2.77"), {"64:ff9b::192.0.2.77"}));
}

}  // namespace
}  // namespace prefetch::http::peers_test
