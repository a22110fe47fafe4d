// ContainerdApi: the containerd-native calls that we make, one function a call, in plain structs. Internal to
// cri: included by .cc files only.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/call.h"
#include "cri/content_service.h"
#include "cri/image_service.h"
#include "cri/pull_resources.h"
#include "cri/rpc.h"

namespace prefetch::cri {

struct ContentInfo {
  std::string digest;
  std::uint64_t size_bytes = 0;
  std::map<std::string, std::string> labels;
};

struct IngestInfo {
  std::uint64_t written = 0;
  std::uint64_t total = 0;  // of the complete blob, as its first writer expected it; 0: not told
};

// A name of an image. Its target is opaque, and needed for each update (C39).
struct ImageName {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string target;
};

struct LeaseInfo {
  std::string id;
  std::map<std::string, std::string> labels;
};

// Any thread may call. Absent things are false or nullopt, not errors. Every call ends within 10 s.
class ContainerdApi {
 public:
  explicit ContainerdApi(const Endpoint& endpoint);
  ~ContainerdApi();

  // Another answer than before: perhaps it is another daemon.
  std::uint64_t Generation() { return channel_.Generation(); }

  // False: there is one already.
  CallResult<bool> CreateLease(const base::Call& call, const LeaseInfo& lease);
  CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                               LeaseBytes bytes = LeaseBytes::kReleaseLater);
  CallResult<std::vector<LeaseInfo>> ListLeases(const base::Call& call);
  // nullopt: no such lease.
  CallResult<std::optional<std::set<LeaseResource>>> ListResources(const base::Call& call,
                                                                   const std::string& id);
  // False: no such lease. Adding again is fine; so is what does not exist yet.
  CallResult<bool> AddResource(const base::Call& call, const std::string& id, const LeaseResource& resource);

  CallResult<std::optional<ContentInfo>> Info(const base::Call& call, const std::string& digest);
  // Everything that has `label`, with that value if it is not empty.
  CallResult<std::vector<ContentInfo>> ListWithLabel(const base::Call& call, const std::string& label,
                                                     const std::string& value = "");
  CallResult<std::string> Read(const base::Call& call, const std::string& digest);
  // Bytes written so far by digest, of all blobs that are being fetched.
  CallResult<std::map<std::string, std::uint64_t>> Ingests(const base::Call& call);
  // All of them by ref, "layer-sha256:…", with those that name no digest.
  CallResult<std::map<std::string, IngestInfo>> IngestsByRef(const base::Call& call);

  // nullopt: no such name.
  CallResult<std::optional<ImageName>> GetImageName(const base::Call& call, const std::string& name);
  // The names that have all of these labels with their values; an empty value stands for any.
  CallResult<std::set<std::string>> ImagesWithLabels(const base::Call& call,
                                                     const std::map<std::string, std::string>& labels);
  // Sets these labels, and removes those without a value; the others stay. False: no such name.
  CallResult<bool> SetImageLabels(const base::Call& call, const ImageName& image,
                                  const std::map<std::string, std::string>& labels);

  // Uses a connection of its own, and has no limit but the Call's.
  CallError WatchImages(const base::Call& call, const std::function<void()>& changed);

  CallResult<bool> SnapshotExists(const base::Call& call, const std::string& snapshotter,
                                  const std::string& key);
  // Makes an empty snapshot, which the garbage collector removes. False: there is one already.
  CallResult<bool> PrepareSnapshot(const base::Call& call, const std::string& snapshotter,
                                   const std::string& key);
  // Where CRI keeps the default snapshotter's data.
  CallResult<std::string> ImageFsMountpoint(const base::Call& call);

 private:
  struct Stubs;
  template <typename Invoke>
  std::optional<CallError> Run(const base::Call& call, std::string_view method, Invoke invoke);

  RpcChannel channel_, events_;
  std::unique_ptr<Stubs> stubs_;
  static constexpr std::uint64_t kSupported = ~std::uint64_t{0};
  std::atomic<std::uint64_t> unsupported_in_{kSupported};  // the generation that does not have these calls
};

}  // namespace prefetch::cri
