#include "cri/image_service.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <list>
#include <utility>

#include "base/redactor.h"
#include "cri/rpc.h"
#include "cri/runtime_json.h"
#include "runtime_v1.grpc.pb.h"

namespace prefetch::cri {
namespace {

namespace v1 = ::runtime::v1;
using image::ErrorClass;

constexpr std::chrono::seconds kShortLimit{10};
constexpr std::chrono::seconds kListLimit{30};    // some runtimes parse every image after a restart
constexpr std::chrono::seconds kFsInfoLimit{30};  // some runtimes walk their folders for it

std::vector<std::string> Texts(google::protobuf::RepeatedPtrField<std::string>& from) {
  return {std::make_move_iterator(from.begin()), std::make_move_iterator(from.end())};
}

// Converts an image and moves the texts out of it: a node lists thousands of images every few seconds.
image::LocalImage FromProto(v1::Image& image) {
  return {.id = std::move(*image.mutable_id()),
          .repo_tags = Texts(*image.mutable_repo_tags()),
          .repo_digests = Texts(*image.mutable_repo_digests()),
          .size_bytes = image.size(),
          .pinned = image.pinned()};
}

// CRI-O's id of an artifact is the digest of its manifest, an image's that of its configuration (C31).
bool IsNamedByItsManifest(const image::LocalImage& image) {
  std::string_view id = image.id;
  if (id.starts_with("sha256:")) id.remove_prefix(7);
  return std::any_of(image.repo_digests.begin(), image.repo_digests.end(), [&](const std::string& digest) {
    return digest.ends_with("@sha256:" + std::string(id));
  });
}

ImageDetails Details(v1::ImageStatusResponse& response) {
  ImageDetails details{
      .image = FromProto(*response.mutable_image()), .platform = std::nullopt, .chain_id = ""};
  auto found = response.info().find("info");
  if (found == response.info().end()) {
    details.artifact = IsNamedByItsManifest(details.image);
    return details;
  }
  VerboseInfo info = ParseVerboseInfo(found->second);
  details.platform = info.platform;
  details.chain_id = info.chain_id;
  return details;
}

// Returns the spellings of an image that may occur in an error about it (C15).
std::vector<std::string> NamesOf(const std::string& image) {
  std::vector<std::string> names = {image};
  if (auto reference = image::Reference::Parse(image)) {
    names.push_back(reference->Normalized());
    names.push_back(reference->Repository());
  }
  return names;
}

void Fill(v1::PullImageRequest& message, const PullRequest& request) {
  message.mutable_image()->set_image(request.image);
  if (!request.sandbox_cgroup.empty()) {
    message.mutable_sandbox_config()->mutable_linux_config()->set_cgroup_parent(request.sandbox_cgroup);
  }
  // C6: user name and password alone, since runtimes differ in what they make of the other fields.
  if (!request.auth) return;  // an empty AuthConfig would suppress the runtime's own credentials
  message.mutable_auth()->set_username(request.auth->username);
  std::string_view password = request.auth->password.Reveal();
  message.mutable_auth()->set_password(password.data(), password.size());
}

// A runtime with RuntimeReady=false is up and cannot be used yet. NetworkReady does not matter: a node
// without a network plugin pulls images (C2).
std::optional<CallError> NotReady(const v1::RuntimeStatus& status) {
  for (const v1::RuntimeCondition& condition : status.conditions()) {
    if (condition.type() != "RuntimeReady" || condition.status()) continue;
    std::string words = "the runtime says that it is not ready";
    for (const std::string& more : {condition.reason(), condition.message()}) {
      if (!more.empty()) words.append(": ").append(more);
    }
    return CallError{image::ErrorClass::kRuntimeDown, base::SanitizedText(words, kMaxQuotedBytes)};
  }
  return std::nullopt;
}

// Wipes the runtime's answer: it may contain passwords.
image::RuntimeRegistries TakeRegistries(v1::StatusResponse& status) {
  image::RuntimeRegistries registries;
  auto config = status.info().find("config");
  if (config != status.info().end()) registries = ParseRuntimeRegistries(config->second);
  for (auto& [key, text] : *status.mutable_info()) base::WipeString(text);
  return registries;
}

// Maximum number of ImageStatus calls under way at once.
constexpr std::size_t kInFlight = 16;
// Interval at which a stop is noticed while answers are awaited: a completion queue cannot wait for a
// stop_token.
constexpr std::chrono::milliseconds kStopCheck{50};

// One of the ImageStatus calls that are under way. It must stay at its address until it has ended, hence a
// list.
struct StatusCall {
  std::size_t index = 0;
  grpc::ClientContext context;
  v1::ImageStatusRequest request;
  v1::ImageStatusResponse response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ImageStatusResponse>> reader;
  std::optional<TimedCall> timed_call;
};

class GrpcImageService final : public ImageService {
 public:
  explicit GrpcImageService(const Endpoint& endpoint)
      : calls_(endpoint, "calls"),
        pulls_(endpoint, "pulls"),
        runtime_(v1::RuntimeService::NewStub(calls_.grpc())),
        images_(v1::ImageService::NewStub(calls_.grpc())),
        puller_(v1::ImageService::NewStub(pulls_.grpc())) {}

  // Asks for everything that holds as long as the runtime's process: whether it serves this API, its name and
  // version, and its registries. A runtime that is not ready counts as down.
  CallResult<image::RuntimeInfo> Connect(const base::Call& call) override {
    // This probe shows whether the runtime serves the ImageService of runtime.v1 at all.
    if (auto probe = ImageFsInfo(call); !probe) return probe.error();
    base::Call limited = call.Within(kShortLimit);
    auto version = Ask(limited, {.method = "Version"}, *runtime_, &v1::RuntimeService::Stub::Version,
                       v1::VersionRequest());
    if (!version) return version.error();
    v1::StatusRequest request;
    request.set_verbose(true);
    auto status = Ask(limited, {.method = "Status"}, *runtime_, &v1::RuntimeService::Stub::Status, request);
    if (!status) return status.error();
    image::RuntimeRegistries registries = TakeRegistries(*status);
    if (auto not_ready = NotReady(status->status())) return std::move(*not_ready);
    return image::RuntimeInfo{version->runtime_name(), version->runtime_version(), std::move(registries)};
  }

  std::uint64_t Generation() override { return calls_.Generation() + pulls_.Generation(); }

  CallResult<std::vector<image::LocalImage>> ListImages(const base::Call& call) override {
    auto response = Ask(call.Within(kListLimit), {.method = "ListImages"}, *images_,
                        &v1::ImageService::Stub::ListImages, v1::ListImagesRequest());
    if (!response) return response.error();
    std::vector<image::LocalImage> images;
    images.reserve(static_cast<std::size_t>(response->images_size()));
    for (v1::Image& image : *response->mutable_images()) images.push_back(FromProto(image));
    return images;
  }

  CallResult<std::optional<ImageDetails>> ImageStatus(const base::Call& call,
                                                      const std::string& name) override {
    v1::ImageStatusRequest request;
    request.mutable_image()->set_image(name);
    request.set_verbose(true);
    auto response = Ask(call.Within(kShortLimit), {.method = "ImageStatus", .image_names = NamesOf(name)},
                        *images_, &v1::ImageService::Stub::ImageStatus, request);
    if (!response) return response.error();
    if (!response->has_image()) return std::optional<ImageDetails>();
    return std::optional<ImageDetails>(Details(*response));
  }

  // Sends up to kInFlight calls at a time over one connection, without a thread for each. The first failure
  // cancels the others, since a partial answer would call images absent.
  CallResult<std::vector<std::optional<ImageDetails>>> ImageStatuses(
      const base::Call& call, const std::vector<std::string>& names) override {
    std::vector<std::optional<ImageDetails>> all(names.size());
    if (names.empty()) return all;
    // One call is made alone: it waits for a connection if the last one was lost unnoticed. If many calls
    // were sent over such a connection together, all but the first would fail.
    auto first = ImageStatus(call, names[0]);
    if (!first) return first.error();
    all[0] = *std::move(first);
    base::Call limited = call.Within(kListLimit);
    std::list<StatusCall> flights;
    std::optional<CallError> failed;
    std::size_t next = 1;
    grpc::CompletionQueue queue;
    while (!flights.empty() || (!failed && next < names.size())) {
      while (!failed && next < names.size() && flights.size() < kInFlight) {
        StatusCall& flight = flights.emplace_back();
        flight.index = next++;
        flight.request.mutable_image()->set_image(names[flight.index]);
        flight.request.set_verbose(true);
        flight.timed_call.emplace(Prepare(flight.context, limited));
        flight.reader = images_->AsyncImageStatus(&flight.context, flight.request, &queue);
        flight.reader->Finish(&flight.response, &flight.status, &flight);
      }
      void* tag = nullptr;
      bool ok = false;
      auto until = std::chrono::system_clock::now() + kStopCheck;
      if (queue.AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) {
        if (!call.Stopped() || failed) continue;
        failed = CallError{ErrorClass::kCancelled, "stopped"};
        for (StatusCall& flight : flights) flight.context.TryCancel();
        continue;
      }
      auto ended = std::find_if(flights.begin(), flights.end(),
                                [&](const StatusCall& flight) { return &flight == tag; });
      calls_.OnCallEnded(ended->status);
      if (ended->status.ok()) {
        if (ended->response.has_image()) all[ended->index] = Details(ended->response);
      } else if (!failed) {
        failed = ToCallError(ended->status, limited, calls_.Connected(),
                             {.method = "ImageStatus", .image_names = NamesOf(names[ended->index])});
        for (StatusCall& flight : flights) flight.context.TryCancel();
      }
      flights.erase(ended);
    }
    queue.Shutdown();
    void* tag = nullptr;
    // gRPC requires that a queue is drained before it is destroyed.
    for (bool ok = false; queue.Next(&tag, &ok);) {
    }
    if (failed) return *std::move(failed);
    return all;
  }

  CallResult<std::string> PullImage(const base::Call& call, const PullRequest& request) override {
    v1::PullImageRequest message;
    v1::PullImageResponse response;
    Fill(message, request);
    RpcSubject subject{.method = "PullImage",
                       .image_names = NamesOf(request.image),
                       .credential = request.auth ? &*request.auth : nullptr};
    auto failed = RunRpc(pulls_, call, subject, [&](grpc::ClientContext& context) {
      if (!request.lease.empty()) context.AddMetadata(kLeaseHeader, request.lease);
      return puller_->PullImage(&context, message, &response);
    });
    if (message.has_auth()) base::WipeString(*message.mutable_auth()->mutable_password());
    if (failed) return std::move(*failed);
    // C4.
    if (response.image_ref().empty()) {
      return CallError{ErrorClass::kRuntimeError,
                       "the runtime says that the pull went well, but names no image"};
    }
    return response.image_ref();
  }

  CallResult<std::vector<ImageFilesystem>> ImageFsInfo(const base::Call& call) override {
    auto response = Ask(call.Within(kFsInfoLimit), {.method = "ImageFsInfo"}, *images_,
                        &v1::ImageService::Stub::ImageFsInfo, v1::ImageFsInfoRequest());
    if (!response) return response.error();
    std::vector<ImageFilesystem> filesystems;
    for (const v1::FilesystemUsage& usage : response->image_filesystems()) {
      filesystems.push_back({.mountpoint = usage.fs_id().mountpoint()});
    }
    return filesystems;
  }

 private:
  // Makes one of the short calls, which may be repeated.
  template <typename Stub, typename Request, typename Response>
  CallResult<Response> Ask(const base::Call& call, RpcSubject subject, Stub& stub,
                           UnaryMethod<Stub, Request, Response> method, const Request& request) {
    subject.idempotent = true;
    Response response;
    auto failed = RunRpc(calls_, call, subject, [&](grpc::ClientContext& context) {
      return (stub.*method)(&context, request, &response);
    });
    if (failed) return *std::move(failed);
    return response;
  }

  // Pulls have a channel of their own, so that what they do to their connection cannot fail the short calls
  // (rpc.h).
  RpcChannel calls_, pulls_;
  std::unique_ptr<v1::RuntimeService::Stub> runtime_;
  std::unique_ptr<v1::ImageService::Stub> images_, puller_;
};

}  // namespace

std::unique_ptr<ImageService> MakeImageService(const Endpoint& endpoint) {
  return std::make_unique<GrpcImageService>(endpoint);
}

}  // namespace prefetch::cri
