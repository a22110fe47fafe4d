// KubeletConfig: the settings for images in kubelet's main file and its drop-ins together (K7, K8, K41, K47).
// node_facts_reader.h reads the files.
// KubeletReport: the settings that the running kubelet reports.
// Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kubelet/settings.h"

namespace prefetch::kubelet {

// A field, and who decided it.
template <typename T>
struct SourcedValue {
  std::optional<T> value;  // nullopt: kubelet's default
  // The file that spoke last, if only to take it back; the main file if none did; empty without a main file.
  std::string from;

  friend bool operator==(const SourcedValue&, const SourcedValue&) = default;
};

// The fields as the files leave them; kubelet's own defaults are not filled in, command-line flags are still
// to come.
struct KubeletConfig {
  std::string main_file;  // empty: kubelet was given none and began with its defaults
  bool drop_ins = false;  // a drop-in folder was given, empty or not

  SourcedValue<VerificationPolicy> policy;
  // A drop-in took the policy back, so that the one that kubelet had filled in itself is gone, too.
  bool policy_cleared = false;
  SourcedValue<std::vector<std::string>> allowlist;
  SourcedValue<FeatureGates> gates;
  // Feature gates of the main file, before any drop-in: kubelet fills in its default policy by these.
  FeatureGates main_gates;

  SourcedValue<int> gc_high_percent;  // 0 to 100
  SourcedValue<int> gc_low_percent;
  SourcedValue<std::chrono::nanoseconds> gc_minimum_age;  // not zero, kubelet's default; may be negative
  SourcedValue<std::chrono::nanoseconds> gc_maximum_age;

  // For information.
  SourcedValue<std::string> container_runtime_endpoint;
  SourcedValue<std::string> image_service_endpoint;
  SourcedValue<int> max_pods;  // never zero: kubelet takes zero for its default

  friend bool operator==(const KubeletConfig&, const KubeletConfig&) = default;
};

struct ConfigDocument {
  std::string name;  // as messages and SourcedValue::from have it: the file's path
  std::string text;
};

struct ConfigDocuments {
  std::optional<ConfigDocument> main;
  // Files of the drop-in folder, in kubelet's order; nullopt if kubelet has no such folder.
  std::optional<std::vector<ConfigDocument>> drop_ins;
};

// Merges the documents. Each drop-in is a JSON merge patch (RFC 7396) to what came before it. Returns
// InvalidArgument with all mistakes that kubelet would reject too, each with its file, line and path. Fields
// that are not named above are ignored. Rules that also depend on flags and version (low below high, policy
// against gate) are not checked here.
base::Result<KubeletConfig> MergeKubeletConfigs(const ConfigDocuments& documents);

// Returns true if `text` is a KubeletConfiguration at all, right or wrong: there are kubeconfigs that are
// called kubelet.conf.
bool IsKubeletConfig(std::string_view text);

// The files' settings of verification. The version stays open: no file has it.
SettingsFacts ToSettingsFacts(const KubeletConfig& config);

// Decodes these settings from one file without drop-ins. InvalidArgument has the mistakes, each with
// `source`, line and path.
base::Result<SettingsFacts> DecodeKubeletConfig(std::string_view text, const std::string& source);

// Names of these sources in NodeFacts::sources.
constexpr const char* kConfigzSource = "configz";
constexpr const char* kMetricsSource = "kubelet's metrics";

// The settings that the running kubelet reports on its own port (K45, the strongest source). They are in
// force, whatever was written into files since kubelet started. kube/kubelet_api.h asks.
struct KubeletReport {
  std::optional<KubeletConfig> config;  // of /configz: after files, drop-ins and flags; `from` is "configz"
  std::optional<bool> gate;             // KubeletEnsureSecretPulledImages, of /metrics: its true value
  // Parts of its answer that do not fit, one sentence each.
  std::vector<std::string> remarks;

  friend bool operator==(const KubeletReport&, const KubeletReport&) = default;
};

// The `kubeletconfig` object of /configz, which has neither apiVersion nor kind. InvalidArgument if it is no
// KubeletConfiguration.
base::Result<KubeletConfig> DecodeConfigz(std::string_view json);

}  // namespace prefetch::kubelet
