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

// Turns the one failure that is an answer into success, and reports it in `happened`.
grpc::Status Except(const grpc::Status& status, grpc::StatusCode expected, bool& happened) {
  happened = status.error_code() == expected;
  return happened ? grpc::Status::OK : status;
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
  if (unsupported_in_ == generation) return Unsupported();
  // Each of these calls may be made twice: if the first one had its effect, the second one finds it.
  const RpcSubject subject{.method = method, .harmless = true};
  auto failed = RunRpc(channel_, call.Within(kLimit), subject, [&](grpc::ClientContext& context) {
    context.AddMetadata(kNamespaceHeader, kKubernetesNamespace);
    return invoke(context);
  });
  if (!failed || failed->error_class != ErrorClass::kRuntimeUnsupported) return failed;
  // A containerd whose images service is disabled still has leases.
  if (!method.starts_with("Images.")) unsupported_in_ = generation;
  return Unsupported();
}

CallResult<bool> ContainerdApi::CreateLease(const base::Call& call, const LeaseInfo& lease) {
  leases::CreateRequest request;
  request.set_id(lease.id);
  for (const auto& [name, value] : lease.labels) (*request.mutable_labels())[name] = value;
  leases::CreateResponse response;
  bool existed = false;
  auto failed = Run(call, "Leases.Create", [&](grpc::ClientContext& context) {
    return Except(stubs_->leases->Create(&context, request, &response), grpc::StatusCode::ALREADY_EXISTS,
                  existed);
  });
  if (failed) return std::move(*failed);
  return !existed;
}

CallResult<bool> ContainerdApi::DeleteLease(const base::Call& call, const std::string& id, LeaseBytes bytes) {
  leases::DeleteRequest request;
  request.set_id(id);
  request.set_sync(bytes == LeaseBytes::kReleaseNow);
  leases::Empty response;
  bool absent = false;
  auto failed = Run(call, "Leases.Delete", [&](grpc::ClientContext& context) {
    return Except(stubs_->leases->Delete(&context, request, &response), grpc::StatusCode::NOT_FOUND, absent);
  });
  if (failed) return std::move(*failed);
  return !absent;
}

CallResult<std::vector<LeaseInfo>> ContainerdApi::ListLeases(const base::Call& call) {
  leases::ListRequest request;
  leases::ListResponse response;
  auto failed = Run(call, "Leases.List", [&](grpc::ClientContext& context) {
    return stubs_->leases->List(&context, request, &response);
  });
  if (failed) return std::move(*failed);
  std::vector<LeaseInfo> all;
  for (const leases::Lease& lease : response.leases()) {
    all.push_back({lease.id(), {lease.labels().begin(), lease.labels().end()}});
  }
  return all;
}

CallResult<std::optional<std::set<LeaseResource>>> ContainerdApi::ListResources(const base::Call& call,
                                                                                const std::string& id) {
  leases::ListResourcesRequest request;
  request.set_id(id);
  leases::ListResourcesResponse response;
  bool absent = false;
  auto failed = Run(call, "Leases.ListResources", [&](grpc::ClientContext& context) {
    return Except(stubs_->leases->ListResources(&context, request, &response), grpc::StatusCode::NOT_FOUND,
                  absent);
  });
  if (failed) return std::move(*failed);
  if (absent) return std::optional<std::set<LeaseResource>>();
  std::set<LeaseResource> resources;
  for (const leases::Resource& resource : response.resources())
    resources.insert({resource.type(), resource.id()});
  return std::optional(std::move(resources));
}

CallResult<bool> ContainerdApi::AddResource(const base::Call& call, const std::string& id,
                                            const LeaseResource& resource) {
  leases::AddResourceRequest request;
  request.set_id(id);
  request.mutable_resource()->set_type(resource.type);
  request.mutable_resource()->set_id(resource.id);
  leases::Empty response;
  bool absent = false;
  auto failed = Run(call, "Leases.AddResource", [&](grpc::ClientContext& context) {
    return Except(stubs_->leases->AddResource(&context, request, &response), grpc::StatusCode::NOT_FOUND,
                  absent);
  });
  if (failed) return std::move(*failed);
  return !absent;
}

CallResult<std::optional<ContentInfo>> ContainerdApi::Info(const base::Call& call,
                                                           const std::string& digest) {
  content::InfoRequest request;
  request.set_digest(digest);
  content::InfoResponse response;
  bool absent = false;
  auto failed = Run(call, "Content.Info", [&](grpc::ClientContext& context) {
    return Except(stubs_->content->Info(&context, request, &response), grpc::StatusCode::NOT_FOUND, absent);
  });
  if (failed) return std::move(*failed);
  if (absent) return std::optional<ContentInfo>();
  return std::optional(FromProto(response.info()));
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
  content::ListStatusesRequest request;
  content::ListStatusesResponse response;
  auto failed = Run(call, "Content.ListStatuses", [&](grpc::ClientContext& context) {
    return stubs_->content->ListStatuses(&context, request, &response);
  });
  if (failed) return std::move(*failed);
  const auto bytes = [](std::int64_t reported) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(reported, 0));
  };
  std::map<std::string, IngestInfo> ingests;
  for (const content::Status& status : response.statuses())
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
  names::ImageResponse response;
  bool absent = false;
  auto failed = Run(call, "Images.Get", [&](grpc::ClientContext& context) {
    return Except(stubs_->names->Get(&context, request, &response), grpc::StatusCode::NOT_FOUND, absent);
  });
  if (failed) return std::move(*failed);
  if (absent) return std::optional<ImageName>();
  const names::Image& image = response.image();
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
  names::ListImagesResponse response;
  auto failed = Run(call, "Images.List", [&](grpc::ClientContext& context) {
    return stubs_->names->List(&context, request, &response);
  });
  if (failed) return std::move(*failed);
  std::set<std::string> found;
  for (const names::Image& image : response.images()) found.insert(image.name());
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
  names::ImageResponse response;
  bool absent = false;
  auto failed = Run(call, "Images.Update", [&](grpc::ClientContext& context) {
    return Except(stubs_->names->Update(&context, request, &response), grpc::StatusCode::NOT_FOUND, absent);
  });
  if (failed) return std::move(*failed);
  return !absent;
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
  snapshots::StatSnapshotResponse response;
  bool absent = false;
  auto failed = Run(call, "Snapshots.Stat", [&](grpc::ClientContext& context) {
    return Except(stubs_->snapshots->Stat(&context, request, &response), grpc::StatusCode::NOT_FOUND, absent);
  });
  if (failed) return std::move(*failed);
  return !absent;
}

CallResult<bool> ContainerdApi::PrepareSnapshot(const base::Call& call, const std::string& snapshotter,
                                                const std::string& key) {
  snapshots::PrepareSnapshotRequest request;
  request.set_snapshotter(snapshotter);
  request.set_key(key);
  snapshots::PrepareSnapshotResponse response;
  bool existed = false;
  auto failed = Run(call, "Snapshots.Prepare", [&](grpc::ClientContext& context) {
    return Except(stubs_->snapshots->Prepare(&context, request, &response), grpc::StatusCode::ALREADY_EXISTS,
                  existed);
  });
  if (failed) return std::move(*failed);
  return !existed;
}

CallResult<std::string> ContainerdApi::ImageFsMountpoint(const base::Call& call) {
  ::runtime::v1::ImageFsInfoRequest request;
  ::runtime::v1::ImageFsInfoResponse response;
  auto failed = Run(call, "ImageFsInfo", [&](grpc::ClientContext& context) {
    return stubs_->images->ImageFsInfo(&context, request, &response);
  });
  if (failed) return std::move(*failed);
  if (response.image_filesystems().empty()) return std::string();
  return response.image_filesystems(0).fs_id().mountpoint();
}

}  // namespace prefetch::cri
