// The contract suite's world made of a real CRI-O. Only where the folder of programs has one: main.cc.
#include <map>

#include "cluster/crio.h"
#include "contract/image_service_contract.h"
#include "cri/endpoint.h"
#include "cri/grpc_content_service.h"
#include "cri/grpc_image_service.h"
#include "rig/expect_ok.h"
#include "rig/images.h"
#include "rig/proxy.h"
#include "rig/registry.h"

namespace prefetch::tests {
namespace {

constexpr std::chrono::seconds kCrioPatience{20};

std::string CrioHttpAnswer(image::ErrorClass error_class) {
  static const std::map<image::ErrorClass, std::string> kStatus = {
      {image::ErrorClass::kRateLimited, "429 Too Many Requests"},
      {image::ErrorClass::kServerError, "503 Service Unavailable"},
      {image::ErrorClass::kAccessDenied, "403 Forbidden"},
      {image::ErrorClass::kNotFound, "404 Not Found"},
  };
  return "HTTP/1.1 " + kStatus.at(error_class) + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
}

struct CrioSite {
  CrioSite(const rig::Scratch& scratch, const std::string& name, std::vector<rig::User> users)
      : registry(scratch, name, std::move(users)) {}

  rig::Registry registry;
  std::unique_ptr<rig::Proxy> proxy;
};

class CrioWorld final : public World, public CrioSide {
 public:
  CrioWorld() {
    for (CrioSite* site : {&open_, &private_}) {
      EXPECT_OK(site->registry.Start());
      site->proxy = std::make_unique<rig::Proxy>(site->registry.port());
      EXPECT_OK(site->proxy->Start());
      crio_.MayUseHttp(site->proxy->port());
    }
    EXPECT_OK(crio_.Start());
    cri::Endpoint endpoint = *cri::ParseEndpoint(crio_.endpoint());
    images_ = std::make_unique<cri::GrpcImageService>(endpoint);
    content_ = std::make_unique<cri::GrpcContentService>(endpoint);
  }

  cri::ImageService& images() override { return *images_; }
  cri::ContentService& content() override { return *content_; }
  bool HasContentApi() const override { return false; }
  std::string runtime_name() const override { return "cri-o"; }

  Pushed Push(const WorldImage& wanted) override {
    CrioSite& site = wanted.is_private ? private_ : open_;
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
    std::string repository = site.proxy->address() + "/" + wanted.repository;
    return {repository + ":" + wanted.tag, repository, pushed ? pushed->digest : ""};
  }

  void SetBandwidth(std::uint64_t per_second) override {
    for (CrioSite* site : {&open_, &private_}) site->proxy->LimitBandwidth(per_second);
  }
  void SetRegistriesUp(bool up) override {
    for (CrioSite* site : {&open_, &private_}) {
      EXPECT_OK(site->proxy->Refuse(!up));
      if (!up) site->proxy->CutAll();
    }
  }
  void Fail(const Pushed& pushed, image::ErrorClass error_class) override {
    std::string path = pushed.repository.substr(pushed.repository.find('/'));
    for (CrioSite* site : {&open_, &private_}) {
      site->proxy->Answer("/v2" + path + "/manifests/", CrioHttpAnswer(error_class));
    }
  }
  void KillRuntime() override { crio_.Kill(); }
  void StartRuntime() override { EXPECT_OK(crio_.Start()); }
  void Remove(const std::string& name) override {
    const image::LocalImageIndex listed(*images_->ListImages(base::Call{}.Within(kCrioPatience)));
    const image::LocalImage* image = listed.Find(*image::Reference::Parse(name));
    ASSERT_NE(image, nullptr);
    EXPECT_OK(crio_.Remove(image->id));
  }
  std::uint64_t BytesServed() const override {
    return open_.proxy->BytesToClients() + private_.proxy->BytesToClients();
  }
  bool StoreIsEmpty() override {
    auto listed = images_->ListImages(base::Call{}.Within(kCrioPatience));
    return listed.ok() && listed->empty();
  }
  bool SharesRunningDownloads() const override { return false; }
  bool StatusRefusesOddNames() const override { return true; }
  bool SharesEqualPulls() const override { return true; }
  bool DigestsOutliveTheirTag() const override { return false; }
  CrioSide* crio() override { return this; }

  std::vector<std::string> TakeAsked() override {
    std::vector<std::string> asked;
    for (CrioSite* site : {&open_, &private_}) {
      for (const rig::Passed& request : site->proxy->Requests()) {
        std::string path = request.path;
        if (auto blob = path.find("/blobs/"); blob != std::string::npos)
          path.replace(blob + 7, path.size(), "BLOB");
        asked.push_back(request.method + " " + path + (request.authorization.empty() ? "" : " +login") +
                        (request.range.empty() ? "" : " +range"));
      }
      site->proxy->Forget();
    }
    return asked;
  }
  void Answer(const Pushed& pushed, const std::string& status, const std::string& body) override {
    const std::string type = body.starts_with('{') ? "application/json" : "text/html";
    const std::string path = pushed.repository.substr(pushed.repository.find('/'));
    for (CrioSite* site : {&open_, &private_}) {
      site->proxy->Answer("/v2" + path + "/manifests/",
                          "HTTP/1.1 " + status + "\r\nContent-Type: " + type + "\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
    }
  }
  void WelcomeAtPing() override {
    private_.proxy->Answer("/v2/$", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }
  void Rewrite(const std::string& prefix, const std::string& location) override {
    crio_.HasRegistries("[[registry]]\nprefix = \"" + prefix + "\"\nlocation = \"" + location +
                        "\"\ninsecure = true\n");
    Restart();
  }
  void GiveUpOnSilenceAfter(std::chrono::seconds silence) override {
    crio_.GivesUpOnSilenceAfter(silence);
    Restart();
  }
  void CutConnections() override {
    for (CrioSite* site : {&open_, &private_}) site->proxy->CutAll();
  }
  void Freeze(bool frozen) override {
    for (CrioSite* site : {&open_, &private_}) site->proxy->Freeze(frozen);
  }
  void RemoveName(const std::string& name) override { EXPECT_OK(crio_.Remove(name)); }
  base::Duration Elapsed() override { return std::chrono::steady_clock::now() - made_; }

  std::chrono::seconds PullLimit() const override { return std::chrono::seconds(100); }
  bool Until(const std::function<bool()>& done) override { return rig::Eventually(PullLimit(), done); }

 private:
  void Restart() {
    EXPECT_OK(crio_.Stop());
    EXPECT_OK(crio_.Start());
    // The first call may be the one that finds the old connection broken.
    EXPECT_TRUE(Until([&] { return images_->ListImages(base::Call{}.Within(kCrioPatience)).ok(); }));
  }

  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
  rig::Scratch scratch_;
  CrioSite open_{scratch_, "open", {}};
  CrioSite private_{scratch_, "private", {{user(), password()}}};
  cluster::Crio crio_{scratch_};
  std::unique_ptr<cri::GrpcImageService> images_;
  std::unique_ptr<cri::GrpcContentService> content_;
};

}  // namespace

std::vector<WorldKind> Worlds() {
  return {{"Crio", [] { return std::make_unique<CrioWorld>(); }}};
}

}  // namespace prefetch::tests
