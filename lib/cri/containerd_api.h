// ContainerdApi: the containerd-native calls that we make, one function a call, in plain structs.
// Internal to cri: included by .cc files only.
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

  // Returns another number than before if another daemon may be at the other end.
  std::uint64_t Generation() { return channel_.Generation(); }

  // Returns false if the lease exists already.
  CallResult<bool> CreateLease(const base::Call& call, const LeaseInfo& lease);
  // Returns false if there is no such lease.
  CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                               LeaseDeletion deletion = LeaseDeletion::kAsync);
  CallResult<std::vector<LeaseInfo>> ListLeases(const base::Call& call);
  // Returns nullopt if there is no such lease.
  CallResult<std::optional<std::set<LeaseResource>>> ListResources(const base::Call& call,
                                                                   const std::string& id);
  // Returns false if there is no such lease. A resource may be added again, and before it exists.
  CallResult<bool> AddResource(const base::Call& call, const std::string& id, const LeaseResource& resource);

  // Returns nullopt if the store does not have the content.
  CallResult<std::optional<ContentInfo>> Info(const base::Call& call, const std::string& digest);
  // Returns all content that has `label`, with that value if it is not empty.
  CallResult<std::vector<ContentInfo>> ListWithLabel(const base::Call& call, const std::string& label,
                                                     const std::string& value = "");
  CallResult<std::string> Read(const base::Call& call, const std::string& digest);
  // Returns the bytes written so far, by digest, of all blobs that are being fetched.
  CallResult<std::map<std::string, std::uint64_t>> Ingests(const base::Call& call);
  // Returns all ingests by ref, "layer-sha256:…", with those that name no digest.
  CallResult<std::map<std::string, IngestInfo>> IngestsByRef(const base::Call& call);

  // Returns nullopt if there is no such name.
  CallResult<std::optional<ImageName>> GetImageName(const base::Call& call, const std::string& name);
  // Returns the names that have all of these labels with their values; an empty value stands for any.
  CallResult<std::set<std::string>> ImagesWithLabels(const base::Call& call,
                                                     const std::map<std::string, std::string>& labels);
  // Sets these labels, and removes those without a value; the others stay. Returns false if there is no such
  // name.
  CallResult<bool> SetImageLabels(const base::Call& call, const ImageName& image,
                                  const std::map<std::string, std::string>& labels);

  // Uses a connection of its own, and has no limit but the Call's.
  CallError WatchImages(const base::Call& call, const std::function<void()>& changed);

  CallResult<bool> SnapshotExists(const base::Call& call, const std::string& snapshotter,
                                  const std::string& key);
  // Makes an empty snapshot, which the garbage collector removes. Returns false if there is one already.
  CallResult<bool> PrepareSnapshot(const base::Call& call, const std::string& snapshotter,
                                   const std::string& key);
  // Returns the folder in which CRI keeps the default snapshotter's data.
  CallResult<std::string> ImageFsMountpoint(const base::Call& call);

 private:
  struct Stubs;
  template <typename Invoke>
  std::optional<CallError> Run(const base::Call& call, std::string_view method, Invoke invoke);
  // `absent`: the call ended with the one failure that its caller expects, and there is no message.
  template <typename Response>
  struct Reply {
    Response message;
    bool absent = false;
  };
  // Makes a call with one answer.
  template <typename Stub, typename Request, typename Response>
  CallResult<Reply<Response>> Ask(const base::Call& call, std::string_view name, Stub& stub,
                                  UnaryMethod<Stub, Request, Response> method, const Request& request,
                                  std::optional<grpc::StatusCode> absence = std::nullopt);
  // Makes a call whose answer says nothing. Returns false if it ended with `absence`.
  template <typename Stub, typename Request, typename Response>
  CallResult<bool> Succeeds(const base::Call& call, std::string_view name, Stub& stub,
                            UnaryMethod<Stub, Request, Response> method, const Request& request,
                            grpc::StatusCode absence = grpc::StatusCode::NOT_FOUND);

  RpcChannel channel_, events_;
  std::unique_ptr<Stubs> stubs_;
  static constexpr std::uint64_t kNoGeneration = ~std::uint64_t{0};
  std::atomic<std::uint64_t> unsupported_generation_{
      kNoGeneration};  // the generation that does not have these calls
};

}  // namespace prefetch::cri
