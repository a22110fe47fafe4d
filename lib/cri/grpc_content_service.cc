#include "cri/content_service.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/lru_map.h"
#include "base/mutex.h"
#include "containerd_content_v1.grpc.pb.h"
#include "containerd_events_v1.grpc.pb.h"
#include "containerd_images_v1.grpc.pb.h"
#include "containerd_leases_v1.grpc.pb.h"
#include "containerd_snapshots_v1.grpc.pb.h"
#include "cri/content_writer.h"
#include "cri/pull_resources.h"
#include "cri/rpc.h"
#include "doc/image_manifest.h"
#include "runtime_v1.grpc.pb.h"

namespace prefetch::cri {
namespace {

namespace content = ::containerd::services::content::v1;
namespace events = ::containerd::services::events::v1;
namespace names = ::containerd::services::images::v1;
namespace leases = ::containerd::services::leases::v1;
namespace snapshots = ::containerd::services::snapshots::v1;
using image::ErrorClass;

constexpr std::chrono::seconds kLimit{10};
// Larger than any event of an image. A longer message ends the stream.
constexpr int kLongestEvent = 256 * 1024;
// Without this filter, the stream has every namespace's events, whatever the header says (C33).
constexpr const char* kImageEvents = "namespace==\"k8s.io\",topic~=\"^/images/\"";

// The label that bounds a lease's life, RFC 3339 (containerd's garbage collector reads it).
constexpr const char* kExpireLabel = "containerd.io/gc.expire";
// containerd reads an ingest again to know its digest; this much takes a fraction of a second.
constexpr std::uint64_t kMaxCheapRead = 64 * 1024 * 1024;
// A lease that only starts the collector expires after this, should the agent die meanwhile.
constexpr std::chrono::minutes kCollection{1};
// Ends the name of a lease that stands in for another one for the moment in which that is made anew.
constexpr std::string_view kRenewalSuffix = "-renewal";

constexpr std::int64_t kLargestManifest = 8 * 1024 * 1024;
// Time for which a blob may be neither an ingest nor content: its commit syncs a file and a database.
constexpr std::chrono::seconds kLongestCommit{5};
constexpr std::string_view kSnapshotterFolder = "io.containerd.snapshotter.v1.";
constexpr const char* kUsualSnapshotter = "overlayfs";

CallError Unsupported() {
  return {ErrorClass::kRuntimeUnsupported, "this container runtime has no content API of containerd's"};
}

struct IngestInfo {
  std::uint64_t written = 0;
  std::uint64_t total = 0;  // of the complete blob, as its first writer expected it; 0: not told
};

// The containerd-native calls that we make, one function a call. Any thread may call. Absent things are false
// or nullopt, not errors. Every call but WatchImages ends within 10 s.
class ContainerdApi {
 public:
  // Events have a channel of their own, so that the stream, which stays open, shares no connection with short
  // calls.
  explicit ContainerdApi(const Endpoint& endpoint)
      : channel_(endpoint, "content"),
        events_channel_(endpoint, "events", kLongestEvent),
        content_(content::Content::NewStub(channel_.grpc())),
        events_(events::Events::NewStub(events_channel_.grpc())),
        leases_(leases::Leases::NewStub(channel_.grpc())),
        names_(names::Images::NewStub(channel_.grpc())),
        snapshots_(snapshots::Snapshots::NewStub(channel_.grpc())),
        images_(::runtime::v1::ImageService::NewStub(channel_.grpc())) {}

  // Returns another number than before if another daemon may be at the other end.
  std::uint64_t Generation() { return channel_.Generation(); }

  // Makes a lease that expires at `expires` (RFC 3339). Returns false if it exists already.
  CallResult<bool> CreateLease(const base::Call& call, const std::string& id, const std::string& expires) {
    leases::CreateRequest request;
    request.set_id(id);
    (*request.mutable_labels())[kExpireLabel] = expires;
    return Succeeds(call, "Leases.Create", *leases_, &leases::Leases::Stub::Create, request,
                    grpc::StatusCode::ALREADY_EXISTS);
  }
  // Returns false if there is no such lease.
  CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                               LeaseDeletion deletion = LeaseDeletion::kAsync) {
    leases::DeleteRequest request;
    request.set_id(id);
    request.set_sync(deletion == LeaseDeletion::kSync);
    return Succeeds(call, "Leases.Delete", *leases_, &leases::Leases::Stub::Delete, request);
  }
  CallResult<leases::ListResponse> ListLeases(const base::Call& call) {
    return Ask(call, "Leases.List", *leases_, &leases::Leases::Stub::List, leases::ListRequest());
  }
  // Returns nullopt if there is no such lease.
  CallResult<std::optional<std::set<LeaseResource>>> ListResources(const base::Call& call,
                                                                   const std::string& id) {
    leases::ListResourcesRequest request;
    request.set_id(id);
    auto found = Find(call, "Leases.ListResources", *leases_, &leases::Leases::Stub::ListResources, request);
    if (!found) return found.error();
    if (!*found) return std::optional<std::set<LeaseResource>>();
    std::set<LeaseResource> resources;
    for (const leases::Resource& resource : (*found)->resources())
      resources.insert({resource.type(), resource.id()});
    return std::optional(std::move(resources));
  }
  // Returns false if there is no such lease. A resource may be added again, and before it exists.
  CallResult<bool> AddResource(const base::Call& call, const std::string& id, const LeaseResource& resource) {
    leases::AddResourceRequest request;
    request.set_id(id);
    request.mutable_resource()->set_type(resource.type);
    request.mutable_resource()->set_id(resource.id);
    return Succeeds(call, "Leases.AddResource", *leases_, &leases::Leases::Stub::AddResource, request);
  }

  // Returns nullopt if the store does not have the content.
  CallResult<std::optional<content::InfoResponse>> Info(const base::Call& call, const std::string& digest) {
    content::InfoRequest request;
    request.set_digest(digest);
    return Find(call, "Content.Info", *content_, &content::Content::Stub::Info, request);
  }
  // Returns all content that has `label`, with that value if it is not empty.
  CallResult<std::vector<content::Info>> ListWithLabel(const base::Call& call, const std::string& label,
                                                       const std::string& value = "") {
    content::ListContentRequest request;
    request.add_filters(LabelFilter(label, value));
    std::vector<content::Info> all;
    auto failed = Run(call, "Content.List", [&](grpc::ClientContext& context) {
      // A repeated call begins with an empty result, not with the first part of the broken one.
      all.clear();
      auto reader = content_->List(&context, request);
      content::ListContentResponse response;
      while (reader->Read(&response)) all.insert(all.end(), response.info().begin(), response.info().end());
      return reader->Finish();
    });
    if (failed) return std::move(*failed);
    return all;
  }
  CallResult<std::string> Read(const base::Call& call, const std::string& digest) {
    content::ReadContentRequest request;
    request.set_digest(digest);
    std::string bytes;
    auto failed = Run(call, "Content.Read", [&](grpc::ClientContext& context) {
      // This call may run twice, too.
      bytes.clear();
      auto reader = content_->Read(&context, request);
      content::ReadContentResponse response;
      while (reader->Read(&response)) bytes += response.data();
      return reader->Finish();
    });
    if (failed) return std::move(*failed);
    return bytes;
  }
  // Returns all blobs that are being fetched, by the ref of their ingest: "layer-sha256:…".
  CallResult<std::map<std::string, IngestInfo>> Ingests(const base::Call& call) {
    auto reply = Ask(call, "Content.ListStatuses", *content_, &content::Content::Stub::ListStatuses,
                     content::ListStatusesRequest());
    if (!reply) return reply.error();
    const auto bytes = [](std::int64_t reported) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(reported, 0));
    };
    std::map<std::string, IngestInfo> ingests;
    for (const content::Status& status : reply->statuses())
      ingests[status.ref()] = {bytes(status.offset()), bytes(status.total())};
    return ingests;
  }

  // Returns nullopt if there is no such name.
  CallResult<std::optional<names::ImageResponse>> GetImage(const base::Call& call, const std::string& name) {
    names::GetImageRequest request;
    request.set_name(name);
    return Find(call, "Images.Get", *names_, &names::Images::Stub::Get, request);
  }
  // Returns the names that have all of these labels with their values; an empty value stands for any.
  CallResult<std::set<std::string>> ImagesWithLabels(const base::Call& call,
                                                     const std::map<std::string, std::string>& labels) {
    names::ListImagesRequest request;
    // containerd finds what matches any filter of several, and every selector of one filter.
    std::string filter;
    for (const auto& [label, value] : labels)
      filter += (filter.empty() ? "" : ",") + LabelFilter(label, value);
    request.add_filters(std::move(filter));
    auto reply = Ask(call, "Images.List", *names_, &names::Images::Stub::List, request);
    if (!reply) return reply.error();
    std::set<std::string> found;
    for (const names::Image& image : reply->images()) found.insert(image.name());
    return found;
  }
  // Sets these labels, and removes those without a value; the others stay. Returns false if there is no such
  // name.
  CallResult<bool> SetImageLabels(const base::Call& call, const names::Image& image,
                                  const std::map<std::string, std::string>& labels) {
    // An update without a target would end the daemon (C39).
    if (image.target().empty()) {
      return CallError{ErrorClass::kRuntimeError, "containerd's image has no target"};
    }
    names::UpdateImageRequest request;
    request.mutable_image()->set_name(image.name());
    request.mutable_image()->set_target(image.target());
    for (const auto& [label, value] : labels) {
      // Each label has its own path in the mask: containerd then leaves everything else as it is, and removes
      // a label whose value is empty.
      (*request.mutable_image()->mutable_labels())[label] = value;
      request.mutable_update_mask()->add_paths("labels." + label);
    }
    return Succeeds(call, "Images.Update", *names_, &names::Images::Stub::Update, request);
  }

  // The Call alone limits it.
  CallError WatchImages(const base::Call& call, const std::function<void()>& changed) {
    events::SubscribeRequest request;
    request.add_filters(kImageEvents);
    const RpcSubject subject{.method = "Events.Subscribe"};
    auto failed = RunRpc(events_channel_, call, subject, [&](grpc::ClientContext& context) {
      context.AddMetadata(kNamespaceHeader, kKubernetesNamespace);
      auto reader = events_->Subscribe(&context, request);
      changed();
      events::Envelope event;
      while (reader->Read(&event)) changed();
      return reader->Finish();
    });
    // A stream that ends well ends with the daemon, too (C33).
    if (!failed) return {ErrorClass::kRuntimeDown, "the stream of events has ended"};
    return failed->error_class == ErrorClass::kRuntimeUnsupported ? Unsupported() : *std::move(failed);
  }

  CallResult<bool> SnapshotExists(const base::Call& call, const std::string& snapshotter,
                                  const std::string& key) {
    snapshots::StatSnapshotRequest request;
    request.set_snapshotter(snapshotter);
    request.set_key(key);
    return Succeeds(call, "Snapshots.Stat", *snapshots_, &snapshots::Snapshots::Stub::Stat, request);
  }
  // Makes an empty snapshot, which the garbage collector removes. Returns false if there is one already.
  CallResult<bool> PrepareSnapshot(const base::Call& call, const std::string& snapshotter,
                                   const std::string& key) {
    snapshots::PrepareSnapshotRequest request;
    request.set_snapshotter(snapshotter);
    request.set_key(key);
    return Succeeds(call, "Snapshots.Prepare", *snapshots_, &snapshots::Snapshots::Stub::Prepare, request,
                    grpc::StatusCode::ALREADY_EXISTS);
  }
  // Returns the folder in which CRI keeps the default snapshotter's data.
  CallResult<std::string> ImageFsMountpoint(const base::Call& call) {
    auto reply = Ask(call, "ImageFsInfo", *images_, &::runtime::v1::ImageService::Stub::ImageFsInfo,
                     ::runtime::v1::ImageFsInfoRequest());
    if (!reply) return reply.error();
    const auto& filesystems = reply->image_filesystems();
    return filesystems.empty() ? std::string() : filesystems[0].fs_id().mountpoint();
  }

 private:
  // Selects what has `label`, with that value if it is not empty.
  static std::string LabelFilter(const std::string& label, const std::string& value) {
    return "labels.\"" + label + "\"" + (value.empty() ? "" : "==\"" + value + "\"");
  }

  // Runs one call in the Kubernetes namespace, with a time limit, and remembers if the runtime does not have
  // these services.
  template <typename Invoke>
  std::optional<CallError> Run(const base::Call& call, std::string_view method, Invoke invoke) {
    const std::uint64_t generation = channel_.Generation();
    // A runtime without these services is asked once for each connection (C24). Another daemon may have them.
    if (unsupported_generation_ == generation) return Unsupported();
    // Each of these calls may be made twice: if the first one had its effect, the second one finds it.
    const RpcSubject subject{.method = method, .idempotent = true};
    auto failed = RunRpc(channel_, call.Within(kLimit), subject, [&](grpc::ClientContext& context) {
      context.AddMetadata(kNamespaceHeader, kKubernetesNamespace);
      return invoke(context);
    });
    if (!failed || failed->error_class != ErrorClass::kRuntimeUnsupported) return failed;
    // A containerd whose images service is disabled still has leases.
    if (!method.starts_with("Images.")) unsupported_generation_ = generation;
    return Unsupported();
  }
  // Makes a call with one answer. nullopt: it ended with `absence`, the one failure that is an answer.
  template <typename Stub, typename Request, typename Response>
  CallResult<std::optional<Response>> Find(const base::Call& call, std::string_view name, Stub& stub,
                                           UnaryMethod<Stub, Request, Response> method,
                                           const Request& request,
                                           grpc::StatusCode absence = grpc::StatusCode::NOT_FOUND) {
    std::optional<Response> response;
    auto failed = Run(call, name, [&](grpc::ClientContext& context) {
      const grpc::Status status = (stub.*method)(&context, request, &response.emplace());
      if (status.error_code() != absence) return status;
      response.reset();
      return grpc::Status();
    });
    if (failed) return *std::move(failed);
    return response;
  }
  // Makes a call whose every failure is one.
  template <typename Stub, typename Request, typename Response>
  CallResult<Response> Ask(const base::Call& call, std::string_view name, Stub& stub,
                           UnaryMethod<Stub, Request, Response> method, const Request& request) {
    Response response;
    auto failed = Run(call, name, [&](grpc::ClientContext& context) {
      return (stub.*method)(&context, request, &response);
    });
    if (failed) return *std::move(failed);
    return response;
  }
  // Makes a call whose answer says nothing. Returns false if it ended with `absence`.
  template <typename Stub, typename Request, typename Response>
  CallResult<bool> Succeeds(const base::Call& call, std::string_view name, Stub& stub,
                            UnaryMethod<Stub, Request, Response> method, const Request& request,
                            grpc::StatusCode absence = grpc::StatusCode::NOT_FOUND) {
    auto found = Find(call, name, stub, method, request, absence);
    if (!found) return found.error();
    return found->has_value();
  }

  RpcChannel channel_, events_channel_;
  std::unique_ptr<content::Content::Stub> content_;
  std::unique_ptr<events::Events::Stub> events_;
  std::unique_ptr<leases::Leases::Stub> leases_;
  std::unique_ptr<names::Images::Stub> names_;
  std::unique_ptr<snapshots::Snapshots::Stub> snapshots_;
  std::unique_ptr<::runtime::v1::ImageService::Stub> images_;
  // The generation that does not have these calls; else a number that none has.
  std::atomic<std::uint64_t> unsupported_generation_{~std::uint64_t{0}};
};

// Only a document with such labels is read: layers of gigabytes lie in the same store.
bool MayBeManifest(const content::Info& info) {
  return info.size() <= kLargestManifest &&
         std::any_of(info.labels().begin(), info.labels().end(),
                     [](const auto& label) { return label.first.starts_with(kReferenceLabel); });
}

std::string ExpiresAfter(std::chrono::seconds lifetime) {
  return base::Rfc3339(std::chrono::system_clock::now() + lifetime);
}

// Makes the lease `id` with these resources.
std::optional<CallError> MakeLease(const base::Call& call, ContainerdApi& api, const std::string& id,
                                   const std::string& expires, const std::set<LeaseResource>& resources) {
  if (auto made = api.CreateLease(call, id, expires); !made) return made.error();
  for (const LeaseResource& resource : resources) {
    if (auto added = api.AddResource(call, id, resource); !added) return added.error();
  }
  return std::nullopt;
}

// Replaces a lease that expires too soon by one with the same id and all its resources. containerd has no
// call that changes a lease's labels. At each moment one of two leases holds everything, so the collector
// finds nothing to remove.
std::optional<CallError> Renew(const base::Call& call, ContainerdApi& api, const std::string& id,
                               const std::string& expires) {
  auto resources = api.ListResources(call, id);
  if (!resources) return resources.error();
  std::set<LeaseResource> held = resources->value_or(std::set<LeaseResource>());
  // A second lease holds everything while the first is away.
  const std::string bridge = id + std::string(kRenewalSuffix);
  if (auto failed = MakeLease(call, api, bridge, expires, held)) return failed;
  if (auto deleted = api.DeleteLease(call, id); !deleted) return deleted.error();
  if (auto failed = MakeLease(call, api, id, expires, held)) return failed;
  if (auto deleted = api.DeleteLease(call, bridge); !deleted) return deleted.error();
  return std::nullopt;
}

// Facts about a pull under way that stay.
struct LeaseFacts {
  struct IngestProgress {
    std::uint64_t bytes = 0;
    base::TimePoint seen;
  };
  std::optional<StoredManifest> manifest;         // it never changes
  std::set<std::string> committed;                // blobs that were complete when they were asked about
  std::map<std::string, IngestProgress> written;  // by digest: an ingest when it was seen last
};

// Returns nothing for content that is no manifest of an image. That is no failure: an index has such labels,
// too.
CallResult<std::optional<StoredManifest>> ReadManifest(const base::Call& call, ContainerdApi& api,
                                                       const std::string& digest) {
  auto info = api.Info(call, digest);
  if (!info) return info.error();
  if (!*info || !MayBeManifest((*info)->info())) return std::optional<StoredManifest>();
  auto bytes = api.Read(call, digest);
  if (!bytes) return bytes.error();
  std::optional<doc::ImageManifest> manifest = doc::ParseImageManifest(*bytes);
  if (!manifest) return std::optional<StoredManifest>();
  return std::optional<StoredManifest>({digest, std::move(manifest->blobs)});
}

// Returns the blobs of the manifest that are complete: `known`, and others that the store has. Each blob is
// asked about until it is there, and not while it is still being written.
CallResult<std::set<std::string>> Committed(const base::Call& call, ContainerdApi& api,
                                            const StoredManifest& manifest, const PullFacts& facts,
                                            std::set<std::string> known) {
  for (const doc::Blob& blob : manifest.blobs) {
    if (known.count(blob.digest) != 0 || facts.ingests.count(blob.digest) != 0) continue;
    auto info = api.Info(call, blob.digest);
    if (!info) return info.error();
    if (*info) known.insert(blob.digest);
  }
  return known;
}

// Returns the manifest that a pull fetches, by the resources of its lease; nullopt while it has not come.
CallResult<std::optional<StoredManifest>> FindManifest(const base::Call& call, ContainerdApi& api,
                                                       const std::set<LeaseResource>& resources,
                                                       LeaseFacts& known) {
  // A pull fetches one manifest, so it is looked for once a pull (EnsureLease forgets it).
  if (known.manifest) return known.manifest;
  std::optional<StoredManifest> complete;
  for (const LeaseResource& resource : resources) {
    if (resource.type != "content") continue;
    auto manifest = ReadManifest(call, api, resource.id);
    if (!manifest) return manifest.error();
    if (!*manifest) continue;
    auto committed = Committed(call, api, **manifest, {}, {});
    if (!committed) return committed.error();
    if (committed->size() < (*manifest)->blobs.size())  // something is missing: it is this one
      return known.manifest = std::move(*manifest);
    complete = std::move(*manifest);
  }
  return complete;
}

// During its commit a blob is neither an ingest nor content. Its bytes are counted for kLongestCommit more,
// since the pull would otherwise seem to lose them, and progress never goes back.
void BridgeCommits(LeaseFacts& known, PullFacts& facts) {
  base::TimePoint now = std::chrono::steady_clock::now();
  for (const doc::Blob& blob : facts.manifest->blobs) {
    auto ingest = facts.ingests.find(blob.digest);
    auto before = known.written.find(blob.digest);
    if (ingest != facts.ingests.end()) {
      known.written[blob.digest] = {ingest->second, now};
    } else if (before != known.written.end() && facts.committed.count(blob.digest) == 0 &&
               now - before->second.seen < kLongestCommit) {
      facts.ingests[blob.digest] = before->second.bytes;
    }
  }
}

// Connects by itself, as the ImageService over gRPC does; each call but OpenBlob ends within 10 s. A runtime
// that does not have these services is remembered until its connection breaks, and not asked again meanwhile.
//
// The lease is handed to PullImage as a gRPC header. containerd 1.6.20, 1.7.24 and 2.1.9 were seen to honour
// it: everything that a pull fetches or unpacks is in the lease at once.
class GrpcContentService final : public ContentService {
 public:
  explicit GrpcContentService(const Endpoint& endpoint) : endpoint_(endpoint), api_(endpoint_) {}

  CallResult<bool> EnsureLease(const base::Call& call, const std::string& id,
                               std::chrono::seconds lifetime) override {
    Forget(id);  // the tag may have moved since the last pull
    std::string expires = ExpiresAfter(lifetime);
    auto made = api_.CreateLease(call, id, expires);
    // A lease that was there is from a killed agent, or from an earlier pull. Its bytes are the point of
    // keeping it.
    if (!made || *made) return made;
    auto all = api_.ListLeases(call);
    if (!all) return all.error();
    for (leases::Lease& lease : *all->mutable_leases()) {
      // RFC 3339 in UTC, so text compares as time does.
      if (lease.id() != id || (*lease.mutable_labels())[kExpireLabel] >= ExpiresAfter(lifetime / 2)) continue;
      if (auto failed = Renew(call, api_, id, expires)) return std::move(*failed);
    }
    return false;
  }

  CallResult<bool> DeleteLease(const base::Call& call, const std::string& id,
                               LeaseDeletion deletion) override {
    Forget(id);
    auto deleted = api_.DeleteLease(call, id, deletion);
    if (!deleted || !*deleted || deletion == LeaseDeletion::kAsync) return deleted;
    // On a full disk, that has removed the blobs only (runtime rule C38).
    if (auto failed = CollectSnapshots(call, id)) return std::move(*failed);
    return true;
  }

  CallResult<std::vector<std::string>> ListLeases(const base::Call& call) override {
    auto all = api_.ListLeases(call);
    if (!all) return all.error();
    // The prefix is that of all agents of this node. Callers choose their own by LeasePrefix(instance).
    std::vector<std::string> ours;
    for (const leases::Lease& lease : all->leases()) {
      // Stand-ins expire by themselves; another pull may need them now.
      if (lease.id().starts_with(kLeasePrefix) && !lease.id().ends_with(kRenewalSuffix))
        ours.push_back(lease.id());
    }
    return ours;
  }

  CallResult<std::set<std::string>> ListPins(const base::Call& call, const std::string& owner) override {
    return api_.ImagesWithLabels(call, {{kPinOwnerLabel, owner}, {kPinLabel, kPinValue}});
  }

  CallResult<PinResult> Pin(const base::Call& call, const std::string& name,
                            const std::string& owner) override {
    auto found = api_.GetImage(call, name);
    if (!found) return found.error();
    if (!*found) return PinResult::kAbsent;
    const names::Image& image = (*found)->image();
    const auto& labels = image.labels();
    const auto by = labels.find(kPinOwnerLabel);
    const auto pin = labels.find(kPinLabel);
    // With an owner's label, the pin would look like ours, and be taken off one day. CRI ignores other
    // values.
    const bool foreign =
        by == labels.end() ? pin != labels.end() && pin->second == kPinValue : by->second != owner;
    if (foreign) return PinResult::kForeign;
    auto set = api_.SetImageLabels(call, image, {{kPinLabel, kPinValue}, {kPinOwnerLabel, owner}});
    if (!set) return set.error();
    return *set ? PinResult::kPinned : PinResult::kAbsent;
  }

  CallResult<bool> Unpin(const base::Call& call, const std::string& name, const std::string& owner) override {
    auto found = api_.GetImage(call, name);
    if (!found) return found.error();
    if (!*found) return false;
    const names::Image& image = (*found)->image();
    const auto by = image.labels().find(kPinOwnerLabel);
    if (by == image.labels().end() || (!owner.empty() && by->second != owner)) return false;
    return api_.SetImageLabels(call, image, {{kPinLabel, ""}, {kPinOwnerLabel, ""}});
  }

  CallResult<image::PullProgress> Progress(const base::Call& call, const std::string& lease) override {
    PullFacts facts;
    auto resources = api_.ListResources(call, lease);
    if (!resources) return resources.error();
    if (!*resources) return ProgressFrom(facts);
    facts.resources = std::move(**resources);
    // The order of these questions: a blob leaves the ingests when it becomes content, so ingests come first,
    // and it is then found as content. The other way round, it could be missed in both.
    auto ingests = api_.Ingests(call);
    if (!ingests) return ingests.error();
    for (const auto& [ref, ingest] : *ingests) {
      // Two pulls of one blob share its ingest, so the digest is enough as a key.
      if (std::string digest(DigestOfIngest(ref)); !digest.empty()) facts.ingests[digest] = ingest.written;
    }
    LeaseFacts known;
    std::uint64_t forgotten = 0;
    {
      base::Lock lock(mutex_);
      forgotten = forgotten_;
      if (const LeaseFacts* before = leases_.Find(lease); before != nullptr) known = *before;
    }
    auto manifest = FindManifest(call, api_, facts.resources, known);
    if (!manifest) return manifest.error();
    if (!*manifest) return ProgressFrom(facts);
    facts.manifest = std::move(*manifest);
    // The lease keeps its blobs: one that was complete stays so, and is asked about once.
    auto committed = Committed(call, api_, *facts.manifest, facts, std::move(known.committed));
    if (!committed) return committed.error();
    facts.committed = known.committed = std::move(*committed);
    BridgeCommits(known, facts);
    base::Lock lock(mutex_);
    // Facts about a pull that was forgotten meanwhile are not those of its lease's next pull.
    if (forgotten == forgotten_) leases_.GetOrCreate(lease) = std::move(known);
    return ProgressFrom(facts);
  }

  CallResult<OpenedBlob> OpenBlob(const base::Call& call, const std::string& lease,
                                  const BlobToWrite& blob) override {
    return Writer().Open(call, lease, blob);
  }

  CallResult<std::uint64_t> FinishIngests(const base::Call& call, const std::string& lease,
                                          PartialIngests partial) override {
    auto resources = api_.ListResources(call, lease);
    if (!resources) return resources.error();
    std::uint64_t discarded = 0;
    if (!*resources) return discarded;
    auto ingests = api_.Ingests(call);
    if (!ingests) return ingests.error();
    for (const LeaseResource& resource : **resources) {
      auto ingest = ingests->find(resource.id);
      if (resource.type != "ingests" || ingest == ingests->end()) continue;
      // A complete ingest is committed or discarded: if it stays with wrong bytes, all later pulls of that
      // blob fail (C37).
      const bool complete = ingest->second.total > 0 && ingest->second.written >= ingest->second.total;
      // An empty one saves nobody a byte.
      const bool discards = complete || ingest->second.written == 0 || partial == PartialIngests::kAbort;
      // The manifest may have named another size than the blob has.
      if (!discards && ingest->second.written > kMaxCheapRead) continue;
      auto gone = Writer().Finish(call, lease, resource.id, discards);
      if (!gone) return gone.error();
      discarded += *gone;
    }
    return discarded;
  }

  // Returns the ingests that no lease of the agent holds. The list is read before and after the leases: an
  // ingest that ends in between leaves both, and must not be taken for another client's.
  CallResult<std::map<std::string, std::uint64_t>> ForeignIngests(const base::Call& call) override {
    auto all = api_.Ingests(call);
    if (!all) return all.error();
    std::map<std::string, std::uint64_t> ingests;
    for (const auto& [ref, ingest] : *all) ingests[ref] = ingest.written;
    // Usually there is no ingest. This question comes four times a second while the agent fetches, so the
    // leases are then not asked for.
    if (ingests.empty()) return ingests;
    auto held = api_.ListLeases(call);
    if (!held) return held.error();
    for (const leases::Lease& lease : held->leases()) {
      if (!lease.id().starts_with(kLeasePrefix) || ingests.empty()) continue;
      auto resources = api_.ListResources(call, lease.id());
      if (!resources) return resources.error();
      if (!*resources) continue;
      for (const LeaseResource& resource : **resources) {
        if (resource.type == "ingests") ingests.erase(resource.id);
      }
    }
    if (ingests.empty()) return ingests;
    // An ingest that has ended meanwhile has left its lease, too, and may have been the agent's.
    auto still = api_.Ingests(call);
    if (!still) return still.error();
    std::erase_if(ingests, [&](const auto& ingest) { return !still->contains(ingest.first); });
    for (auto& [ref, written] : ingests) written = still->at(ref).written;
    return ingests;
  }

  CallResult<std::string> Snapshotter(const base::Call& call) override {
    {
      base::Lock lock(mutex_);
      if (std::string known = KnownSnapshotter(); !known.empty()) return known;
    }
    auto mountpoint = api_.ImageFsMountpoint(call);
    if (!mountpoint) return mountpoint.error();
    std::size_t at = mountpoint->rfind(kSnapshotterFolder);
    // The usual one is not remembered: the runtime may report its folder later.
    if (at == std::string::npos) return std::string(kUsualSnapshotter);
    std::string snapshotter = mountpoint->substr(at + kSnapshotterFolder.size());
    base::Lock lock(mutex_);
    KnownSnapshotter() = snapshotter;
    return snapshotter;
  }

  CallError WatchImages(const base::Call& call, const std::function<void()>& changed) override {
    return api_.WatchImages(call, changed);
  }

  CallResult<bool> IsUnpacked(const base::Call& call, const std::string& chain_id) override {
    auto snapshotter = Snapshotter(call);
    if (!snapshotter) return snapshotter.error();
    return api_.SnapshotExists(call, *snapshotter, chain_id);
  }

  // The id of an image is the digest of its configuration. A label of the manifest points to that, whether
  // the image was pulled or imported (seen on containerd 1.6.20, 1.7.24 and 2.1).
  CallResult<bool> IsRunnable(const base::Call& call, const std::string& id,
                              const std::string& chain_id) override {
    if (!chain_id.empty()) {
      auto unpacked = IsUnpacked(call, chain_id);
      if (unpacked && *unpacked) return unpacked;
    }
    auto manifests = api_.ListWithLabel(call, kReferenceLabel + "config", id);
    if (!manifests) return manifests.error();
    for (const content::Info& info : *manifests) {
      // A document of this size is no manifest, and would be read into memory.
      if (info.size() > kLargestManifest) continue;
      auto bytes = api_.Read(call, info.digest());
      if (!bytes) return bytes.error();
      const std::optional<doc::ImageManifest> manifest = doc::ParseImageManifest(*bytes);
      if (!manifest || !manifest->can_be_unpacked) continue;
      auto committed = Committed(call, api_, {info.digest(), manifest->blobs}, {}, {});
      if (!committed) return committed.error();
      if (committed->size() == manifest->blobs.size()) return true;
    }
    return false;
  }

 private:
  // Made when it is needed: an agent that fetches nothing by itself has no connection for it.
  ContentWriter& Writer() PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    if (!writer_) writer_ = std::make_unique<ContentWriter>(endpoint_);
    return *writer_;
  }

  // Makes the collector remove the snapshots whose removal has failed. It looks for them only after it has
  // removed some snapshot of the store, so it gets an empty one. The lease `id` is used for the moment.
  std::optional<CallError> CollectSnapshots(const base::Call& call, const std::string& id) {
    auto snapshotter = Snapshotter(call);
    if (!snapshotter) return snapshotter.error();
    if (auto made = api_.CreateLease(call, id, ExpiresAfter(kCollection)); !made) return made.error();
    // A snapshotter that makes none has its own ways: the lease goes in any case.
    (void)api_.PrepareSnapshot(call, *snapshotter, id);
    if (auto deleted = api_.DeleteLease(call, id, LeaseDeletion::kSync); !deleted) return deleted.error();
    return std::nullopt;
  }

  void Forget(const std::string& lease) PREFETCH_EXCLUDES(mutex_) {
    base::Lock lock(mutex_);
    leases_.Erase(lease);
    forgotten_++;
  }

  // The daemon's snapshotter; empty if it is not known. Another daemon may have another one.
  std::string& KnownSnapshotter() PREFETCH_REQUIRES(mutex_) {
    const std::uint64_t now = api_.Generation();
    if (generation_ != now) snapshotter_.clear();
    generation_ = now;
    return snapshotter_;
  }

  const Endpoint endpoint_;
  ContainerdApi api_;
  base::Mutex mutex_;  // not held while containerd is asked
  // By lease. A question that is under way when its lease is forgotten adds it again, so the map is bounded.
  // At most 64 pulls run at a time.
  base::LruMap<LeaseFacts> leases_ PREFETCH_GUARDED_BY(mutex_){256};
  std::uint64_t forgotten_ PREFETCH_GUARDED_BY(mutex_) = 0;   // number of leases that were forgotten
  std::uint64_t generation_ PREFETCH_GUARDED_BY(mutex_) = 0;  // of the daemon with this snapshotter
  std::string snapshotter_ PREFETCH_GUARDED_BY(mutex_);
  std::unique_ptr<ContentWriter> writer_ PREFETCH_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ContentService> MakeContentService(const Endpoint& endpoint) {
  return std::make_unique<GrpcContentService>(endpoint);
}

}  // namespace prefetch::cri
