#include "bench/many_images.h"

#include <grpcpp/grpcpp.h>

#include <map>

#include "base/sha256.h"
#include "runtime_v1.grpc.pb.h"

namespace prefetch::bench {
namespace v1 = ::runtime::v1;

std::string ImageName(int number, int registries) {
  return "r" + std::to_string(number % registries) + ".example.test/team/app" + std::to_string(number) +
         ":v1";
}

std::string ImageId(int number) {
  return "sha256:" + base::Sha256Hex("image " + std::to_string(number));
}

class ManyImages::Served final : public v1::ImageService::Service, public v1::RuntimeService::Service {
 public:
  Served(const std::string& socket, int images, int registries) {
    for (int i = 0; i < images; i++) {
      v1::Image& image = *list_.add_images();
      const std::string name = ImageName(i, registries);
      image.set_id(ImageId(i));
      image.add_repo_tags(name);
      image.add_repo_digests(name.substr(0, name.rfind(':')) + "@" + ImageId(i));
      image.set_size(100'000'000);
      by_id_[image.id()] = by_id_[name] = i;
    }
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix://" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<v1::ImageService::Service*>(this));
    builder.RegisterService(static_cast<v1::RuntimeService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~Served() override {
    if (server_) server_->Shutdown();
  }
  int lists() const { return lists_; }

 private:
  grpc::Status Version(grpc::ServerContext*, const v1::VersionRequest*,
                       v1::VersionResponse* answer) override {
    answer->set_runtime_name("containerd");
    answer->set_runtime_version("2.1.9");
    answer->set_runtime_api_version("v1");
    return grpc::Status::OK;
  }
  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusResponse* answer) override {
    v1::RuntimeCondition& ready = *answer->mutable_status()->add_conditions();
    ready.set_type("RuntimeReady");
    ready.set_status(true);
    return grpc::Status::OK;
  }
  grpc::Status ListImages(grpc::ServerContext*, const v1::ListImagesRequest*,
                          v1::ListImagesResponse* answer) override {
    lists_++;
    *answer = list_;
    return grpc::Status::OK;
  }
  grpc::Status ImageStatus(grpc::ServerContext*, const v1::ImageStatusRequest* request,
                           v1::ImageStatusResponse* answer) override {
    const auto found = by_id_.find(request->image().image());
    if (found == by_id_.end()) return grpc::Status::OK;
    *answer->mutable_image() = list_.images(found->second);
    (*answer->mutable_info())["info"] = R"({"chainID":")" + ImageId(found->second) +
                                        R"(","imageSpec":{"architecture":"amd64","os":"linux"}})";
    return grpc::Status::OK;
  }
  grpc::Status ImageFsInfo(grpc::ServerContext*, const v1::ImageFsInfoRequest*,
                           v1::ImageFsInfoResponse* answer) override {
    answer->add_image_filesystems()->mutable_fs_id()->set_mountpoint("/");
    return grpc::Status::OK;
  }

  v1::ListImagesResponse list_;
  std::map<std::string, int> by_id_;
  std::atomic<int> lists_{0};
  std::unique_ptr<grpc::Server> server_;
};

ManyImages::ManyImages(const std::string& socket, int images, int registries)
    : served_(std::make_unique<Served>(socket, images, registries)) {}
ManyImages::~ManyImages() = default;

int ManyImages::lists() const {
  return served_->lists();
}

}  // namespace prefetch::bench
