#include "cri/containerd_api.h"

#include <chrono>
#include <utility>

#include "containerd_content_v1.grpc.pb.h"
#include "containerd_events_v1.grpc.pb.h"
#include "containerd_images_v1.grpc.pb.h"
#include "containerd_leases_v1.grpc.pb.h"
#include "containerd_snapshots_v1.grpc.pb.h"
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

CallError Unsupported() {
  return {ErrorClass::kRuntimeUnsupported, "this container runtime has no content API of containerd's"};
}

ContentInfo FromProto(const content::Info& info) {
  return {info.digest(),
          info.size() > 0 ? static_cast<std::uint64_t>(info.size()) : 0,
          {info.labels().begin(), info.labels().end()}};
}

}  // namespace

// Events have a channel of their own, so that the stream, which stays open, shares no connection with short
// calls.
struct ContainerdApi::Stubs {
  Stubs(const std::shared_ptr<grpc::Channel>& channel, const std::shared_ptr<grpc::Channel>& of_events)
      : content(content::Content::NewStub(channel)),
        events(events::Events::NewStub(of_events)),
        leases(leases::Leases::NewStub(channel)),
        names(names::Images::NewStub(channel)),
        snapshots(snapshots::Snapshots::NewStub(channel)),
        images(::runtime::v1::ImageService::NewStub(channel)) {}

  std::unique_ptr<content::Content::Stub> content;
  std::unique_ptr<events::Events::Stub> events;
  std::unique_ptr<leases::Leases::Stub> leases;
  std::unique_ptr<names::Images::Stub> names;
  std::unique_ptr<snapshots::Snapshots::Stub> snapshots;
  std::unique_ptr<::runtime::v1::ImageService::Stub> images;
};

ContainerdApi::ContainerdApi(const Endpoint& endpoint)
    : channel_(endpoint, "content"),
      events_(endpoint, "events", kLongestEvent),
      stubs_(std::make_unique<Stubs>(channel_.grpc(), events_.grpc())) {}

ContainerdApi::~ContainerdApi() = default;

// Runs one call in the Kubernetes namespace, with a time limit, and remembers if the runtime does not have
// these services.
template <typename Invoke>
std::optional<CallError> ContainerdApi::Run(const base::Call& call, std::string_view method, Invoke invoke) {
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

// `absence` is the one failure that is an answer.
template <typename Stub, typename Request, typename Response>
CallResult<ContainerdApi::Reply<Response>> ContainerdApi::Ask(const base::Call& call, std::string_view name,
                                                              Stub& stub,
                                                              UnaryMethod<Stub, Request, Response> method,
                                                              const Request& request,
                                                              std::optional<grpc::StatusCode> absence) {
  Reply<Response> reply;
  auto failed = Run(call, name, [&](grpc::ClientContext& context) {
    grpc::Status status = (stub.*method)(&context, request, &reply.message);
    reply.absent = status.error_code() == absence;
    return reply.absent ? grpc::Status::OK : status;
  });
  if (failed) return *std::move(failed);
  return reply;
}

template <typename Stub, typename Request, typename Response>
CallResult<bool> ContainerdApi::Succeeds(const base::Call& call, std::string_view name, Stub& stub,
                                         UnaryMethod<Stub, Request, Response> method, const Request& request,
                                         grpc::StatusCode absence) {
  auto reply = Ask(call, name, stub, method, request, absence);
  if (!reply) return reply.error();
  return !reply->absent;
}

CallResult<bool> ContainerdApi::CreateLease(const base::Call& call, const LeaseInfo& lease) {
  leases::CreateRequest request;
  request.set_id(lease.id);
  for (const auto& [name, value] : lease.labels) (*request.mutable_labels())[name] = value;
  return Succeeds(call, "Leases.Create", *stubs_->leases, &leases::Leases::Stub::Create, request,
                  grpc::StatusCode::ALREADY_EXISTS);
}

CallResult<bool> ContainerdApi::DeleteLease(const base::Call& call, const std::string& id,
                                            LeaseDeletion deletion) {
  leases::DeleteRequest request;
  request.set_id(id);
  request.set_sync(deletion == LeaseDeletion::kSync);
  return Succeeds(call, "Leases.Delete", *stubs_->leases, &leases::Leases::Stub::Delete, request);
}

CallResult<std::vector<LeaseInfo>> ContainerdApi::ListLeases(const base::Call& call) {
  auto reply = Ask(call, "Leases.List", *stubs_->leases, &leases::Leases::Stub::List, leases::ListRequest());
  if (!reply) return reply.error();
  std::vector<LeaseInfo> all;
  for (const leases::Lease& lease : reply->message.leases()) {
    all.push_back({lease.id(), {lease.labels().begin(), lease.labels().end()}});
  }
  return all;
}

CallResult<std::optional<std::set<LeaseResource>>> ContainerdApi::ListResources(const base::Call& call,
                                                                                const std::string& id) {
  leases::ListResourcesRequest request;
  request.set_id(id);
  auto reply = Ask(call, "Leases.ListResources", *stubs_->leases, &leases::Leases::Stub::ListResources,
                   request, grpc::StatusCode::NOT_FOUND);
  if (!reply) return reply.error();
  if (reply->absent) return std::optional<std::set<LeaseResource>>();
  std::set<LeaseResource> resources;
  for (const leases::Resource& resource : reply->message.resources())
    resources.insert({resource.type(), resource.id()});
  return std::optional(std::move(resources));
}

CallResult<bool> ContainerdApi::AddResource(const base::Call& call, const std::string& id,
                                            const LeaseResource& resource) {
  leases::AddResourceRequest request;
  request.set_id(id);
  request.mutable_resource()->set_type(resource.type);
  request.mutable_resource()->set_id(resource.id);
  return Succeeds(call, "Leases.AddResource", *stubs_->leases, &leases::Leases::Stub::AddResource, request);
}

CallResult<std::optional<ContentInfo>> ContainerdApi::Info(const base::Call& call,
                                                           const std::string& digest) {
  content::InfoRequest request;
  request.set_digest(digest);
  auto reply = Ask(call, "Content.Info", *stubs_->content, &content::Content::Stub::Info, request,
                   grpc::StatusCode::NOT_FOUND);
  if (!reply) return reply.error();
  if (reply->absent) return std::optional<ContentInfo>();
  return std::optional(FromProto(reply->message.info()));
}

CallResult<std::vector<ContentInfo>> ContainerdApi::ListWithLabel(const base::Call& call,
                                                                  const std::string& label,
                                                                  const std::string& value) {
  content::ListContentRequest request;
  request.add_filters("labels.\"" + label + "\"" + (value.empty() ? "" : "==\"" + value + "\""));
  std::vector<ContentInfo> all;
  auto failed = Run(call, "Content.List", [&](grpc::ClientContext& context) {
    // A repeated call begins with an empty result, not with the first part of the broken one.
    all.clear();
    auto reader = stubs_->content->List(&context, request);
    content::ListContentResponse response;
    while (reader->Read(&response)) {
      for (const content::Info& info : response.info()) all.push_back(FromProto(info));
    }
    return reader->Finish();
  });
  if (failed) return std::move(*failed);
  return all;
}

CallResult<std::string> ContainerdApi::Read(const base::Call& call, const std::string& digest) {
  content::ReadContentRequest request;
  request.set_digest(digest);
  std::string bytes;
  auto failed = Run(call, "Content.Read", [&](grpc::ClientContext& context) {
    // This call may run twice, too.
    bytes.clear();
    auto reader = stubs_->content->Read(&context, request);
    content::ReadContentResponse response;
    while (reader->Read(&response)) bytes += response.data();
    return reader->Finish();
  });
  if (failed) return std::move(*failed);
  return bytes;
}

CallResult<std::map<std::string, IngestInfo>> ContainerdApi::IngestsByRef(const base::Call& call) {
  auto reply = Ask(call, "Content.ListStatuses", *stubs_->content, &content::Content::Stub::ListStatuses,
                   content::ListStatusesRequest());
  if (!reply) return reply.error();
  const auto bytes = [](std::int64_t reported) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(reported, 0));
  };
  std::map<std::string, IngestInfo> ingests;
  for (const content::Status& status : reply->message.statuses())
    ingests[status.ref()] = {bytes(status.offset()), bytes(status.total())};
  return ingests;
}

CallResult<std::map<std::string, std::uint64_t>> ContainerdApi::Ingests(const base::Call& call) {
  auto all = IngestsByRef(call);
  if (!all) return all.error();
  std::map<std::string, std::uint64_t> bytes;
  for (const auto& [ref, ingest] : *all) {
    // Two pulls of one blob share its ingest, so the digest is enough as a key.
    if (std::string digest(DigestOfIngest(ref)); !digest.empty()) bytes[digest] = ingest.written;
  }
  return bytes;
}

CallResult<std::optional<ImageName>> ContainerdApi::GetImageName(const base::Call& call,
                                                                 const std::string& name) {
  names::GetImageRequest request;
  request.set_name(name);
  auto reply = Ask(call, "Images.Get", *stubs_->names, &names::Images::Stub::Get, request,
                   grpc::StatusCode::NOT_FOUND);
  if (!reply) return reply.error();
  if (reply->absent) return std::optional<ImageName>();
  const names::Image& image = reply->message.image();
  return std::optional(ImageName{name, {image.labels().begin(), image.labels().end()}, image.target()});
}

CallResult<std::set<std::string>> ContainerdApi::ImagesWithLabels(
    const base::Call& call, const std::map<std::string, std::string>& labels) {
  names::ListImagesRequest request;
  // containerd finds what matches any filter of several, and every selector of one filter.
  std::string filter;
  for (const auto& [label, value] : labels) {
    if (!filter.empty()) filter += ",";
    filter += "labels.\"" + label + "\"";
    if (!value.empty()) filter += "==\"" + value + "\"";
  }
  request.add_filters(std::move(filter));
  auto reply = Ask(call, "Images.List", *stubs_->names, &names::Images::Stub::List, request);
  if (!reply) return reply.error();
  std::set<std::string> found;
  for (const names::Image& image : reply->message.images()) found.insert(image.name());
  return found;
}

CallResult<bool> ContainerdApi::SetImageLabels(const base::Call& call, const ImageName& image,
                                               const std::map<std::string, std::string>& labels) {
  // An update without a target would end the daemon (C39).
  if (image.target.empty()) return CallError{ErrorClass::kRuntimeError, "containerd's image has no target"};
  names::UpdateImageRequest request;
  request.mutable_image()->set_name(image.name);
  request.mutable_image()->set_target(image.target);
  for (const auto& [label, value] : labels) {
    // Each label has its own path in the mask: containerd then leaves everything else as it is, and removes a
    // label whose value is empty.
    (*request.mutable_image()->mutable_labels())[label] = value;
    request.mutable_update_mask()->add_paths("labels." + label);
  }
  return Succeeds(call, "Images.Update", *stubs_->names, &names::Images::Stub::Update, request);
}

CallError ContainerdApi::WatchImages(const base::Call& call, const std::function<void()>& changed) {
  events::SubscribeRequest request;
  request.add_filters(kImageEvents);
  auto failed = RunRpc(events_, call, {.method = "Events.Subscribe"}, [&](grpc::ClientContext& context) {
    context.AddMetadata(kNamespaceHeader, kKubernetesNamespace);
    auto reader = stubs_->events->Subscribe(&context, request);
    changed();
    events::Envelope event;
    while (reader->Read(&event)) changed();
    return reader->Finish();
  });
  // A stream that ends well ends with the daemon, too (C33).
  if (!failed) return {ErrorClass::kRuntimeDown, "the stream of events has ended"};
  return failed->error_class == ErrorClass::kRuntimeUnsupported ? Unsupported() : *std::move(failed);
}

CallResult<bool> ContainerdApi::SnapshotExists(const base::Call& call, const std::string& snapshotter,
                                               const std::string& key) {
  snapshots::StatSnapshotRequest request;
  request.set_snapshotter(snapshotter);
  request.set_key(key);
  return Succeeds(call, "Snapshots.Stat", *stubs_->snapshots, &snapshots::Snapshots::Stub::Stat, request);
}

CallResult<bool> ContainerdApi::PrepareSnapshot(const base::Call& call, const std::string& snapshotter,
                                                const std::string& key) {
  snapshots::PrepareSnapshotRequest request;
  request.set_snapshotter(snapshotter);
  request.set_key(key);
  return Succeeds(call, "Snapshots.Prepare", *stubs_->snapshots, &snapshots::Snapshots::Stub::Prepare,
                  request, grpc::StatusCode::ALREADY_EXISTS);
}

CallResult<std::string> ContainerdApi::ImageFsMountpoint(const base::Call& call) {
  auto reply = Ask(call, "ImageFsInfo", *stubs_->images, &::runtime::v1::ImageService::Stub::ImageFsInfo,
                   ::runtime::v1::ImageFsInfoRequest());
  if (!reply) return reply.error();
  const auto& filesystems = reply->message.image_filesystems();
  return filesystems.empty() ? std::string() : filesystems[0].fs_id().mountpoint();
}

}  // namespace prefetch::cri
