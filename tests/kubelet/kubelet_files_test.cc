// Which files are kubelet's configuration: those that are named, or the usual ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kubelet/kubelet_node.h"
#include "kubelet/node_facts_reader.h"

namespace prefetch::kubelet::kubelet_files_test {
namespace {

namespace fs = std::filesystem;

using kubelet_node::Low;
using kubelet_node::LowOf;
using kubelet_node::Node;

struct UsualCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;  // below the host's root
  std::string low;
};

class UsualFiles : public testing::TestWithParam<UsualCase> {};

TEST_P(UsualFiles, AreTried) {
  Node node;
  for (const auto& [file, text] : GetParam().files) node.Write("host" + file, text);
  EXPECT_EQ(LowOf(node.Reader().Read()), GetParam().low);
}

const std::string kKubeconfig = "apiVersion: v1\nkind: Config\nclusters: []\n";

// K50.
INSTANTIATE_TEST_SUITE_P(
    Spec54, UsualFiles,
    testing::Values(
        UsualCase{"Kubeadm",
                  {{"/var/lib/kubelet/config.yaml", Low(61)}, {"/etc/kubernetes/kubelet.conf", kKubeconfig}},
                  "61"},
        UsualCase{"Gke", {{"/home/kubernetes/kubelet-config.yaml", Low(62)}}, "62"},
        UsualCase{"Eks", {{"/etc/kubernetes/kubelet/config.json", Low(63)}}, "63"},
        UsualCase{"EksDropIns",
                  {{"/etc/kubernetes/kubelet/config.json", Low(63)},
                   {"/etc/kubernetes/kubelet/config.json.d/40.conf", Low(64)}},
                  "64"},
        UsualCase{"EksDropInsAlone", {{"/etc/kubernetes/kubelet/config.json.d/40.conf", Low(64)}}, "unknown"},
        UsualCase{"Bottlerocket", {{"/etc/kubernetes/kubelet/config", Low(65)}}, "65"},
        UsualCase{"Aks", {{"/etc/default/kubeletconfig.json", Low(66)}}, "66"},
        UsualCase{"Talos", {{"/etc/kubernetes/kubelet.yaml", Low(67)}}, "67"},
        UsualCase{
            "Microshift", {{"/var/lib/microshift/resources/kubelet/config/config.yaml", Low(67)}}, "67"},
        UsualCase{
            "OpenShift",
            {{"/etc/kubernetes/kubelet.conf", Low(68)}, {"/etc/openshift/kubelet.conf.d/1.conf", Low(69)}},
            "69"},
        UsualCase{"K3s", {{"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf", Low(71)}}, "71"},
        UsualCase{"Rke2", {{"/var/lib/rancher/rke2/agent/etc/kubelet.conf.d/00.conf", Low(72)}}, "72"},
        UsualCase{"Kubeconfig", {{"/etc/kubernetes/kubelet.conf", kKubeconfig}}, "unknown"},
        UsualCase{"NoYaml", {{"/etc/kubernetes/kubelet.conf", "[Service]\nx=y\n"}}, "unknown"},
        UsualCase{"KubeconfigIsPassedOver",
                  {{"/etc/kubernetes/kubelet.conf", kKubeconfig},
                   {"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/00.conf", Low(71)}},
                  "71"},
        UsualCase{"FirstCounts",
                  {{"/var/lib/kubelet/config.yaml", Low(61)}, {"/etc/default/kubeletconfig.json", Low(66)}},
                  "61"},
        UsualCase{"WhatIsKubeletsAndWrongIsAProblem",
                  {{"/var/lib/kubelet/config.yaml", Low(610)}, {"/etc/default/kubeletconfig.json", Low(66)}},
                  "problem"},
        UsualCase{"EmptyFolderOfK3s", {{"/var/lib/rancher/k3s/agent/etc/kubelet.conf.d/x", ""}}, "unknown"}),
    [](const auto& row) { return row.param.name; });

struct NamedCase {
  std::string name;
  std::string file;     // its text; "-": it is not there
  std::string drop_in;  // its text; "-": the folder is not there; "": the folder is empty
  std::string says;     // in the problems; empty: there is none
};

class NamedFiles : public testing::TestWithParam<NamedCase> {};

TEST_P(NamedFiles, MustBeThereAndBeRight) {
  Node node;
  const NamedCase& row = GetParam();
  if (row.file != "-") node.Write("host/c", row.file);
  if (row.drop_in != "-") fs::create_directories(node / "host/d");
  if (row.drop_in != "-" && !row.drop_in.empty()) node.Write("host/d/1.conf", row.drop_in);
  node.AddProcess("77", {"kubelet", "--config=/c", "--config-dir=/d"});
  NodeFacts seen = node.Reader().Read();
  NodeFacts declared =
      NodeFactsReader({.config_file = node / "host/c", .config_dir = node / "host/d"}, "", {}).Read();
  for (const NodeFacts& facts : {seen, declared}) {
    std::string problems = base::Join(facts.problems, "\n");
    EXPECT_EQ(problems.empty(), row.says.empty()) << problems;
    EXPECT_NE(problems.find(row.says), std::string::npos) << problems;
    EXPECT_EQ(facts.gc.has_value(), row.says.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Problems, NamedFiles,
    testing::Values(NamedCase{"Good", Low(70), Low(60), ""}, NamedCase{"EmptyFolder", Low(70), "", ""},
                    NamedCase{"NoFile", "-", "", "/host/c: No such file"},
                    NamedCase{"NoFolder", Low(70), "-", "/host/d: "},
                    NamedCase{"EmptyFile", "", "", "/host/c:1:1: must be a mapping"},
                    NamedCase{"Kubeconfig", kKubeconfig, "", "/host/c:"},
                    NamedCase{"DropInWithoutKind", Low(70), "maxPods: 5\n", "/host/d/1.conf:"},
                    NamedCase{"TooLong", Low(70), std::string(2 << 20, '#'),
                              "/host/d/1.conf is longer than"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace prefetch::kubelet::kubelet_files_test
