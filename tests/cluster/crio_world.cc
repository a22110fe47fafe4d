// The contract suite's world made of a real CRI-O. Only where the folder of programs has one: main.cc.
#include "cluster/crio.h"
#include "contract/real_world.h"

namespace prefetch::tests {
namespace {

class CrioWorld final : public RealWorld<cluster::Crio>, public CrioSide {
 public:
  CrioWorld() {
    Begin([this](Site& site) {
      site.host = site.proxy->address();
      runtime_.MayUseHttp(site.proxy->port());
    });
  }

  bool HasContentApi() const override { return false; }
  std::string runtime_name() const override { return "cri-o"; }

  void Remove(const std::string& name) override { EXPECT_OK(runtime_.Remove(Listed(name).id)); }
  bool StoreIsEmpty() override {
    auto listed = images_->ListImages(base::Call{}.Within(kPatience));
    return listed.ok() && listed->empty();
  }
  bool SharesRunningDownloads() const override { return false; }
  bool StatusRefusesOddNames() const override { return true; }
  bool SharesEqualPulls() const override { return true; }
  bool DigestsOutliveTheirTag() const override { return false; }
  CrioSide* crio() override { return this; }

  std::vector<std::string> TakeAsked() override {
    std::vector<std::string> asked;
    for (Site* site : {&open_, &private_}) {
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
    AnswerManifests(
        pushed, status + "\r\nContent-Type: " + type + "\r\nContent-Length: " + std::to_string(body.size()),
        body);
  }
  void WelcomeAtPing() override {
    private_.proxy->Answer("/v2/$", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }
  void Rewrite(const std::string& prefix, const std::string& location) override {
    runtime_.HasRegistries("[[registry]]\nprefix = \"" + prefix + "\"\nlocation = \"" + location +
                           "\"\ninsecure = true\n");
    Restart();
  }
  void GiveUpOnSilenceAfter(std::chrono::seconds silence) override {
    runtime_.GivesUpOnSilenceAfter(silence);
    Restart();
  }
  void CutConnections() override {
    for (Site* site : {&open_, &private_}) site->proxy->CutAll();
  }
  void Freeze(bool frozen) override {
    for (Site* site : {&open_, &private_}) site->proxy->Freeze(frozen);
  }
  void RemoveName(const std::string& name) override { EXPECT_OK(runtime_.Remove(name)); }
  base::Duration Elapsed() override { return std::chrono::steady_clock::now() - made_; }

  std::chrono::seconds PullLimit() const override { return std::chrono::seconds(100); }
  bool Until(const std::function<bool()>& done) override { return rig::Eventually(PullLimit(), done); }

 private:
  void Restart() {
    EXPECT_OK(runtime_.Stop());
    EXPECT_OK(runtime_.Start());
    // The first call may be the one that finds the old connection broken.
    EXPECT_TRUE(Until([&] { return images_->ListImages(base::Call{}.Within(kPatience)).ok(); }));
  }

  const std::chrono::steady_clock::time_point made_ = std::chrono::steady_clock::now();
};

}  // namespace

std::vector<WorldKind> Worlds() {
  return {{"Crio", [] { return std::make_unique<CrioWorld>(); }}};
}

}  // namespace prefetch::tests
