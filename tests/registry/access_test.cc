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
const ContainerdSettings kBrokenFile = OnlyTheRuntimeKnows("it is broken");

class AccessTest : public testing::TestWithParam<AccessRow> {};

TEST_P(AccessTest, IsAsDeclaredElseAsTold) {
  FileFacts files{.containerd = GetParam().file, .crio = GetParam().crio};
  EXPECT_EQ(DecideAccess(GetParam().declared, GetParam().runtime, files), GetParam().expect);
}

INSTANTIATE_TEST_SUITE_P(
    Facts, AccessTest,
    testing::Values(
        AccessRow{"OldContainerdThatTellsNothing", {}, Containerd("1.6.20~ds1"), {"", "default", {}, "", {}}},
        AccessRow{"Containerd2", {}, Containerd("v2.1.4"), {"", "default", {}, "", {}}},
        AccessRow{"NewContainerd", {}, Containerd("2.3.4"), {kDefaultPath, "default", {}, "", {}}},
        AccessRow{"ToldPath", {}, Tells("/etc/hosts.d"), {"/etc/hosts.d", "runtime", {}, "", {}}},
        AccessRow{"ToldThatThereIsNone", {}, Tells(""), {"", "runtime", {}, "", {}}},
        AccessRow{"ToldTables", {}, Tells("", {"docker.io"}), {"", "runtime", {"docker.io"}, "runtime", {}}},
        AccessRow{"ToldCredentialsBesideAPath",
                  {},
                  Tells("/etc/hosts.d", {"r.io"}),
                  {"/etc/hosts.d", "runtime", {"r.io"}, "runtime", {}}},
        AccessRow{"DeclaredPath",
                  {.config_path = "/etc/certs.d"},
                  Containerd("2.0.1"),
                  {"/etc/certs.d", "declared", {}, "", {}}},
        AccessRow{"DeclaredAsTold",
                  {.config_path = "/etc/certs.d"},
                  Tells("/etc/certs.d"),
                  {"/etc/certs.d", "declared", {}, "", {}}},
        AccessRow{"DeclaredAgainstTold",
                  {.config_path = "/etc/certs.d"},
                  Tells("/etc/hosts.d"),
                  {"/etc/certs.d",
                   "declared",
                   {},
                   "",
                   {"containerd tells that its config_path is /etc/hosts.d; /etc/certs.d is declared, and "
                    "counts"}}},
        AccessRow{"DeclaredPathDoesNotHideTables",
                  {.config_path = "/etc/certs.d"},
                  Tells("", {"*"}),
                  {"/etc/certs.d",
                   "declared",
                   {"*"},
                   "runtime",
                   {"containerd tells that it has no config_path; /etc/certs.d is declared, and counts"}}},
        AccessRow{"DeclaredByPull",
                  {.by_pull = true, .config_path = "/etc/certs.d"},
                  Tells("/etc/certs.d"),
                  {"", "", {"*"}, "declared", {}}},
        AccessRow{"Crio", {}, {"cri-o", "1.34.2", {}}, {"", "", {"*"}, "runtime", {}}},
        AccessRow{"CrioWithAPathDeclared",
                  {.config_path = "/etc/certs.d"},
                  {"cri-o", "1.34.2", {}},
                  {"", "", {"*"}, "runtime", {}}},
        AccessRow{"NotConnectedYet", {}, {}, {"", "", {"*"}, "", {}}}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfTheFile, AccessTest,
    testing::Values(
        AccessRow{"Path",
                  {},
                  Containerd("2.1.9"),
                  {"/etc/hosts.d", "file", {}, "", {"a note"}},
                  File("/etc/hosts.d")},
        AccessRow{"LocalPull",
                  {},
                  Containerd("2.1.9"),
                  {"/a:/b", "file", {}, "", {"a note"}, true},
                  File("/a:/b", {}, false, true)},
        AccessRow{"NoPathAndNoDefault", {}, Containerd("2.1.9"), {"", "file", {}, "", {"a note"}}, File("")},
        AccessRow{"TheReleasesDefault",
                  {},
                  Containerd("2.2.1"),
                  {kDefaultPath, "default", {}, "", {"a note"}, true},
                  File("", {}, false, true)},
        AccessRow{"MirrorsLeaveNoDefault",
                  {},
                  Containerd("2.2.1"),
                  {"", "file", {"docker.io"}, "file", {"a note"}, true},
                  File("", {"docker.io"}, true, true)},
        AccessRow{"WhatIsToldCounts",
                  {},
                  Tells("/etc/hosts.d"),
                  {"/etc/hosts.d", "runtime", {}, "", {}},
                  File("/other", {"r.io"}, true, true)},
        AccessRow{
            "DeclaredAgainstIt",
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
        AccessRow{"DeclaredAndItHasNone",
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
        AccessRow{"NotThere",
                  {},
                  Containerd("2.2.1"),
                  {kDefaultPath, "default", {}, "", {"it is not there"}},
                  kNoFile},
        AccessRow{"Broken", {}, Containerd("2.2.1"), {"", "", {"*"}, "file", {"it is broken"}}, kBrokenFile},
        AccessRow{"DeclaredAndBroken",
                  {.config_path = "/etc/certs.d"},
                  Containerd("2.2.1"),
                  {"/etc/certs.d", "declared", {}, "", {"it is broken"}},
                  kBrokenFile},
        AccessRow{"BrokenAndTold", {}, Tells("/c"), {"/c", "runtime", {}, "", {}}, kBrokenFile},
        AccessRow{
            "OfAnotherRuntime", {}, {"cri-o", "1.34.2", {}}, {"", "", {"*"}, "runtime", {}}, File("/c")},
        AccessRow{"DeclaredByPull",
                  {.by_pull = true},
                  Containerd("2.1.9"),
                  {"", "", {"*"}, "declared", {}},
                  File("/c")}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OfCrio, AccessTest,
    testing::Values(AccessRow{"RegistriesConf",
                              {},
                              Crio(),
                              {"/etc/containers/registries.conf", "registries.conf", {}, "", {"a note"}},
                              {},
                              RegistriesConfIs(std::make_shared<const RegistriesConf>())},
                    AccessRow{"RegistriesConfThatCannotBeFollowed",
                              {},
                              Crio(),
                              {"", "", {"*"}, "file", {"a note"}},
                              {},
                              RegistriesConfIs(nullptr)},
                    AccessRow{"RegistriesConfAndDeclaredByPull",
                              {.by_pull = true},
                              Crio(),
                              {"", "", {"*"}, "declared", {}},
                              {},
                              RegistriesConfIs(std::make_shared<const RegistriesConf>())},
                    AccessRow{"RegistriesConfOfAnotherRuntime",
                              {},
                              Containerd("2.1.9"),
                              {"", "default", {}, "", {}},
                              {},
                              RegistriesConfIs(std::make_shared<const RegistriesConf>())}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::registry::access_test
