// GrpcContentService: containerd's own content, leases and snapshots services over its unix socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cri/content_service.h"
#include "cri/endpoint.h"

namespace prefetch::cri {

// Connects by itself, as GrpcImageService does; each call but OpenBlob ends within 10 s. A runtime that does
// not have these services is remembered until its connection breaks, and not asked again meanwhile.
//
// The lease is handed to PullImage as a gRPC header. containerd 1.6.20, 1.7.24 and 2.1.9 were seen to honour
// it: everything that a pull fetches or unpacks is in the lease at once. For a version that does not,
// Progress finds the manifest in the store by its source label, and names its blobs in the lease.
class GrpcContentService final : public ContentService {
 public:
  explicit GrpcContentService(const Endpoint& endpoint);
  GrpcContentService(const GrpcContentService&) = delete;
  GrpcContentService& operator=(const GrpcContentService&) = delete;
  ~GrpcContentService() override;

  CallResult<bool> EnsureLease(const base::Call& call, const std::string& id,
                               std::chrono::seconds lifetime) override;
  CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                               LeaseDeletion deletion) override;
  CallResult<std::vector<std::string>> ListLeases(const base::Call& call) override;
  CallResult<std::set<std::string>> ListPins(const base::Call& call, const std::string& owner) override;
  CallResult<PinResult> Pin(const base::Call& call, const std::string& name,
                            const std::string& owner) override;
  CallResult<bool> Unpin(const base::Call& call, const std::string& name, const std::string& owner) override;
  CallResult<PullProgress> Progress(const base::Call& call, const std::string& lease,
                                    const image::Reference& reference) override;
  CallResult<OpenedBlob> OpenBlob(const base::Call& call, const std::string& lease,
                                  const BlobToWrite& blob) override;
  CallResult<std::uint64_t> FinishIngests(const base::Call& call, const std::string& lease,
                                          PartialIngests partial) override;
  CallResult<std::map<std::string, std::uint64_t>> ForeignIngests(const base::Call& call) override;
  CallResult<std::string> Snapshotter(const base::Call& call) override;
  CallError WatchImages(const base::Call& call, const std::function<void()>& changed) override;
  CallResult<bool> IsUnpacked(const base::Call& call, const std::string& chain_id) override;
  CallResult<bool> IsRunnable(const base::Call& call, const std::string& id,
                              const std::string& chain_id) override;

 private:
  struct Native;
  std::unique_ptr<Native> native_;
};

}  // namespace prefetch::cri
