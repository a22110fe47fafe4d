// Identity: the credential and the trusted authorities of a Cluster as they are now.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/stamped_files.h"
#include "http/client.h"
#include "kube/cluster.h"
#include "kube/exec_plugin.h"

namespace prefetch::kube {

// The proof of identity for one request. A value.
struct Proof {
  std::shared_ptr<const http::Tls> tls;
  base::Secret authorization;    // empty: none (a certificate, or a cluster that asks for nothing)
  std::uint64_t generation = 0;  // another number: another credential, or other authorities
};

// Files are looked at before each request (a stat each) and read when they have changed, at the latest every
// minute, so that a rotated token or authority is used by the next request. While a file cannot be read, or
// only half of it is there, the last complete version stays in use. A plugin is run when its credential has
// expired or was refused, by one thread, while the others wait for it as long as their calls allow.
//
// Owned by main or HttpApi's owner; any thread may call. `clock` outlives it.
class Identity {
 public:
  Identity(Cluster cluster, const base::Clock& clock);

  const Cluster& cluster() const { return cluster_; }

  // Fails only if there has never been a credential, or a plugin fails.
  base::Result<Proof> Current(const base::Call& call) PREFETCH_EXCLUDES(mutex_);

  // After the server refused `refused`, or its certificate was not trusted: reads everything again, runs the
  // plugin again. nullopt: there is nothing else to come with.
  std::optional<Proof> Replacement(const base::Call& call, const Proof& refused) PREFETCH_EXCLUDES(mutex_);

 private:
  // The credentials from files and plugin.
  struct Material {
    std::string ca_pem, certificate_pem;
    base::Secret token, key_pem;
  };

  bool FilesAreDue(const std::vector<base::FileStamp>& stamps) const PREFETCH_REQUIRES(mutex_);
  base::Status ReadFiles(bool anyway) PREFETCH_REQUIRES(mutex_);
  base::Result<Material> ReadMaterial() const PREFETCH_REQUIRES(mutex_);
  void Take(Material material) PREFETCH_REQUIRES(mutex_);
  void Rebuild() PREFETCH_REQUIRES(mutex_);

  bool PluginIsDue() const PREFETCH_REQUIRES(mutex_);
  // Whether the caller shall run the plugin now; false: there is a credential. Waits for another's run.
  base::Result<bool> ClaimPlugin(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  base::Status RunPlugin(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  void TakePlugins(ExecCredential credential) PREFETCH_REQUIRES(mutex_);
  base::Status Refresh(const base::Call& call, bool anyway) PREFETCH_EXCLUDES(mutex_);

  const Cluster cluster_;
  const base::Clock& clock_;
  const std::vector<std::string> files_;

  base::Mutex mutex_;
  base::Condition plugin_done_;
  std::vector<base::FileStamp> stamps_ PREFETCH_GUARDED_BY(mutex_);
  std::optional<base::TimePoint> read_at_ PREFETCH_GUARDED_BY(mutex_);
  Material from_files_ PREFETCH_GUARDED_BY(mutex_);
  bool plugin_runs_ PREFETCH_GUARDED_BY(mutex_) = false;
  std::optional<ExecCredential> from_plugin_ PREFETCH_GUARDED_BY(mutex_);
  base::TimePoint plugin_expires_ PREFETCH_GUARDED_BY(mutex_);
  Proof proof_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::kube
