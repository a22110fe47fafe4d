#include "flags.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace prefetch {
namespace {

constexpr const char* kFooter = R"(
Examples:
  prefetchd --list images.yaml --kubelet-version 1.36.2
      Keep the images of images.yaml on this node, and say what its kubelet lets pods do with them; answer on
      127.0.0.1:9477 and the local socket.
  prefetchd --kubelet=none --list images.yaml
      The same on a host that has a container runtime and no kubelet.
  prefetchd --kubelet=none --list images.yaml --once --timeout 10m
      Pull, print the result and exit: 0 all ready, 1 something is not (or the result could not be printed),
      2 bad usage or input, 3 timed out, 4 the runtime could not be reached.
  prefetchd --config agent.yaml --list /etc/prefetchd/lists --log-level debug

Each flag can also be set by a field of the configuration file (camelCase) and by an environment variable
(PREFETCHD_ and the flag in capitals); flags win. See also: prefetchctl --help)";

constexpr int kBadUsage = 2;

// Flags that --help shows under one title.
struct Group {
  CLI::App* app;
  std::string title;
};

// Binds a flag to a field that knows who said it.
void Option(const Group& group, const std::string& flag, std::optional<config::Said<std::string>>& field,
            const std::string& help) {
  group.app
      ->add_option_function<std::string>(
          flag,
          [&field, flag](const std::string& value) {
            field = {value, flag};
          },
          help)
      ->take_last()
      ->group(group.title);
}

void Switch(const Group& group, const std::string& flag, std::optional<config::Said<bool>>& field,
            const std::string& help) {
  group.app
      ->add_flag_callback(
          flag,
          [&field, flag] {
            field = {true, flag};
          },
          help)
      ->group(group.title);
}

void Paths(const Group& group, const std::string& flag,
           std::optional<config::Said<std::vector<std::string>>>& field, const std::string& help) {
  group.app
      ->add_option_function<std::vector<std::string>>(
          flag,
          [&field, flag](const std::vector<std::string>& values) {
            field = {values, flag};
          },
          help)
      ->type_size(1)
      ->expected(1, 1000)
      ->allow_extra_args(false)
      ->group(group.title);
}

void ListFlags(const Group& group, config::RawConfig& raw) {
  Paths(group, "--list", raw.list, "A list of images: a file or a folder of them (repeatable)");
  Option(group, "--config", raw.config_file, "A file of kind AgentConfiguration");
  Paths(group, "--audit-ignore", raw.audit_ignore,
        "A pattern of images that no list needs to have, such as registry.k8s.io/* (repeatable)");
  Option(group, "--instance", raw.instance, "Tells several agents of a node apart [prefetchd]");
}

void RuntimeFlags(const Group& group, config::RawConfig& raw) {
  Option(group, "--runtime-endpoint", raw.runtime_endpoint,
         "The runtime's socket, unix:///…; else the usual ones are tried");
  Option(group, "--image-credential-provider-config", raw.image_credential_provider_config,
         "As kubelet's flag");
  Option(group, "--image-credential-provider-bin-dir", raw.image_credential_provider_bin_dir,
         "As kubelet's flag");
  Paths(group, "--docker-config", raw.docker_config,
        "A docker config file; else where kubelet looks (repeatable)");
}

void KubeletFlags(const Group& group, config::RawConfig& raw) {
  Option(group, "--kubelet", raw.kubelet,
         "auto: learn from its files and from what is declared here [auto]; none: this host has no kubelet, "
         "presence is the verdict");
  Option(group, "--kubelet-root", raw.kubelet_root, "Its root directory [/var/lib/kubelet]");
  Option(group, "--kubelet-config", raw.kubelet_config,
         "Its KubeletConfiguration file; else the usual ones are tried");
  Option(group, "--kubelet-config-dir", raw.kubelet_config_dir, "Its folder of drop-ins (*.conf)");
  Option(group, "--kubelet-proc", raw.kubelet_proc,
         "The host's /proc, to read kubelet's own command line there");
  Option(group, "--kubelet-version", raw.kubelet_version, "Declares its version, 1.31 to 1.36");
  Option(group, "--kubelet-verification", raw.kubelet_verification,
         "Declares its imagePullCredentialsVerificationPolicy");
  Paths(group, "--kubelet-allowlist", raw.kubelet_allowlist,
        "Declares a pattern of its preloadedImagesVerificationAllowlist (repeatable)");
  Switch(group, "--kubelet-api", raw.kubelet_api,
         "Ask kubelet's own port what it runs with (needs the rights nodes/configz and nodes/metrics)");
  Option(group, "--kubelet-address", raw.kubelet_address, "Where that port is [NODE_IP:10250]");
  Option(group, "--kubelet-ca", raw.kubelet_ca, "Who signs its certificate [the cluster's own authority]");
}

void RegistryFlags(const Group& group, config::RawConfig& raw) {
  Option(group, "--registry", raw.registry,
         "How registries are asked whether tags have changed: auto: as containerd would, and where only the "
         "runtime can, by pulling again [auto]; pull: always so; none: not at all");
  Option(
      group, "--registry-config-path", raw.registry_config_path,
      "containerd's config_path, where its hosts.toml files are [as it tells, else as its configuration file "
      "says, else its release's default]");
  Option(group, "--registry-containerd-config", raw.registry_containerd_config,
         "containerd's configuration file, with its imports, for what containerd 2 does not tell: its "
         "config_path, and mirrors in its own tables");
  Switch(group, "--registry-split-config-path", raw.registry_split_config_path,
         "This containerd splits a config_path of several folders everywhere, which releases from 2.1 on do "
         "only where they pull locally");
  Option(group, "--registry-host-root", raw.registry_host_root,
         "Where the host's root directory is mounted, for hosts.toml files and containerd's configuration");
  Option(group, "--registry-ca", raw.registry_ca, "Authorities (PEM) instead of the system's");
  Option(group, "--registry-http-proxy", raw.registry_http_proxy, "As the runtime's HTTP_PROXY");
  Option(group, "--registry-https-proxy", raw.registry_https_proxy, "As the runtime's HTTPS_PROXY");
  Option(group, "--registry-no-proxy", raw.registry_no_proxy, "As the runtime's NO_PROXY");
  Paths(group, "--registry-trusted-mirror", raw.registry_trusted_mirrors,
        "A mirror (host:port) that may be shown the node's credentials (repeatable)");
  Paths(group, "--registry-trusted-realm", raw.registry_trusted_realms,
        "A token service (host) that may be shown them though it is elsewhere (repeatable)");
  Switch(group, "--registry-skip-mirrors", raw.registry_skip_mirrors,
         "Ask the registries themselves, never a mirror");
}

void TouchFlags(const Group& group, config::RawConfig& raw) {
  Switch(group, "--touch", raw.touch,
         "Let kubelet record images that it keeps from pods, by pods in the namespace prefetchd-touch: every "
         "pod of this node may use them then");
  Switch(group, "--touch-image-volumes", raw.touch_image_volumes,
         "Name the images of a touch as image volumes: faster, where kubelet and admission allow it");
}

void NodeFlags(const Group& group, config::RawConfig& raw) {
  Switch(group, "--kube-api", raw.kube_api,
         "Ask the API server, as this pod's service account, for this Node: kubelet's version");
  Switch(group, "--node-label", raw.node_label,
         "Say ready or notready in the label prefetchd.dev/INSTANCE of this Node");
  Option(group, "--node-result-label", raw.node_result_label,
         "Say succeeded or failed in this label of this Node, once it is either");
  Switch(group, "--node-condition", raw.node_condition,
         "Say it in the condition ImagesPrefetched of this Node");
  Switch(group, "--startup-taint", raw.startup_taint,
         "Take the taint prefetchd.dev/not-ready off this Node once it is ready, or --gate-timeout is over");
  Option(group, "--gate-timeout", raw.gate_timeout, "Of --startup-taint [15m]");
  Switch(group, "--accept-fleet-wide-node-writes", raw.accept_fleet_wide_node_writes,
         "Write to the Node though the cluster (before 1.30) cannot hold this agent to its own");
}

void EndpointFlags(const Group& group, config::RawConfig& raw) {
  Option(group, "--listen", raw.listen, "Address for neighbours [127.0.0.1:9477]");
  Option(group, "--local", raw.local, "Unix socket for this node [/run/prefetchd/prefetchd.sock]");
  Switch(group, "--check-pull", raw.check_pull,
         "Let `prefetchctl check --pull` on this node have images pulled that are on no list: every pod of "
         "this node may use them then");
  Option(group, "--log-level", raw.log_level, "debug, info, warning or error [info]");
  Option(group, "--log-format", raw.log_format, "json or plain [plain on a terminal]");
}

void OnceFlags(const Group& group, config::RawConfig& raw) {
  Switch(group, "--once", raw.once, "Pull, print the result, exit");
  Option(group, "--timeout", raw.timeout, "Of --once: 90s, 10m, 1h");
}

}  // namespace

Flags ParseFlags(int argc, char** argv) {
  CLI::App app("prefetchd keeps a declared list of images on this node and says ready only when it is true.");
  app.set_version_flag("--version", "prefetchd " PREFETCH_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(42);
  Flags flags;
  config::RawConfig& raw = flags.config;
  ListFlags({&app, "List and configuration"}, raw);
  RuntimeFlags({&app, "Runtime and credentials"}, raw);
  KubeletFlags({&app, "Kubelet: what it would say to pods"}, raw);
  RegistryFlags({&app, "Registries: whether tags have changed"}, raw);
  TouchFlags({&app, "Touch: images that kubelet has closed"}, raw);
  NodeFlags({&app, "Node object: what the cluster sees"}, raw);
  EndpointFlags({&app, "Endpoints and logs"}, raw);
  OnceFlags({&app, "One run"}, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      flags.exit = app.exit(error);
    } else {
      std::cerr << "prefetchd: " << error.what() << " (see prefetchd --help)\n";
      flags.exit = kBadUsage;
    }
  }
  return flags;
}

}  // namespace prefetch
