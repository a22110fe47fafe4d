// A containerd of the test's own: root, state and socket in its scratch folder, CRI on, nothing shared
// with a containerd of the machine. It is the one that PATH has; or of the folder that PREFETCH_CONTAINERD
// names, for which tests/run fetches other releases.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rig/process.h"
#include "rig/runtime.h"
#include "rig/scratch.h"

namespace prefetch::rig {

// One thread owns it. Start() and friends block for some tens of milliseconds.
class Containerd final : public Runtime {
 public:
  // `scratch` outlives it; everything is below scratch/<name>. `root` is where content and snapshots go:
  // by default a folder of the scratch, or for example a small tmpfs.
  explicit Containerd(const Scratch& scratch, const std::string& name = "containerd", std::string root = "");

  // Starts it and returns when CRI answers. Unavailable with the end of its log otherwise.
  base::Status Start() override;
  // SIGTERM as systemd would; what is on disk stays.
  base::Status Stop() override;
  // SIGKILL; what is on disk stays.
  void Kill() override;
  bool Running() { return process_.Running(); }
  pid_t pid() const override { return process_.pid(); }

  // References that begin with `host` ("registry.example.test", "127.0.0.1:5000") are pulled by plain HTTP
  // from 127.0.0.1:`port`. Takes effect with the next pull.
  base::Status Route(const std::string& host, int port) const;

  // The same, with a mirror that is asked first, on 127.0.0.1:`mirror_port`.
  base::Status RouteByMirror(const std::string& host, int mirror_port, int port) const;
  // From the next start on it has no config_path: `host` is reached by the tables of its own configuration.
  void RouteByTables(const std::string& host, int port);
  // From the next start on its config_path is that of hosts.toml files and another folder, with an entry
  // beside it that says nothing but keeps pulls local: from 2.1 on such a path would have no effect
  // otherwise.
  void LookInTwoFolders();
  // From the next start on, its garbage collector rests for at least ten seconds between two runs, as that of
  // a loaded node does: by default 49 times as long as one run took.
  void CollectRarely();

  void RunPods(const std::string& sandbox_image, const std::string& cni_bin,
               const std::string& cni_conf) override;

  base::Result<std::string> AddRegistry(const std::string& host, int port) override;
  bool Has(const std::string& image) const override;
  base::Status Remove(const std::string& image) const override;
  // All names of all images, and with them their content, as `crictl rmi` does. There has to be one.
  base::Status RemoveAll() const;
  bool TellsItsRegistries() const override { return true; }
  std::vector<std::string> RegistryFlags(int port) const override {
    return {"--registry-config-path", hosts_, "--registry-trusted-mirror",
            "127.0.0.1:" + std::to_string(port)};
  }
  bool TellsProgress() const override { return true; }
  bool KeepsPartsOfPulls() const override { return true; }  // under a lease

  // The path of its socket, and the same as a CRI endpoint.
  const std::string& socket() const { return socket_; }
  std::string endpoint() const override { return "unix://" + socket_; }
  const std::string& root() const { return root_; }
  // All names of its images; none if it does not answer.
  std::set<std::string> Names() const;
  // Below its root: the blobs, and the ingests of those that have begun.
  static constexpr const char* kContent = "io.containerd.content.v1.content";
  // hosts.toml files, as `ctr images pull --hosts-dir` wants them.
  const std::string& hosts_dir() const { return hosts_; }
  const std::string& log() const { return log_; }
  // Written by each Start().
  std::string config_file() const { return folder_ + "/config.toml"; }

  // `ctr --namespace k8s.io ARGS…`: an eye, and hand, that is not ours. Its stdout, or Internal with its
  // stderr.
  base::Result<std::string> Ctr(std::vector<std::string> args) const;
  // Its beginning, for who starts it by himself.
  Command CtrCommand() const;

 private:
  std::string Config() const;
  base::Status WriteHosts(const std::string& host, const std::string& toml) const;

  std::string folder_;
  std::string root_;
  std::string socket_;
  std::string hosts_;
  std::string log_;
  std::string pods_, cni_;  // settings for pods; empty: none
  std::string collector_;   // settings for it; empty: none
  std::string tables_;      // in the place of the usual config_path; empty: none
  Process process_;
};

}  // namespace prefetch::rig
