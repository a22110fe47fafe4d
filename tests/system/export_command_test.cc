// prefetchctl list export --for kubelet, as built, and the spelling that it had before.
#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "base/text.h"
#include "doc/write.h"
#include "doc/yaml.h"
#include "golden.h"
#include "kubelet/kubelet_config.h"
#include "rig/binary.h"
#include "temp_dir.h"

namespace prefetch::ctl::export_command_test {
namespace {

using Arguments = std::vector<std::string>;

const char kList[] =
    "reg.io/team/app:v1\nreg.io/team/app:v2\nquay.io/acme/runner\ndocker.io/library/nginx:1.27\n";

base::ProcessResult Export(Arguments arguments) {
  arguments.insert(arguments.begin(), {rig::Prefetchctl(), "list", "export", "--for", "kubelet"});
  auto result = base::RunProcess({}, {.argv = std::move(arguments), .environment = {}}, "");
  EXPECT_TRUE(result.ok());
  return result ? *std::move(result) : base::ProcessResult{};
}

std::string OutputOf(const std::string& list, Arguments arguments) {
  tests::TempDir folder;
  arguments.insert(arguments.end(), {"--list", folder.Write("images.txt", list)});
  base::ProcessResult result = Export(arguments);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  return std::string(result.output.Reveal());
}

// The KubeletConfiguration that the Machine Config Operator would make of a KubeletConfig.
std::string KubeletConfigOf(const std::string& openshift) {
  doc::Problems problems("stdout");
  auto root = doc::ParseYaml(openshift, problems);
  EXPECT_TRUE(root && problems.empty());
  const doc::Node* spec = root ? root->Find("spec") : nullptr;
  const doc::Node* settings = spec == nullptr ? nullptr : spec->Find("kubeletConfig");
  EXPECT_NE(settings, nullptr);
  if (settings == nullptr) return "";
  doc::Node node = *settings;
  node.Set("apiVersion", doc::Node::String("kubelet.config.k8s.io/v1beta1"))
      .Set("kind", doc::Node::String("KubeletConfiguration"));
  return doc::WriteYaml(node);
}

// A kubelet of `version` has to start with the configuration, and exempts every name of the list.
void ExpectExempt(const std::string& config, image::KubeletVersion version) {
  auto facts = kubelet::DecodeKubeletConfig(config, "stdout");
  ASSERT_TRUE(facts.ok()) << facts.error().message();
  facts->version = version;
  auto possible = kubelet::PossibleSettings(*facts);
  ASSERT_TRUE(possible.ok()) << possible.error().message();
  ASSERT_EQ(possible->size(), 1U);
  EXPECT_EQ(possible->front().policy, kubelet::VerificationPolicy::kNeverVerifyAllowlistedImages);
  for (std::string_view name : base::Split(base::TrimSpace(kList), '\n')) {
    EXPECT_TRUE(possible->front().allowlist.Matches(*image::Reference::Parse(name))) << name;
  }
}

TEST(ExportCommand, KubeletStartsWithWhatIsPrinted) {
  for (unsigned minor : {33U, 34U, 35U, 36U, 37U}) {
    image::KubeletVersion version{1, minor};
    ExpectExempt(OutputOf(kList, {"--kubelet-version", version.ToString()}), version);
  }
  ExpectExempt(OutputOf(kList, {}), {1, 37});
}

TEST(ExportCommand, SoItDoesOnOpenShift) {
  for (unsigned minor : {35U, 36U, 37U}) {
    image::KubeletVersion version{1, minor};
    std::string output = OutputOf(kList, {"-o", "openshift", "--kubelet-version", version.ToString()});
    ExpectExempt(KubeletConfigOf(output), version);
  }
  // A KubeletConfig that has featureGates is refused there.
  std::string old = OutputOf(kList, {"-o", "openshift", "--kubelet-version", "1.34"});
  EXPECT_EQ(old.find("featureGates:"), std::string::npos) << old;
  EXPECT_NE(old.find("FeatureGate"), std::string::npos) << old;
}

TEST(ExportCommand, IsForPeople) {
  tests::ExpectGolden("kubelet/allowlist-1.37.yaml", OutputOf(kList, {}));
  tests::ExpectGolden("kubelet/allowlist-1.34.yaml", OutputOf(kList, {"--kubelet-version", "1.34"}));
  tests::ExpectGolden("kubelet/allowlist-openshift.yaml", OutputOf(kList, {"-o", "openshift"}));
}

TEST(ExportCommand, AnOptionOfTheOtherTargetIsAMistake) {
  base::ProcessResult result = Export({"--list", "images.txt", "--pool", "ci"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.errors, "prefetchctl: --pool cannot be used with --for kubelet\n");
}

// One image that two sources spell differently is two names for kubelet.
TEST(ExportCommand, TakesEverySpelling) {
  tests::TempDir folder;
  folder.Write("a.txt", "nginx:1.27\n");
  folder.Write("b.yaml",
               "apiVersion: prefetchd.dev/v1alpha1\nkind: ImageList\nimages:\n"
               "- image: docker.io/library/nginx:1.27\n");
  base::ProcessResult result = Export({"--list", folder.path()});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_NE(result.output.Reveal().find("- docker.io/library/nginx\n- nginx\n"), std::string::npos)
      << result.output.Reveal();
}

}  // namespace
}  // namespace prefetch::ctl::export_command_test
