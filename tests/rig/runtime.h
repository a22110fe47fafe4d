// Operations of a real container runtime that the same tests use with each runtime.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace prefetch::rig {

// One thread owns it.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Starts it and returns when CRI answers.
  virtual base::Status Start() = 0;
  // SIGTERM; what is on disk stays.
  virtual base::Status Stop() = 0;
  // SIGKILL; what is on disk stays.
  virtual void Kill() = 0;
  virtual pid_t pid() const = 0;
  // Endpoint of its CRI.
  virtual std::string endpoint() const = 0;

  // From the next start on it runs pods, by this image of a pause program (its entry point is /program) and
  // the CNI plugins and configuration of these folders.
  virtual void RunPods(const std::string& sandbox_image, const std::string& cni_bin,
                       const std::string& cni_conf) = 0;

  // Makes the runtime use the server on 127.0.0.1:`port` as a registry, by plain HTTP. Returns the host for
  // references to it: `host`, if the runtime can give a registry any name.
  virtual base::Result<std::string> AddRegistry(const std::string& host, int port) = 0;
  // Has it an image of exactly this name?
  virtual bool Has(const std::string& image) const = 0;
  virtual base::Status Remove(const std::string& image) const = 0;
  // Can the agent ask this runtime's registries itself, with these flags for one that listens on `port`? Else
  // it asks by pulling.
  virtual bool TellsItsRegistries() const = 0;
  virtual std::vector<std::string> RegistryFlags(int port) const = 0;
  // Can the agent see how far a pull is, and how large?
  virtual bool TellsProgress() const = 0;
  // Does a pull that broke off leave what it has fetched to the next one?
  virtual bool KeepsPartsOfPulls() const = 0;
};

}  // namespace prefetch::rig
