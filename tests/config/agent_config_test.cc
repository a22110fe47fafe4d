#include "config/agent_config.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/config_file.h"
#include "config/said.h"
#include "config/settings.h"
#include "doc/problems.h"
#include "must.h"
#include "rig/expect_has.h"
#include "rows.h"
#include "temp_dir.h"

namespace prefetch::config::agent_config_test {
namespace {

using std::chrono::minutes;
using tests::Flag;
using tests::Flags;
using tests::kListenError;
using tests::Minimal;

const char kHead[] = "apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n";

GetEnv Environment(std::map<std::string, std::string> variables) {
  auto owned = std::make_shared<const std::map<std::string, std::string>>(std::move(variables));
  return [owned](const char* name) -> const char* {
    auto found = owned->find(name);
    return found == owned->end() ? nullptr : found->second.c_str();
  };
}

TEST(AgentConfig, Defaults) {
  auto config = tests::Must(Validate(Minimal()));
  EXPECT_EQ(config->listen, (ListenAddress{"127.0.0.1", 9477}));
  EXPECT_EQ(config->local, "/run/prefetchd/prefetchd.sock");
  EXPECT_EQ(config->runtime_endpoint, "");
  EXPECT_EQ(config->limits, plan::Limits());
  EXPECT_FALSE(config->once);
  EXPECT_FALSE(config->log_format);
}

TEST(AgentConfig, AKubeletIsLookedForUnlessThereIsNone) {
  RawConfig raw = Minimal();
  EXPECT_EQ(Validate(raw)->kubelet, KubeletMode::kNone);
  raw.given["kubelet"] = Flag("auto", "--kubelet");
  EXPECT_EQ(Validate(raw)->kubelet, KubeletMode::kAuto);
  raw.given.erase("kubelet");
  EXPECT_EQ(Validate(raw)->kubelet, KubeletMode::kAuto);
}

TEST(AgentConfig, UnpinAloneNeedsNoList) {
  RawConfig raw;
  EXPECT_TRUE(LoadAgentConfig(raw, Environment({{"PREFETCHD_UNPIN", "true"}, {"PREFETCHD_ONCE", "true"}})));
  EXPECT_FALSE(LoadAgentConfig(raw, Environment({{"PREFETCHD_UNPIN", "true"}})));
  EXPECT_FALSE(LoadAgentConfig(raw, Environment({{"PREFETCHD_ONCE", "true"}})));
  EXPECT_TRUE(LoadAgentConfig(Minimal(), Environment({{"PREFETCHD_UNPIN", "true"}}))->unpin);
  EXPECT_FALSE(Validate(Minimal())->unpin);
}

TEST(AgentConfig, TheNodeGateIsOptedIntoPartByPart) {
  RawConfig raw = Minimal();
  EXPECT_FALSE(Validate(raw)->gate.Any());
  EXPECT_FALSE(Validate(raw)->kube_api);
  GetEnv environment = Environment({{"PREFETCHD_STARTUP_TAINT", "true"},
                                    {"PREFETCHD_NODE_LABEL", "false"},
                                    {"PREFETCHD_GATE_TIMEOUT", "5m"},
                                    {"PREFETCHD_INSTANCE", "team-a"}});
  auto config = tests::Must(LoadAgentConfig(raw, environment));
  EXPECT_TRUE(config->gate.taint);
  EXPECT_FALSE(config->gate.label);
  EXPECT_TRUE(config->kube_api);
  EXPECT_EQ(config->gate.timeout, minutes(5));
  EXPECT_EQ(config->gate.instance, "team-a");
}

TEST(AgentConfig, EachPathOfTheTableMustBeAbsolute) {
  int paths = 0;
  for (const Setting& setting : kSettings) {
    if (std::string_view(setting.pattern) != kPath) continue;
    paths++;
    RawConfig raw = Minimal();
    raw.given.erase("kubelet");
    const auto error = tests::MustFail(LoadAgentConfig(raw, Environment({{VariableOf(setting), "no/root"}})));
    EXPECT_HAS(error.message(), VariableOf(setting) + ": must be an absolute path");
  }
  EXPECT_GE(paths, 13);
}

TEST(AgentConfig, SwitchesAreOffUntilTurnedOn) {
  RawConfig raw = Minimal();
  raw.given.erase("kubelet");
  const auto config = tests::Must(Validate(raw));
  for (bool on :
       {config->touch, config->touch_image_volumes, config->check_pull, config->core_dumps,
        config->fleet_tokens, config->kubelet_api, config->gate.label, config->gate.condition,
        config->gate.taint, config->accept_fleet_wide_node_writes, config->registry.split_config_path}) {
    EXPECT_FALSE(on);
  }
}

TEST(AgentConfig, LeasesBelongToOnePathAndInstance) {
  auto owner = [](const char* local, const char* instance) {
    AgentConfig config;
    config.local = local;
    if (instance != nullptr) config.gate.instance = instance;
    return config.LeaseOwner();
  };
  EXPECT_EQ(owner("/run/prefetchd.sock", nullptr), "/run/prefetchd.sock");
  EXPECT_NE(owner("/run/prefetchd.sock", "team-a"), owner("/run/prefetchd.sock", nullptr));
  EXPECT_NE(owner("/run/prefetchd.sock", "team-a"), owner("/run/prefetchd.sock", "team-b"));
  EXPECT_NE(owner("/run/a.sock", "team-a"), owner("/run/b.sock", "team-a"));
}

TEST(AgentConfig, RegistriesAreLeftAlone) {
  auto config = tests::Must(LoadAgentConfig(Minimal(), Environment({{"PREFETCHD_REGISTRY", "none"}})));
  EXPECT_EQ(config->registry.mode, RegistryMode::kNone);
}

TEST(AgentConfig, FetchMode) {
  auto fetch = [](const char* word) {
    return LoadAgentConfig(Minimal(), Environment({{"PREFETCHD_FETCH", word}}));
  };
  EXPECT_EQ(Validate(Minimal())->fetch, FetchMode::kRuntime);
  EXPECT_EQ(fetch("auto")->fetch, FetchMode::kAuto);
  EXPECT_EQ(fetch("runtime")->fetch, FetchMode::kRuntime);
  ASSERT_FALSE(fetch("agent"));
  EXPECT_EQ(fetch("agent").error().message(), "PREFETCHD_FETCH: must be auto or runtime");
}

TEST(AgentConfig, AProxysPasswordIsForFilesOnly) {
  RawConfig raw = Minimal();
  raw.given["registry-https-proxy"] = Flag("http://user:word@proxy:3128", "--registry-https-proxy");
  const auto error = tests::MustFail(Validate(raw));
  EXPECT_HAS(error.message(), "--registry-https-proxy: must not hold a password");
  EXPECT_LACKS(error.message(), "word@");
  raw.given["registry-https-proxy"] =
      Flag("http://user:word@proxy:3128", "agent.yaml:4:1: registryHttpsProxy");
  EXPECT_TRUE(Validate(raw));
}

TEST(AgentConfig, TouchingIsOptedIntoAndNeedsTheApiServer) {
  RawConfig raw = Minimal();
  raw.given.erase("kubelet");
  EXPECT_FALSE(Validate(raw)->touch);
  auto config = tests::Must(LoadAgentConfig(raw, Environment({{"PREFETCHD_TOUCH", "true"}})));
  EXPECT_TRUE(config->touch);
  EXPECT_TRUE(config->kube_api);
  EXPECT_FALSE(config->touch_image_volumes);
  EXPECT_FALSE(config->check_pull);
}

TEST(AgentConfig, SpellingsOfOneThing) {
  RawConfig raw = Minimal();
  raw.given["runtime-endpoint"] = Flag("/run/x.sock", "f");
  raw.given["listen"] = Flag("[::1]:0", "f");
  raw.given["kubelet-version"] = Flag("v1.36.2", "f");
  auto config = tests::Must(Validate(raw));
  EXPECT_EQ(config->runtime_endpoint, "unix:///run/x.sock");
  EXPECT_EQ(config->listen, (ListenAddress{"::1", 0}));
  EXPECT_EQ(config->declared.version->ToString(), "1.36.2");
  for (const char* same : {"unix:/run/x.sock", "unix:///run/x.sock"}) {
    raw.given["runtime-endpoint"] = Flag(same, "f");
    config = Validate(raw);
    ASSERT_TRUE(config) << config.error().message();
    EXPECT_EQ(config->runtime_endpoint, "unix:///run/x.sock");
  }
}

// Empty brackets would be every address, and brackets in a host are a slip.
TEST(AgentConfig, AListenAddressIsHostAndPort) {
  const std::pair<const char*, std::optional<ListenAddress>> rows[] = {
      {":9477", ListenAddress{"", 9477}}, {"[::1]:9477", ListenAddress{"::1", 9477}},
      {"[]:9477", std::nullopt},          {"[a]b]:9477", std::nullopt},
      {"[::1]9477", std::nullopt},        {"::1:9477", std::nullopt},
      {"127.0.0.1", std::nullopt},        {"127.0.0.1:65536", std::nullopt},
  };
  for (const auto& [text, address] : rows) EXPECT_EQ(ParseHostPort(text), address) << text;
}

TEST(AgentConfig, TheWholeFile) {
  tests::TempDir root;
  std::string environment = root.Write("plugin.env", "# for the plugin\nAWS_REGION=eu\nTOKEN=\"a b\"\n");
  std::string file = root.Write("agent.yaml", std::string(kHead) + R"(list: [/etc/a, /etc/b]
runtimeEndpoint: unix:///run/c.sock
imageCredentialProviderConfig: /etc/c.yaml
imageCredentialProviderBinDir: /opt/bin
dockerConfig: [/root/.docker/config.json]
kubelet: auto
kubeletVersion: "1.36"
kubeletRoot: /k
kubeletConfig: /k/config.yaml
kubeletConfigDir: /k/config.d
kubeletVerification: NeverVerifyAllowlistedImages
kubeletAllowlist: [reg.example/team/*]
auditIgnore: [registry.k8s.io/*]
kubeletProc: /host/proc
kubeletApi: true
kubeletAddress: 10.0.0.7:10251
kubeletCa: /pki/ca.crt
kubeApi: true
registry: pull
registryConfigPath: /etc/containerd/certs.d
registryContainerdConfig: /etc/containerd/config.toml
registriesConf: /etc/containers/registries.conf
registrySplitConfigPath: true
registryHostRoot: /host
registryCa: /etc/ca.pem
registryHttpProxy: http://p:1
registryHttpsProxy: http://u:w@p:2
registryNoProxy: .svc
registryTrustedMirrors: [m.io:5000]
registryTrustedRealms: [auth.io]
registrySkipMirrors: true
touch: true
touchImageVolumes: true
coreDumps: true
fleetTokens: true
checkPull: true
nodeLabel: true
nodeResultLabel: image-prefetcher.stackrox.io/my-images
nodeCondition: true
startupTaint: true
startupTaintKey: startup-taint.cluster-autoscaler.kubernetes.io/prefetchd
gateTimeout: 20m
instance: team-a
acceptFleetWideNodeWrites: true
listen: 0.0.0.0:9000
local: /run/p.sock
once: true
timeout: 10m
logLevel: debug
logFormat: json
pullSecrets:
- name: team
  path: /secrets/team/.dockerconfigjson
  allowRepositories: [reg.example/team]
  sources: [team.yaml]
providerServiceAccount: {namespace: apps, name: puller}
providerEnvironment: )" + environment + R"(
fetch: auto
limits:
  parallelPulls: 8
  parallelPullsWhenReady: 1
  perRegistryPulls: 3
  parallelPullsFar: 12
  largeImageBytes: 1073741824
  diskMinFreeBytes: 0
  diskHighPercent: 70
  stallTimeout: 5m
  pullLimit: 1h
  startJitter: 10m
  downloadBytesPerSecond: 50000000
preflight:
  namespaces: [ci, team-*]
  serviceAccounts: [ci/runner]
  always: ask
  unlisted: ask
  pull: any
)");
  auto config = tests::Must(LoadAgentConfig({}, Environment({{"PREFETCHD_CONFIG", file}})));
  EXPECT_EQ(config->lists, (std::vector<std::string>{"/etc/a", "/etc/b"}));
  EXPECT_EQ(config->runtime_endpoint, "unix:///run/c.sock");
  EXPECT_EQ(config->image_credential_provider_config, "/etc/c.yaml");
  EXPECT_EQ(config->image_credential_provider_bin_dir, "/opt/bin");
  EXPECT_EQ(config->docker_configs, (std::vector<std::string>{"/root/.docker/config.json"}));
  ASSERT_TRUE(config->declared.version);
  EXPECT_EQ(config->declared.version->ToString(), "1.36");
  EXPECT_EQ(config->declared.root, "/k");
  EXPECT_EQ(config->declared.config_file, "/k/config.yaml");
  EXPECT_EQ(config->declared.config_dir, "/k/config.d");
  EXPECT_EQ(config->declared.policy, kubelet::VerificationPolicy::kNeverVerifyAllowlistedImages);
  EXPECT_EQ(config->declared.allowlist, (std::vector<std::string>{"reg.example/team/*"}));
  EXPECT_EQ(config->audit_ignore, (std::vector<std::string>{"registry.k8s.io/*"}));
  EXPECT_EQ(config->kubelet_proc, "/host/proc");
  EXPECT_TRUE(config->kubelet_api);
  EXPECT_EQ(config->kubelet_address, (ListenAddress{"10.0.0.7", 10251}));
  EXPECT_EQ(config->kubelet_ca, "/pki/ca.crt");
  EXPECT_EQ(config->provider_service_account, (ProviderServiceAccount{"apps", "puller"}));
  EXPECT_TRUE(config->kube_api);
  EXPECT_EQ(config->preflight, (plan::CallerRules{.namespaces = {"ci", "team-*"},
                                                  .service_accounts = {"ci/runner"},
                                                  .always = plan::AnswerSource::kAsk,
                                                  .unlisted = plan::AnswerSource::kAsk,
                                                  .pull = plan::PullFor::kAny}));
  EXPECT_EQ(config->registry, (RegistryConfig{.mode = RegistryMode::kPull,
                                              .config_path = "/etc/containerd/certs.d",
                                              .containerd_config = "/etc/containerd/config.toml",
                                              .registries_conf = "/etc/containers/registries.conf",
                                              .split_config_path = true,
                                              .host_root = "/host",
                                              .ca = "/etc/ca.pem",
                                              .http_proxy = "http://p:1",
                                              .https_proxy = "http://u:w@p:2",
                                              .no_proxy = ".svc",
                                              .trusted_mirrors = {"m.io:5000"},
                                              .trusted_realms = {"auth.io"},
                                              .skip_mirrors = true}));
  EXPECT_TRUE(config->touch);
  EXPECT_TRUE(config->touch_image_volumes);
  EXPECT_TRUE(config->check_pull);
  EXPECT_TRUE(config->core_dumps);
  EXPECT_TRUE(config->fleet_tokens);
  EXPECT_EQ(config->gate,
            (plan::GateOptions{.instance = "team-a",
                               .label = true,
                               .result_label = "image-prefetcher.stackrox.io/my-images",
                               .condition = true,
                               .taint = true,
                               .taint_key = "startup-taint.cluster-autoscaler.kubernetes.io/prefetchd",
                               .timeout = minutes(20)}));
  EXPECT_TRUE(config->accept_fleet_wide_node_writes);
  EXPECT_EQ(config->listen, (ListenAddress{"0.0.0.0", 9000}));
  EXPECT_TRUE(config->once);
  EXPECT_EQ(config->timeout, minutes(10));
  EXPECT_EQ(config->log_level, base::LogLevel::kDebug);
  EXPECT_EQ(config->log_format, base::LogFormat::kJson);
  EXPECT_EQ(config->pull_secrets.at(0),
            (PullSecret{"team", "/secrets/team/.dockerconfigjson", {"reg.example/team"}, {"team.yaml"}}));
  ASSERT_EQ(config->provider_environment.size(), 2U);
  EXPECT_EQ(config->provider_environment[1].second.Reveal(), "a b");
  plan::Limits limits{.parallel_pulls = 8,
                      .parallel_pulls_when_ready = 1,
                      .per_registry_pulls = 3,
                      .parallel_pulls_far = 12,
                      .large_image_bytes = 1 << 30,
                      .disk_min_free_bytes = 0,
                      .disk_high_percent = 70,
                      .stall_timeout = minutes(5),
                      .pull_limit = minutes(60),
                      .start_jitter = minutes(10),
                      .download_bytes_per_second = 50000000};
  EXPECT_EQ(config->limits, limits);
}

// A limit of pulls also applies to far registries, unless those have a limit of their own.
TEST(AgentConfig, ALimitOfPullsIsOneForFarRegistriesToo) {
  tests::TempDir root;
  for (const auto& [limits, expected] :
       std::initializer_list<std::pair<std::string, int>>{{"{}", 8},
                                                          {"{largeImageBytes: 5}", 8},
                                                          {"{parallelPulls: 3}", 3},
                                                          {"{perRegistryPulls: 2}", 4},
                                                          {"{parallelPulls: 2, parallelPullsFar: 6}", 6}}) {
    RawConfig flags = Minimal();
    flags.given["config"] =
        Flag(root.Write("agent.yaml", std::string(kHead) + "limits: " + limits + "\n"), "--config");
    auto config = tests::Must(LoadAgentConfig(flags, Environment({})));
    EXPECT_EQ(config->limits.parallel_pulls_far, expected) << limits;
  }
}

TEST(AgentConfig, FlagsOverEnvironmentOverFile) {
  tests::TempDir root;
  RawConfig flags = Minimal();
  flags.given["config"] =
      Flag(root.Write("agent.yaml",
                      std::string(kHead) + "listen: a:1\nlocal: /file\nlogLevel: error\nlist: [/file]\n"),
           "--config");
  flags.given["listen"] = Flag("c:3", "--listen");
  GetEnv environment = Environment({{"PREFETCHD_LISTEN", "b:2"},
                                    {"PREFETCHD_LOCAL", "/environment"},
                                    {"PREFETCHD_LOG_FORMAT", ""},
                                    {"CONTAINER_RUNTIME_ENDPOINT", "unix:///general"},
                                    {"PREFETCHD_DOCKER_CONFIG", "/a:/b:"},
                                    {"PREFETCHD_SERVICE_HOST", "10.0.0.1"},
                                    {"PREFETCHD_PORT", "tcp://10.0.0.1:9477"}});
  auto config = tests::Must(LoadAgentConfig(flags, environment));
  EXPECT_EQ(config->listen.host, "c");
  EXPECT_EQ(config->local, "/environment");
  EXPECT_EQ(config->log_level, base::LogLevel::kError);
  EXPECT_EQ(config->lists, (std::vector<std::string>{"/etc/lists"}));
  EXPECT_EQ(config->runtime_endpoint, "unix:///general");
  EXPECT_EQ(config->docker_configs, (std::vector<std::string>{"/a", "/b"}));
}

TEST(AgentConfig, MistakesOfFileAndEnvironmentComeTogether) {
  tests::TempDir root;
  RawConfig flags;
  flags.given["config"] = Flag(root.Write("agent.yaml", std::string(kHead) + R"(lists: [/a]
listen: nowhere
kubelet: perhaps
pullSecrets:
- {name: a, path: rel, allowRepositories: []}
- {name: a, path: /b, allowRepositories: ["https://x"], sources: [], secret: hunter2}
providerEnvironment: {"A=B": hunter2, C: 5}
limits: {parallelPulls: 0, parallelPullsWhenReady: 9, stallTimeout: 3h, diskHighPercent: 101}
)"),
                               "--config");
  const auto error = tests::MustFail(LoadAgentConfig(flags, Environment({{"PREFETCHD_ONCE", "1"}})));
  EXPECT_EQ(error.message(), R"(environment: PREFETCHD_ONCE: must be true or false
agent.yaml:3:1: lists: unknown field; did you mean "list"?
agent.yaml:7:3: pullSecrets[0].sources: is required
agent.yaml:7:19: pullSecrets[0].path: must be an absolute path
agent.yaml:7:43: pullSecrets[0].allowRepositories: must name at least one repository: every pod of the node can use images pulled with this secret
agent.yaml:8:3: pullSecrets[1]: has the name of another pull secret
agent.yaml:8:42: pullSecrets[1].allowRepositories: must be repositories without a scheme, such as harbor.example/team
agent.yaml:8:66: pullSecrets[1].sources: must name at least one source of the list: nothing else is pulled with this secret
agent.yaml:8:70: pullSecrets[1].secret: unknown field
agent.yaml:9:22: providerEnvironment: must have names of environment variables as keys
agent.yaml:9:42: providerEnvironment.C: must be a string, not an integer; put it in quotes
agent.yaml:10:25: limits.parallelPulls: must be from 1 to 64
agent.yaml:10:52: limits.parallelPullsWhenReady: must not be more than parallelPulls, which is 4
agent.yaml:10:69: limits.stallTimeout: must not be longer than pullLimit
agent.yaml:10:90: limits.diskHighPercent: must be from 1 to 100
--list: at least one file or directory is needed
agent.yaml:5:10: kubelet: must be auto or none
agent.yaml:4:9: listen)" + kListenError);
}

TEST(AgentConfig, AdmittingPodsNeedsTheApiServerAndNobodyIsAdmittedByDefault) {
  tests::TempDir root;
  auto load = [&](const std::string& preflight) {
    RawConfig flags;
    flags.given["config"] =
        Flag(root.Write("agent.yaml", std::string(kHead) + "list: [/a]\npreflight: " + preflight + "\n"),
             "--config");
    return LoadAgentConfig(flags, Environment({}));
  };
  auto none = tests::Must(load("{always: ask}"));
  EXPECT_FALSE(none->preflight.AdmitsAnybody());
  EXPECT_FALSE(none->kube_api);
  auto some = tests::Must(load("{namespaces: [ci]}"));
  EXPECT_TRUE(some->kube_api);
  EXPECT_EQ(some->preflight, (plan::CallerRules{.namespaces = {"ci"}})) << "all else is off";

  const auto error = tests::MustFail(
      load("{namespaces: [''], serviceAccounts: [runner], always: perhaps, pull: any, other: 1}"));
  for (const char* mistake :
       {"preflight.namespaces[0]: ", "preflight.serviceAccounts: must be patterns of NAMESPACE/NAME",
        "preflight.always: must be known or ask", "preflight.pull: ", "preflight.other: "}) {
    EXPECT_HAS(error.message(), mistake);
  }
}

TEST(AgentConfig, KubeletVersionsOfDistributions) {
  EXPECT_EQ(CheckedKubelet("v1.34.1-eks-a1b2")->ToString(), "1.34.1");
  EXPECT_EQ(CheckedKubelet("1.31.4+k3s1")->ToString(), "1.31.4");
  EXPECT_EQ(CheckedKubelet("v1.37.0-gke.1")->ToString(), "1.37.0");
  EXPECT_FALSE(CheckedKubelet("0.34"));
}

TEST(AgentConfig, NoNewerKubeletIsRefused) {
  for (const char* version : {"1.37", "1.38.1", "1.99", "2.0"}) {
    EXPECT_EQ(CheckedKubelet(version)->ToString(), version);
  }
}

TEST(AgentConfig, KubeletRulesAreAVersionWhoseRulesAreKnown) {
  RawConfig raw = Minimal();
  raw.given["kubelet-rules"] = Flag("v1.37.2", "--kubelet-rules");
  auto config = tests::Must(LoadAgentConfig(raw, Environment({})));
  EXPECT_EQ(config->declared.rules, (image::KubeletVersion{1, 37}));
}

TEST(AgentConfig, AFileThatCannotBeReadIsTheOnlyMistake) {
  tests::TempDir root;
  RawConfig flags;
  flags.given["config"] = Flag(root / "none.yaml", "--config");
  const auto error = tests::MustFail(LoadAgentConfig(flags, Environment({})));
  EXPECT_EQ(error.message(), "--config: open " + (root / "none.yaml") + ": No such file or directory");
  flags.given["config"] = Flag(root.Write("bad.yaml", "a: [\n"), "--config");
  const auto broken = tests::MustFail(LoadAgentConfig(flags, Environment({})));
  EXPECT_LACKS(broken.message(), "--list");
}

TEST(EnvironmentFile, ReadsAndRefusesWithoutQuoting) {
  doc::Problems problems("plugin.env");
  PluginEnvironment environment = ParseEnvironmentFile(
      "# c\n; c\n\nA=1\r\n B = two words \nC='x=\"y\"'\nA=2\nD=\nhunter2\n1X=hunter2\nE=\"hunter2\n"
      "hunter2=\"\nF=3\n",
      problems);
  EXPECT_EQ(base::Join(problems.Lines(), "\n"),
            "plugin.env:9:1: must be NAME=value\nplugin.env:10:1: must be NAME=value\n"
            "plugin.env:11:1: E: has a quote that is not closed in its line; what follows is not read");
  std::vector<std::string> lines;
  for (const auto& [name, value] : environment) lines.push_back(name + "=" + std::string(value.Reveal()));
  EXPECT_EQ(lines, (std::vector<std::string>{"B=two words", "C=x=\"y\"", "A=2", "D="}));
}

// No agent starts with these configurations. Each error names the source of the value.

struct BadConfig {
  std::string name;
  std::function<void(RawConfig&)> change;
  std::string error;
};

TEST(RefusedConfig, SaysWhoSaidIt) {
  const BadConfig rows[] = {
      {"RegistryMode", [](RawConfig& raw) { raw.given["registry"] = Flag("always", "--registry"); },
       "--registry: must be auto, pull or none"},
      {"RegistryProxy",
       [](RawConfig& raw) { raw.given["registry-http-proxy"] = Flag("proxy:3128", "--registry-http-proxy"); },
       "--registry-http-proxy: must be a URL such as http://proxy.acme.io:3128"},
      {"NoList", [](RawConfig& raw) { raw.given.erase("list"); },
       "--list: at least one file or directory is needed"},
      {"EmptyList", [](RawConfig& raw) { raw.given["list"] = Flags({""}, "--list"); },
       "--list: must not be empty"},
      {"TcpEndpoint",
       [](RawConfig& raw) { raw.given["runtime-endpoint"] = Flag("tcp://h:1", "--runtime-endpoint"); },
       "--runtime-endpoint: must be unix:// and the absolute path of the runtime's socket"},
      {"DoubledSlashes",
       [](RawConfig& raw) { raw.given["runtime-endpoint"] = Flag("unix:////run/x", "--runtime-endpoint"); },
       "--runtime-endpoint: must be unix:// and the absolute path of the runtime's socket"},
      {"FolderAsEndpoint",
       [](RawConfig& raw) { raw.given["runtime-endpoint"] = Flag("unix:///run/", "--runtime-endpoint"); },
       "--runtime-endpoint: must be the path of a socket, not of a folder"},
      {"LongEndpoint",
       [](RawConfig& raw) {
         raw.given["runtime-endpoint"] = Flag("unix:/" + std::string(107, 'x'), "--runtime-endpoint");
       },
       "--runtime-endpoint: must have at most 107 bytes, as the path of any socket"},
      {"ProviderConfigAlone",
       [](RawConfig& raw) {
         raw.given["image-credential-provider-config"] = Flag("/c", "--image-credential-provider-config");
       },
       "--image-credential-provider-config: needs --image-credential-provider-bin-dir beside it"},
      {"BinDirAloneAndRelative",
       [](RawConfig& raw) {
         raw.given["image-credential-provider-bin-dir"] = Flag("bin", "--image-credential-provider-bin-dir");
       },
       "--image-credential-provider-bin-dir: must be an absolute path\n"
       "--image-credential-provider-bin-dir: needs --image-credential-provider-config beside it"},
      {"RelativeDockerConfig",
       [](RawConfig& raw) {
         raw.given["docker-config"] = SourcedTexts{{"a"}, "--docker-config"};
       },
       "--docker-config: must be an absolute path"},
      {"KubeletNoneWithFacts",
       [](RawConfig& raw) {
         raw.given["kubelet-root"] = Flag("/r", "--kubelet-root");
         raw.given["kubelet-verification"] = Flag("AlwaysVerify", "--kubelet-verification");
       },
       "--kubelet-root: needs a kubelet, and --kubelet=none declares that there is none\n"
       "--kubelet-verification: needs a kubelet, and --kubelet=none declares that there is none"},
      {"KubeletVerification",
       [](RawConfig& raw) {
         raw.given.erase("kubelet");
         raw.given["kubelet-verification"] = Flag("Always", "--kubelet-verification");
       },
       "--kubelet-verification: must be NeverVerify, NeverVerifyPreloadedImages, "
       "NeverVerifyAllowlistedImages or AlwaysVerify"},
      {"KubeletAddress",
       [](RawConfig& raw) {
         raw.given.erase("kubelet");
         raw.given["kubelet-api"] = SourcedSwitch{true, "--kubelet-api"};
         raw.given["kubelet-address"] = Flag("10.0.0.7", "--kubelet-address");
       },
       "--kubelet-address: must be host:port, such as 10.0.0.7:10250"},
      {"KubeletAddressNotAsked",
       [](RawConfig& raw) {
         raw.given["kubelet-address"] = Flag("10.0.0.7:1", "--kubelet-address");
         raw.given["kubelet-ca"] = Flag("/ca", "--kubelet-ca");
       },
       "--kubelet-address: has a meaning only with --kubelet-api\n"
       "--kubelet-ca: has a meaning only with --kubelet-api"},
      {"KubeletAllowlistAlone",
       [](RawConfig& raw) {
         raw.given.erase("kubelet");
         raw.given["kubelet-allowlist"] = Flags({"r.io/*"}, "--kubelet-allowlist");
       },
       "--kubelet-allowlist: needs --kubelet-verification NeverVerifyAllowlistedImages beside it"},
      {"KubeletAllowlistForAnotherPolicy",
       [](RawConfig& raw) {
         raw.given.erase("kubelet");
         raw.given["kubelet-verification"] = Flag("AlwaysVerify", "--kubelet-verification");
         raw.given["kubelet-allowlist"] = Flags({"r.io/*"}, "--kubelet-allowlist");
       },
       "--kubelet-allowlist: an allowlist is allowed only with NeverVerifyAllowlistedImages"},
      {"AuditIgnore",
       [](RawConfig& raw) {
         raw.given["audit-ignore"] = Flags({"ok/*", "a b"}, "--audit-ignore");
       },
       "--audit-ignore: must be a pattern of image names such as registry.k8s.io/*, of at most "
       "500 characters and 20 stars"},
      {"AuditIgnoreTooMany",
       [](RawConfig& raw) {
         raw.given["audit-ignore"] = Flags(std::vector<std::string>(101, "a"), "--audit-ignore");
       },
       "--audit-ignore: must be at most 100 patterns"},
      {"KubeletOther", [](RawConfig& raw) { raw.given["kubelet"] = Flag("yes", "--kubelet"); },
       "--kubelet: must be auto or none"},
      {"KubeletVersion",
       [](RawConfig& raw) { raw.given["kubelet-version"] = Flag("latest", "--kubelet-version"); },
       "--kubelet-version: must be a version such as 1.37 or 1.37.2"},
      {"KubeletTooOld",
       [](RawConfig& raw) { raw.given["kubelet-version"] = Flag("v1.30.9", "--kubelet-version"); },
       "--kubelet-version: must be 1.31 or later: the rules of older kubelets are not known"},
      {"KubeletRulesTooNew",
       [](RawConfig& raw) { raw.given["kubelet-rules"] = Flag("1.99", "--kubelet-rules"); },
       "--kubelet-rules: must be from " + std::string(image::kKnownKubelets) + ": other rules are not known"},
      {"KubeletRulesTooOld",
       [](RawConfig& raw) { raw.given["kubelet-rules"] = Flag("1.30", "--kubelet-rules"); },
       "--kubelet-rules: must be from " + std::string(image::kKnownKubelets) + ": other rules are not known"},
      {"KubeletRules", [](RawConfig& raw) { raw.given["kubelet-rules"] = Flag("newest", "--kubelet-rules"); },
       "--kubelet-rules: must be a version such as 1.37"},
      {"TouchWithoutKubelet",
       [](RawConfig& raw) {
         raw.given["touch"] = SourcedSwitch{true, "--touch"};
       },
       "--touch: needs a kubelet, and --kubelet=none declares that there is none"},
      {"TouchVolumesWithoutTouch",
       [](RawConfig& raw) {
         raw.given["touch-image-volumes"] = SourcedSwitch{true, "--touch-image-volumes"};
       },
       "--touch-image-volumes: has a meaning only with --touch"},
      {"ResultLabelWithoutDomain",
       [](RawConfig& raw) { raw.given["node-result-label"] = Flag("images", "--node-result-label"); },
       "--node-result-label: must be a label of a domain of yours: example.com/name"},
      {"ResultLabelOfKubernetes",
       [](RawConfig& raw) {
         raw.given["node-result-label"] = Flag("node.kubernetes.io/images", "--node-result-label");
       },
       "--node-result-label: must be a label of a domain of yours: example.com/name"},
      {"StartupTaintOfKubernetes",
       [](RawConfig& raw) {
         raw.given["startup-taint"] = SourcedSwitch{true, "--startup-taint"};
         raw.given["startup-taint-key"] = Flag("node.kubernetes.io/not-ready", "--startup-taint-key");
       },
       "--startup-taint-key: must be a key of a domain of yours, such as example.com/not-ready, or "
       "begin with startup-taint.cluster-autoscaler.kubernetes.io/"},
      {"StartupTaintKeyWithoutTheTaint",
       [](RawConfig& raw) {
         raw.given["startup-taint-key"] = Flag("example.com/not-ready", "--startup-taint-key");
       },
       "--startup-taint-key: has a meaning only with --startup-taint"},
      {"Instance", [](RawConfig& raw) { raw.given["instance"] = Flag("a/b", "--instance"); },
       "--instance: must be a label's name: at most 63 letters, digits, dots, dashes, underscores"},
      {"GateTimeout", [](RawConfig& raw) { raw.given["gate-timeout"] = Flag("0s", "--gate-timeout"); },
       "--gate-timeout: must be a duration such as \"15m\""},
      {"ListenPort", [](RawConfig& raw) { raw.given["listen"] = Flag("a:65536", "PREFETCHD_LISTEN"); },
       "PREFETCHD_LISTEN" + kListenError},
      {"LongSocket",
       [](RawConfig& raw) { raw.given["local"] = Flag("/" + std::string(107, 'x'), "--local"); },
       "--local: the path of a socket has at most 107 bytes"},
      {"TimeoutWithoutOnce", [](RawConfig& raw) { raw.given["timeout"] = Flag("5m", "--timeout"); },
       "--timeout: has a meaning only with --once"},
      {"BadTimeout",
       [](RawConfig& raw) {
         raw.given["timeout"] = Flag("5", "--timeout");
         raw.given["once"] = SourcedSwitch{true, "--once"};
       },
       "--timeout: must be a duration such as \"90s\" or \"1h30m\""},
      {"SeveralAtOnce",
       [](RawConfig& raw) {
         raw.given["log-level"] = Flag("loud", "--log-level");
         raw.given["log-format"] = Flag("xml", "--log-format");
         raw.given["local"] = Flag("x.sock", "--local");
       },
       "--local: must be an absolute path\n--log-level: must be debug, info, warning or error\n"
       "--log-format: must be auto, json or plain"},
  };
  for (const BadConfig& row : rows) {
    SCOPED_TRACE(row.name);
    RawConfig raw = Minimal();
    row.change(raw);
    const auto refused = tests::MustFail(Validate(raw));
    EXPECT_EQ(refused.message(), row.error);
  }
}

// The value that each kind of setting gets in the file and in a variable.
struct Given {
  std::string in_file, in_variable;
};
Given GivenFor(const Setting& setting) {
  switch (setting.kind()) {
    case SettingKind::kText:
      return {"word", "word"};
    case SettingKind::kSwitch:
      return {"true", "true"};
    case SettingKind::kTexts:
      return {"[a/b, c]", std::string("a/b") + setting.divider + "c"};
  }
  std::abort();
}

std::string Held(const RawConfig& raw, const Setting& setting) {
  const auto given = raw.given.find(setting.name);
  if (given == raw.given.end()) return "";
  EXPECT_EQ(given->second.index(), static_cast<std::size_t>(setting.kind())) << setting.name;
  if (const auto* text = std::get_if<SourcedText>(&given->second)) return text->value;
  if (const auto* flag = std::get_if<SourcedSwitch>(&given->second)) return flag->value ? "true" : "";
  std::string all;
  for (const std::string& one : std::get<SourcedTexts>(given->second).value) all += "<" + one + ">";
  return all;
}

std::string Expected(const Setting& setting) {
  return setting.kind() == SettingKind::kTexts ? "<a/b><c>" : GivenFor(setting).in_variable;
}

// Only that setting is set, and Overlay keeps it from either side.
void ExpectAlone(const RawConfig& raw, const Setting& setting) {
  for (const Setting& other : kSettings) {
    EXPECT_EQ(Held(raw, other), &other == &setting ? Expected(setting) : "") << other.name;
  }
  EXPECT_EQ(Held(Overlay(raw, {}), setting), Expected(setting));
  EXPECT_EQ(Held(Overlay({}, raw), setting), Expected(setting));
}

TEST_TABLE(EachSetting, IsReadFromItsFieldAlone, Setting) {
  const Setting& setting = SettingNamed(row.name);
  doc::Problems problems("agent.yaml");
  auto raw = tests::Must(ReadConfigFile("apiVersion: prefetchd.dev/v1alpha1\nkind: AgentConfiguration\n" +
                                            FieldOf(setting) + ": " + GivenFor(setting).in_file + "\n",
                                        problems));
  if (setting.place == SettingPlace::kNotInFile) {
    EXPECT_FALSE(problems.empty());
    return;
  }
  EXPECT_TRUE(problems.empty());
  ExpectAlone(*raw, setting);
}

TEST_P(EachSetting, IsReadFromItsVariableAlone) {
  const Setting& setting = SettingNamed(GetParam().name);
  const std::string value = GivenFor(setting).in_variable;
  doc::Problems problems("environment");
  RawConfig raw = ReadEnvironment(
      [&](const char* name) { return name == VariableOf(setting) ? value.c_str() : nullptr; }, problems);
  EXPECT_TRUE(problems.empty());
  ExpectAlone(raw, setting);
}

INSTANTIATE_TEST_SUITE_P(Settings, EachSetting, testing::ValuesIn(kSettings),
                         [](const auto& row) { return FieldOf(row.param); });

TEST(Settings, NamesAreSpelledAsTheContractHasThem) {
  std::map<std::string, std::string> wanted = {
      {"list", "--list PREFETCHD_LIST list"},
      {"kubelet-version", "--kubelet-version PREFETCHD_KUBELET_VERSION kubeletVersion"},
      {"registry-trusted-mirrors",
       "--registry-trusted-mirror PREFETCHD_REGISTRY_TRUSTED_MIRRORS registryTrustedMirrors"},
  };
  for (const auto& [name, spelled] : wanted) {
    const Setting& setting = SettingNamed(name);
    EXPECT_EQ(FlagOf(setting) + " " + VariableOf(setting) + " " + FieldOf(setting), spelled);
  }
}

TEST(Settings, NoTwoShareAName) {
  std::set<std::string> names;
  for (const Setting& setting : kSettings) {
    EXPECT_TRUE(names.insert(FlagOf(setting)).second) << setting.name;
  }
}

}  // namespace
}  // namespace prefetch::config::agent_config_test
