#include "image/registry_access.h"

#include <gtest/gtest.h>

namespace prefetch::image::table_hosts_test {
namespace {

using Texts = std::vector<std::string>;

TEST(TableHosts, AreHostsOfNamesAndUrls) {
  TableHosts hosts;
  EXPECT_EQ(hosts.Hosts(), Texts{});
  for (const char* name : {"quay.io", "https://r.io:5000/v2/", "docker.io", "quay.io", "[::1]:5000"}) {
    hosts.Add(name);
  }
  EXPECT_EQ(hosts.Hosts(), (Texts{"[::1]:5000", "docker.io", "quay.io", "r.io:5000"}));
}

TEST(TableHosts, WhatCannotBeAHostMayMeanAny) {
  for (const std::string& name : {std::string("*"), std::string(""), std::string("r.io\n"), std::string("/x"),
                                  std::string("u:p@r.io"), std::string(256, 'a')}) {
    TableHosts hosts;
    hosts.Add("quay.io");
    hosts.Add(name);
    EXPECT_EQ(hosts.Hosts(), Texts{"*"}) << name;
  }
}

TEST(TableHosts, HeadersGoToAnyHostButForItsOwn) {
  TableHosts hosts;
  hosts.AddHeader("user-agent");
  hosts.AddHeader("x-meta-source-client");
  EXPECT_EQ(hosts.Hosts(), Texts{});
  hosts.AddHeader("X-Team");
  EXPECT_EQ(hosts.Hosts(), Texts{"*"});
}

TEST(TableHosts, MoreThanAreWorthNamingAreAny) {
  TableHosts hosts;
  for (int i = 0; i < 256; i++) hosts.Add("r" + std::to_string(i) + ".io");
  EXPECT_EQ(hosts.Hosts().size(), 256U);
  hosts.Add("r0.io");
  EXPECT_EQ(hosts.Hosts().size(), 256U);
  hosts.Add("one-more.io");
  EXPECT_EQ(hosts.Hosts(), Texts{"*"});
}

TEST(TableHosts, ArePutTogether) {
  TableHosts one, other;
  one.Add("a.io");
  other.Add("b.io");
  one.Add(other);
  EXPECT_EQ(one.Hosts(), (Texts{"a.io", "b.io"}));
  other.AddAny();
  one.Add(other);
  EXPECT_EQ(one.Hosts(), Texts{"*"});
}

TEST(IsConfigPath, IsAbsoluteAndPrintable) {
  for (std::string_view path : {"", "/a", "/a:/b", "/a:"}) EXPECT_TRUE(IsConfigPath(path)) << path;
  for (std::string_view path : {"a", "./a", "/a b", "/a\nb", ":/a", "/\xc3\xa4"}) {
    EXPECT_FALSE(IsConfigPath(path)) << path;
  }
  EXPECT_FALSE(IsConfigPath("/" + std::string(4096, 'a')));
}

}  // namespace
}  // namespace prefetch::image::table_hosts_test
