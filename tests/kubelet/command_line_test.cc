#include "kubelet/command_line.h"

#include <gtest/gtest.h>

#include "rows.h"

namespace prefetch::kubelet::command_line_test {
namespace {

using std::chrono::minutes;
using std::chrono::nanoseconds;

struct LineCase {
  std::string name;
  std::vector<std::string> flags;
  CommandLine expect;
};

TEST_TABLE(CommandLineTest, Parses, LineCase) {
  std::vector<std::string> arguments = {"/usr/bin/kubelet"};
  arguments.insert(arguments.end(), row.flags.begin(), row.flags.end());
  CommandLine line = ParseCommandLine(arguments);
  EXPECT_TRUE(line.problems.empty()) << line.problems.front();
  EXPECT_EQ(line, row.expect);
}

// K46, and credentials' rule A1.
TEST_ROWS(Spec51, CommandLineTest, {"None", {}, {}}, {"EqualsSign", {"--config=/c"}, {.config = "/c"}},
          {"NextArgument", {"--config", "/c"}, {.config = "/c"}},
          {"LastCounts", {"--config=/a", "--config", "/b"}, {.config = "/b"}},
          {"EmptyIsNotGiven", {"--config="}, {}},
          {"ValueMayHoldEqualsSigns", {"--root-dir=/a=b"}, {.root_dir = "/a=b"}},
          {"Underscores", {"--root_dir=/r", "--config_dir", "/d"}, {.root_dir = "/r", .config_dir = "/d"}},
          {"SwitchBeforeAFlag", {"--fail-swap-on", "--config", "/c"}, {.config = "/c"}},
          {"UnknownFlagWithValue", {"--node-ip", "10.0.0.1", "--v=2", "--config=/c"}, {.config = "/c"}},
          {"ShortFlag", {"-v", "2", "--config=/c"}, {.config = "/c"}},
          {"OneDashIsNoLongFlag", {"-config=/c"}, {}}, {"NothingBehindTwoDashes", {"--", "--config=/c"}, {}},
          {"SimilarNamesDiffer", {"--kubeconfig=/k", "--bootstrap-kubeconfig=/b", "--cloud-config=/x"}, {}},
          {"Kubeadm",
           {"--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
            "--kubeconfig=/etc/kubernetes/kubelet.conf", "--config=/var/lib/kubelet/config.yaml",
            "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"},
           {.config = "/var/lib/kubelet/config.yaml",
            .container_runtime_endpoint = "unix:///run/containerd/containerd.sock"}},
          {"CredentialProviders",
           {"--image-credential-provider-config=/p.yaml", "--image-credential-provider-bin-dir=/bin"},
           {.image_credential_provider_config = "/p.yaml", .image_credential_provider_bin_dir = "/bin"}},
          {"ImageService", {"--image-service-endpoint=unix:///i"}, {.image_service_endpoint = "unix:///i"}},
          {"Gate",
           {"--feature-gates=KubeletEnsureSecretPulledImages=true"},
           {.gates = {.ensure_secret_pulled_images = true}}},
          {"GatesWithSpacesAndGaps",
           {"--feature-gates", " A=1,, AllBeta = F ,AllAlpha=TRUE,"},
           {.gates = {.all_alpha = true, .all_beta = false}}},
          {"GatesAddUp",
           {"--feature-gates=AllAlpha=true,AllBeta=false", "--feature-gates=AllAlpha=false"},
           {.gates = {.all_alpha = false, .all_beta = false}}},
          {"NoGates", {"--feature-gates="}, {}},
          {"ImageGc",
           {"--image-gc-high-threshold=90", "--image-gc-low-threshold", "70"},
           {.gc_high_percent = 90, .gc_low_percent = 70}},
          {"NumbersOfOtherBases",
           {"--image-gc-high-threshold=0b101_1010", "--image-gc-low-threshold=0o1_06"},
           {.gc_high_percent = 90, .gc_low_percent = 70}},
          {"NumbersAsGoReadsThem",
           {"--image-gc-high-threshold=+0x5a", "--image-gc-low-threshold=0106"},
           {.gc_high_percent = 90, .gc_low_percent = 70}},
          {"MinimumAge", {"--minimum-image-ttl-duration=5m"}, {.gc_minimum_age = nanoseconds(minutes(5))}},
          {"ZeroMinimumAge", {"--minimum-image-ttl-duration=0"}, {.gc_minimum_age = nanoseconds(0)}});

struct RefusedCase {
  std::string name;
  std::string flag;
};

TEST_TABLE(CommandLineRefused, IsAProblemThatNamesTheFlag, RefusedCase) {
  CommandLine line = ParseCommandLine({"kubelet", row.flag, "--config=/c"});
  ASSERT_EQ(line.problems.size(), 1U);
  std::string name = row.flag.substr(0, row.flag.find('='));
  EXPECT_NE(line.problems[0].find(name), std::string::npos) << line.problems[0];
  EXPECT_EQ(line.config, "/c");
}

TEST_ROWS(Values, CommandLineRefused, {"GateWithoutValue", "--feature-gates=AllAlpha"},
          {"GateYes", "--feature-gates=AllAlpha=yes"}, {"PercentText", "--image-gc-low-threshold=low"},
          {"PercentTail", "--image-gc-low-threshold=80%"}, {"PercentBlank", "--image-gc-low-threshold= 80"},
          {"PercentOctal", "--image-gc-low-threshold=08"},
          {"PercentUnderscores", "--image-gc-low-threshold=8__0"},
          {"PercentUnderscoreInAPrefix", "--image-gc-low-threshold=0_x50"},
          {"PercentUnderscoreInABinaryPrefix", "--image-gc-low-threshold=0_b1010000"},
          {"PercentUnderscoreAtTheEnd", "--image-gc-low-threshold=80_"},
          {"PercentRange", "--image-gc-high-threshold=101"},
          {"PercentNegative", "--image-gc-high-threshold=-1"}, {"PercentEmpty", "--image-gc-high-threshold="},
          {"Age", "--minimum-image-ttl-duration=2"}, {"NegativeAge", "--minimum-image-ttl-duration=-1s"});

TEST(CommandLine, FlagAtTheEndHasNoValue) {
  CommandLine line = ParseCommandLine({"kubelet", "--config"});
  EXPECT_EQ(line.problems, (std::vector<std::string>{"kubelet's flag --config has no value"}));
}

struct KubeletCase {
  std::string name;
  std::vector<std::string> arguments;
  bool is_kubelet;
};

TEST_TABLE(IsKubeletTest, ByItsArguments, KubeletCase) {
  EXPECT_EQ(IsKubelet(row.arguments), row.is_kubelet);
}

TEST_ROWS(Programs, IsKubeletTest, {"Bare", {"kubelet"}, true},
          {"WithPath", {"/usr/local/bin/kubelet", "--v=2"}, true},
          {"Hyperkube", {"/hyperkube", "kubelet", "--v=2"}, true},
          {"OtherHyperkube", {"/hyperkube", "kube-proxy"}, false}, {"HyperkubeAlone", {"/hyperkube"}, false},
          {"Nothing", {}, false}, {"AnEditorOfIt", {"vi", "kubelet"}, false},
          {"ALongerName", {"/usr/bin/kubelet-check"}, false},
          {"AFolderOfThatName", {"/opt/kubelet/run"}, false},
          {"OnlyItsVersion", {"kubelet", "--version"}, false}, {"OnlyItsHelp", {"kubelet", "-h"}, false});

TEST(CommandLine, ArgumentsEndInNul) {
  using Arguments = std::vector<std::string>;
  EXPECT_EQ(SplitArguments(std::string_view("a\0b\0", 4)), (Arguments{"a", "b"}));
  EXPECT_EQ(SplitArguments(std::string_view("a\0\0b\0", 5)), (Arguments{"a", "", "b"}));
  EXPECT_EQ(SplitArguments("a"), (Arguments{"a"}));
  EXPECT_EQ(SplitArguments(""), Arguments());
}

}  // namespace
}  // namespace prefetch::kubelet::command_line_test
