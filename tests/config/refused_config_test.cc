// What no agent starts with: each mistake names who said the value.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "config/agent_config.h"
#include "config/raw_config.h"
#include "config/said.h"

namespace prefetch::config::refused_config_test {
namespace {

using tests::Flag;
using tests::Flags;
using tests::kListenError;
using tests::Minimal;

struct BadConfig {
  std::string name;
  std::function<void(RawConfig&)> change;
  std::string error;
};

TEST(RefusedConfig, SaysWhoSaidIt) {
  const BadConfig rows[] = {
      {"RegistryMode", [](RawConfig& raw) { raw.registry = Flag("always", "--registry"); },
       "--registry: must be auto, pull or none"},
      {"RegistryProxy",
       [](RawConfig& raw) { raw.registry_http_proxy = Flag("proxy:3128", "--registry-http-proxy"); },
       "--registry-http-proxy: must be a URL such as http://proxy.acme.io:3128"},
      {"NoList", [](RawConfig& raw) { raw.list.reset(); },
       "--list: at least one file or directory is needed"},
      {"EmptyList", [](RawConfig& raw) { raw.list->value = {""}; }, "--list: must not be empty"},
      {"TcpEndpoint", [](RawConfig& raw) { raw.runtime_endpoint = Flag("tcp://h:1", "--runtime-endpoint"); },
       "--runtime-endpoint: must be unix:// and the absolute path of the runtime's socket"},
      {"DoubledSlashes",
       [](RawConfig& raw) { raw.runtime_endpoint = Flag("unix:////run/x", "--runtime-endpoint"); },
       "--runtime-endpoint: must be unix:// and the absolute path of the runtime's socket"},
      {"FolderAsEndpoint",
       [](RawConfig& raw) { raw.runtime_endpoint = Flag("unix:///run/", "--runtime-endpoint"); },
       "--runtime-endpoint: must be the path of a socket, not of a folder"},
      {"LongEndpoint",
       [](RawConfig& raw) {
         raw.runtime_endpoint = Flag("unix:/" + std::string(107, 'x'), "--runtime-endpoint");
       },
       "--runtime-endpoint: must have at most 107 bytes, as the path of any socket"},
      {"ProviderConfigAlone",
       [](RawConfig& raw) {
         raw.image_credential_provider_config = Flag("/c", "--image-credential-provider-config");
       },
       "--image-credential-provider-config: needs --image-credential-provider-bin-dir beside it"},
      {"BinDirAloneAndRelative",
       [](RawConfig& raw) {
         raw.image_credential_provider_bin_dir = Flag("bin", "--image-credential-provider-bin-dir");
       },
       "--image-credential-provider-bin-dir: must be an absolute path\n"
       "--image-credential-provider-bin-dir: needs --image-credential-provider-config beside it"},
      {"RelativeDockerConfig",
       [](RawConfig& raw) {
         raw.docker_config = SourcedValue<std::vector<std::string>>{{"a"}, "--docker-config"};
       },
       "--docker-config: must be an absolute path"},
      {"KubeletNoneWithFacts",
       [](RawConfig& raw) {
         raw.kubelet_root = Flag("/r", "--kubelet-root");
         raw.kubelet_verification = Flag("AlwaysVerify", "--kubelet-verification");
       },
       "--kubelet-root: needs a kubelet, and --kubelet=none declares that there is none\n"
       "--kubelet-verification: needs a kubelet, and --kubelet=none declares that there is none"},
      {"KubeletPathsRelative",
       [](RawConfig& raw) {
         raw.kubelet.reset();
         raw.kubelet_root = Flag("r", "--kubelet-root");
         raw.kubelet_config = Flag("c", "--kubelet-config");
         raw.kubelet_config_dir = Flag("d", "--kubelet-config-dir");
         raw.kubelet_proc = Flag("p", "--kubelet-proc");
       },
       "--kubelet-root: must be an absolute path\n"
       "--kubelet-config: must be an absolute path\n"
       "--kubelet-config-dir: must be an absolute path\n"
       "--kubelet-proc: must be an absolute path"},
      {"KubeletVerification",
       [](RawConfig& raw) {
         raw.kubelet.reset();
         raw.kubelet_verification = Flag("Always", "--kubelet-verification");
       },
       "--kubelet-verification: must be NeverVerify, NeverVerifyPreloadedImages, "
       "NeverVerifyAllowlistedImages or AlwaysVerify"},
      {"KubeletAddress",
       [](RawConfig& raw) {
         raw.kubelet.reset();
         raw.kubelet_api = SourcedValue<bool>{true, "--kubelet-api"};
         raw.kubelet_address = Flag("10.0.0.7", "--kubelet-address");
       },
       "--kubelet-address: must be host:port, such as 10.0.0.7:10250"},
      {"KubeletAddressNotAsked",
       [](RawConfig& raw) {
         raw.kubelet_address = Flag("10.0.0.7:1", "--kubelet-address");
         raw.kubelet_ca = Flag("/ca", "--kubelet-ca");
       },
       "--kubelet-address: has a meaning only with --kubelet-api\n"
       "--kubelet-ca: has a meaning only with --kubelet-api"},
      {"KubeletAllowlistAlone",
       [](RawConfig& raw) {
         raw.kubelet.reset();
         raw.kubelet_allowlist = Flags({"r.io/*"}, "--kubelet-allowlist");
       },
       "--kubelet-allowlist: needs --kubelet-verification NeverVerifyAllowlistedImages beside it"},
      {"KubeletAllowlistForAnotherPolicy",
       [](RawConfig& raw) {
         raw.kubelet.reset();
         raw.kubelet_verification = Flag("AlwaysVerify", "--kubelet-verification");
         raw.kubelet_allowlist = Flags({"r.io/*"}, "--kubelet-allowlist");
       },
       "--kubelet-allowlist: an allowlist is allowed only with NeverVerifyAllowlistedImages"},
      {"AuditIgnore",
       [](RawConfig& raw) {
         raw.audit_ignore = Flags({"ok/*", "a b"}, "--audit-ignore");
       },
       "--audit-ignore: must be a pattern of image names such as registry.k8s.io/*, of at most "
       "500 characters and 20 stars"},
      {"AuditIgnoreTooMany",
       [](RawConfig& raw) { raw.audit_ignore = Flags(std::vector<std::string>(101, "a"), "--audit-ignore"); },
       "--audit-ignore: must be at most 100 patterns"},
      {"KubeletOther", [](RawConfig& raw) { raw.kubelet->value = "yes"; }, "--kubelet: must be none or auto"},
      {"KubeletVersion", [](RawConfig& raw) { raw.kubelet_version = Flag("latest", "--kubelet-version"); },
       "--kubelet-version: must be a version such as 1.37 or 1.37.2"},
      {"KubeletTooOld", [](RawConfig& raw) { raw.kubelet_version = Flag("v1.30.9", "--kubelet-version"); },
       "--kubelet-version: must be 1.31 or later: the rules of older kubelets are not known"},
      {"KubeletRulesTooNew", [](RawConfig& raw) { raw.kubelet_rules = Flag("1.38", "--kubelet-rules"); },
       "--kubelet-rules: must be from 1.31 to 1.37: other rules are not known"},
      {"KubeletRulesTooOld", [](RawConfig& raw) { raw.kubelet_rules = Flag("1.30", "--kubelet-rules"); },
       "--kubelet-rules: must be from 1.31 to 1.37: other rules are not known"},
      {"KubeletRules", [](RawConfig& raw) { raw.kubelet_rules = Flag("newest", "--kubelet-rules"); },
       "--kubelet-rules: must be a version such as 1.37"},
      {"TouchWithoutKubelet",
       [](RawConfig& raw) {
         raw.touch = SourcedValue<bool>{true, "--touch"};
       },
       "--touch: needs a kubelet, and --kubelet=none declares that there is none"},
      {"TouchVolumesWithoutTouch",
       [](RawConfig& raw) {
         raw.touch_image_volumes = SourcedValue<bool>{true, "--touch-image-volumes"};
       },
       "--touch-image-volumes: has a meaning only with --touch"},
      {"ResultLabelWithoutDomain",
       [](RawConfig& raw) { raw.node_result_label = Flag("images", "--node-result-label"); },
       "--node-result-label: must be a label of a domain of yours: example.com/name"},
      {"ResultLabelOfKubernetes",
       [](RawConfig& raw) {
         raw.node_result_label = Flag("node.kubernetes.io/images", "--node-result-label");
       },
       "--node-result-label: must be a label of a domain of yours: example.com/name"},
      {"StartupTaintOfKubernetes",
       [](RawConfig& raw) {
         raw.startup_taint = SourcedValue<bool>{true, "--startup-taint"};
         raw.startup_taint_key = Flag("node.kubernetes.io/not-ready", "--startup-taint-key");
       },
       "--startup-taint-key: must be a key of a domain of yours, such as example.com/not-ready, or "
       "begin with startup-taint.cluster-autoscaler.kubernetes.io/"},
      {"StartupTaintKeyWithoutTheTaint",
       [](RawConfig& raw) { raw.startup_taint_key = Flag("example.com/not-ready", "--startup-taint-key"); },
       "--startup-taint-key: has a meaning only with --startup-taint"},
      {"Instance", [](RawConfig& raw) { raw.instance = Flag("a/b", "--instance"); },
       "--instance: must be a label's name: at most 63 letters, digits, dots, dashes, underscores"},
      {"GateTimeout", [](RawConfig& raw) { raw.gate_timeout = Flag("0s", "--gate-timeout"); },
       "--gate-timeout: must be a duration such as \"15m\""},
      {"ListenWithoutPort", [](RawConfig& raw) { raw.listen = Flag("localhost", "--listen"); },
       "--listen" + kListenError},
      {"ListenBareV6", [](RawConfig& raw) { raw.listen = Flag("::1:9477", "--listen"); },
       "--listen" + kListenError},
      {"ListenPort", [](RawConfig& raw) { raw.listen = Flag("a:65536", "PREFETCHD_LISTEN"); },
       "PREFETCHD_LISTEN" + kListenError},
      {"LongSocket", [](RawConfig& raw) { raw.local = Flag("/" + std::string(107, 'x'), "--local"); },
       "--local: the path of a socket has at most 107 bytes"},
      {"TimeoutWithoutOnce", [](RawConfig& raw) { raw.timeout = Flag("5m", "--timeout"); },
       "--timeout: has a meaning only with --once"},
      {"BadTimeout",
       [](RawConfig& raw) {
         raw.timeout = Flag("5", "--timeout");
         raw.once = SourcedValue<bool>{true, "--once"};
       },
       "--timeout: must be a duration such as \"90s\" or \"1h30m\""},
      {"SeveralAtOnce",
       [](RawConfig& raw) {
         raw.log_level = Flag("loud", "--log-level");
         raw.log_format = Flag("xml", "--log-format");
         raw.local = Flag("x.sock", "--local");
       },
       "--local: must be an absolute path\n--log-level: must be debug, info, warning or error\n"
       "--log-format: must be auto, json or plain"},
  };
  for (const BadConfig& row : rows) {
    SCOPED_TRACE(row.name);
    RawConfig raw = Minimal();
    row.change(raw);
    auto config = Validate(raw);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().message(), row.error);
  }
}

}  // namespace
}  // namespace prefetch::config::refused_config_test
