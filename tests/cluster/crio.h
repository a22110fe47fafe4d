// A CRI-O of the test's own: storage, socket and configuration in its scratch folder. In a world
// (cluster/world.h): it keeps a cache in /var/lib and its containers in /run.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "rig/process.h"
#include "rig/runtime.h"
#include "rig/scratch.h"

namespace prefetch::cluster {

// One thread owns it; the scratch outlives it.
class Crio final : public rig::Runtime {
 public:
  // `root` is where images go, and what is downloaded (in big/): by default the scratch.
  explicit Crio(const rig::Scratch& scratch, const std::string& root = "");
  ~Crio() override { Kill(); }

  // References that begin with 127.0.0.1:`port` are pulled by plain HTTP. From the next start on. (It sends
  // no credential to a registry that its configuration puts in the place of another.)
  void MayUseHttp(int port);
  void RunPods(const std::string& pause_image, const std::string& cni_bin,
               const std::string& cni_conf) override;

  // Returns when its socket answers.
  base::Status Start() override;
  base::Status Stop() override;
  void Kill() override { process_.Kill(); }
  pid_t pid() const override { return process_.pid(); }
  // Restarts it if it runs. References begin with the address: see MayUseHttp.
  base::Result<std::string> AddRegistry(const std::string& host, int port) override;
  bool Has(const std::string& image) const override;
  bool TellsItsRegistries() const override { return true; }
  std::vector<std::string> RegistryFlags(int /*port*/) const override {
    return {"--registries-conf", registries_conf()};
  }
  bool TellsProgress() const override { return false; }
  bool KeepsPartsOfPulls() const override { return false; }

  // A file of its user's registries.conf.d. From the next start on.
  void HasDropIn(const std::string& name, const std::string& toml) {
    scratch_.Write("crio/home/.config/containers/registries.conf.d/" + name, toml);
  }
  // `insecure_registries` of crio.conf. From the next start on.
  void HasInsecureRegistry(const std::string& address) { insecure_ = address; }
  // Entries of registries.conf beside those of MayUseHttp. From the next start on.
  void HasRegistries(const std::string& toml) { more_registries_ = toml; }
  // Cancels pulls that get nothing for this time. From the next start on.
  void GivesUpOnSilenceAfter(std::chrono::seconds silence) { silence_ = silence; }
  // Its own logins, from the next start on.
  void HasAuthFile(const std::string& json) { auth_file_ = json; }
  // Whose signatures it wants; read at every pull.
  void HasPolicy(const std::string& json) { scratch_.Write("crio/policy.json", json); }
  std::string registries_conf() const { return folder_ + "/registries.conf"; }
  const std::string& socket() const { return socket_; }
  std::string endpoint() const override { return "unix://" + socket_; }
  const std::string& log() const { return log_; }
  // CRI's RemoveImage: of this name alone, or of all names of an id.
  base::Status Remove(const std::string& image) const override;

 private:
  // A call of CRI's ImageService: the answer's bytes.
  base::Result<std::string> Ask(const std::string& call, const std::string& message) const;
  std::string Config() const;

  const rig::Scratch& scratch_;
  const std::string folder_, root_, socket_, log_;
  std::string registries_, more_registries_, pods_, auth_file_, insecure_;
  std::chrono::seconds silence_{0};
  rig::Process process_;
};

// The nodes that are made while it lives have a CRI-O; afterwards they have a containerd again.
class OnCrio {
 public:
  OnCrio();
  ~OnCrio();
  OnCrio(const OnCrio&) = delete;
  OnCrio& operator=(const OnCrio&) = delete;
};

}  // namespace prefetch::cluster
