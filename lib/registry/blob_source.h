// BlobSource: manifests and bytes of blobs, from the servers that the runtime would ask, in its order, with
// the same credentials, tokens and redirects as questions without a pull (R5 to R9, R14 to R21, R39 to R43).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lru_map.h"
#include "base/mutex.h"
#include "image/registry_question.h"
#include "registry/host.h"
#include "registry/session.h"

namespace prefetch::registry {

// Only nodes with containerd use it. It does not use the Throttle: the streams of plan/fetch_order.h limit
// it.
class BlobSource final : public image::ContentSource {
 public:
  using HostsFor = std::function<std::shared_ptr<const HostChain>(const image::Reference&)>;

  // Everything in `state` outlives it.
  BlobSource(ClientState state, HostsFor hosts) : state_(std::move(state)), hosts_(std::move(hosts)) {}
  BlobSource(const BlobSource&) = delete;
  BlobSource& operator=(const BlobSource&) = delete;

  base::Result<image::ImageManifest> FetchManifest(const base::Call& call,
                                                   const image::RegistryQuestion& image) override;
  base::Status FetchBytes(const base::Call& call, const image::RegistryQuestion& image,
                          const image::BlobRange& range,
                          const std::function<bool(std::string_view piece)>& sink) override
      PREFETCH_EXCLUDES(mutex_);
  std::optional<base::Duration> RetryAfter(const image::RegistryQuestion& image) override;

 private:
  // The server that had a blob, and the target of its redirect.
  struct BlobLocation {
    std::string origin;
    std::optional<http::AbsoluteUrl> target;
    base::TimePoint until;  // of the target
  };
  struct Document {
    std::string text, digest;
    base::Duration took{0};
    std::optional<base::Duration> round_trip;
  };

  struct HostOutcome {
    base::Result<Reply> reply;  // success: with status 200 or 206
    bool reached = true;        // false: not even a connection came about, or nothing over it
  };

  base::Result<Document> GetDocument(const base::Call& call, const image::RegistryQuestion& image);
  base::Result<Reply> TryHosts(const base::Call& call, const image::RegistryQuestion& image,
                               const std::function<SessionRequest(const Host&)>& request_for,
                               const std::string& first);
  HostOutcome AskHost(const base::Call& call, const ChainedHost& host, const image::RegistryQuestion& image,
                      const SessionRequest& request);
  std::optional<Reply> RequestCachedRedirect(const base::Call& call, const image::RegistryQuestion& image,
                                             const BlobLocation& location, const SessionRequest& request);
  // Like IdentitiesFor, but with the identity first that this server accepted for this repository last time.
  std::vector<const image::AuthConfig*> Identities(const ChainedHost& host,
                                                   const image::RegistryQuestion& image)
      PREFETCH_EXCLUDES(mutex_);
  void RememberIdentity(const ChainedHost& host, const image::RegistryQuestion& image,
                        const image::AuthConfig* credential) PREFETCH_EXCLUDES(mutex_);
  BlobLocation FindLocation(const std::string& key) PREFETCH_EXCLUDES(mutex_);
  void RememberLocation(const std::string& key, const Reply& reply) PREFETCH_EXCLUDES(mutex_);

  const ClientState state_;
  const HostsFor hosts_;
  base::Mutex mutex_;
  base::LruMap<std::string> accepted_identities_ PREFETCH_GUARDED_BY(mutex_){
      1024};  // identities, by server and repository
  base::LruMap<BlobLocation> locations_ PREFETCH_GUARDED_BY(mutex_){
      256};  // by registry, repository and digest
};

}  // namespace prefetch::registry
