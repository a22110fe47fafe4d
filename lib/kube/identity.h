// Identity: the credential and the trusted authorities of a Cluster as they are now.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/call.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/secret.h"
#include "http/client.h"
#include "kube/cluster.h"
#include "kube/exec_plugin.h"

namespace prefetch::kube {

// The proof of identity for one request. A value.
struct RequestAuth {
  std::shared_ptr<const http::Tls> tls;
  base::Secret authorization;    // empty: none (a certificate, or a cluster that asks for nothing)
  std::uint64_t generation = 0;  // another number: another credential, or other authorities
};

// Checks its files before each request (one stat each), and reads them if they have changed, or after a
// minute. The next request therefore uses a rotated token or authority. While a file is unreadable or
// incomplete, the last complete version stays in use. One thread runs the plugin, when its credential has
// expired or was refused; the others wait as long as their calls allow.
//
// Owned by main or by the owner of the Api. Thread-safe. `clock` must outlive it.
class Identity {
 public:
  Identity(Cluster cluster, const base::Clock& clock);

  const Cluster& cluster() const { return cluster_; }

  // Fails only if there has never been a credential, or if the plugin fails.
  base::Result<RequestAuth> Current(const base::Call& call) PREFETCH_EXCLUDES(mutex_);

  // Reads all files and runs the plugin again, after the server has refused `refused` or its certificate was
  // not trusted. Returns nullopt if that brings no other credential or authority.
  std::optional<RequestAuth> Replacement(const base::Call& call, const RequestAuth& refused)
      PREFETCH_EXCLUDES(mutex_);

 private:
  // The credentials from the configuration and its files.
  struct Material {
    http::Tls tls;
    base::Secret token;
  };

  // Material that the configuration itself has.
  Material ConfiguredMaterial() const;
  base::Status ReadFiles(bool force) PREFETCH_REQUIRES(mutex_);
  base::Result<Material> ReadMaterial() const PREFETCH_REQUIRES(mutex_);
  void Rebuild() PREFETCH_REQUIRES(mutex_);

  bool PluginIsDue() const PREFETCH_REQUIRES(mutex_);
  // Returns true if the caller must run the plugin now, and false if there is a credential. Waits while
  // another thread runs it.
  base::Result<bool> ClaimPlugin(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  base::Status RunPlugin(const base::Call& call) PREFETCH_EXCLUDES(mutex_);
  void SetPluginCredential(ExecCredential credential) PREFETCH_REQUIRES(mutex_);
  base::Status Refresh(const base::Call& call, bool force) PREFETCH_EXCLUDES(mutex_);

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
  RequestAuth auth_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace prefetch::kube
