// ContentService: containerd's own API beside CRI, on the same socket: how far a pull is, the lease that
// keeps what a broken pull has fetched (C24 to C27), and blobs that the agent writes itself (C37).
//
// The way of one pull: EnsureLease, FinishIngests if the lease was there, OpenBlob for each blob that the
// agent fetches, PullImage with that lease (PullRequest::lease), Progress now and then meanwhile,
// FinishIngests after a failure, DeleteLease when it went well or was given up. If the pull is stopped,
// fails, or the agent dies, the lease stays until the caller deletes it or it expires. Its bytes stay, but
// for wrong ones, and the next PullImage under it asks the registry for the rest only.
//
// Other runtimes do not have it: every call then says kRuntimeUnsupported, and the agent goes without.
#pragma once

#include <chrono>
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
#include "cri/image_service.h"
#include "image/pull_progress.h"

namespace prefetch::cri {

// The label of a name by which containerd's CRI knows a pinned image, and its value (C39).
inline constexpr const char* kPinLabel = "io.cri-containerd.pinned";
inline constexpr const char* kPinValue = "pinned";
// The label that names the agent whose pin it is: PinOwner.
inline constexpr const char* kPinOwnerLabel = "prefetchd.dev/pinned-by";
// The pins of one agent; another one on the same node has its own.
std::string PinOwner(std::string_view instance);

enum class PinResult {
  kPinned,
  kAbsent,   // there is no such name
  kForeign,  // another client, or another agent, has pinned it
};

// Prefix of the leases of all agents.
inline constexpr std::string_view kLeasePrefix = "prefetchd-";
// Returns the prefix of the leases of one agent. Another agent on the same node, with another `instance`,
// leaves them alone.
std::string LeasePrefix(std::string_view instance);
// The lease of a name: the same after a restart, which is how a killed agent's bytes are found again.
std::string LeaseFor(std::string_view instance, const image::Reference& reference);
// The lease of an unlisted image that a preflight asked for. A later agent does not know of it, and leaves
// such a lease to expire.
std::string RequestedLeaseFor(std::string_view instance, const image::Reference& reference);
bool IsRequestedLease(std::string_view lease);

// A blob that is to be in the content store (C37). A value.
struct BlobToWrite {
  // The name of its ingest. Under containerd's own name (cri/pull_resources.h), a pull by the runtime and a
  // fetch by us go on with each other's bytes, and neither runs beside the other.
  std::string ref;
  std::string digest;
  std::uint64_t size_bytes = 0;
  std::map<std::string, std::string> labels;  // of the complete blob

  friend bool operator==(const BlobToWrite&, const BlobToWrite&) = default;
};

// An open ingest, which no other writer can open. If this is destroyed before Commit, the ingest keeps its
// bytes, and the next writer can open it a moment later. Not thread-safe. The ContentService must outlive it.
class BlobWriter {
 public:
  virtual ~BlobWriter() = default;

  // Returns the number of bytes that the ingest has.
  virtual std::uint64_t offset() const = 0;
  // Appends the next bytes, at most a few MB. After an error, the writer must not be used again.
  virtual std::optional<CallError> Append(std::string bytes) = 0;
  // Completes the blob. kCorrupt: the bytes do not match digest and size; they are gone.
  virtual std::optional<CallError> Commit() = 0;
};

enum class BlobState {
  kWritable,  // can be written
  kExists,    // is there already; also belongs to the lease from now on
  kLocked,    // another writer has the ingest
};

struct OpenedBlob {
  BlobState state = BlobState::kWritable;
  std::unique_ptr<BlobWriter> writer;  // if and only if kWritable
};

// The fate of ingests that are not complete.
enum class PartialIngests {
  kKeep,
  kAbort,  // their source has sent wrong bytes, or others than were asked for
};

// Whether the deletion of a lease waits for the garbage collection of content that only the lease has kept.
enum class LeaseDeletion {
  // The call does not wait. The runtime's garbage collector runs later: containerd's may pause for 49 times
  // the duration of one run.
  kAsync,
  // The garbage collector runs at once, and the call returns when it has finished. Meanwhile it blocks other
  // work of the runtime, so this is only for freeing disk space.
  kSync,
};

// Any thread may call, many at once. Owned by main.
class ContentService {
 public:
  virtual ~ContentService() = default;

  // Makes the lease `id`, which expires by itself after `lifetime`. True: made now; false: it was there (a
  // killed agent has left it, with its bytes), and lasts at least half of `lifetime`.
  virtual CallResult<bool> EnsureLease(const base::Call& call, const std::string& id,
                                       std::chrono::seconds lifetime) = 0;
  // Returns false if there was no such lease, which is a success, too. `deletion`: whether to wait for
  // garbage collection.
  virtual CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                                       LeaseDeletion deletion = LeaseDeletion::kAsync) = 0;
  // Ids of our leases (by their prefix), to drop leases without an entry.
  virtual CallResult<std::vector<std::string>> ListLeases(const base::Call& call) = 0;
  // The names of images that have the pin of `owner`, with both of its labels (C39); empty: of any agent.
  virtual CallResult<std::set<std::string>> ListPins(const base::Call& call, const std::string& owner) = 0;
  // Labels the name of an image, as containerd has it, so that CRI reports the image as pinned; and with
  // `owner`. A name that another client has pinned stays as it is.
  virtual CallResult<PinResult> Pin(const base::Call& call, const std::string& name,
                                    const std::string& owner) = 0;
  // Removes the pin of `owner`; empty: of any agent. Returns false if there was none, which is a success,
  // too.
  virtual CallResult<bool> Unpin(const base::Call& call, const std::string& name,
                                 const std::string& owner) = 0;
  // How far the pull under `lease` is; no bytes before it has begun, or without such a lease. It asks for
  // every ingest (C25), so callers poll rarely.
  virtual CallResult<image::PullProgress> Progress(const base::Call& call, const std::string& lease) = 0;
  // Begins or resumes writing a blob under `lease`. `call` holds for the writer, too: a stop ends its calls.
  virtual CallResult<OpenedBlob> OpenBlob(const base::Call& call, const std::string& lease,
                                          const BlobToWrite& blob) = 0;
  // Ends the ingests of `lease` that have all their bytes: commits those that are their blob, and discards
  // the others, at which each later pull of the blob would fail. Discards empty ones, too. Ingests that a
  // writer holds are left to it. Returns the number of bytes that were discarded. Reads what it ends, and may
  // take seconds.
  virtual CallResult<std::uint64_t> FinishIngests(const base::Call& call, const std::string& lease,
                                                  PartialIngests partial) = 0;
  // Returns the bytes written so far of all ingests under no lease of an agent, by ref: pulls of kubelet and
  // other clients.
  virtual CallResult<std::map<std::string, std::uint64_t>> ForeignIngests(const base::Call& call) = 0;
  // The name of the snapshotter into which CRI unpacks images.
  virtual CallResult<std::string> Snapshotter(const base::Call& call) = 0;
  // Calls `changed` whenever an image of Kubernetes' namespace has come, gone or changed, and at the
  // beginning for earlier changes; CRI's list may be a moment behind. Blocks until that ends, as
  // a stream does when the runtime restarts, or until it is stopped; returns why.
  virtual CallError WatchImages(const base::Call& call, const std::function<void()>& changed) = 0;
  // Returns whether the content is unpacked for the default snapshotter (C22). `chain_id` is ImageDetails'.
  virtual CallResult<bool> IsUnpacked(const base::Call& call, const std::string& chain_id) = 0;
  // Returns true if a container starts from the image with this id, when no pull of it is known to have ended
  // well: it is unpacked, or all that it needs is here and can be unpacked, which the runtime does for the
  // first container (containerd, WithNewSnapshot in its CRI opts/container.go). `chain_id` may be empty.
  virtual CallResult<bool> IsRunnable(const base::Call& call, const std::string& id,
                                      const std::string& chain_id) = 0;
};

// Returns the ContentService that the container runtime at this unix socket is. It connects by itself, and
// does not block for it here. Each call but OpenBlob ends within 10 s.
std::unique_ptr<ContentService> MakeContentService(const Endpoint& endpoint);

}  // namespace prefetch::cri
