// A CRI-O of the test's own: storage, socket and configuration in its scratch folder.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "rig/process.h"
#include "rig/scratch.h"

namespace prefetch::cluster {

// One thread owns it; the scratch outlives it.
class Crio {
 public:
  explicit Crio(const rig::Scratch& scratch);

  // References that begin with 127.0.0.1:`port` are pulled by plain HTTP. From the next start on. (It sends
  // no credential to a registry that its configuration puts in the place of another.)
  void MayUseHttp(int port);
  // For pods: the pause image, and CNI's plugins and configuration. From the next start on.
  void RunPods(const std::string& pause_image, const std::string& cni_bin, const std::string& cni_conf);

  // Returns when its socket answers.
  base::Status Start();
  base::Status Stop();
  void Kill() { process_.Kill(); }

  const std::string& socket() const { return socket_; }
  std::string endpoint() const { return "unix://" + socket_; }
  const std::string& log() const { return log_; }
  // CRI's RemoveImage: of this name alone, or of all names of an id.
  base::Status Remove(const std::string& image) const;

 private:
  std::string Config() const;

  const rig::Scratch& scratch_;
  const std::string folder_, socket_, log_;
  std::string registries_, pods_;
  rig::Process process_;
};

}  // namespace prefetch::cluster
