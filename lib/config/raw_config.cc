#include "config/raw_config.h"

#include "base/text.h"

namespace prefetch::config {
namespace {

template <typename T>
void InheritFlag(const std::optional<T>& under, std::optional<T>& over) {
  if (!over) over = under;
}

}  // namespace

RawConfig Overlay(const RawConfig& under, RawConfig over) {
  InheritFlag(under.config_file, over.config_file);
  InheritFlag(under.list, over.list);
  InheritFlag(under.runtime_endpoint, over.runtime_endpoint);
  InheritFlag(under.image_credential_provider_config, over.image_credential_provider_config);
  InheritFlag(under.image_credential_provider_bin_dir, over.image_credential_provider_bin_dir);
  InheritFlag(under.docker_config, over.docker_config);
  InheritFlag(under.kubelet, over.kubelet);
  InheritFlag(under.kubelet_version, over.kubelet_version);
  InheritFlag(under.kubelet_root, over.kubelet_root);
  InheritFlag(under.kubelet_config, over.kubelet_config);
  InheritFlag(under.kubelet_config_dir, over.kubelet_config_dir);
  InheritFlag(under.kubelet_verification, over.kubelet_verification);
  InheritFlag(under.kubelet_allowlist, over.kubelet_allowlist);
  InheritFlag(under.audit_ignore, over.audit_ignore);
  InheritFlag(under.kubelet_proc, over.kubelet_proc);
  InheritFlag(under.kubelet_api, over.kubelet_api);
  InheritFlag(under.kubelet_address, over.kubelet_address);
  InheritFlag(under.kubelet_ca, over.kubelet_ca);
  InheritFlag(under.kube_api, over.kube_api);
  InheritFlag(under.registry, over.registry);
  InheritFlag(under.registry_config_path, over.registry_config_path);
  InheritFlag(under.registry_containerd_config, over.registry_containerd_config);
  InheritFlag(under.registry_split_config_path, over.registry_split_config_path);
  InheritFlag(under.registry_host_root, over.registry_host_root);
  InheritFlag(under.registry_ca, over.registry_ca);
  InheritFlag(under.registry_http_proxy, over.registry_http_proxy);
  InheritFlag(under.registry_https_proxy, over.registry_https_proxy);
  InheritFlag(under.registry_no_proxy, over.registry_no_proxy);
  InheritFlag(under.registry_trusted_mirrors, over.registry_trusted_mirrors);
  InheritFlag(under.registry_trusted_realms, over.registry_trusted_realms);
  InheritFlag(under.registry_skip_mirrors, over.registry_skip_mirrors);
  InheritFlag(under.touch, over.touch);
  InheritFlag(under.touch_image_volumes, over.touch_image_volumes);
  InheritFlag(under.node_label, over.node_label);
  InheritFlag(under.node_result_label, over.node_result_label);
  InheritFlag(under.node_condition, over.node_condition);
  InheritFlag(under.startup_taint, over.startup_taint);
  InheritFlag(under.accept_fleet_wide_node_writes, over.accept_fleet_wide_node_writes);
  InheritFlag(under.gate_timeout, over.gate_timeout);
  InheritFlag(under.instance, over.instance);
  InheritFlag(under.check_pull, over.check_pull);
  InheritFlag(under.listen, over.listen);
  InheritFlag(under.local, over.local);
  InheritFlag(under.once, over.once);
  InheritFlag(under.timeout, over.timeout);
  InheritFlag(under.log_level, over.log_level);
  InheritFlag(under.log_format, over.log_format);
  InheritFlag(under.pull_secrets, over.pull_secrets);
  InheritFlag(under.provider_service_account, over.provider_service_account);
  InheritFlag(under.provider_environment, over.provider_environment);
  InheritFlag(under.provider_environment_file, over.provider_environment_file);
  InheritFlag(under.limits, over.limits);
  return over;
}

RawConfig ReadEnvironment(const GetEnv& get, doc::Problems& problems) {
  RawConfig raw;
  auto text = [&](std::optional<Said<std::string>>& field, const char* name) {
    const char* value = get(name);
    if (value != nullptr && *value != '\0' && !field) field = Said<std::string>{value, name};
  };
  auto texts = [&](std::optional<Said<std::vector<std::string>>>& field, const char* name, char divider) {
    std::optional<Said<std::string>> joined;
    text(joined, name);
    if (!joined) return;
    field = Said<std::vector<std::string>>{{}, name};
    for (std::string_view path : base::Split(joined->value, divider)) {
      if (!path.empty()) field->value.emplace_back(path);
    }
  };
  auto paths = [&](std::optional<Said<std::vector<std::string>>>& field, const char* name) {
    texts(field, name, ':');
  };
  text(raw.config_file, "PREFETCHD_CONFIG");
  paths(raw.list, "PREFETCHD_LIST");
  text(raw.runtime_endpoint, "PREFETCHD_RUNTIME_ENDPOINT");
  text(raw.runtime_endpoint, "CONTAINER_RUNTIME_ENDPOINT");
  text(raw.image_credential_provider_config, "PREFETCHD_IMAGE_CREDENTIAL_PROVIDER_CONFIG");
  text(raw.image_credential_provider_bin_dir, "PREFETCHD_IMAGE_CREDENTIAL_PROVIDER_BIN_DIR");
  paths(raw.docker_config, "PREFETCHD_DOCKER_CONFIG");
  text(raw.kubelet, "PREFETCHD_KUBELET");
  text(raw.kubelet_version, "PREFETCHD_KUBELET_VERSION");
  text(raw.kubelet_root, "PREFETCHD_KUBELET_ROOT");
  text(raw.kubelet_config, "PREFETCHD_KUBELET_CONFIG");
  text(raw.kubelet_config_dir, "PREFETCHD_KUBELET_CONFIG_DIR");
  text(raw.kubelet_verification, "PREFETCHD_KUBELET_VERIFICATION");
  texts(raw.kubelet_allowlist, "PREFETCHD_KUBELET_ALLOWLIST", ',');
  texts(raw.audit_ignore, "PREFETCHD_AUDIT_IGNORE", ',');
  text(raw.kubelet_proc, "PREFETCHD_KUBELET_PROC");
  text(raw.kubelet_address, "PREFETCHD_KUBELET_ADDRESS");
  text(raw.kubelet_ca, "PREFETCHD_KUBELET_CA");
  text(raw.listen, "PREFETCHD_LISTEN");
  text(raw.local, "PREFETCHD_LOCAL");
  text(raw.timeout, "PREFETCHD_TIMEOUT");
  text(raw.log_level, "PREFETCHD_LOG_LEVEL");
  text(raw.log_format, "PREFETCHD_LOG_FORMAT");
  auto flag = [&](std::optional<Said<bool>>& field, const char* name) {
    std::optional<Said<std::string>> said;
    text(said, name);
    if (said && said->value != "true" && said->value != "false") {
      problems.Add({}, said->by, "must be true or false");
    } else if (said) {
      field = Said<bool>{said->value == "true", said->by};
    }
  };
  flag(raw.kubelet_api, "PREFETCHD_KUBELET_API");
  flag(raw.kube_api, "PREFETCHD_KUBE_API");
  text(raw.registry, "PREFETCHD_REGISTRY");
  text(raw.registry_config_path, "PREFETCHD_REGISTRY_CONFIG_PATH");
  text(raw.registry_containerd_config, "PREFETCHD_REGISTRY_CONTAINERD_CONFIG");
  flag(raw.registry_split_config_path, "PREFETCHD_REGISTRY_SPLIT_CONFIG_PATH");
  text(raw.registry_host_root, "PREFETCHD_REGISTRY_HOST_ROOT");
  text(raw.registry_ca, "PREFETCHD_REGISTRY_CA");
  text(raw.registry_http_proxy, "PREFETCHD_REGISTRY_HTTP_PROXY");
  text(raw.registry_https_proxy, "PREFETCHD_REGISTRY_HTTPS_PROXY");
  text(raw.registry_no_proxy, "PREFETCHD_REGISTRY_NO_PROXY");
  texts(raw.registry_trusted_mirrors, "PREFETCHD_REGISTRY_TRUSTED_MIRRORS", ',');
  texts(raw.registry_trusted_realms, "PREFETCHD_REGISTRY_TRUSTED_REALMS", ',');
  flag(raw.registry_skip_mirrors, "PREFETCHD_REGISTRY_SKIP_MIRRORS");
  flag(raw.touch, "PREFETCHD_TOUCH");
  flag(raw.touch_image_volumes, "PREFETCHD_TOUCH_IMAGE_VOLUMES");
  flag(raw.check_pull, "PREFETCHD_CHECK_PULL");
  flag(raw.node_label, "PREFETCHD_NODE_LABEL");
  text(raw.node_result_label, "PREFETCHD_NODE_RESULT_LABEL");
  flag(raw.node_condition, "PREFETCHD_NODE_CONDITION");
  flag(raw.startup_taint, "PREFETCHD_STARTUP_TAINT");
  flag(raw.accept_fleet_wide_node_writes, "PREFETCHD_ACCEPT_FLEET_WIDE_NODE_WRITES");
  text(raw.gate_timeout, "PREFETCHD_GATE_TIMEOUT");
  text(raw.instance, "PREFETCHD_INSTANCE");
  flag(raw.once, "PREFETCHD_ONCE");
  return raw;
}

}  // namespace prefetch::config
