// The contract suite's world made of the real parts: containerd, two registries, a proxy before each that
// counts and slows down.
#include <map>

#include "contract/image_service_contract.h"
#include "cri/endpoint.h"
#include "cri/grpc_content_service.h"
#include "cri/grpc_image_service.h"
#include "rig/containerd.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/proxy.h"
#include "rig/registry.h"
#include "rig/scratch.h"

namespace prefetch::tests {
namespace {

constexpr std::chrono::seconds kPatience{20};

std::string HttpAnswer(image::ErrorClass error_class) {
  static const std::map<image::ErrorClass, std::string> kStatus = {
      {image::ErrorClass::kRateLimited, "429 Too Many Requests"},
      {image::ErrorClass::kServerError, "503 Service Unavailable"},
      {image::ErrorClass::kAccessDenied, "403 Forbidden"},
      {image::ErrorClass::kNotFound, "404 Not Found"},
  };
  return "HTTP/1.1 " + kStatus.at(error_class) + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

// The registries of all worlds, started once. What a case pushes disturbs no other one: it is what this one
// pulls, or a name that it does not ask for.
struct Registries {
  explicit Registries(const rig::User& user) : guarded(scratch, "private", {user}) {
    EXPECT_OK(open.Start());
    EXPECT_OK(guarded.Start());
  }

  rig::Scratch scratch;
  rig::Registry open{scratch, "open", {}};
  rig::Registry guarded;
};

// A registry, and the name under which containerd knows it.
struct Site {
  std::string host;
  rig::Registry& registry;
  std::unique_ptr<rig::Proxy> proxy;
};

class ContainerdWorld final : public World {
 public:
  ContainerdWorld() {
    for (Site* site : {&open_, &private_}) {
      site->proxy = std::make_unique<rig::Proxy>(site->registry.port());
      EXPECT_OK(site->proxy->Start());
      EXPECT_OK(containerd_.Route(site->host, site->proxy->port()));
    }
    EXPECT_OK(containerd_.Start());
    cri::Endpoint endpoint = *cri::ParseEndpoint(containerd_.endpoint());
    images_ = std::make_unique<cri::GrpcImageService>(endpoint);
    content_ = std::make_unique<cri::GrpcContentService>(endpoint);
  }

  cri::ImageService& images() override { return *images_; }
  cri::ContentService& content() override { return *content_; }
  bool HasContentApi() const override { return true; }
  std::string runtime_name() const override { return "containerd"; }

  Pushed Push(const WorldImage& wanted) override {
    Site& site = wanted.is_private ? private_ : open_;
    rig::User login = site.registry.user();
    rig::Pusher pusher(site.registry.address(), login.name, base::Secret(login.password));
    rig::ImageSpec spec;
    spec.repository = wanted.repository;
    spec.tag = wanted.tag;
    for (const WorldLayer& layer : wanted.layers) spec.layers.push_back({layer.seed, layer.bytes});
    if (wanted.platform) spec.platform = *wanted.platform;
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
    std::string path = pushed.repository.substr(pushed.repository.find('/'));
    for (Site* site : {&open_, &private_}) {
      site->proxy->Answer("/v2" + path + "/manifests/", HttpAnswer(error_class));
    }
  }
  void KillRuntime() override { containerd_.Kill(); }
  void StartRuntime() override { EXPECT_OK(containerd_.Start()); }
  void Remove(const std::string& name) override {
    // All its names, as CRI's RemoveImage would.
    const image::LocalImageIndex listed(*images_->ListImages(base::Call{}.Within(kPatience)));
    const image::LocalImage* image = listed.Find(*image::Reference::Parse(name));
    ASSERT_NE(image, nullptr);
    std::vector<std::string> arguments = {"images", "remove", image->id};
    arguments.insert(arguments.end(), image->repo_tags.begin(), image->repo_tags.end());
    arguments.insert(arguments.end(), image->repo_digests.begin(), image->repo_digests.end());
    EXPECT_OK(containerd_.Ctr(arguments));
  }
  std::uint64_t BytesServed() const override {
    return open_.proxy->BytesToClients() + private_.proxy->BytesToClients();
  }
  bool StoreIsEmpty() override {
    auto content = containerd_.Ctr({"content", "ls", "--quiet"});
    auto ingests = containerd_.Ctr({"content", "active"});
    EXPECT_OK(content);
    EXPECT_OK(ingests);
    // The second has a line of titles.
    return content && ingests && content->empty() && ingests->find("sha256:") == std::string::npos;
  }
  bool Until(const std::function<bool()>& done) override { return rig::Eventually(kPatience, done); }

 private:
  Registries& AllRegistries() const {
    static Registries all({user(), password()});
    return all;
  }

  rig::Scratch scratch_;
  Site open_{"open.example.test", AllRegistries().open, nullptr};
  Site private_{"private.example.test", AllRegistries().guarded, nullptr};
  rig::Containerd containerd_{scratch_};
  std::unique_ptr<cri::GrpcImageService> images_;
  std::unique_ptr<cri::GrpcContentService> content_;
};

}  // namespace

std::vector<WorldKind> Worlds() {
  return {{"Containerd", [] { return std::make_unique<ContainerdWorld>(); }}};
}

}  // namespace prefetch::tests
