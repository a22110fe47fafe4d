// RealWorld: the parts that the contract suite's worlds of real programs share. They are a runtime, and two
// registries with a proxy before each that counts and slows down.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/image_service_contract.h"
#include "cri/content_service.h"
#include "cri/endpoint.h"
#include "cri/image_service.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/proxy.h"
#include "rig/registry.h"
#include "rig/scratch.h"

namespace prefetch::tests {

constexpr std::chrono::seconds kPatience{20};

// The registries of all worlds, started once. An image that a case pushes disturbs no other case, which pulls
// the same one or does not ask for its name.
struct Registries {
  explicit Registries(const rig::User& user) : guarded(scratch, "private", {user}) {
    EXPECT_OK(open.Start());
    EXPECT_OK(guarded.Start());
  }

  rig::Scratch scratch;
  rig::Registry open{scratch, "open", {}};
  rig::Registry guarded;
};

// A registry, and the name under which the runtime knows it.
struct Site {
  std::string host;
  rig::Registry& registry;
  std::unique_ptr<rig::Proxy> proxy;
};

// `Runtime` is a rig::Runtime.
template <typename Runtime>
class RealWorld : public World {
 public:
  cri::ImageService& images() override { return *images_; }
  cri::ContentService& content() override { return *content_; }

  Pushed Push(const WorldImage& wanted) override {
    Site& site = wanted.is_private ? private_ : open_;
    rig::User login = site.registry.user();
    rig::Pusher pusher(site.registry.address(), login.name, base::Secret(login.password));
    rig::ImageSpec spec;
    spec.repository = wanted.repository;
    spec.tag = wanted.tag;
    for (const WorldLayer& layer : wanted.layers) spec.layers.push_back({layer.seed, layer.bytes});
    if (wanted.platform) spec.platform = *wanted.platform;
    if (wanted.artifact) spec.kind = rig::ManifestKind::kChart;
    auto pushed = pusher.Push(spec);
    EXPECT_OK(pushed);
    std::string repository = site.host + "/" + wanted.repository;
    return {repository + ":" + wanted.tag, repository, pushed ? pushed->digest : ""};
  }

  void SetBandwidth(std::uint64_t per_second) override {
    for (Site* site : {&open_, &private_}) site->proxy->LimitBandwidth(per_second);
  }
  void SetRegistriesUp(bool up) override {
    for (Site* site : {&open_, &private_}) {
      EXPECT_OK(site->proxy->Refuse(!up));
      if (!up) site->proxy->CutAll();
    }
  }
  void Fail(const Pushed& pushed, image::ErrorClass error_class) override {
    static const std::map<image::ErrorClass, std::string> kStatus = {
        {image::ErrorClass::kRateLimited, "429 Too Many Requests"},
        {image::ErrorClass::kServerError, "503 Service Unavailable"},
        {image::ErrorClass::kAccessDenied, "403 Forbidden"},
        {image::ErrorClass::kNotFound, "404 Not Found"},
    };
    AnswerManifests(pushed, kStatus.at(error_class) + "\r\nContent-Length: 0");
  }
  void KillRuntime() override { runtime_.Kill(); }
  void StartRuntime() override { EXPECT_OK(runtime_.Start()); }
  std::uint64_t BytesServed() const override {
    return open_.proxy->BytesToClients() + private_.proxy->BytesToClients();
  }

 protected:
  // Starts everything. `make_known` tells the runtime of a registry, and gives it its name.
  void Begin(const std::function<void(Site&)>& make_known) {
    for (Site* site : {&open_, &private_}) {
      site->proxy = std::make_unique<rig::Proxy>(site->registry.port());
      EXPECT_OK(site->proxy->Start());
      make_known(*site);
    }
    EXPECT_OK(runtime_.Start());
    cri::Endpoint endpoint = *cri::ParseEndpoint(runtime_.endpoint());
    images_ = cri::MakeImageService(endpoint);
    content_ = cri::MakeContentService(endpoint);
  }
  // `head`: the status with some headers.
  void AnswerManifests(const Pushed& pushed, const std::string& head, const std::string& body = "") {
    const std::string path = pushed.repository.substr(pushed.repository.find('/'));
    for (Site* site : {&open_, &private_}) {
      site->proxy->Answer("/v2" + path + "/manifests/",
                          "HTTP/1.1 " + head + "\r\nConnection: close\r\n\r\n" + body);
    }
  }
  // The image that the runtime lists under this name.
  image::LocalImage Listed(const std::string& name) {
    const image::LocalImageIndex listed(*images_->ListImages(base::Call{}.Within(kPatience)));
    const image::LocalImage* image = listed.Find(*image::Reference::Parse(name));
    EXPECT_NE(image, nullptr) << name;
    return image == nullptr ? image::LocalImage{} : *image;
  }

  Registries& AllRegistries() const {
    static Registries all({user(), password()});
    return all;
  }

  rig::Scratch scratch_;
  Site open_{"open.example.test", AllRegistries().open, nullptr};
  Site private_{"private.example.test", AllRegistries().guarded, nullptr};
  Runtime runtime_{scratch_};
  std::unique_ptr<cri::ImageService> images_;
  std::unique_ptr<cri::ContentService> content_;
};

}  // namespace prefetch::tests
