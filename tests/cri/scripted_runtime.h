// A container runtime made of a script: a gRPC server on a unix socket that answers as told. For what a real
// containerd cannot be made to do on demand: strange answers, silence, other people's fields.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime_v1.grpc.pb.h"

namespace prefetch::tests {

namespace v1 = ::runtime::v1;

class ScriptedImages final : public v1::ImageService::Service {
 public:
  grpc::Status pull_status;
  std::string image_ref = "sha256:id";
  bool hang = false;  // PullImage and ListImages wait until they are cancelled
  v1::ListImagesResponse images;
  v1::ImageStatusResponse image_status;
  std::atomic<int> waiting{0};
  std::atomic<int> cancelled{0};

  // The newest PullImage; read these after it has ended.
  v1::PullImageRequest pulled;
  std::string lease_header;
  std::chrono::system_clock::time_point deadline;

  grpc::Status PullImage(grpc::ServerContext* context, const v1::PullImageRequest* request,
                         v1::PullImageResponse* response) override {
    pulled = *request;
    deadline = context->deadline();
    auto header = context->client_metadata().find("containerd-lease");
    lease_header.clear();
    if (header != context->client_metadata().end()) {
      lease_header.assign(header->second.data(), header->second.size());
    }
    if (hang) return Hang(context);
    response->set_image_ref(image_ref);
    return pull_status;
  }
  grpc::Status ListImages(grpc::ServerContext* context, const v1::ListImagesRequest*,
                          v1::ListImagesResponse* response) override {
    if (hang) return Hang(context);
    *response = images;
    return grpc::Status::OK;
  }
  grpc::Status ImageStatus(grpc::ServerContext*, const v1::ImageStatusRequest*,
                           v1::ImageStatusResponse* response) override {
    *response = image_status;
    return grpc::Status::OK;
  }
  grpc::Status ImageFsInfo(grpc::ServerContext*, const v1::ImageFsInfoRequest*,
                           v1::ImageFsInfoResponse* response) override {
    auto* usage = response->add_image_filesystems();
    usage->mutable_fs_id()->set_mountpoint("/var/lib/images");
    usage->mutable_used_bytes()->set_value(5);
    return grpc::Status::OK;
  }

 private:
  grpc::Status Hang(grpc::ServerContext* context) {
    waiting++;
    waiting.notify_all();
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    cancelled++;
    cancelled.notify_all();
    return grpc::Status::CANCELLED;
  }
};

class ScriptedVersion final : public v1::RuntimeService::Service {
 public:
  std::string not_ready_since;  // RuntimeReady=false, and why
  std::string name = "scripted";
  std::string version = "1.2.3~test";
  std::string config;  // what the verbose status tells of its configuration; empty: nothing
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse* response) override {
    response->set_runtime_name(name);
    response->set_runtime_version(version);
    return grpc::Status::OK;
  }
  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest* request,
                      v1::StatusResponse* response) override {
    if (request->verbose() && !config.empty()) (*response->mutable_info())["config"] = config;
    auto* network = response->mutable_status()->add_conditions();
    network->set_type("NetworkReady");
    auto* runtime = response->mutable_status()->add_conditions();
    runtime->set_type("RuntimeReady");
    runtime->set_status(not_ready_since.empty());
    if (!not_ready_since.empty()) runtime->set_reason("NotYet");
    runtime->set_message(not_ready_since);
    return grpc::Status::OK;
  }
};

// Serves whichever of the two is given, until it goes.
class ScriptedRuntime {
 public:
  ScriptedRuntime(const std::string& socket, const std::vector<grpc::Service*>& services) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    for (grpc::Service* service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedRuntime() { server_->Shutdown(std::chrono::system_clock::now()); }
  ScriptedRuntime(const ScriptedRuntime&) = delete;
  ScriptedRuntime& operator=(const ScriptedRuntime&) = delete;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace prefetch::tests
