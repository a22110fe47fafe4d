#include "registry/node_access.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace prefetch::registry::access_test {
namespace {

using image::RegistryAccess;

constexpr const char* kDefaultPath = "/etc/containerd/certs.d:/etc/docker/certs.d";

struct AccessRow {
  std::string name;
  DeclaredAccess declared;
  RuntimeFacts runtime;
  RegistryAccess expect;
  ContainerdSettings file = {};
  RegistriesSettings crio = {};
};

RuntimeFacts Containerd(const std::string& version) {
  return {"containerd", version, {}};
}

RuntimeFacts Tells(std::string config_path, std::vector<std::string> in_tables = {}) {
  return {"containerd", "1.7.24", {true, std::move(config_path), std::move(in_tables)}};
}

ContainerdSettings File(std::string config_path, std::vector<std::string> in_tables = {},
                        bool has_mirrors = false, bool local_pull = false) {
  return {{true, std::move(config_path), std::move(in_tables), has_mirrors, local_pull}, {"a note"}};
}

RuntimeFacts Crio() {
  return {"cri-o", "1.36.3", {}};
}

RegistriesSettings RegistriesConfIs(std::shared_ptr<const RegistriesConf> conf) {
  return {.file = "/etc/containers/registries.conf", .conf = std::move(conf), .notes = {"a note"}};
}

const ContainerdSettings kNoFile = {{}, {"it is not there"}};
const ContainerdSettings kBrokenFile = UnknownSettings("it is broken");

TEST(AccessTest, IsAsDeclaredElseAsTold) {
  const AccessRow rows[] = {
      {"OldContainerdThatTellsNothing", {}, Containerd("1.6.20~ds1"), {"", "default", {}, "", {}}},
      {"Containerd2", {}, Containerd("v2.1.4"), {"", "default", {}, "", {}}},
      {"NewContainerd", {}, Containerd("2.3.4"), {kDefaultPath, "default", {}, "", {}}},
      {"ToldPath", {}, Tells("/etc/hosts.d"), {"/etc/hosts.d", "runtime", {}, "", {}}},
      {"ToldThatThereIsNone", {}, Tells(""), {"", "runtime", {}, "", {}}},
      {"ToldTables", {}, Tells("", {"docker.io"}), {"", "runtime", {"docker.io"}, "runtime", {}}},
      {"ToldCredentialsBesideAPath",
       {},
       Tells("/etc/hosts.d", {"r.io"}),
       {"/etc/hosts.d", "runtime", {"r.io"}, "runtime", {}}},
      {"DeclaredPath",
       {.config_path = "/etc/certs.d"},
       Containerd("2.0.1"),
       {"/etc/certs.d", "declared", {}, "", {}}},
      {"DeclaredAsTold",
       {.config_path = "/etc/certs.d"},
       Tells("/etc/certs.d"),
       {"/etc/certs.d", "declared", {}, "", {}}},
      {"DeclaredAgainstTold",
       {.config_path = "/etc/certs.d"},
       Tells("/etc/hosts.d"),
       {"/etc/certs.d",
        "declared",
        {},
        "",
        {"containerd tells that its config_path is /etc/hosts.d; /etc/certs.d is declared, and "
         "counts"}}},
      {"DeclaredPathDoesNotHideTables",
       {.config_path = "/etc/certs.d"},
       Tells("", {"*"}),
       {"/etc/certs.d",
        "declared",
        {"*"},
        "runtime",
        {"containerd tells that it has no config_path; /etc/certs.d is declared, and counts"}}},
      {"DeclaredByPull",
       {.by_pull = true, .config_path = "/etc/certs.d"},
       Tells("/etc/certs.d"),
       {"", "", {"*"}, "declared", {}}},
      {"Crio", {}, {"cri-o", "1.34.2", {}}, {"", "", {"*"}, "runtime", {}}},
      {"CrioWithAPathDeclared",
       {.config_path = "/etc/certs.d"},
       {"cri-o", "1.34.2", {}},
       {"", "", {"*"}, "runtime", {}}},
      {"NotConnectedYet", {}, {}, {"", "", {"*"}, "", {}}},
      {"Path", {}, Containerd("2.1.9"), {"/etc/hosts.d", "file", {}, "", {"a note"}}, File("/etc/hosts.d")},
      {"LocalPull",
       {},
       Containerd("2.1.9"),
       {"/a:/b", "file", {}, "", {"a note"}, true},
       File("/a:/b", {}, false, true)},
      {"NoPathAndNoDefault", {}, Containerd("2.1.9"), {"", "file", {}, "", {"a note"}}, File("")},
      {"TheReleasesDefault",
       {},
       Containerd("2.2.1"),
       {kDefaultPath, "default", {}, "", {"a note"}, true},
       File("", {}, false, true)},
      {"MirrorsLeaveNoDefault",
       {},
       Containerd("2.2.1"),
       {"", "file", {"docker.io"}, "file", {"a note"}, true},
       File("", {"docker.io"}, true, true)},
      {"WhatIsToldCounts",
       {},
       Tells("/etc/hosts.d"),
       {"/etc/hosts.d", "runtime", {}, "", {}},
       File("/other", {"r.io"}, true, true)},
      {"DeclaredAgainstIt",
       {.config_path = "/etc/certs.d"},
       Containerd("2.1.9"),
       {"/etc/certs.d",
        "declared",
        {"r.io"},
        "file",
        {"a note",
         "containerd's configuration file says that its config_path is /etc/hosts.d; /etc/certs.d is "
         "declared, and counts"},
        true},
       File("/etc/hosts.d", {"r.io"}, false, true)},
      {"DeclaredAndItHasNone",
       {.config_path = "/etc/certs.d"},
       Containerd("2.1.9"),
       {"/etc/certs.d",
        "declared",
        {},
        "",
        {"a note",
         "containerd's configuration file says that it has no config_path; /etc/certs.d is "
         "declared, and "
         "counts"}},
       File("")},
      {"NotThere", {}, Containerd("2.2.1"), {kDefaultPath, "default", {}, "", {"it is not there"}}, kNoFile},
      {"Broken", {}, Containerd("2.2.1"), {"", "", {"*"}, "file", {"it is broken"}}, kBrokenFile},
      {"DeclaredAndBroken",
       {.config_path = "/etc/certs.d"},
       Containerd("2.2.1"),
       {"/etc/certs.d", "declared", {}, "", {"it is broken"}},
       kBrokenFile},
      {"BrokenAndTold", {}, Tells("/c"), {"/c", "runtime", {}, "", {}}, kBrokenFile},
      {"OfAnotherRuntime", {}, {"cri-o", "1.34.2", {}}, {"", "", {"*"}, "runtime", {}}, File("/c")},
      {"DeclaredByPull", {.by_pull = true}, Containerd("2.1.9"), {"", "", {"*"}, "declared", {}}, File("/c")},
      {"RegistriesConf",
       {},
       Crio(),
       {"/etc/containers/registries.conf", "registries.conf", {}, "", {"a note"}},
       {},
       RegistriesConfIs(std::make_shared<const RegistriesConf>())},
      {"RegistriesConfThatCannotBeFollowed",
       {},
       Crio(),
       {"", "", {"*"}, "file", {"a note"}},
       {},
       RegistriesConfIs(nullptr)},
      {"RegistriesConfAndDeclaredByPull",
       {.by_pull = true},
       Crio(),
       {"", "", {"*"}, "declared", {}},
       {},
       RegistriesConfIs(std::make_shared<const RegistriesConf>())},
      {"RegistriesConfOfAnotherRuntime",
       {},
       Containerd("2.1.9"),
       {"", "default", {}, "", {}},
       {},
       RegistriesConfIs(std::make_shared<const RegistriesConf>())},
  };
  for (const AccessRow& row : rows) {
    SCOPED_TRACE(row.name);
    FileFacts files{.containerd = row.file, .crio = row.crio};
    EXPECT_EQ(DecideAccess(row.declared, row.runtime, files), row.expect);
  }
}

}  // namespace
}  // namespace prefetch::registry::access_test
