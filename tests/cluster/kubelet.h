// A real kubelet: its configuration, its life, its files.
#pragma once

#include <string>
#include <vector>

#include "cluster/api.h"
#include "cluster/control_plane.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::cluster {

struct KubeletOptions {
  // imagePullCredentialsVerificationPolicy; empty: kubelet's own default.
  std::string policy;
  std::vector<std::string> allowlist;
  // Collect every image that no pod uses, whenever kubelet looks. Else it collects nothing.
  bool collects = false;
  // Call any disk full: kubelet collects every image that no pod uses, every ten seconds.
  bool starves = false;
};

// Where things are on the node; what is empty is in the scratch folder.
struct NodePaths {
  std::string kubelet_root, kubelet_config;
  std::string provider_config, provider_bin;  // of credential providers
};

// The kubelet of the Node "n1". One thread owns it; control plane and scratch outlive it.
class RealKubelet {
 public:
  RealKubelet(const ControlPlane& control_plane, const rig::Scratch& scratch, std::string runtime_endpoint,
              const NodePaths& paths = {});

  // Credential providers, as its flags; from the next start on.
  void HasProviders(const std::string& config, const std::string& bin_dir);
  // Another program than the folder's, such as one of an older release; from the next start on.
  void RunsProgram(const std::string& path) { program_ = path; }
  // Reaches the API server by this port of loopback; from the next start on. 0: as everybody does.
  void ReachesApiBy(int port) { api_port_ = port; }
  // Writes the configuration and starts; waits for nothing.
  base::Status Begin(const KubeletOptions& options);
  // The same, and returns when the Node is ready, or the log's end.
  base::Status Start(const KubeletOptions& options);
  // The same again.
  base::Status Start() { return Start(options_); }
  void Stop();  // SIGTERM
  void Kill();  // SIGKILL
  bool Running() { return process_.Running(); }
  base::Status Restart(const KubeletOptions& options);

  const KubeletOptions& options() const { return options_; }
  const std::string& root() const { return root_; }
  const std::string& config_file() const { return config_file_; }
  std::string log() const { return scratch_ / "kubelet.log"; }
  // The names of records and intents that are there.
  std::vector<std::string> Records(const std::string& folder) const;

 private:
  std::string Config() const;

  const ControlPlane& control_plane_;
  const rig::Scratch& scratch_;
  const std::string runtime_endpoint_, root_, config_file_;
  tests::KeyPair certificate_;
  std::string program_ = "kubelet";
  int api_port_ = 0;
  KubeletOptions options_;
  std::vector<std::string> provider_flags_;
  rig::Process process_;
};

}  // namespace prefetch::cluster
